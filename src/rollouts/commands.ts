// Commands of the operator: makes rollouts and their plans, pauses, resumes and cancels them, and tries failed workspaces again.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { Actor } from '../store/activity.ts';
import {
  type Choice,
  countFollowers,
  insertRollout,
  loadRemainder,
  lockRollout,
  retryFailed,
  skipWaiting,
  storeRolloutState,
} from '../store/rollouts.ts';
import { applyCommand, type RolloutCommand } from './state.ts';
import { countShare, planWaves, type Share, type Waves } from './waves.ts';

export interface RolloutRequest {
  readonly choice: Choice;
  readonly version: number;
  readonly waves: Waves;
  readonly pause: 'none' | 'confirm';
  readonly maxFailures: Share;
  readonly concurrency: number;
  readonly allowDestructive: boolean;
  readonly skipConflicts: boolean;
}

/** Stores a rollout, which a process begins at once; returns its id. 409 while a rollout of the schema has not ended. */
export async function createRollout(session: Session, request: RolloutRequest, createdBy: Actor): Promise<string> {
  const { choice, version, waves, pause, maxFailures, concurrency, allowDestructive, skipConflicts } = request;
  const { total, changing } = await countFollowers(session, choice, version);
  return insertRollout(session, {
    choice,
    version,
    isPlan: false,
    waveEnds: planWaves(waves, total, changing),
    isConfirmed: pause === 'confirm',
    maxFailures: countShare(maxFailures, total),
    concurrency,
    allowDestructive,
    skipConflicts,
    createdBy,
  });
}

// The most: planning holds no locks.
const PLAN_CONCURRENCY = 16;
const MAX_INT4 = 2_147_483_647;

/** Stores a plan of a rollout; returns its id. */
export const createPlan = (session: Session, choice: Choice, version: number, createdBy: Actor): Promise<string> =>
  insertRollout(session, {
    choice,
    version,
    isPlan: true,
    waveEnds: [MAX_INT4],
    isConfirmed: false,
    maxFailures: MAX_INT4,
    concurrency: PLAN_CONCURRENCY,
    allowDestructive: false,
    skipConflicts: false,
    createdBy,
  });

/** Does what the operator asks for; false if there is no such rollout. 409 where its state does not allow it. */
export async function command(session: Session, id: string, what: RolloutCommand): Promise<boolean> {
  const rollout = await lockRollout(session, id);
  if (rollout === undefined || rollout.isPlan) return false;
  const progress = { ...rollout, ...(await loadRemainder(session, rollout)) };
  const next = applyCommand(progress, what);
  if (next === undefined) {
    const reason = what === 'retry' && !progress.hasFailed ? 'none of its workspaces has failed' : STATES[what];
    throw conflict('ROLLOUT_STATE', `Rollout ${id} is ${rollout.state}: ${reason}`);
  }
  if (what === 'retry') await retryFailed(session, id);
  if (what === 'cancel') await skipWaiting(session, id);
  const failures = what === 'resume' || what === 'retry' ? 0 : rollout.failures;
  await storeRolloutState(session, id, { ...next, failures });
  return true;
}

const STATES: Readonly<Record<RolloutCommand, string>> = {
  pause: 'one that is planning or running can be paused',
  resume: 'one that is paused can be resumed',
  retry: 'failed workspaces are tried again when it is paused or has finished',
  cancel: 'one that has not ended can be cancelled',
};
