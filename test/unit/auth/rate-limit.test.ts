// Requests per minute and credential, on a clock that the tests set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRateLimit } from '../../../src/auth/rate-limit.ts';
import { refusalOf } from '../../support/refusal.ts';

function makeScene(perMinute: number) {
  const scene = { time: 0, use: (_credential: string): void => undefined };
  scene.use = makeRateLimit(perMinute, () => scene.time);
  return scene;
}

/** How many requests pass before one is refused. */
function passing(use: (credential: string) => void, credential: string): number {
  for (let count = 0; count < 10_000; count++) {
    try {
      use(credential);
    } catch {
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test('without a limit nothing is refused', () => {
  const { use } = makeScene(0);
  for (let count = 0; count < 10_000; count++) use('key:1');
});

test('a minute’s requests may come at once, the next is refused', () => {
  const { use } = makeScene(60);
  assert.equal(passing(use, 'key:1'), 60);
});

test('a refusal is 429 with the seconds to wait, in the header and beside the error', () => {
  for (const [perMinute, seconds] of [
    [60, 1],
    [6, 10],
    [1, 60],
    [6000, 1],
  ] as const) {
    const { use } = makeScene(perMinute);
    passing(use, 'key:1');
    const refusal = refusalOf(() => use('key:1'));
    assert.equal(refusal.code, 'RATE_LIMITED');
    assert.equal(refusal.status, 429);
    assert.deepEqual(refusal.headers, { 'Retry-After': String(seconds) });
    assert.deepEqual(refusal.beside, { retryAfterSeconds: seconds });
  }
});

test('after the wait that was named one request passes', () => {
  const scene = makeScene(6);
  passing(scene.use, 'key:1');
  scene.time = 9_999;
  assert.equal(passing(scene.use, 'key:1'), 0);
  scene.time = 10_001;
  assert.equal(passing(scene.use, 'key:1'), 1);
});

test('what is not used is saved up for a minute, not longer', () => {
  const scene = makeScene(60);
  passing(scene.use, 'key:1');
  scene.time = 30_000;
  assert.equal(passing(scene.use, 'key:1'), 30);
  scene.time = 3_600_000;
  assert.equal(passing(scene.use, 'key:1'), 60);
});

test('a refused request costs nothing', () => {
  const scene = makeScene(60);
  passing(scene.use, 'key:1');
  for (let count = 0; count < 100; count++) refusalOf(() => scene.use('key:1'));
  scene.time = 1_000;
  assert.equal(passing(scene.use, 'key:1'), 1);
});

test('each credential has its own', () => {
  const { use } = makeScene(2);
  assert.equal(passing(use, 'key:1'), 2);
  assert.equal(passing(use, 'key:2'), 2);
});
