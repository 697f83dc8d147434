// The parameters and the media type of an import.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHeaderMap } from '../../../src/request/field-names.ts';
import { parseImportRequest } from '../../../src/request/import-request.ts';
import { refuses } from '../../support/error-response.ts';

const CSV = { 'content-type': 'text/csv' };

test('an import of CSV fails on conflicts and maps nothing, unless it says otherwise', () => {
  assert.deepEqual(parseImportRequest('', CSV), {
    kind: 'import',
    format: 'csv',
    map: new Map(),
    onConflict: 'fail',
    maxErrors: 100,
  });
  assert.equal(parseImportRequest('onConflict=update', CSV).onConflict, 'update');
  assert.equal(parseImportRequest('onConflict=skip&_=1', CSV).onConflict, 'skip');
  assert.deepEqual([...parseImportRequest('map=Full%20name:name', CSV).map], [['Full name', 'name']]);
});

for (const [query, conflictOn, isDryRun] of [
  ['onConflict=update&conflictOn=email', ['email'], undefined],
  ['onConflict=skip&conflictOn=team,number', ['team', 'number'], undefined],
  ['onConflict=update&conflictOn=', [], undefined],
  // By the id is how it is without the parameter.
  ['onConflict=update&conflictOn=id', undefined, undefined],
  ['dryRun=true', undefined, true],
  ['conflictOn=email&dryRun=true&onConflict=update', ['email'], true],
] as const) {
  test(`an import with ?${query}`, () => {
    const request = parseImportRequest(query, CSV);
    assert.deepEqual([request.conflictOn, request.isDryRun], [conflictOn, isDryRun]);
  });
}

for (const [query, message] of [
  ['conflictOn=email', 'conflictOn is for onConflict=skip or update'],
  ['conflictOn=id&onConflict=fail', 'conflictOn is for onConflict=skip or update'],
  ['onConflict=update&conflictOn=a,a', 'conflictOn names a twice'],
  ['maxErrors=0', 'maxErrors must be an integer from 1 to 100000'],
  ['maxErrors=100001', 'maxErrors must be an integer from 1 to 100000'],
  ['dryRun=1', 'dryRun must be true or false, not 1'],
  ['onConflict=updat', 'Unknown onConflict updat. Did you mean update? Known: fail, skip, update'],
  [
    'onconflict=skip',
    'Unknown query parameter onconflict. Did you mean onConflict? Known: map, onConflict, conflictOn, formats, events, rejects, maxErrors, dryRun',
  ],
] as const) {
  test(`an import with ?${query} is refused`, () => refuses(() => parseImportRequest(query, CSV), message));
}

test('formats are for CSV', () => {
  const query = 'formats=boolean:ja/nein';
  assert.equal(parseImportRequest(query, CSV).formats?.boolean?.text, 'ja/nein');
  refuses(
    () => parseImportRequest(query, { 'content-type': 'application/x-ndjson' }),
    'formats is for CSV: the values of NDJSON have the forms of JSON',
  );
});

for (const [text, map] of [
  ['', []],
  ['A:a', [['A', 'a']]],
  ['A:a,B:b', [['A', 'a'], ['B', 'b']]], // biome-ignore format: one row a line
  ['A:', [['A', null]]],
  ['A:,B:', [['A', null], ['B', null]]], // biome-ignore format: one row a line
  ['a:b:c', [['a:b', 'c']]],
  ['Name\\, first:name', [['Name, first', 'name']]],
  [' A :a', [[' A ', 'a']]],
] as const) {
  test(`map=${text} is ${JSON.stringify(map)}`, () => {
    assert.deepEqual([...parseHeaderMap(text)], map);
  });
}

for (const [text, message] of [
  ['A', 'map is malformed at "A": each entry is Header:field, or Header: to leave it out'],
  [':a', 'map is malformed at ":a": each entry is Header:field, or Header: to leave it out'],
  ['A:a,', 'map is malformed at "": each entry is Header:field, or Header: to leave it out'],
  ['A:a,A:b', 'map names the header A twice'],
  ['A:a,B:a', 'map gives the field a to two headers: A and B'],
] as const) {
  test(`map=${text} is refused`, () => refuses(() => parseHeaderMap(text), message));
}

for (const [type, format] of [
  ['text/csv', 'csv'],
  ['text/csv; charset=utf-8', 'csv'],
  ['text/csv;charset="UTF-8";header=present', 'csv'],
  ['text/csv;', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson; charset=utf-8', 'ndjson'],
  ['application/jsonl', 'ndjson'],
] as const) {
  test(`Content-Type ${type} is ${format}`, () => {
    assert.equal(parseImportRequest('', { 'content-type': type }).format, format);
  });
}

for (const headers of [
  {},
  { 'content-type': '' },
  { 'content-type': 'application/json' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'text/csv; charset=latin1' },
  { 'content-type': 'text/csv; header=absent' },
  { 'content-type': 'application/x-ndjson; header=present' },
  { 'content-type': 'text/csv', 'content-encoding': 'gzip' },
]) {
  test(`an import with ${JSON.stringify(headers)} is 415`, () => {
    refuses(
      () => parseImportRequest('', headers),
      /^The request body must be sent with Content-Type: /,
      'UNSUPPORTED_MEDIA_TYPE',
    );
  });
}

test('parameters are refused before the media type', () => {
  refuses(() => parseImportRequest('x=1', {}), /^Unknown query parameter x\./);
});
