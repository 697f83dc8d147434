// States of a rollout in words, and what an operator may do in each. Pure.
import type { Rollout, RolloutWorkspace } from '../api/types.ts';
import type { RolloutCommand, RolloutState } from './shared-schemas-api.ts';

export const STATE_WORDS: Readonly<Record<RolloutState, string>> = {
  planning: 'planning',
  running: 'running',
  paused: 'paused',
  succeeded: 'succeeded',
  finishedWithFailures: 'finished with failures',
  cancelled: 'cancelled',
};

/** States in which a rollout goes on, or waits. */
export const OPEN_STATES: ReadonlySet<RolloutState> = new Set(['planning', 'running', 'paused']);

export const STATE_COLORS: Readonly<Record<RolloutState, string>> = {
  planning: 'gray',
  running: 'accent',
  paused: 'yellow',
  succeeded: 'green',
  finishedWithFailures: 'red',
  cancelled: 'gray',
};

export type WorkspaceState = RolloutWorkspace['state'];

/** States of workspaces with their colours, in the order of a bar. */
export const WORKSPACE_COLORS: Readonly<Record<WorkspaceState, string>> = {
  succeeded: 'green',
  unchanged: 'gray',
  skipped: 'gray',
  failed: 'red',
  running: 'accent',
  waiting: 'gray',
};

export const WORKSPACE_STATES = Object.keys(WORKSPACE_COLORS) as readonly WorkspaceState[];

export type Counts = Rollout['counts'];

export const countAll = (counts: Counts): number => WORKSPACE_STATES.reduce((sum, state) => sum + counts[state], 0);

/** Returns how many workspaces a rollout is done with. */
export const countEnded = (counts: Counts): number => countAll(counts) - counts.waiting - counts.running;

/** Lists the commands that the state of a rollout allows. */
export function listCommands({ state, counts }: Rollout): readonly RolloutCommand[] {
  const mayRetry = counts.failed > 0 && (state === 'paused' || state === 'finishedWithFailures');
  return [
    ...(state === 'planning' || state === 'running' ? (['pause'] as const) : []),
    ...(state === 'paused' ? (['resume'] as const) : []),
    ...(mayRetry ? (['retry'] as const) : []),
    ...(state === 'planning' || state === 'running' || state === 'paused' ? (['cancel'] as const) : []),
  ];
}
