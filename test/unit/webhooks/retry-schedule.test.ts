// When a message is sent again: the delays of the settings, the spread, and what the receiver wants.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getRetryMs, parseRetryAfter } from '../../../src/webhooks/retry-schedule.ts';

const SECONDS = [5, 30, 120];

for (const [failures, seconds] of [
  [1, 5],
  [2, 30],
  [3, 120],
  [4, 120],
  [1000, 120],
] as const) {
  test(`after ${failures} failures the next attempt is ${seconds} s later, a fifth more or less`, () => {
    assert.equal(getRetryMs(SECONDS, failures, undefined, 0.5), seconds * 1000);
    assert.equal(getRetryMs(SECONDS, failures, undefined, 0), seconds * 800);
    assert.equal(getRetryMs(SECONDS, failures, undefined, 1), seconds * 1200);
  });
}

test('the wish of a receiver counts where it is longer', () => {
  assert.equal(getRetryMs(SECONDS, 1, 7000, 0.5), 7000);
  assert.equal(getRetryMs(SECONDS, 2, 7000, 0.5), 30_000);
});

const NOW = Date.parse('2026-11-22T00:00:00Z');
for (const [header, milliseconds] of [
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['0', 0],
  ['120', 120_000],
  ['999999999', 86_400_000],
  ['Sun, 22 Nov 2026 00:01:00 GMT', 60_000],
  ['Sat, 21 Nov 2026 00:00:00 GMT', 0],
] as const) {
  test(`Retry-After: ${header}`, () => assert.equal(parseRetryAfter(header, NOW), milliseconds));
}
