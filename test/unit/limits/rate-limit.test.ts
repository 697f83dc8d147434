// Requests per minute and credential, on a clock that the tests set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { ApiError } from '../../../src/errors.ts';
import {
  makeBuckets,
  makeRatedBuckets,
  makeRateLimit,
  makeSharedRateLimit,
  makeSharedWorkspaceRateLimit,
  type RateLimit,
} from '../../../src/limits/rate-limit.ts';

function makeScene(perMinute: number) {
  const clock = { time: 0 };
  return Object.assign(clock, { use: makeRateLimit(perMinute, () => clock.time) });
}

/** The refusal of a request. */
const refusedBy = (use: RateLimit): Promise<ApiError> =>
  use('key:1').then(
    () => assert.fail('not refused'),
    (error) => error,
  );

/** How many requests pass before one is refused. */
async function passing(use: RateLimit, credential: string): Promise<number> {
  for (let count = 0; count < 10_000; count++) {
    try {
      await use(credential);
    } catch {
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test('without a limit nothing is refused', async () => {
  const { use } = makeScene(0);
  for (let count = 0; count < 10_000; count++) await use('key:1');
});

test('a minute’s requests may come at once, the next is refused', async () => {
  const { use } = makeScene(60);
  assert.equal(await passing(use, 'key:1'), 60);
});

test('a refusal is 429 with the seconds to wait, in the header and beside the error', async () => {
  for (const [perMinute, seconds] of [
    [60, 1],
    [6, 10],
    [1, 60],
    [6000, 1],
  ] as const) {
    const { use } = makeScene(perMinute);
    await passing(use, 'key:1');
    const refusal = await refusedBy(use);
    assert.equal(refusal.code, 'RATE_LIMITED');
    assert.equal(refusal.status, 429);
    assert.deepEqual(refusal.headers, { 'Retry-After': String(seconds) });
    assert.deepEqual(refusal.members, { retryAfterSeconds: seconds });
  }
});

test('after the wait that was named one request passes', async () => {
  const scene = makeScene(6);
  await passing(scene.use, 'key:1');
  scene.time = 9_999;
  assert.equal(await passing(scene.use, 'key:1'), 0);
  scene.time = 10_001;
  assert.equal(await passing(scene.use, 'key:1'), 1);
});

test('what is not used is saved up for a minute, not longer', async () => {
  const scene = makeScene(60);
  await passing(scene.use, 'key:1');
  scene.time = 30_000;
  assert.equal(await passing(scene.use, 'key:1'), 30);
  scene.time = 3_600_000;
  assert.equal(await passing(scene.use, 'key:1'), 60);
});

test('a refused request costs nothing', async () => {
  const scene = makeScene(60);
  await passing(scene.use, 'key:1');
  for (let count = 0; count < 100; count++) await refusedBy(scene.use);
  scene.time = 1_000;
  assert.equal(await passing(scene.use, 'key:1'), 1);
});

test('each credential has its own', async () => {
  const { use } = makeScene(2);
  assert.equal(await passing(use, 'key:1'), 2);
  assert.equal(await passing(use, 'key:2'), 2);
});

/** Workers that share buckets, as their primary would answer them: later, and in turn. */
function makeWorkers(perMinute: number, count: number) {
  const scene = { time: 0, asked: 0 };
  const now = () => scene.time;
  const take = makeBuckets(perMinute, now);
  const ask = async (credentialId: string, tokens: number) => {
    scene.asked++;
    await turn();
    return take(credentialId, tokens);
  };
  const workers = Array.from({ length: count }, () => makeSharedRateLimit(perMinute, ask, now));
  const use = async (worker: number, credential: string): Promise<boolean> => {
    try {
      await workers[worker % count]?.(credential);
      return true;
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'RATE_LIMITED');
      return false;
    }
  };
  return { scene, use };
}

test('workers together let pass what one process would', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.nat(4), { maxLength: 60 }),
      async (perMinute, count, requests) => {
        const { use } = makeWorkers(perMinute, count);
        const passed = await Promise.all(requests.map((worker) => use(worker, 'key:1')));
        assert.equal(passed.filter((did) => did).length, Math.min(perMinute, requests.length));
      },
    ),
    // Each run makes room for 100,000 credentials in each worker.
    { numRuns: 15 },
  );
});

test('a worker that was refused does not ask again before the wait is over', async () => {
  const { scene, use } = makeWorkers(6, 1);
  for (let index = 0; index < 6; index++) assert.equal(await use(0, 'key:1'), true);
  assert.equal(await use(0, 'key:1'), false);
  const { asked } = scene;
  for (let index = 0; index < 100; index++) assert.equal(await use(0, 'key:1'), false);
  assert.equal(scene.asked, asked);
  scene.time = 10_001;
  assert.equal(await use(0, 'key:1'), true);
});

test('a worker takes a tenth of a second’s tokens at once', async () => {
  const { scene, use } = makeWorkers(60_000, 2);
  for (let index = 0; index < 1000; index++) assert.equal(await use(0, 'key:1'), true);
  assert.equal(scene.asked, 10);
});

test('a worker asks for a workspace that was refused when it has a token again, or another limit', async () => {
  const clock = { time: 0 };
  const now = (): number => clock.time;
  const take = makeRatedBuckets(now);
  let questions = 0;
  const use = makeSharedWorkspaceRateLimit(async (id, perMinute) => {
    questions++;
    return take(id, 1, perMinute);
  }, now);
  const isRefused = (perMinute = 2): Promise<boolean> =>
    use('1', perMinute).then(
      () => false,
      () => true,
    );
  const answers = [];
  for (let request = 0; request < 6; request++) answers.push(await isRefused());
  assert.deepEqual([answers, questions], [[false, false, true, true, true, true], 3]);
  assert.equal(await isRefused(0), true);
  assert.equal(questions, 4);
  clock.time = 30_000;
  assert.equal(await isRefused(), false);
});
