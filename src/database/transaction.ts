// Transactions that ask for locks briefly. What they set is set for the transaction: the session is left as it was.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Fragment, keyword, literal, script, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { getBeginStatement } from './cluster-dialect.ts';
import { getSqlState, isConnectionLoss } from './errors.ts';
import type { Session } from './pool.ts';

// How long requests may queue for a lock that we wait for.
export const LOCK_BUDGET_MS = 300;

/**
 * All or nothing, with short waits for locks: everybody who comes after a waiting statement waits behind it.
 */
export function inTransaction<T>(
  session: Pick<Session, 'execute'>,
  lockTimeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  return runTransaction(session, [getBeginStatement(), `set local lock_timeout = ${Math.floor(lockTimeoutMs)}`], work);
}

/** The same without waiting for the disk at its end. */
export function withAsyncCommit<T>(session: Session, work: () => Promise<T>): Promise<T> {
  const settings = [`set local lock_timeout = ${LOCK_BUDGET_MS}`, 'set local synchronous_commit = off'];
  return runTransaction(session, [getBeginStatement(), ...settings], work);
}

/** One snapshot for all statements, taken when the lock is had: it sees whatever the lock had to wait for. */
export function inSnapshot<T>(session: Session, lock: Fragment, work: () => Promise<T>): Promise<T> {
  return runTransaction(session, [`begin isolation level repeatable read; ${lock.text}`], work);
}

async function runTransaction<T>(
  session: Pick<Session, 'execute'>,
  opening: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    for (const message of opening) await session.execute(message);
    const result = await work();
    await session.execute('commit');
    return result;
  } catch (error) {
    await session.execute('rollback');
    throw error;
  }
}

/** One statement a message: on a cluster each is passed on to the node that has the table, and several at once cannot be. */
export async function executeEach(session: Pick<Session, 'execute'>, statements: Iterable<Fragment>): Promise<void> {
  for (const { text } of statements) await session.execute(text);
}

/**
 * Takes the locks in this order, in the budget for all of them together: they are one statement, and its time is limited.
 * A limit for each would let those who wait for the first wait for all the others. For a transaction of a session whose
 * statements have no other limit.
 */
export async function takeLocks(session: Session, locks: readonly Fragment[]): Promise<void> {
  if (locks.length === 0) return;
  await session.execute(`set local statement_timeout = ${LOCK_BUDGET_MS}`);
  await session.execute(sql`do ${literal(`begin ${script(locks)} end`)}`.text);
  await session.execute('set local statement_timeout = 0');
}

export const lockTable = (
  table: TableName,
  mode: 'access exclusive' | 'share row exclusive' | 'access share',
): Fragment => sql`lock table ${tableRef(table)} in ${keyword(mode)} mode`;

// Short waits for table locks, again and again: everybody who comes after a waiting ALTER TABLE waits behind it, so a
// change asks for its locks briefly, gives up, and asks again a little later.

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;
// Whoever holds a lock for minutes, as pg_dump does, holds it for many more: asking seldom is as good, and each asking
// makes requests wait.
const LATE_AFTER_MS = 120_000;
const MAX_LATE_PAUSE_MS = 10_000;
const CANCEL_CHECK_MS = 500;
const NOTIFY_AFTER_MS = 1000;

/** Who asks for locks, and how long it goes on asking. */
export interface LockRetryOptions {
  /** Asked before each attempt and while it pauses; true: the last refusal is thrown. */
  readonly isCancelled: () => Promise<boolean>;
  readonly timeoutMs: number;
  /** Told about an attempt that was refused, once it has been asking for a second. */
  readonly onConflict: (elapsedMs: number) => Promise<void>;
  /** It has got what it was refused. */
  readonly onAcquired: () => Promise<void>;
}

const DEFAULT_RETRY_OPTIONS: LockRetryOptions = {
  isCancelled: async () => false,
  timeoutMs: 120_000,
  onConflict: async () => undefined,
  onAcquired: async () => undefined,
};

/** 55P03 lock not available, 40P01 deadlock, 57014 the limit for taking all locks. */
export function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01', '57014'].includes(getSqlState(error) ?? '');
}

/** Locks, connections and what is no answer of the database: the same may succeed another time. */
export function maySucceedLater(error: unknown): boolean {
  return getSqlState(error) === undefined || isLockConflict(error) || isConnectionLoss(error);
}

/**
 * Runs `attempt`, a whole transaction, until it gets its locks; the last refusal is thrown when patience ends: after two
 * minutes, unless another one is given.
 */
export async function withLockRetry<T>(
  attempt: () => Promise<T>,
  retryOptions: Partial<LockRetryOptions> = {},
): Promise<T> {
  const { isCancelled, timeoutMs, onConflict, onAcquired } = { ...DEFAULT_RETRY_OPTIONS, ...retryOptions };
  const startedAt = performance.now();
  let isNotified = false;
  for (let pause = MIN_PAUSE_MS; ; pause *= 2) {
    try {
      const result = await attempt();
      if (isNotified) await onAcquired();
      return result;
    } catch (error) {
      const elapsedMs = performance.now() - startedAt;
      if (!isLockConflict(error) || elapsedMs > timeoutMs || (await isCancelled())) throw error;
      if (elapsedMs > NOTIFY_AFTER_MS) {
        isNotified = true;
        await onConflict(elapsedMs);
      }
      pause = Math.min(pause, elapsedMs > LATE_AFTER_MS ? MAX_LATE_PAUSE_MS : MAX_PAUSE_MS);
      // Two changes that met once must not meet in step again.
      if (!(await waitUnlessCancelled(pause * (0.5 + Math.random() / 2), isCancelled))) throw error;
    }
  }
}

/** False when it was cancelled meanwhile. */
async function waitUnlessCancelled(milliseconds: number, isCancelled: () => Promise<boolean>): Promise<boolean> {
  for (let remainingMs = milliseconds; remainingMs > 0; remainingMs -= CANCEL_CHECK_MS) {
    await sleep(Math.min(remainingMs, CANCEL_CHECK_MS));
    if (remainingMs > CANCEL_CHECK_MS && (await isCancelled())) return false;
  }
  return true;
}
