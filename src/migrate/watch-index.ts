// Stores how much of an index is built and for whom it waits, by another connection, as the session that builds it is busy.
// An index waits for every older snapshot of the database; exports, also of other workspaces, are ended when they last.
import type { Database } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { endExport, findBlocker } from './holders.ts';
import type { Operation } from './operation.ts';
import { END_EXPORTS_AFTER_MS, END_FIRMLY_AFTER_MS, type Run } from './run.ts';

const WATCH_EVERY_MS = 500;

/** Starts watching; the result ends it. */
export function watchIndex({ db, topology, session, progress }: Run, operation: Operation): () => Promise<void> {
  const { pid } = session;
  let ended = false;
  let told = false;
  let waitingSince: number | undefined;
  let looking: Promise<void> | undefined;
  async function look(): Promise<void> {
    const share = await findIndexProgress(db, pid, topology);
    if (share !== undefined && !ended) await progress.build(db, operation, share);
    const holder = await findBlocker(db, pid, topology);
    if (holder === undefined) waitingSince = undefined;
    else waitingSince ??= performance.now();
    const waitsForMs = performance.now() - (waitingSince ?? performance.now());
    if (!ended && holder !== undefined && waitsForMs > END_EXPORTS_AFTER_MS)
      await endExport(db, holder, waitsForMs > END_FIRMLY_AFTER_MS);
    if (ended || (holder === undefined && !told)) return;
    told = holder !== undefined;
    await progress.waitFor(holder ?? null, db);
  }
  const timer = setInterval(() => {
    looking ??= look()
      // Progress that cannot be stored now is stored the next time, or never.
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
  }, WATCH_EVERY_MS);
  return async () => {
    ended = true;
    clearInterval(timer);
    await looking;
    if (told) await progress.waitFor(null, db).catch(() => undefined);
  };
}

const SHARE = sql`case when tuples_total > 0 then 0.5 + 0.4 * tuples_done / tuples_total
  when blocks_total > 0 then 0.5 * blocks_done / blocks_total else 0 end::float8`;

/** The share, 0 to 1, that is built of the index that a PostgreSQL process builds; undefined when it builds none. */
async function findIndexProgress(db: Database, pid: number, topology: Topology): Promise<number | undefined> {
  const rows = await db.query<{ progress: number }>(
    toQuery(sql`select ${SHARE} as progress from pg_stat_progress_create_index where pid = ${pid}`),
  );
  // Of a table on a node the coordinator builds an empty index, in no time.
  return rows[0]?.progress ?? (await topology.findIndexShare(db, pid, SHARE));
}
