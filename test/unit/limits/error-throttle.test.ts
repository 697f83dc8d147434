// Refusals beyond a burst leave one after the other, and none of them waits for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeErrorThrottle } from '../../../src/limits/error-throttle.ts';

/** A pace on a clock that the test sets, and how long each refusal was told to wait; nobody wakes before `wake`. */
function makeScene() {
  const asleep: (() => void)[] = [];
  const scene = {
    time: 5000,
    delays: [] as number[],
    wake: () => {
      for (const resolve of asleep.splice(0)) resolve();
    },
    refuse: (times: number): Promise<unknown> => Promise.all(Array.from({ length: times }, () => pace.wait())),
  };
  const pace = makeErrorThrottle(
    () => scene.time,
    (milliseconds) => {
      scene.delays.push(milliseconds);
      return new Promise<void>((resolve) => asleep.push(resolve));
    },
  );
  return scene;
}

test('a burst goes unhindered, what comes after it leaves every 2 ms', async () => {
  const scene = makeScene();
  await scene.refuse(100);
  assert.deepEqual(scene.delays, []);
  const late = scene.refuse(3);
  assert.deepEqual(scene.delays, [2, 4, 6]);
  scene.wake();
  await late;
});

test('time without refusals gives the burst back, and no more than that', async () => {
  const scene = makeScene();
  await scene.refuse(100);
  scene.time += 20;
  await scene.refuse(10);
  assert.deepEqual(scene.delays, []);
  scene.time += 3_600_000;
  await scene.refuse(100);
  assert.deepEqual(scene.delays, []);
  void scene.refuse(1);
  assert.deepEqual(scene.delays, [2]);
});

test('no refusal waits longer than 2 s, and the flood leaves no debt beyond that', async () => {
  const scene = makeScene();
  void scene.refuse(5000);
  assert.equal(Math.max(...scene.delays), 2000);
  scene.wake();
  scene.time += 2200;
  const before = scene.delays.length;
  await scene.refuse(100);
  assert.equal(scene.delays.length, before);
});

test('no more than 10,000 wait; the others are refused at once', async () => {
  const scene = makeScene();
  const all = scene.refuse(10_100 + 50);
  assert.equal(scene.delays.length, 10_000);
  scene.wake();
  await all;
});
