// The deadline of a request, and how often it may be planned anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestClock } from '../../../src/records/visit.ts';

/** How often the clock lets its request be planned again. */
function plansLeft(clock: RequestClock): number {
  let plans = 0;
  while (clock.plansAgain()) plans++;
  return plans;
}

test('a request is planned again a few times at most', () => {
  assert.equal(plansLeft(new RequestClock(1000)), 3);
});

test('each of many questions has plans of its own, and the deadline of all', () => {
  const clock = new RequestClock(1000, 500);
  const first = clock.part();
  plansLeft(first);
  assert.deepEqual([first.deadline, clock.part().deadline], [1500, 1500]);
  assert.deepEqual([plansLeft(clock.part()), plansLeft(clock)], [3, 3]);
});
