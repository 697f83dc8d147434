// Transactions that ask for locks briefly.
import type { Session } from '../db/pool.ts';

// How long requests may queue behind a lock that we wait for.
export const LOCK_BUDGET_MS = 300;

/**
 * All or nothing, with short waits for locks: everybody who comes after a waiting statement waits behind it. `relaxed`:
 * the end does not wait for the disk, for work that a later transaction makes good.
 */
export async function inTransaction<T>(
  session: Session,
  lockTimeoutMs: number,
  work: () => Promise<T>,
  relaxed = false,
): Promise<T> {
  const commit = relaxed ? '; set local synchronous_commit = off' : '';
  await session.execute(`begin; set local lock_timeout = ${Math.floor(lockTimeoutMs)}${commit}`);
  try {
    const result = await work();
    await session.execute('commit');
    return result;
  } catch (error) {
    await session.execute('rollback');
    throw error;
  }
}
