// Transactions with short lock timeouts. Their settings end with the transaction and leave the session as it was.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Fragment, keyword, literal, script, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { getBeginStatement } from './cluster-dialect.ts';
import { getSqlState, isConnectionLoss } from './errors.ts';
import type { Session } from './pool.ts';

// Longest time that requests may queue for a lock that we wait for.
export const LOCK_BUDGET_MS = 300;

/** Runs `work` in a transaction with short waits for locks: every later statement queues after a waiting one. */
export function inTransaction<T>(
  session: Pick<Session, 'execute'>,
  lockTimeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  return runTransaction(session, [getBeginStatement(), `set local lock_timeout = ${Math.floor(lockTimeoutMs)}`], work);
}

/** Runs `work` in a transaction whose commit does not wait for the disk. */
export function withAsyncCommit<T>(session: Session, work: () => Promise<T>): Promise<T> {
  const settings = [`set local lock_timeout = ${LOCK_BUDGET_MS}`, 'set local synchronous_commit = off'];
  return runTransaction(session, [getBeginStatement(), ...settings], work);
}

/** Runs `work` in one snapshot, taken after the lock: it includes every change that the lock had to wait for. */
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

/** Sends each statement in a message of its own: a cluster passes each to the node of its table, and cannot pass several. */
export const executeEach: ExecuteAll = async (session, statements) => {
  for (const { text } of statements) await session.execute(text);
};

// Statements of a message: PostgreSQL holds all of it in memory until its end.
const MESSAGE_STATEMENTS = 100;

/** Sends many statements in a message: a new workspace of 13 entities has 90, and is there a fifth sooner. Not on a cluster. */
export const executeTogether: ExecuteAll = async (session, statements) => {
  const texts = Array.from(statements, ({ text }) => text);
  for (let at = 0; at < texts.length; at += MESSAGE_STATEMENTS)
    await session.execute(texts.slice(at, at + MESSAGE_STATEMENTS).join('\n;\n'));
};

type ExecuteAll = (session: Pick<Session, 'execute'>, statements: Iterable<Pick<Fragment, 'text'>>) => Promise<void>;

/**
 * Takes the locks in this order, within one budget for all: they are one statement with a time limit. With a limit for each,
 * requests that wait for the first lock would wait for all the others. For a transaction whose statements have no other
 * limit.
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

// Short waits for table locks, repeated: every statement after a waiting ALTER TABLE waits for it as well, so a change asks for
// its locks briefly, gives up, and asks again a little later.

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;
// A lock that is held for minutes, as by pg_dump, is held for many more: rare attempts do as well, and each attempt makes
// requests wait.
const LATE_AFTER_MS = 120_000;
const MAX_LATE_PAUSE_MS = 10_000;
const CANCEL_CHECK_MS = 500;
const NOTIFY_AFTER_MS = 1000;

/** When to give up taking locks, and whom to notify. */
export interface LockRetryOptions {
  /** Called before each attempt and during pauses; true: the last error is thrown. */
  readonly isCancelled: () => Promise<boolean>;
  readonly timeoutMs: number;
  /** Called after a failed attempt, from one second after the first attempt. */
  readonly onConflict: (elapsedMs: number) => Promise<void>;
  /** Called when an attempt succeeds after such a call. */
  readonly onAcquired: () => Promise<void>;
}

const DEFAULT_RETRY_OPTIONS: LockRetryOptions = {
  isCancelled: async () => false,
  timeoutMs: 120_000,
  onConflict: async () => undefined,
  onAcquired: async () => undefined,
};

/** True for 55P03 (lock not available), 40P01 (deadlock), and 57014 (the limit for taking all locks). */
export function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01', '57014'].includes(getSqlState(error) ?? '');
}

/** True for lock conflicts, lost connections and errors that are not the database's: the same may succeed another time. */
export function maySucceedLater(error: unknown): boolean {
  return getSqlState(error) === undefined || isLockConflict(error) || isConnectionLoss(error);
}

/**
 * Runs `attempt`, a whole transaction, until it gets its locks; throws the last error after `timeoutMs`, by default two
 * minutes.
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
      // Jitter: two changes that collided must not retry in step.
      if (!(await waitUnlessCancelled(pause * (0.5 + Math.random() / 2), isCancelled))) throw error;
    }
  }
}

/** Waits; returns false when it was cancelled meanwhile. */
async function waitUnlessCancelled(milliseconds: number, isCancelled: () => Promise<boolean>): Promise<boolean> {
  for (let remainingMs = milliseconds; remainingMs > 0; remainingMs -= CANCEL_CHECK_MS) {
    await sleep(Math.min(remainingMs, CANCEL_CHECK_MS));
    if (remainingMs > CANCEL_CHECK_MS && (await isCancelled())) return false;
  }
  return true;
}
