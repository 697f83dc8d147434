// Context of a change that this process runs, and its options for lock requests.

import type { Database, Session } from '../database/pool.ts';
import type { LockRetryOptions } from '../database/transaction.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Waiting } from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import type { Gate } from './gate.ts';
import { endLockHolders, findLockHolder } from './lock-holders.ts';
import type { LockRequest, Operation } from './operation.ts';
import type { PreparedChange } from './plan.ts';
import type { Progress } from './progress.ts';
import type { LockedSession } from './sessions.ts';

export interface Run {
  readonly workspaceId: string;
  /** Session that holds the lock of the workspace. */
  readonly session: LockedSession;
  /** Pool for progress that is stored while the session is busy. */
  readonly db: Database;
  readonly topology: Topology;
  readonly change: PreparedChange;
  /** Estimated number of records by entity. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly progress: Progress;
  /** Author of the change, written in the transaction of the switch. */
  readonly audit: AuditContext;
  readonly gate: Gate;
  /** Returns whether a client cancelled the migration, or the server stops. */
  readonly isCancelled: () => Promise<boolean>;
  readonly isClosing: () => boolean;
  readonly countFilled: (records: number) => void;
  readonly onError: (message: string, error: unknown) => void;
}

// Closed gates refuse all requests, so the wait for a lock must have a limit.
const GATED_LOCK_TIMEOUT_MS = 120_000;

/** Returns the options for the locks of an operation (of all operations without one); `rows`: only for row locks. */
export function getLockRetryOptions(run: Run, operation?: Operation, rows?: 'rows'): LockRetryOptions {
  const { session, change, progress, isCancelled } = run;
  const retryOptions = makeLockRetryOptions(
    session,
    buildLockRequest(change, operation, rows),
    run.topology,
    progress.waitFor,
    isCancelled,
  );
  return run.gate.isClosed() ? { ...retryOptions, timeoutMs: GATED_LOCK_TIMEOUT_MS } : retryOptions;
}

// An export that locks a table for this long may lock it for an hour; repeating it is easier than filling a column
// again.
export const END_EXPORTS_AFTER_MS = 30_000;
export const TERMINATE_AFTER_MS = 35_000;

/**
 * Builds options that retry until the locks are free or the migration is cancelled, store the session that it waits
 * for, and cancel exports that block it.
 */
export function makeLockRetryOptions(
  session: Session,
  lockRequest: LockRequest,
  topology: Topology,
  waitFor: (lockHolder: Waiting | null) => Promise<void>,
  isCancelled: () => Promise<boolean>,
): LockRetryOptions {
  return {
    isCancelled,
    timeoutMs: Number.POSITIVE_INFINITY,
    async onConflict(askingForMs) {
      await waitFor((await findLockHolder(session, lockRequest, topology)) ?? null);
      if (askingForMs > END_EXPORTS_AFTER_MS)
        await endLockHolders(session, lockRequest, askingForMs > TERMINATE_AFTER_MS, topology);
    },
    onAcquired: () => waitFor(null),
  };
}

/** Returns the tables that an operation locks (all operations without one); `rows`: only records in them are locked. */
export function buildLockRequest(
  { operations, databaseSchema }: PreparedChange,
  operation?: Operation,
  rows?: 'rows',
): LockRequest {
  const locks = (operation === undefined ? operations : [operation]).flatMap(({ locks }) => locks);
  return {
    schema: databaseSchema,
    tables: [...new Set(locks.map(({ table }) => table))],
    exclusive: rows === undefined && locks.some(({ mode }) => mode === 'access exclusive'),
  };
}
