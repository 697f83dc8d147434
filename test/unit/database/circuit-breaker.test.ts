// When a circuit breaker opens, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCircuitBreaker } from '../../../src/database/circuit-breaker.ts';

const limits = { failures: 3, minOpenMs: 10_000, maxOpenMs: 30_000 };

test('it opens at the third failure in half a minute, for that key alone', () => {
  const breaker = makeCircuitBreaker(limits);
  for (const now of [0, 10, 40_000, 40_010]) breaker.recordFailure('a', now);
  assert.equal(breaker.isOpen('a', 40_010), false);
  breaker.recordFailure('a', 40_020);
  assert.equal(breaker.isOpen('a', 40_021), true);
  assert.equal(breaker.isOpen('b', 40_021), false);
  assert.equal(breaker.isOpen('a', 50_021), false);
});

test('after it was open one failure opens it for twice as long, and a long time without one closes it for good', () => {
  const breaker = makeCircuitBreaker({ ...limits, failures: 1 });
  const openFor = (now: number, milliseconds: number): void => {
    breaker.recordFailure('a', now);
    assert.equal(breaker.isOpen('a', now + milliseconds - 1), true);
    assert.equal(breaker.isOpen('a', now + milliseconds), false);
  };
  openFor(0, 10_000);
  openFor(20_000, 20_000);
  openFor(50_000, 30_000);
  openFor(90_000, 30_000);
  openFor(90_000 + 30_000 + 300_001, 10_000);
});
