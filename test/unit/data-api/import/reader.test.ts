// The rows of an import are read in turns with everybody else, and told by their number in the file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeImportReader } from '../../../../src/data-api/import/reader.ts';
import type { RowDecoder } from '../../../../src/plan/import-row.ts';

const ROWS = 5000;

interface Item {
  readonly line: number;
}

async function* atOnce(): AsyncGenerator<Item[]> {
  yield Array.from({ length: ROWS }, (_, line) => ({ line }));
}

function busy(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

async function textOf(reading: { readonly lines: () => AsyncGenerator<string> }): Promise<string> {
  let text = '';
  for await (const part of reading.lines()) text += part;
  return text;
}

test('a file that is there at once leaves others their turn between its rows, and stays as it is', async () => {
  let turns = 0;
  const decode: RowDecoder<Item> = ({ line: source }) => {
    if (source % 100 === 0) busy(3);
    return [String(source)];
  };
  const next = async (): Promise<void> => void turns++;
  const reading = makeImportReader({ batches: atOnce(), decode, maxErrors: 100 }, 1, {
    next,
    hasTime: () => true,
    addTime: () => undefined,
  });
  const lines = (await textOf(reading)).trimEnd().split('\n');
  assert.ok(turns > 10, `${turns} turns for ${ROWS} rows`);
  assert.equal(reading.rows(), ROWS);
  assert.deepEqual(
    lines,
    Array.from({ length: ROWS }, (_, index) => `${index + 1}\t${index}\t${index}`),
  );
});

test('a line that was sent is told by its row, past those that had mistakes', async () => {
  const decode: RowDecoder<Item> = ({ line: source }, row, report) => {
    if (source !== 1 && source !== 4) return [String(source)];
    report({ row, field: 'a', code: 'INVALID', message: 'is wrong' });
    return undefined;
  };
  const reading = makeImportReader({ batches: atOnce(), decode, maxErrors: 100 }, 1, {
    next: () => Promise.resolve(),
    hasTime: () => true,
    addTime: () => undefined,
  });
  await textOf(reading);
  assert.deepEqual(
    reading.details.map(({ row, line }) => [row, line]),
    [[2, 1], [5, 4]], // biome-ignore format: one row a line
  );
  assert.deepEqual([1, 2, 3, 4].map(reading.rowOfLine), [1, 3, 4, 6]);
});
