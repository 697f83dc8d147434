// How many workspaces each wave of a rollout has.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { countShare, DEFAULT_WAVES, planWaves, type Share, type Waves } from '../../../src/rollouts/waves.ts';

test('a percentage is rounded up, and is of all workspaces', () => {
  const shares: readonly [Share, number, number][] = [
    [3, 100, 3],
    ['5%', 100, 5],
    ['7%', 100, 7],
    ['5%', 101, 6],
    ['1%', 3, 1],
    ['100%', 17, 17],
    ['0%', 17, 0],
    ['5%', 0, 0],
  ];
  for (const [share, total, count] of shares) assert.equal(countShare(share, total), count, `${share} of ${total}`);
});

test('waves end where their sizes say, and the last has what is left', () => {
  const plans: readonly [Waves, number, number, readonly number[]][] = [
    [DEFAULT_WAVES, 30, 30, [1, 11, 30]],
    [DEFAULT_WAVES, 11, 11, [1, 11]],
    [DEFAULT_WAVES, 5, 5, [1, 5]],
    [DEFAULT_WAVES, 1, 1, [1]],
    [[2], 5, 5, [2, 5]],
    [['10%', '50%'], 20, 20, [2, 12, 20]],
    // Ten of twenty have the version: the waves are filled by the others.
    [['25%', 'rest'], 20, 10, [5, 10]],
    [['rest'], 3, 3, [3]],
    [[10, 10], 20, 20, [10, 20]],
    [DEFAULT_WAVES, 7, 0, [0]],
  ];
  for (const [waves, total, changing, ends] of plans)
    assert.deepEqual(planWaves(waves, total, changing), ends, `${waves} of ${changing}`);
});

test('every workspace is in one wave, and no wave is empty', () => {
  const share = fc.oneof(
    fc.integer({ min: 1, max: 50 }),
    fc.integer({ min: 1, max: 100 }).map((percent): Share => `${percent}%`),
  );
  fc.assert(
    fc.property(
      fc.array(share, { minLength: 1, maxLength: 6 }),
      fc.nat(200),
      fc.nat(200),
      (waves, changing, others) => {
        const ends = planWaves(waves, changing + others, changing);
        assert.equal(ends.at(-1), changing);
        if (changing > 0) assert.ok(ends.every((end, index) => end > (ends[index - 1] ?? 0)));
      },
    ),
  );
});
