import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes, formatCount, parseAmount, pluralize } from '../../../../console/src/format/amount.ts';

test('bytes have a unit and two or three digits', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [8192, '8.2 kB'],
    [99_600, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [5e15, '5000 TB'],
  ];
  for (const [amount, text] of cases) assert.equal(formatBytes(amount), text);
});

test('thousands are told apart by commas, and one is one', () => {
  assert.equal(formatCount(1_000_000), '1,000,000');
  assert.equal(formatCount('9223372036854775807'), '9,223,372,036,854,775,807');
  assert.equal(formatCount(999), '999');
  assert.equal(pluralize(1, 'record'), '1 record');
  assert.equal(pluralize(1200, 'entity', 'entities'), '1,200 entities');
});

test('amounts are parsed with commas and units, and other text is none', () => {
  const cases: [string, number | undefined][] = [
    ['1000', 1000],
    ['1,000,000', 1_000_000],
    ['500 MB', 500_000_000],
    ['1.5gb', 1_500_000_000],
    ['2 TB', 2e12],
    ['many', undefined],
    ['-1', undefined],
    ['3 apples', undefined],
  ];
  for (const [text, amount] of cases) assert.equal(parseAmount(text), amount, text);
});
