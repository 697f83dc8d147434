// What is learned of the time of a statement, and when it changes pools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  learnAlone,
  learnWork,
  makeLearner,
  makeServiceTimes,
  type ServiceTime,
} from '../../../src/database/service-time.ts';

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
    const time: ServiceTime = { aloneMs: undefined, workMs: undefined, isQuick: undefined, answerBytes: undefined };
    for (const milliseconds of runs) learnAlone(time, milliseconds);
    assert.equal(time.isQuick, isQuick);
  });
}

test('a quicker run counts whole, a slower one a tenth', () => {
  const time: ServiceTime = { aloneMs: undefined, workMs: undefined, isQuick: undefined, answerBytes: undefined };
  for (const milliseconds of [10, 5, 15]) learnAlone(time, milliseconds);
  assert.equal(time.aloneMs, 6);
});

test('a statement that is never alone shows that it is slow, too', () => {
  const time: ServiceTime = { aloneMs: undefined, workMs: undefined, isQuick: true, answerBytes: undefined };
  learnWork(time, 300);
  assert.equal(time.isQuick, false);
});

test('one run that was held up does not make a quick statement slow', () => {
  const time: ServiceTime = { aloneMs: 0.2, workMs: 0.1, isQuick: true, answerBytes: undefined };
  learnWork(time, 100);
  assert.equal(time.isQuick, true);
});

test('a statement is known by its name, and by its text when it has none', () => {
  const times = makeServiceTimes();
  const named = times({ name: 's1', text: 'select 1' }, 'unknown');
  assert.equal(times({ name: 's1', text: 'select 1' }, 'unknown'), named);
  assert.notEqual(times({ name: 's2', text: 'select 1' }, 'unknown'), named);
  const unnamed = times({ text: 'select 2' }, 'unknown');
  assert.equal(times({ text: 'select 2' }, 'unknown'), unnamed);
  assert.notEqual(times({ text: 'select 3' }, 'unknown'), unnamed);
});

test('a statement of which nothing is expected is not learned; one that is expected to be quick is so until it shows otherwise', () => {
  const times = makeServiceTimes();
  assert.equal(times({ text: 'select 1' }, undefined), undefined);
  assert.equal(times({ text: 'select 1' }, 'unknown')?.isQuick, undefined);
  const time = times({ text: 'select 2' }, 'quick') as ServiceTime;
  assert.equal(time.isQuick, true);
  learnAlone(time, 30);
  assert.equal(times({ text: 'select 2' }, 'quick')?.isQuick, false);
});

test('of too many statements, or too long ones, the one that was asked for longest ago is forgotten', () => {
  const times = makeServiceTimes();
  const slowOf = (name: string, text = ''): void => learnAlone(times({ name, text }, 'unknown') as ServiceTime, 50);
  slowOf('first');
  slowOf('second');
  for (let index = 0; index < 9998; index++) slowOf(`s${index}`);
  assert.equal(times({ name: 'first', text: '' }, 'unknown')?.isQuick, false);
  slowOf('one more');
  assert.equal(times({ name: 'first', text: '' }, 'unknown')?.isQuick, false);
  assert.equal(times({ name: 'second', text: '' }, 'unknown')?.isQuick, undefined);

  const long = (index: number): string => String(index).padEnd(1_000_000, 'x');
  for (let index = 0; index < 9; index++) learnAlone(times({ text: long(index) }, 'unknown') as ServiceTime, 50);
  assert.equal(times({ text: long(8) }, 'unknown')?.isQuick, false);
  assert.equal(times({ text: long(0) }, 'unknown')?.isQuick, undefined);
});

const unknown = (): ServiceTime => ({
  aloneMs: undefined,
  workMs: undefined,
  isQuick: undefined,
  answerBytes: undefined,
});

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
    const time = unknown();
    const learn = makeLearner();
    for (const [isAlone, took, sinceLast] of runs) learn(time, isAlone, took, sinceLast);
    assert.equal(time.aloneMs, milliseconds);
    assert.ok(Math.abs((time.workMs as number) - work) < 1e-9, String(time.workMs));
  });
}

test('a way that becomes longer is learned after some thousand answers, and statements do not count it as theirs', () => {
  const learn = makeLearner();
  learn(undefined, true, 1, 500);
  for (let answers = 0; answers < 20_000; answers++) learn(undefined, true, 3, 500);
  const time = unknown();
  learn(time, true, 3.5, 500);
  assert.ok(Math.abs((time.workMs as number) - (3.5 - 3 * 1.0001)) < 1e-9, String(time.workMs));
});
