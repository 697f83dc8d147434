// A change under way in this process, with all that its statements need; and how it asks for locks.

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
  /** Holds the lock of the workspace. */
  readonly session: LockedSession;
  /** Other connections, for progress that is stored while the session is busy. */
  readonly db: Database;
  readonly topology: Topology;
  readonly change: PreparedChange;
  /** Estimated number of records by entity. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly progress: Progress;
  /** Written in the transaction of the switch. */
  readonly audit: AuditContext;
  readonly gate: Gate;
  /** Whether somebody asked for the end of the migration, or the server stops. */
  readonly isCancelled: () => Promise<boolean>;
  readonly isClosing: () => boolean;
  readonly countFilled: (records: number) => void;
  readonly onError: (message: string, error: unknown) => void;
}

// While gates are closed nobody is served, so the wait for a lock must have an end.
const GATED_LOCK_TIMEOUT_MS = 120_000;

/** How to ask for the locks of an operation (of all operations without one); `rows`: only for locks on records. */
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

// An export that holds a table for this long may hold it for an hour; repeating it is easier than filling a column again.
export const END_EXPORTS_AFTER_MS = 30_000;
export const TERMINATE_AFTER_MS = 35_000;

/** Asks for locks until it gets them or is cancelled, says for whom it waits, and ends exports that are in the way. */
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

/** The tables that an operation locks (all operations without one); `rows`: only records in them are locked. */
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
