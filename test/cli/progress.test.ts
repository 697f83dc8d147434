import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes, formatDuration, stepLine, transferLine } from '../../src/cli/progress.ts';

test('bytes are said in the largest unit that keeps them readable', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1_572_864, '1.5 MiB'],
    [5 * 1024 ** 4, '5.0 TiB'],
    [5000 * 1024 ** 4, '5000.0 TiB'],
  ];
  for (const [bytes, said] of cases) assert.equal(formatBytes(bytes), said);
});

test('durations are said in seconds, minutes or hours', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0.0 s'],
    [1234, '1.2 s'],
    [9960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min 0 s'],
    [65_000, '1 min 5 s'],
    [3_661_000, '1 h 1 min'],
  ];
  for (const [milliseconds, said] of cases) assert.equal(formatDuration(milliseconds), said);
});

test('a transfer shows bar, percent, amount, rate and time left', () => {
  const line = transferLine(
    { label: 'tracks', unit: 'bytes', current: 1024 ** 2, total: 4 * 1024 ** 2, elapsedMs: 2000 },
    120,
  );
  assert.equal(line, 'tracks [======                  ]  25 %  1.0 MiB of 4.0 MiB  512.0 KiB/s  ETA 6.0 s');
});

test('a transfer of records counts records', () => {
  const line = transferLine({ label: 'tracks', unit: 'records', current: 1500, total: 3503, elapsedMs: 1000 }, 120);
  assert.equal(line, 'tracks [==========              ]  42 %  1,500 of 3,503  1,500 records/s  ETA 1.3 s');
});

test('a line keeps to the width of the terminal by its bar', () => {
  const state = { label: 'invoiceLines', unit: 'bytes', current: 5e7, total: 1e8, elapsedMs: 9000 } as const;
  const facts = ' 50 %  47.7 MiB of 95.4 MiB  5.3 MiB/s  ETA 9.0 s';
  assert.equal(transferLine(state, 80), `invoiceLines [========       ] ${facts}`);
  assert.equal(transferLine(state, 80).length, 80);
  assert.equal(transferLine(state, 40), `invoiceLines [===   ] ${facts}`);
});

test('a transfer of unknown size shows no percent', () => {
  const line = transferLine({ label: 'tracks', unit: 'bytes', current: 2048, total: null, elapsedMs: 12_000 }, 120);
  assert.equal(line, 'tracks  2.0 KiB  171 B/s  12 s');
});

test('a phase stands in place of the time left, and 100 % is said only of what is whole', () => {
  const nearly = transferLine({ label: 'x', unit: 'bytes', current: 9999, total: 10_000, elapsedMs: 1000 });
  assert.match(nearly, / 99 % /);
  const whole = transferLine({
    label: 'x',
    unit: 'bytes',
    current: 0,
    total: 0,
    elapsedMs: 0,
    phase: 'checking and storing',
  });
  assert.equal(whole, 'x [========================] 100 %  0 B of 0 B  0 B/s  checking and storing');
});

test('more records than expected stay at 100 %', () => {
  const line = transferLine({ label: 'x', unit: 'records', current: 12, total: 10, elapsedMs: 1000 }, 120);
  assert.equal(line, 'x [========================] 100 %  12 of 10  12 records/s  ETA 0.0 s');
});

test('a step shows its words, bar, percent, records per second and time left', () => {
  const state = { label: 'Step 1 of 2: change x', fraction: 0.25, rate: 9500, remainingMs: 19_000, elapsedMs: 6000 };
  assert.equal(
    stepLine(state, 120),
    'Step 1 of 2: change x [======                  ]  25 %  9,500 records/s  ETA 19 s',
  );
  assert.equal(
    stepLine({ ...state, rate: null, remainingMs: null }, 120),
    'Step 1 of 2: change x [======                  ]  25 %  ETA -',
  );
  assert.equal(stepLine({ ...state, fraction: null }, 120), 'Step 1 of 2: change x  6.0 s so far  ETA 19 s');
  assert.equal(stepLine({ ...state, fraction: null, remainingMs: null }, 120), 'Step 1 of 2: change x  6.0 s so far');
});

test('the words of a step are cut where the line is too narrow', () => {
  const label = 'Step 1 of 2: change field total of orders from decimal(12, 2) to integer';
  const state = { label, fraction: 0.5, rate: 9500, remainingMs: 19_000, elapsedMs: 6000 };
  const line = stepLine(state, 80);
  assert.equal(line, 'Step 1 of 2: change field total of or… [===   ]  50 %  9,500 records/s  ETA 19 s');
  assert.ok(line.length <= 80);
  assert.match(stepLine(state, 30), /^Step 1 of 2: change… \[/);
});
