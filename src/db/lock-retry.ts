// Short waits for table locks, again and again: everybody who comes after a waiting ALTER TABLE waits behind it, so a
// change asks for its locks briefly, gives up, and asks again a little later.
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionLoss, sqlState } from './pg-error.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
// Whoever holds a lock for minutes, as pg_dump does, holds it for many more: asking seldom is as good, and each asking
// makes requests wait.
const LONG_AFTER_MS = 120_000;
const LONGEST_LATE_PAUSE_MS = 10_000;
const LOOK_EVERY_MS = 500;
const TOLD_AFTER_MS = 1000;

/** Who asks for locks, and how long it goes on asking. */
export interface Patience {
  /** Asked before each attempt and while it pauses; true: the last refusal is thrown. */
  readonly cancelled: () => Promise<boolean>;
  readonly giveUpAfterMs: number;
  /** Told about an attempt that was refused, once it has been asking for a second. */
  readonly refused: (askingForMs: number) => Promise<void>;
  /** It has got what it was refused. */
  readonly granted: () => Promise<void>;
}

const TWO_MINUTES: Patience = {
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
export async function withLockRetry<T>(attempt: () => Promise<T>, patience: Partial<Patience> = {}): Promise<T> {
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
