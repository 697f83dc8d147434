// A clock that counts the time that the machine slept. Both clocks are numbers that the tests set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeClock } from '../../../src/store/process-registry.ts';

function makeScene() {
  const scene = { monotonic: 1000, wall: 50_000, now: () => 0 };
  scene.now = makeClock(
    () => scene.monotonic,
    () => scene.wall,
  );
  return scene;
}

test('it goes as the monotonic clock does, however the wall clock is trimmed', () => {
  const scene = makeScene();
  for (let step = 0; step < 100; step++) {
    scene.monotonic += 10;
    scene.wall += step % 2 === 0 ? 9 : 10;
  }
  assert.equal(scene.now(), 2000);
});

test('time that only the wall clock has counted is added, each time', () => {
  const scene = makeScene();
  scene.wall += 60_000;
  assert.equal(scene.now(), 61_000);
  assert.equal(scene.now(), 61_000);
  scene.monotonic += 5;
  scene.wall += 30_005;
  assert.equal(scene.now(), 91_005);
});

test('a wall clock that is set back takes nothing away, and what it sleeps afterwards counts', () => {
  const scene = makeScene();
  scene.wall -= 3_600_000;
  assert.equal(scene.now(), 1000);
  scene.monotonic += 1;
  scene.wall += 5001;
  assert.equal(scene.now(), 6001);
});
