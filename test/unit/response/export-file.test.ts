// Lines of exported files, from PostgreSQL's text of the columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import type { Field } from '../../../src/model/entity.ts';
import { csvFile, ndjsonFile } from '../../../src/response/export-file.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const things = makeShop().entities.get('things');
const fields = (...names: string[]): Field[] => names.map((name) => things?.fields.get(name) as Field);

test('every type of CSV and NDJSON', () => {
  const columns = [...(things?.fields.values() ?? [])];
  const row = [
    '7', 'a', 'b,c', '5', '9007199254740993', '1.50', '0.10', '1e+21', 't', '2026-01-31', '2026-01-31T12:00:00Z',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301', '{"a": [1.50]}', 'red', '12:00:00',
  ]; // biome-ignore format: one value a column
  assert.equal(
    csvFile(columns).header,
    'id,aString,aText,anInteger,aBigint,aDecimal,aFreeDecimal,aFloat,aBoolean,aDate,aDatetime,aUuid,aJson,anEnum,aTime\n',
  );
  assert.equal(
    csvFile(columns).line(row),
    '7,a,"b,c",5,9007199254740993,1.50,0.10,1e+21,true,2026-01-31,2026-01-31T12:00:00Z,3f2504e0-4f89-11d3-9a0c-0305e82c3301,"{""a"": [1.50]}",red,12:00:00\n',
  );
  assert.equal(ndjsonFile(columns).header, '');
  assert.equal(
    ndjsonFile(columns).line(row),
    '{"id":7,"aString":"a","aText":"b,c","anInteger":5,"aBigint":9007199254740993,"aDecimal":1.50,"aFreeDecimal":0.10,"aFloat":1e+21,"aBoolean":true,"aDate":"2026-01-31","aDatetime":"2026-01-31T12:00:00Z","aUuid":"3f2504e0-4f89-11d3-9a0c-0305e82c3301","aJson":{"a": [1.50]},"anEnum":"red","aTime":"12:00:00"}\n',
  );
});

test('null and an empty string are two things', () => {
  const two = fields('aString', 'anInteger');
  assert.equal(csvFile(two).line([null, null]), ',\n');
  assert.equal(csvFile(two).line(['', null]), '"",\n');
  assert.equal(ndjsonFile(two).line([null, null]), '{"aString":null,"anInteger":null}\n');
  assert.equal(ndjsonFile(two).line(['', '1']), '{"aString":"","anInteger":1}\n');
});

test('a line of a single null is not an empty line', () => {
  assert.equal(csvFile(fields('anInteger')).line([null]), '""\n');
});

test('a file is read again as it was written', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' ', '\\', 'ä', '\t', '\u0001', '😀') });
  const columns = fields('aString', 'aText');
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [record] = parse(csvFile(columns).line([one, other]), { relax_quotes: false });
      assert.deepEqual(record, [one, other]);
      assert.deepEqual(JSON.parse(ndjsonFile(columns).line([one, other])), { aString: one, aText: other });
    }),
  );
});

test('a label is a text or null, without what is missing', () => {
  const columns = [...fields('anInteger'), { name: 'thing', label: '{aString} ({aBigint})' }];
  const labels = ['{"aString":"=a, b","aBigint":9007199254740993}', '{"aString":null,"aBigint":7}', '{"aString":null,"aBigint":null}', null]; // biome-ignore format: one line
  const lines = (file: ReturnType<typeof csvFile>): string[] => labels.map((label) => file.line(['1', label]));
  assert.equal(csvFile(columns).header, 'anInteger,thing\n');
  assert.deepEqual(lines(csvFile(columns, 'escape')), ['1,"\'=a, b (9007199254740993)"\n', '1,(7)\n', '1,\n', '1,\n']);
  assert.deepEqual(lines(ndjsonFile(columns)), [
    '{"anInteger":1,"thing":"=a, b (9007199254740993)"}\n',
    '{"anInteger":1,"thing":"(7)"}\n',
    '{"anInteger":1,"thing":null}\n',
    '{"anInteger":1,"thing":null}\n',
  ]);
});

test('texts that spreadsheets would run are escaped on request, and nothing else', () => {
  const columns = fields('aString', 'aText', 'anInteger', 'aJson', 'anEnum');
  const line = csvFile(columns, 'escape').line;
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1']) {
    assert.equal(line([text, null, '-5', '-1', text]), `'${text},,-5,-1,'${text}\n`);
    assert.equal(csvFile(columns).line([text, null, '-5', '-1', text]), `${text},,-5,-1,${text}\n`);
  }
  assert.equal(
    line(['=HYPERLINK("http://x","y")', '\r=1', '1', '{"a": "=1"}', 'red']),
    `"'=HYPERLINK(""http://x"",""y"")","'\r=1",1,"{""a"": ""=1""}",red\n`,
  );
  for (const text of ['a=1', '1-1', "'=1", ' =1']) assert.equal(line([text, null, null, null, null]), `${text},,,,\n`);
  assert.equal(line(['', null, null, null, null]), '"",,,,\n');
});
