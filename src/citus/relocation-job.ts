// Runs the requested relocations, small ones several at a time, each under the lock of its workspace.
import { getSqlState, isLockTimeout, isNodeLoss } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { loadNodes } from './nodes.ts';
import { findNodeName } from './placements.ts';
import { BASE_LOAD_BYTES } from './rebalance.ts';
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
  /** Sessions.withMoveLock of migrations/: the lock of a workspace, in a session that ends with this process. */
  readonly withMoveLock: <T>(workspaceId: string, work: (session: Session) => Promise<T>, busy: () => T) => Promise<T>;
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
  /** Runs all relocations that are possible now; a call during a run joins the queues that are at work. */
  run(): Promise<void>;
  readonly getMetrics: () => readonly Metric[];
}

// "wdam": distinct from other locks of ours, as those of workspaces have another form.
const RELOCATION_LOCK = 0x7764616d;
/**
 * Queues of the whole installation: in each one relocation runs at a time. The first is for all workspaces, the others
 * for small ones. MOVE_CONNECTIONS (database/pool.ts) has a connection for each, as a process may have them all.
 */
const QUEUES = [0, 1, 2];
// A relocation whose process crashed is repeated; one that crashes processes is not.
const MAX_ATTEMPTS = 5;
const MAX_OPEN = 1000;

export function makeRelocationRunner(options: RelocationOptions): RelocationRunner {
  const { db, withMoveLock, isClosing, onError } = options;
  const running = new Map<number, Promise<void>>();
  const working = new Set<string>();
  const outcomes = { succeeded: 0, failed: 0, cancelled: 0 };

  /** Attempts a relocation; tells when another process has the queue, or works on the workspace. */
  const attempt = (id: string, workspaceId: string, queue: number): Promise<'ended' | 'skipped' | 'queue is taken'> =>
    withMoveLock(
      workspaceId,
      async (session) => {
        const [row] = await session.query<{ locked: boolean }>(
          toQuery(sql`select pg_try_advisory_lock(${RELOCATION_LOCK + queue}::int8) as locked`),
        );
        if (row?.locked !== true) return 'queue is taken';
        const relocation = await findRelocation(session, id);
        if (relocation === undefined || !isOpen(relocation)) return 'skipped';
        await performRelocation(session, relocation);
        return 'ended';
      },
      () => 'skipped',
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

  /** Runs the relocations of a queue in their order, without those that another queue of this process works on. */
  async function runQueue(queue: number): Promise<void> {
    const skipped = new Set<string>();
    for (;;) {
      const open = await loadOpenRelocations(db, MAX_OPEN);
      const next = open.find((one) => !skipped.has(one.id) && !working.has(one.id) && (queue === 0 || isSmall(one)));
      if (next === undefined || isClosing()) return;
      working.add(next.id);
      const outcome = await attempt(next.id, next.workspaceId, queue).finally(() => working.delete(next.id));
      if (outcome === 'queue is taken') return;
      if (outcome === 'skipped') skipped.add(next.id);
    }
  }

  function startQueue(queue: number): Promise<void> {
    const run = running.get(queue) ?? runQueue(queue).finally(() => running.delete(queue));
    running.set(queue, run);
    return run;
  }

  return {
    async run() {
      const results = await Promise.allSettled(QUEUES.map(startQueue));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
    getMetrics: () => [
      { name: 'wda_workspace_moves_total', help: 'Finished moves of workspaces by outcome', read: () => outcomes },
    ],
  };
}

class RelocationCancelled extends Error {}

/** Whether the move of the workspace is mostly waiting, which several can do at a time. */
const isSmall = ({ bytes }: Relocation): boolean => bytes !== null && Number(bytes) <= BASE_LOAD_BYTES;

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
