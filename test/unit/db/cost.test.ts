// What is learned of a statement, and when it changes lanes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeConduct } from '../../../src/db/conduct.ts';
import { hold, isHeld, makeCosts, makeLearner, note, noteWork, type StatementCost } from '../../../src/db/cost.ts';

const cases: readonly [what: string, runs: readonly number[], isQuick: boolean | undefined][] = [
  ['nothing is known before the first run', [], undefined],
  ['one quick run', [1], true],
  ['a first run of less than 20 ms', [19], true],
  ['one slow run', [20], false],
  ['a slow run of a quick statement', [1, 100], true],
  ['many slow runs of a quick statement', [1, 100, 100, 100], false],
  ['a slow statement that is a little quicker', [30, 15], false],
  ['a slow statement that is much quicker', [30, 4], true],
  ['a quick one that becomes a little slower', [9, 15, 15, 15, 15, 15, 15], true],
];

for (const [what, runs, isQuick] of cases) {
  test(what, () => {
    const cost: StatementCost = { milliseconds: undefined, work: undefined, isQuick: undefined };
    for (const milliseconds of runs) note(cost, milliseconds);
    assert.equal(cost.isQuick, isQuick);
  });
}

test('a quicker run counts whole, a slower one a tenth', () => {
  const cost: StatementCost = { milliseconds: undefined, work: undefined, isQuick: undefined };
  for (const milliseconds of [10, 5, 15]) note(cost, milliseconds);
  assert.equal(cost.milliseconds, 6);
});

test('a statement that is never alone shows that it is slow, too', () => {
  const cost: StatementCost = { milliseconds: undefined, work: undefined, isQuick: true };
  noteWork(cost, 300);
  assert.equal(cost.isQuick, false);
});

test('one run that was held up does not make a quick statement slow', () => {
  const cost: StatementCost = { milliseconds: 0.2, work: 0.1, isQuick: true };
  noteWork(cost, 100);
  assert.equal(cost.isQuick, true);
});

test('a statement that broke its promise is held twice as long each time, and forgiven after a while', () => {
  const cost: StatementCost = { milliseconds: 1, work: 1, isQuick: true };
  const limits = { first: 1000, most: 3000 };
  assert.equal(isHeld(cost, 0), false);
  const holds = [0, 1500, 4000, 8000].map((now) => {
    hold(cost, limits, now);
    assert.equal(isHeld(cost, now + 1), true);
    return cost.hold;
  });
  assert.deepEqual(holds, [1000, 2000, 3000, 3000]);
  assert.equal(isHeld(cost, 8000 + 3000), false);
  hold(cost, limits, 8000 + 3000 + 30_001);
  assert.equal(cost.hold, 1000);
});

test('a tenant is held after three faults in half a minute, and after a hold at the first', () => {
  const conduct = makeConduct();
  for (const now of [0, 10, 40_000, 40_010]) conduct.fault('a', now);
  assert.equal(conduct.isHeld('a', 40_010), false);
  conduct.fault('a', 40_020);
  assert.equal(conduct.isHeld('a', 40_021), true);
  assert.equal(conduct.isHeld('b', 40_021), false);
  assert.equal(conduct.isHeld('a', 50_021), false);
  conduct.fault('a', 50_100);
  assert.equal(conduct.isHeld('a', 50_100 + 19_000), true);
});

test('a statement is known by its name, and by its text when it has none', () => {
  const costs = makeCosts();
  const named = costs.of({ name: 's1', text: 'select 1' }, 'unknown');
  assert.equal(costs.of({ name: 's1', text: 'select 1' }, 'unknown'), named);
  assert.notEqual(costs.of({ name: 's2', text: 'select 1' }, 'unknown'), named);
  const unnamed = costs.of({ text: 'select 2' }, 'unknown');
  assert.equal(costs.of({ text: 'select 2' }, 'unknown'), unnamed);
  assert.notEqual(costs.of({ text: 'select 3' }, 'unknown'), unnamed);
});

test('a statement of which nothing is expected is not learned; one that is expected to be quick is so until it shows otherwise', () => {
  const costs = makeCosts();
  assert.equal(costs.of({ text: 'select 1' }, undefined), undefined);
  assert.equal(costs.of({ text: 'select 1' }, 'unknown')?.isQuick, undefined);
  const cost = costs.of({ text: 'select 2' }, 'quick') as StatementCost;
  assert.equal(cost.isQuick, true);
  note(cost, 30);
  assert.equal(costs.of({ text: 'select 2' }, 'quick')?.isQuick, false);
});

test('of too many statements, or too long ones, the one that was asked for longest ago is forgotten', () => {
  const costs = makeCosts();
  const slowOf = (name: string, text = ''): void => note(costs.of({ name, text }, 'unknown') as StatementCost, 50);
  slowOf('first');
  slowOf('second');
  for (let index = 0; index < 9998; index++) slowOf(`s${index}`);
  assert.equal(costs.of({ name: 'first', text: '' }, 'unknown')?.isQuick, false);
  slowOf('one more');
  assert.equal(costs.of({ name: 'first', text: '' }, 'unknown')?.isQuick, false);
  assert.equal(costs.of({ name: 'second', text: '' }, 'unknown')?.isQuick, undefined);

  const long = (index: number): string => String(index).padEnd(1_000_000, 'x');
  for (let index = 0; index < 9; index++) note(costs.of({ text: long(index) }, 'unknown') as StatementCost, 50);
  assert.equal(costs.of({ text: long(8) }, 'unknown')?.isQuick, false);
  assert.equal(costs.of({ text: long(0) }, 'unknown')?.isQuick, undefined);
});

const unknown = (): StatementCost => ({ milliseconds: undefined, work: undefined, isQuick: undefined });

for (const [what, runs, milliseconds, work] of [
  ['one that is alone tells its own time, and nothing of its work but that', [[true, 3, 500]], 3, 0.02],
  [
    'the quickest answer is the way there and back, and the rest is work',
    [
      [true, 1, 500],
      [true, 4, 500],
    ],
    1.3,
    0.02 * 0.9 + (4 - 1 * 1.0001) * 0.1,
  ],
  ['one among others began when the one before it ended', [[false, 9, 2]], undefined, 2],
  ['or when it was sent, if that was later', [[false, 2, 9]], undefined, 2],
  ['none takes less than a fiftieth of a millisecond', [[false, 2, 0]], undefined, 0.02],
] as const) {
  test(`of statements on one connection ${what}`, () => {
    const cost = unknown();
    const learn = makeLearner();
    for (const [isAlone, took, sinceLast] of runs) learn(cost, isAlone, took, sinceLast);
    assert.equal(cost.milliseconds, milliseconds);
    assert.ok(Math.abs((cost.work as number) - work) < 1e-9, String(cost.work));
  });
}

test('a way that becomes longer is learned after some thousand answers, and statements do not count it as theirs', () => {
  const learn = makeLearner();
  learn(undefined, true, 1, 500);
  for (let answers = 0; answers < 20_000; answers++) learn(undefined, true, 3, 500);
  const cost = unknown();
  learn(cost, true, 3.5, 500);
  assert.ok(Math.abs((cost.work as number) - (3.5 - 3 * 1.0001)) < 1e-9, String(cost.work));
});
