// Which state of a rollout follows which.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  advance,
  applyCommand,
  hasEnded,
  type Progress,
  type RolloutCommand,
  type RolloutState,
} from '../../../src/rollouts/state.ts';

const START: Progress = {
  state: 'running',
  wave: 1,
  lastWave: 3,
  isConfirmed: false,
  failures: 0,
  maxFailures: 2,
  isWaveOpen: true,
  hasFailed: false,
};

test('what has ended leads to the next wave, a pause or the end', () => {
  const cases: readonly [string, Partial<Progress>, RolloutState, number][] = [
    ['the start', { state: 'planning' }, 'running', 1],
    ['nothing to do at all', { state: 'planning', lastWave: 1, isWaveOpen: false }, 'succeeded', 1],
    ['a wave that goes on', {}, 'running', 1],
    ['a wave that has ended', { isWaveOpen: false }, 'running', 2],
    ['a wave that has ended, with `confirm`', { isWaveOpen: false, isConfirmed: true }, 'paused', 1],
    ['the last wave', { isWaveOpen: false, wave: 3 }, 'succeeded', 3],
    ['the last wave, with `confirm`', { isWaveOpen: false, wave: 3, isConfirmed: true }, 'succeeded', 3],
    ['the last wave, with a failure', { isWaveOpen: false, wave: 3, hasFailed: true }, 'finishedWithFailures', 3],
    ['as many failures as may be', { failures: 2, hasFailed: true }, 'running', 1],
    ['more failures than may be', { failures: 3, hasFailed: true }, 'paused', 1],
    ['too many failures at the end of a wave', { failures: 3, hasFailed: true, isWaveOpen: false }, 'paused', 1],
    [
      'too many failures at the end',
      { failures: 3, hasFailed: true, isWaveOpen: false, wave: 3 },
      'finishedWithFailures',
      3,
    ],
    ['a pause', { state: 'paused' }, 'paused', 1],
    ['a pause at the end of a wave', { state: 'paused', isWaveOpen: false }, 'paused', 1],
    ['a pause in which the last one ends', { state: 'paused', isWaveOpen: false, wave: 3 }, 'succeeded', 3],
    ['a cancelled one', { state: 'cancelled', isWaveOpen: false, wave: 3 }, 'cancelled', 3],
  ];
  for (const [name, part, state, wave] of cases)
    assert.deepEqual(advance({ ...START, ...part }), { state, wave }, name);
});

test('a command is for some states only', () => {
  const none = undefined;
  const cases: readonly [RolloutCommand, Partial<Progress>, RolloutState | undefined, number?][] = [
    ['pause', { state: 'planning' }, 'paused'],
    ['pause', {}, 'paused'],
    ['pause', { state: 'paused' }, none],
    ['pause', { state: 'succeeded' }, none],
    ['resume', { state: 'paused' }, 'running'],
    ['resume', { state: 'paused', isWaveOpen: false }, 'running', 2],
    ['resume', {}, none],
    ['resume', { state: 'cancelled' }, none],
    ['retry', { state: 'paused', hasFailed: true }, 'running'],
    ['retry', { state: 'paused', hasFailed: true, isWaveOpen: false }, 'running'],
    ['retry', { state: 'finishedWithFailures', hasFailed: true, wave: 3 }, 'running', 3],
    ['retry', { state: 'paused' }, none],
    ['retry', { hasFailed: true }, none],
    ['retry', { state: 'succeeded' }, none],
    ['retry', { state: 'cancelled', hasFailed: true }, none],
    ['cancel', { state: 'planning' }, 'cancelled'],
    ['cancel', {}, 'cancelled'],
    ['cancel', { state: 'paused' }, 'cancelled'],
    ['cancel', { state: 'finishedWithFailures', hasFailed: true }, none],
    ['cancel', { state: 'cancelled' }, none],
  ];
  for (const [command, part, state, wave = 1] of cases)
    assert.deepEqual(
      applyCommand({ ...START, ...part }, command),
      state && { state, wave },
      `${command} of ${JSON.stringify(part)}`,
    );
});

const STATES = ['planning', 'running', 'paused', 'succeeded', 'finishedWithFailures', 'cancelled'] as const;
const PROGRESS: fc.Arbitrary<Progress> = fc.record({
  state: fc.constantFrom(...STATES),
  wave: fc.constant(1),
  lastWave: fc.integer({ min: 1, max: 4 }),
  isConfirmed: fc.boolean(),
  failures: fc.nat(4),
  maxFailures: fc.nat(4),
  isWaveOpen: fc.boolean(),
  hasFailed: fc.boolean(),
});

test('whatever ends, a rollout comes to its end by resume alone, and no wave is passed over', () => {
  fc.assert(
    fc.property(PROGRESS, (first) => {
      let progress = first;
      for (let steps = 0; !hasEnded(progress); steps++) {
        assert.ok(steps < 20, 'goes on for ever');
        const next = advance(progress);
        assert.ok(next.wave === progress.wave || (next.wave === progress.wave + 1 && !progress.isWaveOpen));
        const resumed = next.state === 'paused' ? applyCommand({ ...progress, ...next }, 'resume') : undefined;
        // Each turn ends what waits.
        const position = resumed ?? next;
        progress = { ...progress, ...position, failures: 0, isWaveOpen: position.wave > progress.wave };
      }
      assert.ok(first.state === progress.state || progress.wave === progress.lastWave);
    }),
  );
});
