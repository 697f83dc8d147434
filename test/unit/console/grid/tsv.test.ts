import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readTsv, writeTsv } from '../../../../console/src/grid/tsv.ts';

const texts = (text: string) =>
  readTsv(text).map((row) => row.map((cell) => (cell.isQuoted ? [cell.text] : cell.text)));

test('cells are separated by tabs, rows by line breaks of any kind', () => {
  for (const [text, cells] of [
    ['', []],
    ['a', [['a']]],
    [
      'a\tb\nc\td',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a\tb\r\nc\td\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a\t\n\tb\n',
      [
        ['a', ''],
        ['', 'b'],
      ],
    ],
    ['a\t', [['a', '']]],
    ['\n', [['']]],
    ['"a\tb"\tc', [[['a\tb'], 'c']]],
    ['"say ""hi"""', [[['say "hi"']]]],
    ['""\t', [[[''], '']]],
    ['"open\tb', [['"open', 'b']]],
    ['"a"b\tc', [['"a"b', 'c']]],
    ['a"b"', [['a"b"']]],
  ] as const)
    assert.deepEqual(texts(text), cells, JSON.stringify(text));
});

test('what is written is read again, null as an empty cell and the empty text in quotes', () => {
  const cell = fc.option(fc.string({ unit: fc.constantFrom('a', '"', '\t', '\n', '\r', 'é') }));
  const rows = fc
    .integer({ min: 1, max: 4 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 }));
  fc.assert(
    fc.property(rows, (given) => {
      // The last row of a single empty cell is the line break that spreadsheets add.
      const text = `${writeTsv(given)}\n`;
      const read = readTsv(text).map((row) => row.map((one) => (one.text === '' && !one.isQuoted ? null : one.text)));
      assert.deepEqual(read, given);
    }),
  );
});
