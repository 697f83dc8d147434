// Shows how far PostgreSQL is with an index and for whom it waits, while the session that builds it can say nothing.
import { findIndexProgress, type Waiting } from '../catalog/migrations.ts';
import type { Database } from '../db/pool.ts';
import { findBlocker } from './holders.ts';

const WATCH_EVERY_MS = 500;

/** `pid` of the session in PostgreSQL; gives what ends the watch. */
export function watchIndex(
  db: Database,
  pid: number,
  show: (progress: number) => Promise<void>,
  waits: (holder: Waiting | null) => Promise<void>,
): () => Promise<void> {
  let ended = false;
  let told = false;
  let looking: Promise<void> | undefined;
  async function look(): Promise<void> {
    const progress = await findIndexProgress(db, pid);
    if (progress !== undefined && !ended) await show(progress);
    const holder = await findBlocker(db, pid);
    if (ended || (holder === undefined && !told)) return;
    told = holder !== undefined;
    await waits(holder ?? null);
  }
  const timer = setInterval(() => {
    looking ??= look()
      // What cannot be shown now is shown the next time, or never.
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
  }, WATCH_EVERY_MS);
  return async () => {
    ended = true;
    clearInterval(timer);
    await looking;
    if (told) await waits(null).catch(() => undefined);
  };
}
