// How a migration waits for the locks of other sessions, also for those that an index build waits for: it stores for its
// readers which session it waits for, and cancels exports of this server and autovacuums, as both can be repeated.

import type { Database, Session } from '../database/pool.ts';
import type { LockRetryOptions } from '../database/transaction.ts';
import { type Fragment, literal, sql, toQuery } from '../sql/fragment.ts';
import type { Waiting } from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import type { LockRequest, Operation } from './operation.ts';
import type { PreparedChange } from './plan.ts';
import type { Run, Worker } from './run.ts';

const EXPORT_APPLICATION = 'workspace-data-api export';

/** Marks the transaction of an export, so that a migration that waits for it can find it. */
export function markExport(session: Session): Promise<void> {
  return session.execute(sql`set local application_name = ${literal(EXPORT_APPLICATION)}`.text);
}

// Closed gates refuse all requests, so the wait for a lock must have a limit.
const GATED_LOCK_TIMEOUT_MS = 120_000;
// An export that locks a table for this long may lock it for an hour; repeating it is easier than filling a column
// again.
const END_EXPORTS_AFTER_MS = 30_000;
const TERMINATE_AFTER_MS = 35_000;

/** Returns the options for the locks of an operation (of all operations without one); `rows`: only for row locks. */
export function getLockRetryOptions(run: Run, operation?: Operation, rows?: 'rows'): LockRetryOptions {
  const retryOptions = makeLockRetryOptions(run, buildLockRequest(run.change, operation, rows), run.isCancelled);
  return run.gate.isClosed() ? { ...retryOptions, timeoutMs: GATED_LOCK_TIMEOUT_MS } : retryOptions;
}

/**
 * Builds options that retry until the locks are free or the migration is cancelled, store the session that it waits
 * for, and cancel exports that block it.
 */
export function makeLockRetryOptions(
  { session, topology, progress }: Worker,
  lockRequest: LockRequest,
  isCancelled: () => Promise<boolean>,
): LockRetryOptions {
  return {
    isCancelled,
    timeoutMs: Number.POSITIVE_INFINITY,
    async onConflict(elapsedMs) {
      await progress.waitFor((await findLockHolder(session, lockRequest, topology)) ?? null);
      if (elapsedMs > END_EXPORTS_AFTER_MS)
        await endLockHolders(session, lockRequest, elapsedMs > TERMINATE_AFTER_MS, topology);
    },
    onAcquired: () => progress.waitFor(null),
  };
}

/** Returns the tables that an operation locks (all operations without one); `rows`: only records in them are locked. */
export function buildLockRequest(
  { operations, databaseSchema }: PreparedChange,
  operation?: Operation,
  rows?: 'rows',
): LockRequest {
  const locks = (operation === undefined ? operations : [operation]).flatMap(({ locks }) => locks);
  return {
    schema: databaseSchema,
    tables: [...new Set(locks.map(({ table }) => table))],
    exclusive: rows === undefined && locks.some(({ mode }) => mode === 'access exclusive'),
  };
}

const WATCH_EVERY_MS = 500;

/**
 * Stores the progress of an index build and the session that it waits for, on another connection, as the building
 * session is busy. An index waits for every older snapshot of the database; long exports, also of other workspaces, are
 * cancelled. The returned function stops it.
 */
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

const IS_EXPORT: Fragment = sql`a.application_name = ${EXPORT_APPLICATION} and a.usename = current_user`;

// Values and statements are left out, as they may belong to other workspaces.
const LOCK_HOLDER: Fragment = sql`l.pid, coalesce(a.application_name, case when l.pid is null then 'prepared transaction' end, '') as application,
  to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since`;

function locksOn({ schema, tables, exclusive }: LockRequest): Fragment {
  const conflicts = exclusive ? sql`true` : sql`l.mode <> 'AccessShareLock'`;
  return sql`l.locktype = 'relation' and l.granted and ${conflicts} and l.pid is distinct from pg_backend_pid()
  and l.database = (select oid from pg_database where datname = current_database())
  and l.relation = any (array(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = any(${tables}::text[])))`;
}

/** Returns the session with the oldest transaction that locks the tables, or undefined if they are free by now. */
async function findLockHolder(
  session: Session,
  request: LockRequest,
  topology: Topology,
): Promise<Waiting | undefined> {
  const rows = await session.query<Waiting>(
    toQuery(sql`select ${LOCK_HOLDER} from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where ${locksOn(request)} order by a.xact_start nulls last, l.pid limit 1`),
  );
  return rows[0] ?? (await topology.findLockHolder(session, request));
}

/** Returns the session that blocks a PostgreSQL process at the moment, on the coordinator or on a node. */
async function findBlocker(db: Database, pid: number, topology: Topology): Promise<Waiting | undefined> {
  const rows = await db.query<Waiting>(
    toQuery(sql`select ${LOCK_HOLDER} from unnest(pg_blocking_pids(${pid}::int4)) l (pid) left join pg_stat_activity a on a.pid = l.pid
order by a.xact_start nulls last, l.pid limit 1`),
  );
  return rows[0] ?? (await topology.findBlocker(db, pid));
}

/**
 * Cancels exports and autovacuums that lock the tables. A backend that waits for a client who does not read ignores a
 * cancel; `terminate` ends its connection. An autovacuum yields by itself only to a session that waits for a second,
 * which we never do. It starts again later. Only a superuser or pg_signal_autovacuum_worker may cancel it.
 */
async function endLockHolders(
  session: Session,
  request: LockRequest,
  terminate: boolean,
  topology: Topology,
): Promise<void> {
  const end = (call: Fragment, condition: Fragment) =>
    toQuery(sql`select ${call} from pg_stat_activity a where ${condition}
  and exists (select from pg_locks l where l.pid = a.pid and ${locksOn(request)})`);
  const cancel = sql`pg_cancel_backend(a.pid)`;
  await session.query(end(terminate ? sql`pg_terminate_backend(a.pid)` : cancel, IS_EXPORT));
  await session.query(end(cancel, sql`a.backend_type = 'autovacuum worker'`)).catch(() => undefined);
  await topology.endVacuums(session, request).catch(() => undefined);
}

/** Cancels the session of findBlocker() if it is an export; `terminate` as for endLockHolders(). */
async function endExport(db: Database, { pid, application }: Waiting, terminate: boolean): Promise<void> {
  if (application !== EXPORT_APPLICATION) return;
  const call = terminate ? sql`pg_terminate_backend(a.pid)` : sql`pg_cancel_backend(a.pid)`;
  await db.query(toQuery(sql`select ${call} from pg_stat_activity a where ${IS_EXPORT} and a.pid = ${pid}::int4`));
}
