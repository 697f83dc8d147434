// Lines of exported files, from the text that PostgreSQL gives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { entityOf } from '../../../src/model/workspace.ts';
import { csvFile, ndjsonFile } from '../../../src/response/export-file.ts';
import { makeShop } from '../../support/fixture.ts';

const things = entityOf(makeShop(), 'things');
const fields = (...names: string[]): Field[] => names.map((name) => things.fields.get(name) as Field);

const ALL = fields(
  'id',
  'aText',
  'aBigint',
  'aDecimal',
  'aFloat',
  'aBoolean',
  'aDate',
  'aDatetime',
  'aUuid',
  'aJson',
  'anEnum',
);
const ROW = [
  '1',
  'say "hi", you',
  '9007199254740993',
  '1.50',
  '1e+21',
  't',
  '2026-01-31',
  '2026-01-31T12:00:00Z',
  'u',
  '{"a": 1.50}',
  'red',
];

test('a record as a line of CSV', () => {
  const file = csvFile(ALL);
  assert.equal(file.header, 'id,aText,aBigint,aDecimal,aFloat,aBoolean,aDate,aDatetime,aUuid,aJson,anEnum\n');
  assert.equal(
    file.line(ROW),
    '1,"say ""hi"", you",9007199254740993,1.50,1e+21,true,2026-01-31,2026-01-31T12:00:00Z,u,"{""a"": 1.50}",red\n',
  );
});

test('a record as a line of JSON', () => {
  const file = ndjsonFile(ALL);
  assert.equal(file.header, '');
  assert.equal(
    file.line(ROW),
    '{"id":1,"aText":"say \\"hi\\", you","aBigint":9007199254740993,"aDecimal":1.50,"aFloat":1e+21,"aBoolean":true,"aDate":"2026-01-31","aDatetime":"2026-01-31T12:00:00Z","aUuid":"u","aJson":{"a": 1.50},"anEnum":"red"}\n',
  );
});

const CELLS: readonly (readonly [text: string | null, cell: string])[] = [
  [null, ''],
  ['', '""'],
  ['a b', 'a b'],
  [' a ', ' a '],
  ['a,b', '"a,b"'],
  ['a"b', '"a""b"'],
  ['a\nb', '"a\nb"'],
  ['a\rb', '"a\rb"'],
  ['a\tb', 'a\tb'],
  ["a'b", "a'b"],
  ['ü🙂', 'ü🙂'],
];
for (const [text, cell] of CELLS) {
  test(`text ${JSON.stringify(text)} is the cell ${JSON.stringify(cell)}`, () => {
    assert.equal(csvFile(fields('aText', 'id')).line([text, '1']), `${cell},1\n`);
  });
}

test('a column alone has no line without characters', () => {
  assert.equal(csvFile(fields('aText')).line([null]), '""\n');
});

test('every text is the JSON string that JSON.stringify writes', () => {
  const file = ndjsonFile(fields('aText'));
  for (let code = 0; code < 0x3000; code++) {
    const text = `a${String.fromCharCode(code)}b`;
    assert.equal(file.line([text]), `{"aText":${JSON.stringify(text)}}\n`);
  }
  assert.equal(file.line([null]), '{"aText":null}\n');
});
