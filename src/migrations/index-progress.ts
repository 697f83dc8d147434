// Stores how much of an index is built and for whom it waits, by another connection, as the session that builds it is busy.
// An index waits for every older snapshot of the database; exports, also of other workspaces, are ended when they last.
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { endExport, findBlocker } from './lock-holders.ts';
import type { Operation } from './operation.ts';
import { END_EXPORTS_AFTER_MS, type Run, TERMINATE_AFTER_MS } from './run.ts';

const WATCH_EVERY_MS = 500;

/** Starts watching; the result ends it. */
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
      // Progress that cannot be stored now is stored the next time, or never.
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

/** The share, 0 to 1, that is built of the index that a PostgreSQL process builds; undefined when it builds none. */
async function findIndexProgress(db: Database, pid: number, topology: Topology): Promise<number | undefined> {
  const rows = await db.query<{ progress: number }>(
    toQuery(sql`select ${FRACTION} as progress from pg_stat_progress_create_index where pid = ${pid}`),
  );
  // Of a table on a node the coordinator builds an empty index, in no time.
  return rows[0]?.progress ?? (await topology.findIndexProgress(db, pid, FRACTION));
}
