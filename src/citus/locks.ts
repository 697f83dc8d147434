// Finds locks and index builds on the nodes of a Citus cluster, where the tables of workspaces lie. The coordinator
// knows neither the work of sessions on a node nor the progress of an index there, so the nodes are queried.
import type { Session } from '../database/pool.ts';
import { type Fragment, join, literal, sql, toQuery } from '../sql/fragment.ts';
import type { LockHolder, TableLocks } from '../topology/topology.ts';

type Queryable = Pick<Session, 'query'>;

/** Returns the rows of each node that responds. The query returns one JSON value or null. */
async function queryWorkers<T>(
  session: Queryable,
  statement: Fragment,
): Promise<readonly (T & { readonly node: string })[]> {
  const rows = await session.query<{ node: string; result: string }>(
    toQuery(sql`select nodename || ':' || nodeport as node, result
from run_command_on_workers(${`select coalesce((${statement.text})::text, '')`}) where success and result <> ''`),
  );
  return rows.map(({ node, result }) => ({ ...(JSON.parse(result) as T), node }));
}

const SINCE = sql`to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const HOLDER_JSON = sql`json_build_object('pid', l.pid, 'since', ${SINCE},
  'application', coalesce(a.application_name, case when l.pid is null then 'prepared transaction' end, ''))`;

/** Builds the condition for locks on tables of a schema on a node, by the names of their shards. */
function buildLockCondition({ schema, tables, exclusive }: TableLocks): Fragment {
  const names = tables.length === 0 ? sql`null` : join(tables.map(literal));
  return sql`l.locktype = 'relation' and l.granted and ${exclusive ? sql`true` : sql`l.mode <> 'AccessShareLock'`}
  and l.database = (select oid from pg_database where datname = current_database())
  and l.relation = any (array(select c.oid from pg_dist_shard s join pg_class t on t.oid = s.logicalrelid
    join pg_class c on c.relnamespace = t.relnamespace and c.relname = (parse_ident(shard_name(s.logicalrelid, s.shardid)))[2]
    where t.relnamespace = to_regnamespace(${literal(`"${schema}"`)}) and t.relname in (${names})))`;
}

/** Finds the session on a node that holds the tables and started first; its application ends with the node's name. */
export async function findLockHolderOnNodes(session: Queryable, locks: TableLocks): Promise<LockHolder | undefined> {
  const [first] = await queryWorkers<LockHolder>(
    session,
    sql`select ${HOLDER_JSON} from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where ${buildLockCondition(locks)} order by a.xact_start nulls last, l.pid limit 1`,
  );
  return first === undefined ? undefined : addNodeName(first);
}

const addNodeName = ({ pid, application, since, node }: LockHolder & { readonly node: string }): LockHolder => ({
  pid,
  application: `${application} on ${node}`,
  since,
});

/** Cancels autovacuums on the nodes that hold the tables. */
export async function endVacuumsOnNodes(session: Queryable, locks: TableLocks): Promise<void> {
  await queryWorkers(
    session,
    sql`select json_agg(pg_cancel_backend(a.pid)) from pg_stat_activity a where a.backend_type = 'autovacuum worker'
  and exists (select from pg_locks l where l.pid = a.pid and ${buildLockCondition(locks)})`,
  );
}

/** Builds the condition for sessions on a node that work for a session of the coordinator, by its number in Citus. */
const buildSessionCondition = (gpid: string): Fragment =>
  sql`w.application_name = ${literal(`citus_internal gpid=${gpid}`)} and w.datname = current_database()`;

/** Loads Citus's number of a session of the coordinator. */
async function loadGpid(session: Queryable, pid: number): Promise<string> {
  const [row] = await session.query<{ gpid: string }>(
    toQuery(sql`select citus_calculate_gpid(citus_nodeid_for_gpid(citus_backend_gpid()), ${pid}::int4)::text as gpid`),
  );
  return row?.gpid ?? '';
}

/** Finds the session that blocks a session of the coordinator on the nodes. */
export async function findBlockerOnNodes(session: Queryable, pid: number): Promise<LockHolder | undefined> {
  const [first] = await queryWorkers<LockHolder>(
    session,
    sql`select ${HOLDER_JSON} from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) l (pid)
left join pg_stat_activity a on a.pid = l.pid
where ${buildSessionCondition(await loadGpid(session, pid))} order by a.xact_start nulls last, l.pid limit 1`,
  );
  if (first === undefined) return undefined;
  const gpid = COORDINATOR_APPLICATION.exec(first.application)?.[1];
  if (gpid === undefined) return addNodeName(first);
  const [blocker] = await session.query<LockHolder>(
    toQuery(sql`select a.pid, a.application_name as application, ${SINCE} as since
from pg_stat_activity a where a.pid = citus_pid_for_gpid(${gpid}::int8)`),
  );
  return blocker ?? addNodeName(first);
}

const COORDINATOR_APPLICATION = /^citus_internal gpid=(\d+)$/;

/**
 * Finds the built share, 0 to 1, of an index on the nodes, or undefined if none is built. `progress`: column for it.
 */
export async function findIndexProgressOnNodes(
  session: Queryable,
  pid: number,
  progress: Fragment,
): Promise<number | undefined> {
  const [first] = await queryWorkers<{ readonly progress: number }>(
    session,
    sql`select json_build_object('progress', ${progress}) from pg_stat_progress_create_index p join pg_stat_activity w using (pid)
where ${buildSessionCondition(await loadGpid(session, pid))} limit 1`,
  );
  return first?.progress;
}
