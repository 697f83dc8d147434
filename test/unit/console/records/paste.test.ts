import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits, type Json, stringifyExact } from '../../../../console/src/api/json.ts';
import { readTsv } from '../../../../console/src/grid/tsv.ts';
import type { RecordColumn } from '../../../../console/src/records/fields.ts';
import {
  clearEdits,
  fillEdits,
  pasteEdits,
  type RangeEdits,
  type Sheet,
} from '../../../../console/src/records/paste.ts';
import type { Row } from '../../../../console/src/records/rows.ts';

const column = (name: string, type: RecordColumn['type'], isRequired = false): RecordColumn => ({
  name,
  type,
  isReadOnly: type === 'id',
  isRequired,
});
const columns = [
  undefined,
  column('id', 'id'),
  column('name', 'string', true),
  column('total', 'decimal'),
  column('note', 'text'),
];
const row = (id: number, name: string, note: Json = null): Row => ({
  id: String(id),
  record: { id: new Digits(String(id)), name, total: new Digits('1.50'), note },
  version: 'v',
  truncatedLengths: new Map(id === 3 ? [['note', 5000]] : []),
});
const rows = [row(1, 'a', 'long ago'), row(2, 'b'), row(3, 'c', 'cut')];
const sheet: Sheet = { columns, rowAt: (index) => rows[index], zone: 'UTC' };
const one = (top: number, left: number, bottom = top, right = left) => ({ top, left, bottom, right });
const shown = ({ edits }: RangeEdits) =>
  edits.map((edit) => `${edit.row.id} ${stringifyExact(Object.fromEntries(edit.values))}`);

test('pasted cells become values of their fields, from the first cell on', () => {
  const made = pasteEdits(readTsv('x\t2.25\ny\t3.10'), one(0, 2), sheet);
  assert.deepEqual(shown(made), ['1 {"name":"x","total":2.25}', '2 {"name":"y","total":3.10}']);
  assert.equal(made.cells, 4);
});

test('an empty cell is NULL where the field may be, "" is the empty text', () => {
  assert.deepEqual(shown(pasteEdits(readTsv('\t\t\n'), one(0, 2), sheet)), ['1 {"name":"","total":null,"note":null}']);
  assert.deepEqual(shown(pasteEdits(readTsv('""'), one(1, 4), sheet)), ['2 {"note":""}']);
});

test('one value fills a range; what stays the same is not sent, and what is only read is not touched', () => {
  assert.deepEqual(shown(pasteEdits(readTsv('1.50'), one(0, 3, 2, 3), sheet)), []);
  assert.deepEqual(shown(pasteEdits(readTsv('b'), one(0, 2, 2, 2), sheet)), ['1 {"name":"b"}', '3 {"name":"b"}']);
  assert.deepEqual(shown(pasteEdits(readTsv('9\tz'), one(1, 1), sheet)), ['2 {"name":"z"}']);
  assert.deepEqual(
    shown(pasteEdits(readTsv('cut'), one(2, 4), sheet)),
    ['3 {"note":"cut"}'],
    'a beginning is not the value',
  );
});

test('each wrong cell is named, and what lies beyond the list counted', () => {
  const made = pasteEdits(readTsv('x\tmany\n\tfew\nz\t1\nq\t1'), one(0, 2), sheet);
  assert.deepEqual(
    made.mistakes.map(({ id, name, text }) => [id, name, text]),
    [
      ['1', 'total', 'many'],
      ['2', 'total', 'few'],
    ],
  );
  assert.equal(made.outside, 2);
});

test('fill down and clear', () => {
  assert.deepEqual(shown(fillEdits(one(0, 2, 2, 2), sheet)), ['2 {"name":"a"}', '3 {"name":"a"}']);
  assert.deepEqual(shown(fillEdits(one(1, 2), sheet)), ['2 {"name":"a"}'], 'one cell takes the one above');
  assert.deepEqual(shown(fillEdits(one(0, 2), sheet)), [], 'above the first row is nothing');
  assert.deepEqual(shown(clearEdits(one(0, 3, 1, 4), sheet)), ['1 {"total":null,"note":null}', '2 {"total":null}']);
});
