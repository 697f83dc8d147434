// Transactions that ask for locks briefly.
import type { Session } from '../db/pool.ts';

// How long requests may queue behind a lock that we wait for.
export const LOCK_BUDGET_MS = 300;

/**
 * All or nothing, with short waits for locks: everybody who comes after a waiting statement waits behind it.
 */
export async function inTransaction<T>(session: Session, lockTimeoutMs: number, work: () => Promise<T>): Promise<T> {
  await session.execute(`begin; set local lock_timeout = ${Math.floor(lockTimeoutMs)}`);
  try {
    const result = await work();
    await session.execute('commit');
    return result;
  } catch (error) {
    await session.execute('rollback');
    throw error;
  }
}

/** Statements that are transactions of their own, wait briefly for locks, and do not wait for the disk when they end. */
export async function withoutDisk<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.execute(`set lock_timeout = ${LOCK_BUDGET_MS}; set synchronous_commit = off`);
  try {
    return await work();
  } finally {
    await session.execute('set lock_timeout = 0; set synchronous_commit = on');
  }
}
