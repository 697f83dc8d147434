// The part of a process that works on rollouts and their plans: takes leases of workspaces, works on as many at once as it
// may, and stores the results.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import {
  type Assignment,
  type HeldResult,
  loadOpenRollouts,
  type Result,
  renewRolloutLeases,
  storeMigration,
} from '../store/rollout-work.ts';
import { step } from './step.ts';
import { type Task, type WorkDeps, workOn } from './work.ts';

export interface RolloutWorker {
  /** Moves all rollouts on. Called every second, and when one was made or resumed. */
  readonly poll: () => Promise<void>;
  /** Prolongs the leases of this process. Called every few seconds. */
  readonly renew: () => Promise<void>;
  /** Takes nothing more, waits for the work under way, which the end of the migrations interrupts, and stores its results. */
  readonly close: (graceMs: number) => Promise<void>;
  readonly metrics: readonly Metric[];
}

export interface WorkerDeps extends Omit<WorkDeps, 'onStarted'> {
  readonly log: Record<'info', (message: string, facts: Record<string, unknown>) => void>;
}

/** Workspaces that a process works on at once, of all rollouts. */
export const PARALLEL = 4;

interface Work {
  readonly task: Task;
  readonly end: Promise<void>;
}

export function makeRolloutWorker({ log, ...services }: WorkerDeps): RolloutWorker {
  const db: Database = services.databases.directory;
  const running = new Map<string, Work>();
  /** Results that are not stored yet, by rollout. */
  const results = new Map<string, readonly HeldResult[]>();
  const steps = new Map<string, Promise<void>>();
  /** Rollouts with something to do after the step under way. */
  const waiting = new Set<string>();
  let open: readonly string[] = [];
  let isEnding = false;
  const counts: Record<'succeeded' | 'failed', number> = { succeeded: 0, failed: 0 };
  const deps: WorkDeps = {
    ...services,
    onStarted: (assignment, id) => {
      storeMigration(db, assignment, id).catch(() => undefined);
    },
  };

  const listRunning = (rolloutId: string): readonly Work[] =>
    [...running.values()].filter(({ task }) => task.rollout.id === rolloutId);

  /** Returns how many more workspaces may be taken: rollouts of several schemas share what a process does at once. */
  function countFree(rolloutId: string): number {
    if (isEnding) return 0;
    const share = Math.max(1, Math.floor(PARALLEL / Math.max(1, open.length)));
    return Math.min(PARALLEL - running.size, share - listRunning(rolloutId).length);
  }

  function start(task: Task): void {
    const { assignment } = task;
    const end = workOn(deps, task).then((result) => {
      running.delete(assignment.lease);
      note(task, result);
      const { rolloutId } = assignment;
      results.set(rolloutId, [...(results.get(rolloutId) ?? []), { assignment, ...result }]);
      // Poll tries again what could not be stored.
      return moveOn(rolloutId).catch(() => undefined);
    });
    running.set(assignment.lease, { task, end });
  }

  function note({ rollout, assignment }: Task, { state, error }: Result): void {
    if (rollout.isPlan || (state !== 'succeeded' && state !== 'failed')) return;
    counts[state]++;
    if (state === 'failed') log.info('a workspace of a rollout has failed', describe(assignment, error?.code));
  }

  /** Steps of one rollout follow each other; results that arrive meanwhile are stored together by the next. */
  function moveOn(rolloutId: string): Promise<void> {
    waiting.add(rolloutId);
    const current = steps.get(rolloutId);
    if (current !== undefined) return current;
    const all = takeSteps(rolloutId).finally(() => steps.delete(rolloutId));
    steps.set(rolloutId, all);
    return all;
  }

  async function takeSteps(rolloutId: string): Promise<void> {
    while (waiting.delete(rolloutId)) {
      const ended = results.get(rolloutId) ?? [];
      results.delete(rolloutId);
      const busy = listRunning(rolloutId).map(({ task }) => task.assignment.workspaceId);
      const next = await step(db, rolloutId, { results: ended, limit: countFree(rolloutId), busy }).catch((error) => {
        results.set(rolloutId, [...ended, ...(results.get(rolloutId) ?? [])]);
        throw error;
      });
      for (const assignment of next?.assignments ?? []) start({ rollout: next!.rollout, assignment });
    }
  }

  return {
    async poll() {
      open = [...new Set([...(await loadOpenRollouts(db)), ...results.keys()])];
      for (const id of open) await moveOn(id);
    },
    async renew() {
      const held = [...running.values()].map(({ task }) => task.assignment);
      if (held.length > 0) await renewRolloutLeases(db, held);
    },
    async close(graceMs) {
      isEnding = true;
      const all = Promise.all([...running.values()].map(({ end }) => end));
      await Promise.race([all, sleep(graceMs, undefined, { ref: false })]);
    },
    metrics: [
      {
        name: 'wda_rollouts_running',
        help: 'Workspaces of rollouts that this process works on',
        read: () => running.size,
      },
      {
        name: 'wda_rollout_workspaces_total',
        help: 'Workspaces that rollouts of this process have changed, or failed to',
        label: 'result',
        read: () => ({ ...counts }),
      },
    ],
  };
}

const describe = ({ rolloutId, organization, workspace }: Assignment, code: string | undefined) => ({
  rollout: rolloutId,
  workspace: `${organization}/${workspace}`,
  code,
});
