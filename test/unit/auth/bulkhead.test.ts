// Look-ups for strangers: 50 at a time, the others in turn; what fails gives its place back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeBulkhead } from '../../../src/auth/bulkhead.ts';
import { ApiError } from '../../../src/errors.ts';

const LIMIT = { timeout: 300_000 };

/** Look-ups that end when the test says so. */
function makeScene(waitMs = 30_000) {
  const share = makeBulkhead(waitMs);
  const running: (() => void)[] = [];
  return {
    running,
    look: (): Promise<string> =>
      share(
        () =>
          new Promise<string>((resolve) => {
            running.push(() => resolve('found'));
          }),
      ),
    share,
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('50 look-ups run at once, and the next begins when one has ended', LIMIT, async () => {
  const { look, running } = makeScene();
  const all = Array.from({ length: 60 }, look);
  await turn();
  assert.equal(running.length, 50);
  running[0]?.();
  await turn();
  assert.equal(running.length, 51);
  for (let at = 1; at < 60; at++) {
    running[at]?.();
    await turn();
  }
  assert.deepEqual(new Set(await Promise.all(all)), new Set(['found']));
});

test('a look-up that fails gives its place back', LIMIT, async () => {
  const { look, running, share } = makeScene();
  const failing = Array.from({ length: 120 }, () => share(() => Promise.reject(new Error('away'))));
  const outcomes = await Promise.allSettled(failing);
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 120);
  const all = Array.from({ length: 50 }, look);
  await turn();
  assert.equal(running.length, 50);
  for (const end of running) end();
  await Promise.all(all);
});

test('who has waited too long is told to come again, and takes no place', LIMIT, async () => {
  const { look, running } = makeScene(10);
  const first = Array.from({ length: 50 }, look);
  const late = await look().catch((error: unknown) => error);
  assert.ok(late instanceof ApiError && late.status === 503);
  for (const end of running) end();
  await Promise.all(first);
  const again = Array.from({ length: 50 }, look);
  await turn();
  assert.equal(running.length, 100);
  for (const end of running) end();
  await Promise.all(again);
});
