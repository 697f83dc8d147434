// Stores the progress of an index build and the session that it waits for, on another connection, as the building
// session is busy. An index waits for every older snapshot of the database; long exports, also of other workspaces, are
// cancelled.
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { endExport, findBlocker } from './lock-holders.ts';
import type { Operation } from './operation.ts';
import { END_EXPORTS_AFTER_MS, type Run, TERMINATE_AFTER_MS } from './run.ts';

const WATCH_EVERY_MS = 500;

/** Starts watching; the returned function stops it. */
export function watchIndex({ db, topology, session, progress }: Run, operation: Operation): () => Promise<void> {
  const { pid } = session;
  let isStopped = false;
  let isReported = false;
  let waitingSince: number | undefined;
  let pendingUpdate: Promise<void> | undefined;
  async function updateProgress(): Promise<void> {
    const fraction = await findIndexProgress(db, pid, topology);
    if (fraction !== undefined && !isStopped) await progress.build(db, operation, fraction);
    const lockHolder = await findBlocker(db, pid, topology);
    if (lockHolder === undefined) waitingSince = undefined;
    else waitingSince ??= performance.now();
    const waitsForMs = performance.now() - (waitingSince ?? performance.now());
    if (!isStopped && lockHolder !== undefined && waitsForMs > END_EXPORTS_AFTER_MS)
      await endExport(db, lockHolder, waitsForMs > TERMINATE_AFTER_MS);
    if (isStopped || (lockHolder === undefined && !isReported)) return;
    isReported = lockHolder !== undefined;
    await progress.waitFor(lockHolder ?? null, db);
  }
  const timer = setInterval(() => {
    pendingUpdate ??= updateProgress()
      // A failure is harmless: the next turn stores the progress.
      .catch(() => undefined)
      .finally(() => {
        pendingUpdate = undefined;
      });
  }, WATCH_EVERY_MS);
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await pendingUpdate;
    if (isReported) await progress.waitFor(null, db).catch(() => undefined);
  };
}

const FRACTION = sql`case when tuples_total > 0 then 0.5 + 0.4 * tuples_done / tuples_total
  when blocks_total > 0 then 0.5 * blocks_done / blocks_total else 0 end::float8`;

/** Returns the progress (0 to 1) of the index build of a PostgreSQL process, or undefined if it builds none. */
async function findIndexProgress(db: Database, pid: number, topology: Topology): Promise<number | undefined> {
  const rows = await db.query<{ progress: number }>(
    toQuery(sql`select ${FRACTION} as progress from pg_stat_progress_create_index where pid = ${pid}`),
  );
  // The coordinator builds the index of a distributed table on an empty table, in no time.
  return rows[0]?.progress ?? (await topology.findIndexProgress(db, pid, FRACTION));
}
