// The states of a rollout as values: which state follows when workspaces have ended, and what a command of the operator does.

export type RolloutState = 'planning' | 'running' | 'paused' | 'succeeded' | 'finishedWithFailures' | 'cancelled';
export type RolloutCommand = 'pause' | 'resume' | 'retry' | 'cancel';

/** Facts that the next state follows from. */
export interface Progress {
  readonly state: RolloutState;
  /** The current wave, from 1. */
  readonly wave: number;
  readonly lastWave: number;
  /** Whether each wave but the first begins with `resume`. */
  readonly isConfirmed: boolean;
  /** Workspaces that have failed since the start, or since the last `resume` or `retry`. */
  readonly failures: number;
  readonly maxFailures: number;
  /** Whether workspaces of the waves up to the current one are waiting or running. */
  readonly isWaveOpen: boolean;
  /** Whether any workspace is in the state `failed`. */
  readonly hasFailed: boolean;
}

/** State and wave. */
export type Position = Pick<Progress, 'state' | 'wave'>;

export const hasEnded = ({ state }: Pick<Progress, 'state'>): boolean =>
  state === 'succeeded' || state === 'finishedWithFailures' || state === 'cancelled';

/** Returns state and wave that follow from what has ended; the same when nothing follows. */
export function advance(progress: Progress): Position {
  const { state, wave, lastWave, isConfirmed, failures, maxFailures, isWaveOpen, hasFailed } = progress;
  if (hasEnded(progress)) return { state, wave };
  if (!isWaveOpen && wave >= lastWave) return { state: hasFailed ? 'finishedWithFailures' : 'succeeded', wave };
  if (state === 'paused' || failures > maxFailures) return { state: 'paused', wave };
  if (isWaveOpen) return { state: 'running', wave };
  return isConfirmed ? { state: 'paused', wave } : { state: 'running', wave: wave + 1 };
}

/** Returns state and wave after a command, or undefined if the state does not allow it. */
export function applyCommand(progress: Progress, command: RolloutCommand): Position | undefined {
  const { state, wave, lastWave, isWaveOpen, hasFailed } = progress;
  switch (command) {
    case 'pause':
      return state === 'planning' || state === 'running' ? { state: 'paused', wave } : undefined;
    case 'resume':
      // A wave that has ended was all that the rollout waited for.
      return state === 'paused'
        ? { state: 'running', wave: isWaveOpen ? wave : Math.min(lastWave, wave + 1) }
        : undefined;
    case 'retry':
      return hasFailed && (state === 'paused' || state === 'finishedWithFailures')
        ? { state: 'running', wave }
        : undefined;
    case 'cancel':
      return hasEnded(progress) ? undefined : { state: 'cancelled', wave };
    default:
      return command satisfies never;
  }
}
