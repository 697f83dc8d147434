// Runs the requested relocations, one at a time in the whole installation, each under the lock of its workspace.
import { getSqlState, isLockTimeout, isNodeLoss } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { loadNodes } from './nodes.ts';
import { findNodeName } from './placements.ts';
import { endTableVersions, RelocationFailure, type RelocationTask, relocateSchema } from './relocate.ts';
import {
  beginRelocation,
  endRelocation,
  findRelocation,
  isOpen,
  loadOpenRelocations,
  type Relocation,
} from './relocations.ts';

export interface RelocationOptions {
  readonly db: Database;
  /** Sessions.withLock of migrations/: the lock of a workspace, in a session that ends with this process. */
  readonly withLock: <T>(workspaceId: string, work: (session: Session) => Promise<T>, busy: () => T) => Promise<T>;
  readonly isClosing: () => boolean;
  /** Called when the workspace has a new snapshot. */
  readonly changed: (workspaceId: string) => void;
  /** See ProcessRegistry.isDrained. */
  readonly invalidateAll: () => Promise<boolean>;
  readonly isDrained: (workspaceId: string, version: string) => Promise<boolean>;
  readonly forgottenAfterMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

export interface RelocationRunner {
  /** Runs all relocations that are possible now; a call during a run joins it. */
  run(): Promise<void>;
  readonly getMetrics: () => readonly Metric[];
}

// "wdam": distinct from other locks of ours, as those of workspaces have another form.
const RELOCATION_LOCK = sql`${0x7764616d}::int8`;
// A relocation whose process crashed is repeated; one that crashes processes is not.
const MAX_ATTEMPTS = 5;
const MAX_OPEN = 1000;

export function makeRelocationRunner(options: RelocationOptions): RelocationRunner {
  const { db, withLock, isClosing, onError } = options;
  let running: Promise<void> | undefined;
  const outcomes = { succeeded: 0, failed: 0, cancelled: 0 };

  /** Attempts a relocation; false when another process works on it, or on another one. */
  const attempt = (id: string, workspaceId: string): Promise<boolean> =>
    withLock(
      workspaceId,
      async (session) => {
        const [row] = await session.query<{ locked: boolean }>(
          toQuery(sql`select pg_try_advisory_lock(${RELOCATION_LOCK}) as locked`),
        );
        const relocation = row?.locked === true ? await findRelocation(session, id) : undefined;
        if (relocation === undefined || !isOpen(relocation)) return false;
        await performRelocation(session, relocation);
        return true;
      },
      () => false,
    );

  async function performRelocation(session: Session, relocation: Relocation): Promise<void> {
    const { id, workspaceId, databaseSchema } = relocation;
    const nodes = await loadNodes(session);
    const target = nodes.find(({ name }) => name === relocation.target);
    const currentNode = await findNodeName(session, databaseSchema);
    if (target === undefined || currentNode === undefined) {
      return end(session, id, 'failed', `node ${relocation.target} is no part of the cluster any more`);
    }
    const task: RelocationTask = {
      ...options,
      session,
      workspaceId,
      databaseSchema,
      target,
      announce() {
        options.changed(workspaceId);
        return options.invalidateAll();
      },
      isDrained: (version) => options.isDrained(workspaceId, version),
    };
    try {
      if (currentNode !== target.name && relocation.cancelRequested) throw new RelocationCancelled();
      if (currentNode !== target.name && relocation.attempts >= MAX_ATTEMPTS) {
        throw new RelocationFailure('it was started five times, and each process ended before it was done');
      }
      await beginRelocation(session, id, currentNode === target.name ? relocation.source : currentNode);
      await relocateSchema(task);
      await end(session, id, 'succeeded');
    } catch (error) {
      // The next run continues an open relocation: one with a moved schema ends only when all nodes know of it.
      if (isClosing() || (await findNodeName(session, databaseSchema)) === target.name) throw error;
      await endTableVersions(task);
      const isCancelled =
        error instanceof RelocationCancelled || (await findRelocation(session, id))?.cancelRequested === true;
      if (isCancelled) return end(session, id, 'cancelled');
      if (!(error instanceof RelocationFailure)) onError('a workspace could not be moved', error);
      await end(session, id, 'failed', describeFailure(error));
    }
  }

  async function end(session: Session, id: string, state: keyof typeof outcomes, reason?: string): Promise<void> {
    await endRelocation(session, id, state, reason);
    outcomes[state]++;
  }

  async function runAll(): Promise<void> {
    const skipped = new Set<string>();
    for (;;) {
      const open = await loadOpenRelocations(db, MAX_OPEN);
      const next = open.find(({ id }) => !skipped.has(id));
      if (next === undefined || isClosing()) return;
      if (!(await attempt(next.id, next.workspaceId))) skipped.add(next.id);
    }
  }

  return {
    run() {
      running ??= runAll().finally(() => {
        running = undefined;
      });
      return running;
    },
    getMetrics: () => [
      { name: 'wda_workspace_moves_total', help: 'Finished moves of workspaces by outcome', read: () => outcomes },
    ],
  };
}

class RelocationCancelled extends Error {}

/** Describes a failure for the operator; database errors are in the log. */
function describeFailure(error: unknown): string {
  if (error instanceof RelocationFailure) return error.message;
  const state = getSqlState(error) ?? '';
  if (isLockTimeout(error))
    return 'long transactions, such as imports, held the tables each time: move it when they have ended';
  if (isNodeLoss(error) || state.startsWith('08')) return 'a node of the cluster could not be reached';
  if (state === '57014') return 'it was stopped in the database';
  if (state === '42501') return "the server's role in the database may not move tables between nodes";
  return 'Citus refused it; the log of the server says why';
}
