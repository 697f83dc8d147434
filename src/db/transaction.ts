// Transactions that ask for locks briefly. What they set is set for the transaction: the session is left as it was.
import { type Fragment, keyword, literal, script, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { beginOnNodes } from './behind.ts';
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
