// Shows how far PostgreSQL is with an index, while the session that builds it waits for it.
import { findIndexProgress } from '../catalog/migrations.ts';
import type { Database } from '../db/pool.ts';

const WATCH_EVERY_MS = 500;

/** `pid` of the session in PostgreSQL; gives what ends the watch. */
export function watchIndex(db: Database, pid: number, show: (progress: number) => Promise<void>): () => void {
  const timer = setInterval(() => {
    // What cannot be shown now is shown the next time, or never.
    findIndexProgress(db, pid)
      .then((progress) => (progress === undefined || ended ? undefined : show(progress)))
      .catch(() => undefined);
  }, WATCH_EVERY_MS);
  let ended = false;
  return () => {
    ended = true;
    clearInterval(timer);
  };
}
