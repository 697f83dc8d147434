// Bodies and parameters of bulk writes, by table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../../src/request/body.ts';
import {
  parseBulkCreateOptions,
  parseBulkOptions,
  parseBulkUpdateOptions,
  parseDeleteBody,
  parseIds,
  parseItem,
  parseRecords,
} from '../../../src/request/bulk.ts';
import { refuses } from '../../support/error-response.ts';

const json = (text: string): unknown => parseBody(Buffer.from(text));

const IDS: readonly (readonly [query: string, ids: readonly string[]])[] = [
  ['ids=', []],
  ['ids=3,1,3', ['3', '1']],
  ['ids=01,1,-0', ['1', '0']],
  ['ids=1, 2', ['1', '2']],
  // No record has it.
  ['ids=9223372036854775808', ['0']],
];
for (const [query, ids] of IDS) {
  test(`${query} names ${ids.length} records`, () =>
    assert.deepEqual(
      parseIds(query, 5).targets.map(({ id }) => id),
      ids,
    ));
}

test('ids that are none, or too many', () => {
  refuses(() => parseIds('ids=a', 5), 'ids must be integers, and a is none');
  refuses(() => parseIds('', 5), 'ids is missing: DELETE …/_bulk?ids=1,2,3');
  refuses(
    () => parseIds('ids=1,2,3', 2),
    'The request names 3 records, and 2 are the most; send them in parts',
    'PAYLOAD_TOO_LARGE',
  );
});

const OPTIONS: readonly (readonly [query: string, isMinimal: boolean, isDryRun: boolean])[] = [
  ['', false, false],
  ['return=minimal&dryRun=false', true, false],
  ['dryRun=true&return=minimal&_=1', true, true],
];
for (const [query, isMinimal, isDryRun] of OPTIONS) {
  test(`a bulk write with ${query || 'nothing'}`, () => {
    const options = { isMinimal, isDryRun };
    assert.deepEqual(parseBulkOptions(query), options);
    assert.deepEqual(parseBulkUpdateOptions(query), { ...options, versions: false });
    assert.deepEqual(parseBulkUpdateOptions(`versions=true&${query}`), { ...options, versions: true });
    assert.deepEqual(parseBulkCreateOptions(query), { ...options, upsert: undefined });
    const { targets, ...others } = parseIds(`ids=1&${query}`, 5);
    assert.equal(targets.length, 1);
    assert.deepEqual(others, options);
  });
}

test('a bulk create may be an upsert, another bulk write may not', () => {
  const upsert = { fields: ['email'], mode: 'skip' };
  const query = 'onConflict=email&conflict=skip&dryRun=true';
  assert.deepEqual(parseBulkCreateOptions(query), { isMinimal: false, isDryRun: true, upsert });
  refuses(() => parseBulkOptions(query), 'Unknown query parameter onConflict. Known: return, dryRun');
});

for (const [query, message] of [
  ['dryRun=', 'dryRun must be true or false, not '],
  ['dryRun=yes', 'dryRun must be true or false, not yes'],
  ['dryRun=true&dryRun=false', 'Query parameter dryRun may be given only once'],
  ['return=none', 'Unknown return none. Known: minimal, representation'],
  ['retrun=minimal', /^Unknown query parameter retrun\. Did you mean return\? Known: return, dryRun/],
] as const) {
  test(`a bulk write with ${query} is refused`, () => {
    refuses(() => parseBulkOptions(query), message);
    refuses(() => parseBulkCreateOptions(query), message);
  });
}

test('an update may ask for versions, another bulk write may not', () => {
  refuses(() => parseBulkUpdateOptions('versions=1'), 'versions must be true or false, not 1');
  refuses(() => parseBulkOptions('versions=true'), 'Unknown query parameter versions. Known: return, dryRun');
  refuses(() => parseBulkCreateOptions('versions=true'), /^Unknown query parameter versions/);
});

const ITEMS: readonly (readonly [text: string, expected: unknown])[] = [
  ['{"id": 7, "a": 1}', { id: '7', name: '7', version: undefined, fields: ['a'] }],
  ['{"id": "007", "$version": "12.abc"}', { id: '7', name: '7', version: '12', fields: [] }],
  ['{"id": 99999999999999999999}', { id: '0', name: '99999999999999999999', version: undefined, fields: [] }],
  ['{"a": 1}', ['id']],
  ['{"id": null}', ['id']],
  ['{"id": 1.0}', ['id']],
  ['{"id": 1, "$version": null}', ['$version']],
  ['[1]', [null]],
];
for (const [text, expected] of ITEMS) {
  test(`an item of an update: ${text}`, () => {
    const item = parseItem(json(text), 0);
    const found = 'id' in item ? { ...item, fields: Object.keys(item.fields) } : item.map(({ field }) => field);
    assert.deepEqual(found, expected);
  });
}

test('versions are of ids that are listed', () => {
  const { targets } = parseDeleteBody(json('{"ids": [2, "1", 2], "versions": {"01": "5.x"}}'), 5);
  assert.deepEqual(targets, [
    { id: '2', name: '2', version: undefined },
    { id: '1', name: '1', version: '5' },
  ]);
  refuses(
    () => parseDeleteBody(json('{"ids": [2], "versions": {"1": "5"}}'), 5),
    'versions names 1, which is not among the ids',
  );
  refuses(
    () => parseDeleteBody(json('{"ids": [2], "versions": []}'), 5),
    'versions must be an object: a version by id',
  );
  refuses(() => parseDeleteBody(json('{"ids": 2}'), 5), 'ids must be an array of ids');
});

test('a record has one version at most, and no record that is not listed has any', () => {
  refuses(
    () => parseDeleteBody(json('{"ids": [2, 3], "versions": {"2": "5", "02": "6"}}'), 5),
    'versions names 2 twice',
  );
  refuses(
    () => parseDeleteBody(json('{"ids": [2, 2], "versions": {"2": "5", "3": "6"}}'), 5),
    'versions names more records than ids',
  );
});

test('of too many ids none is looked at', () => {
  refuses(
    () => parseDeleteBody(json('{"ids": [null, null, null]}'), 2),
    'The request names 3 records, and 2 are the most; send them in parts',
    'PAYLOAD_TOO_LARGE',
  );
});

test('ids beyond 64 bits are each a record that is not there', () => {
  const most = '9223372036854775807';
  const { targets } = parseDeleteBody(
    json(`{"ids": [${most}, 9223372036854775808, "99999999999999999999"], "versions": {"9223372036854775808": "5"}}`),
    5,
  );
  assert.deepEqual(targets, [
    { id: most, name: most, version: undefined },
    { id: '0', name: '9223372036854775808', version: '5' },
    { id: '0', name: '99999999999999999999', version: undefined },
  ]);
});

test('records are a list named data', () => {
  assert.equal(parseRecords(json('{"data": [{}, {}]}'), 2).length, 2);
  refuses(() => parseRecords(json('{"data": {}}'), 2), 'The body must be {"data": [record, …]}');
  refuses(() => parseRecords(json('[]'), 2), 'The body must be one JSON object');
});
