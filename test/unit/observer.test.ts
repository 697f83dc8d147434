// What is remembered for a moment, and what the log tells of an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getRootCause, makeTimestamp, memoize } from '../../src/observer.ts';

function makeScene() {
  const scene = { time: 0, works: 0, fails: false, hold: undefined as Promise<void> | undefined };
  const ask = memoize(
    async () => {
      const number = ++scene.works;
      await scene.hold;
      if (scene.fails) throw new Error('away');
      return number;
    },
    1000,
    () => scene.time,
  );
  return { scene, ask };
}

test('an answer is given again for as long as it is kept', async () => {
  const { scene, ask } = makeScene();
  assert.equal(await ask(), 1);
  scene.time = 999;
  assert.equal(await ask(), 1);
  scene.time = 1000;
  assert.equal(await ask(), 2);
});

test('whoever asks while an answer is on its way gets that one, however long it takes', async () => {
  const { scene, ask } = makeScene();
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.hold = promise;
  const first = ask();
  scene.time = 60_000;
  const second = ask();
  resolve();
  assert.deepEqual(await Promise.all([first, second]), [1, 1]);
  assert.equal(await ask(), 2);
});

test('a failure is told to those who waited, and not kept', async () => {
  const { scene, ask } = makeScene();
  scene.fails = true;
  const outcomes = await Promise.allSettled([ask(), ask()]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(scene.works, 1);
  scene.fails = false;
  assert.equal(await ask(), 2);
});

test('the time of a log line is read by people and by programs', () => {
  let now = Date.UTC(2026, 10, 25, 23, 59, 59, 7);
  const timestamp = makeTimestamp(() => now);
  for (const step of [0, 0, 992, 1, 1000, -2500, 86_400_000]) {
    now += step;
    assert.equal(JSON.parse(`{"level":30${timestamp()}}`).time, new Date(now).toISOString());
  }
});

/** An error as the driver makes it, with a record's value in its message. */
function databaseError(): Error {
  return Object.assign(new Error('invalid input syntax for type integer: "secret"'), {
    code: '22P02',
    routine: 'pg_strtoint32',
  });
}

for (const [what, error] of [
  ['itself', databaseError()],
  ['as a cause', new Error('the migration failed', { cause: databaseError() })],
  ['as the cause of a cause', new Error('a', { cause: new Error('b', { cause: databaseError() }) })],
] as const) {
  test(`an error of the database tells no value: ${what}`, () => {
    const told = getRootCause(error);
    assert.ok(!JSON.stringify(told).includes('secret'), JSON.stringify(told));
    assert.partialDeepStrictEqual(told, { type: 'DatabaseError', code: '22P02', routine: 'pg_strtoint32' });
  });
}

test('any other error is told as it is', () => {
  const error = new TypeError('a mistake of ours');
  assert.equal(getRootCause(error), error);
});
