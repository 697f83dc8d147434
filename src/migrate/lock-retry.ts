// Short waits for table locks, again and again: everybody who comes after a waiting ALTER TABLE waits behind it, so a
// change asks for its locks briefly, gives up, and asks again a little later.
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionLoss, sqlState } from '../db/pg-error.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
const GIVE_UP_AFTER_MS = 120_000;

/** 55P03 lock not available, 40P01 deadlock, 57014 the limit for taking all locks. */
export function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01', '57014'].includes(sqlState(error) ?? '');
}

/** Locks, connections and what is no answer of the database: the same may succeed another time. */
export function isPassing(error: unknown): boolean {
  return sqlState(error) === undefined || isLockConflict(error) || isConnectionLoss(error);
}

/**
 * Runs `attempt`, a whole transaction, until it gets its locks; the last refusal is thrown after two minutes, or at
 * once when `cancelled` says so.
 */
export async function withLockRetry<T>(
  attempt: () => Promise<T>,
  cancelled: () => Promise<boolean> = async () => false,
): Promise<T> {
  const deadline = performance.now() + GIVE_UP_AFTER_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isLockConflict(error) || performance.now() > deadline || (await cancelled())) throw error;
    }
    // Two changes that met once must not meet in step again.
    await sleep(pause * (0.5 + Math.random()));
  }
}
