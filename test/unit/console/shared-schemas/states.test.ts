// Commands that the console offers for a rollout: exactly those that the server takes in its state.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rollout } from '../../../../console/src/api/types.ts';
import { countEnded, listCommands } from '../../../../console/src/shared-schemas/states.ts';
import { applyCommand, type RolloutState } from '../../../../src/rollouts/state.ts';

const COUNTS = { waiting: 3, running: 2, succeeded: 5, unchanged: 7, failed: 0, skipped: 1 };
const STATES: readonly RolloutState[] = [
  'planning',
  'running',
  'paused',
  'succeeded',
  'finishedWithFailures',
  'cancelled',
];
const POSITION = { wave: 1, lastWave: 2, isConfirmed: false, failures: 0, maxFailures: 10, isWaveOpen: true };

for (const state of STATES)
  for (const failed of [0, 1])
    test(`${state} with ${failed} failed`, () => {
      const progress = { ...POSITION, state, hasFailed: failed > 0 };
      const taken = (['pause', 'resume', 'retry', 'cancel'] as const).filter(
        (command) => applyCommand(progress, command) !== undefined,
      );
      assert.deepEqual(listCommands({ state, counts: { ...COUNTS, failed } } as Rollout), taken);
    });

test('workspaces that are waiting or running have not ended', () => assert.equal(countEnded(COUNTS), 13));
