// Finds the sessions that hold the locks a migration waits for, and cancels exports of this server and autovacuums, as
// both can be repeated.

import type { Database, Session } from '../database/pool.ts';
import { type Fragment, literal, sql, toQuery } from '../sql/fragment.ts';
import type { Waiting } from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import type { LockRequest } from './operation.ts';

const EXPORT_APPLICATION = 'workspace-data-api export';

/** Marks the transaction of an export, so that a migration that waits for it can find it. */
export function markExport(session: Session): Promise<void> {
  return session.execute(sql`set local application_name = ${literal(EXPORT_APPLICATION)}`.text);
}

const IS_EXPORT: Fragment = sql`a.application_name = ${EXPORT_APPLICATION} and a.usename = current_user`;

type Queryable = Pick<Session, 'query'>;

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
export async function findLockHolder(
  session: Queryable,
  request: LockRequest,
  topology: Topology,
): Promise<Waiting | undefined> {
  return (await findLocalLockHolder(session, request)) ?? (await topology.findLockHolder(session, request));
}

async function findLocalLockHolder(session: Queryable, request: LockRequest): Promise<Waiting | undefined> {
  const rows = await session.query<Waiting>(
    toQuery(sql`select ${LOCK_HOLDER} from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where ${locksOn(request)} order by a.xact_start nulls last, l.pid limit 1`),
  );
  return rows[0];
}

/** Returns the session that blocks a PostgreSQL process at the moment, on the coordinator or on a node. */
export async function findBlocker(db: Database, pid: number, topology: Topology): Promise<Waiting | undefined> {
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
export async function endLockHolders(
  session: Queryable,
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
export async function endExport(db: Database, { pid, application }: Waiting, terminate: boolean): Promise<void> {
  if (application !== EXPORT_APPLICATION) return;
  const call = terminate ? sql`pg_terminate_backend(a.pid)` : sql`pg_cancel_backend(a.pid)`;
  await db.query(toQuery(sql`select ${call} from pg_stat_activity a where ${IS_EXPORT} and a.pid = ${pid}::int4`));
}
