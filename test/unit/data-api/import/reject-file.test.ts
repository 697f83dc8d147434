// Rejected rows of a CSV file: all of their cells come back, and a row with a wrong number of them is wrong again.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeCsvRejects } from '../../../../src/data-api/import/reject-file.ts';
import { readCsv } from '../../../../src/data-api/import/rows.ts';
import { formatCellCount } from '../../../../src/plan/import-row.ts';

const MARKS = ['_row', '_reason'];

/** The cells of the rows of a CSV text. */
async function parse(text: string): Promise<(readonly string[])[]> {
  const rows: (readonly string[])[] = [];
  const chunks = Readable.from([Buffer.from(text)]);
  for await (const batch of readCsv(chunks, { maxBytes: 1_000_000, maxRowBytes: 1_000_000 }))
    rows.push(...batch.map(({ cells }) => cells));
  return rows;
}

/** The header of the answer and its only row, of a file of these headers and this row. */
function answer(headers: readonly string[], cells: readonly string[], reason: string): Promise<(readonly string[])[]> {
  const { header, formatSource, formatLine } = makeCsvRejects(headers);
  return parse(header + formatLine('7', formatSource({ cells, line: 8 }), reason));
}

const ROWS: readonly (readonly [headers: readonly string[], cells: readonly string[], answer: readonly string[]])[] = [
  [['ref', 'spent'], ['X', '1,5'], ['X', '1,5']], // biome-ignore format: a file
  [['ref', 'spent'], ['X', '1', '5'], ['X', '1', '5']], // biome-ignore format: a file
  [['ref', 'spent'], ['P'], ['P']], // biome-ignore format: a file
  [['ref', 'spent', ...MARKS], ['X', '1', '3', 'spent: is wrong'], ['X', '1']], // biome-ignore format: a file
  [['_row', 'ref', '_reason', 'spent'], ['3', 'X', 'is wrong', '1'], ['X', '1']], // biome-ignore format: a file
  [['ref', 'spent', ...MARKS], ['X', '1', '5', '3', 'has 3 cells where the header has 2'], ['X', '1', '5']], // biome-ignore format: a file
  [['ref', 'spent', ...MARKS], ['P', '3', 'has 1 cell where the header has 2'], ['P']], // biome-ignore format: a file
  [['ref', 'spent', ...MARKS], ['X', '1', '5', '3', 'spent: is wrong'], ['X', '1', '5', '3', 'spent: is wrong']], // biome-ignore format: a file
  [['ref', 'spent', ...MARKS], ['X', '1'], ['X', '1', '']], // biome-ignore format: a file
];
for (const [headers, cells, expected] of ROWS) {
  test(`the row ${JSON.stringify(cells)} of a file of ${headers} comes back as ${expected}`, async () => {
    assert.deepEqual(await answer(headers, cells, 'why'), [
      ['ref', 'spent', ...MARKS],
      [...expected, '7', 'why'],
    ]);
  });
}

test('a row with a wrong number of cells comes back with all of them, and is wrong however often it is sent', async () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', ...MARKS), { minLength: 1 });
  const cell = fc.constantFrom('', 'x', '1', 'a "b"\n', ',', ...MARKS);
  await fc.assert(
    fc.asyncProperty(names, fc.array(cell, { minLength: 1, maxLength: 8 }), async (headers, cells) => {
      fc.pre(cells.length !== headers.length && cells.join('') !== '' && headers.some((name) => !MARKS.includes(name)));
      const count = formatCellCount(cells.length, headers.length);
      const [firstHeaders = [], first = []] = await answer(headers, cells, count);
      assert.deepEqual(first.slice(0, cells.length), cells);
      assert.notEqual(first.length, firstHeaders.length);
      const again = formatCellCount(first.length, firstHeaders.length);
      assert.deepEqual(await answer(firstHeaders, first, again), [firstHeaders, [...first.slice(0, -1), again]]);
    }),
  );
});
