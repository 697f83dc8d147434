// Moves a rollout on, in one transaction that locks it: stores what has ended, goes to the next wave or to the end, and takes
// the next workspaces.
import type { Database, Session } from '../database/pool.ts';
import {
  type Assignment,
  claimWorkspaces,
  type HeldResult,
  releaseLost,
  storeResults,
  takeInFollowers,
} from '../store/rollout-work.ts';
import { type LockedRollout, loadRemainder, lockRollout, skipWaiting, storeRolloutState } from '../store/rollouts.ts';
import { advance, hasEnded, type Progress } from './state.ts';

export interface StepOptions {
  readonly results: readonly HeldResult[];
  /** Workspaces to take at most. */
  readonly limit: number;
  /** Ids of workspaces that this process still works on, though it may have lost the lease. */
  readonly busy: readonly string[];
}

export interface Step {
  readonly rollout: LockedRollout;
  readonly assignments: readonly Assignment[];
}

/** Moves a rollout or a plan on; undefined if it is gone, or if another process does it and there are no results. */
export function step(db: Database, id: string, { results, limit, busy }: StepOptions): Promise<Step | undefined> {
  return db.transaction(async (session) => {
    const locked = await lockRollout(session, id, { skipLocked: results.length === 0 });
    if (locked === undefined) return undefined;
    const failed = results.length === 0 ? 0 : await storeResults(session, id, results);
    const before = { ...locked, failures: locked.failures + failed };
    const rollout = await advanceAsFar(session, before);
    if (failed > 0 || rollout.state !== locked.state || rollout.wave !== locked.wave)
      await storeRolloutState(session, id, rollout);
    if (rollout.state === 'running') {
      const assignments = limit > 0 ? await claimWorkspaces(session, rollout, { limit, busy }) : [];
      return { rollout, assignments };
    }
    await releaseLost(session, rollout);
    // A workspace whose migration could not begin came back after the rollout was cancelled.
    if (rollout.state === 'cancelled') await skipWaiting(session, id);
    return { rollout, assignments: [] };
  });
}

/** Goes from state to state until there is something to wait for. */
async function advanceAsFar(session: Session, start: LockedRollout): Promise<LockedRollout> {
  for (let rollout = start; ; ) {
    const progress: Progress = { ...rollout, ...(await loadRemainder(session, rollout)) };
    const next = advance(progress);
    if (next.state === rollout.state && next.wave === rollout.wave) return rollout;
    // The end is put off while there are workspaces that began to follow meanwhile.
    if (rollout.takesAll && hasEnded(next) && (await takeInFollowers(session, rollout)) > 0) continue;
    rollout = { ...rollout, ...next };
    if (hasEnded(rollout) || rollout.state === 'paused') return rollout;
  }
}
