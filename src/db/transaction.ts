// Transactions that ask for locks briefly. What they set is set for the transaction: the session is left as it was.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Fragment, keyword, literal, script, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { beginOnNodes } from './behind.ts';
import { isConnectionLoss, sqlState } from './errors.ts';
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
  return begun(session, [beginOnNodes(), `set local lock_timeout = ${Math.floor(lockTimeoutMs)}`], work);
}

/** The same without waiting for the disk at its end. */
export function withoutDisk<T>(session: Session, work: () => Promise<T>): Promise<T> {
  const settings = [`set local lock_timeout = ${LOCK_BUDGET_MS}`, 'set local synchronous_commit = off'];
  return begun(session, [beginOnNodes(), ...settings], work);
}

/** One snapshot for all statements, taken when the lock is had: it sees whatever the lock had to wait for. */
export function inSnapshot<T>(session: Session, lock: Fragment, work: () => Promise<T>): Promise<T> {
  return begun(session, [`begin isolation level repeatable read; ${lock.text}`], work);
}

async function begun<T>(
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

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
// Whoever holds a lock for minutes, as pg_dump does, holds it for many more: asking seldom is as good, and each asking
// makes requests wait.
const LONG_AFTER_MS = 120_000;
const LONGEST_LATE_PAUSE_MS = 10_000;
const LOOK_EVERY_MS = 500;
const TOLD_AFTER_MS = 1000;

/** Who asks for locks, and how long it goes on asking. */
export interface LockRetryOptions {
  /** Asked before each attempt and while it pauses; true: the last refusal is thrown. */
  readonly cancelled: () => Promise<boolean>;
  readonly giveUpAfterMs: number;
  /** Told about an attempt that was refused, once it has been asking for a second. */
  readonly refused: (askingForMs: number) => Promise<void>;
  /** It has got what it was refused. */
  readonly granted: () => Promise<void>;
}

const TWO_MINUTES: LockRetryOptions = {
  cancelled: async () => false,
  giveUpAfterMs: 120_000,
  refused: async () => undefined,
  granted: async () => undefined,
};

/** 55P03 lock not available, 40P01 deadlock, 57014 the limit for taking all locks. */
export function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01', '57014'].includes(sqlState(error) ?? '');
}

/** Locks, connections and what is no answer of the database: the same may succeed another time. */
export function maySucceedLater(error: unknown): boolean {
  return sqlState(error) === undefined || isLockConflict(error) || isConnectionLoss(error);
}

/**
 * Runs `attempt`, a whole transaction, until it gets its locks; the last refusal is thrown when patience ends: after two
 * minutes, unless another one is given.
 */
export async function withLockRetry<T>(
  attempt: () => Promise<T>,
  patience: Partial<LockRetryOptions> = {},
): Promise<T> {
  const { cancelled, giveUpAfterMs, refused, granted } = { ...TWO_MINUTES, ...patience };
  const started = performance.now();
  let told = false;
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    try {
      const result = await attempt();
      if (told) await granted();
      return result;
    } catch (error) {
      const asking = performance.now() - started;
      if (!isLockConflict(error) || asking > giveUpAfterMs || (await cancelled())) throw error;
      if (asking > TOLD_AFTER_MS) {
        told = true;
        await refused(asking);
      }
      pause = Math.min(pause, asking > LONG_AFTER_MS ? LONGEST_LATE_PAUSE_MS : LONGEST_PAUSE_MS);
      // Two changes that met once must not meet in step again.
      if (!(await rest(pause * (0.5 + Math.random() / 2), cancelled))) throw error;
    }
  }
}

/** False when it was cancelled meanwhile. */
async function rest(milliseconds: number, cancelled: () => Promise<boolean>): Promise<boolean> {
  for (let left = milliseconds; left > 0; left -= LOOK_EVERY_MS) {
    await sleep(Math.min(left, LOOK_EVERY_MS));
    if (left > LOOK_EVERY_MS && (await cancelled())) return false;
  }
  return true;
}
