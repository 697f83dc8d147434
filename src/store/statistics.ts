// Sizes of workspaces, from PostgreSQL's statistics and the maintained totals: no record is read.
import type { Database } from '../database/pool.ts';
import { workspaceUnavailable } from '../errors.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';

export interface Size {
  /** Number of records, exact or estimated. */
  readonly records: number;
  /** Whether the number is exact, and not an estimate of the database. */
  readonly exact: boolean;
  /** Size of the records, including TOAST. */
  readonly tableBytes: number;
  readonly indexBytes: number;
}

export interface EntityStatistics extends Size {
  readonly entity: string;
}

export interface WorkspaceStatistics extends Size {
  readonly entities: number;
}

const NO_ENTITIES: WorkspaceStatistics = { entities: 0, records: 0, exact: true, tableBytes: 0, indexBytes: 0 };

// 2,000 tables take 0.14 s. A limit, so that the connections of the control tables are not blocked by it.
const TIMEOUT_MS = 10_000;
// The planner's estimate for a small table is updated only after 50 changes; the counter is more accurate there.
const SMALL_PAGES = 10;

/**
 * Builds a query with a row for each entity of the workspaces, in the order of the document. It does not wait for a
 * table that a migration locks or is about to lock: its sizes are those of the last vacuum. Documents are parsed once,
 * before the tables are looked up: otherwise PostgreSQL may parse them for every table (500 entities on a busy machine:
 * 19 s instead of 0.4 s).
 */
const buildSizesQuery = (
  workspaceIds: readonly string[],
  measured: Fragment,
): Fragment => sql`with locked as materialized (
  select relation from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock'
), kept as materialized (
  select k.relid, k.relation, k.n from wda.workspace w cross join lateral wda.kept_totals(w.database_schema) k
  where w.id = any(${workspaceIds}::bigint[])
), named as materialized (
  select w.id as workspace, e.name as entity, e.at, n.oid as namespace,
    coalesce(w.names -> 'tables' ->> e.name, e.name) as table_name
  from wda.workspace w
  join pg_namespace n on n.nspname = w.database_schema
  cross join lateral json_object_keys(w.document -> 'entities') with ordinality e (name, at)
  where w.id = any(${workspaceIds}::bigint[])
), place as materialized (
  select e.workspace, e.entity, e.at, e.namespace, c.oid, c.relpages::int8 as last_pages, c.reltuples as last_records,
    c.relname as relation, c.oid in (select relation from locked) as is_locked
  from named e
  join pg_class c on c.relnamespace = e.namespace and c.relname = e.table_name
), measured as (${measured})
select m.workspace, m.entity, m.at,
  coalesce(m.kept, case
    when m.pages = 0 then 0
    when m.last_records > 0 and m.last_pages > 0 and (m.pages > ${SMALL_PAGES}::int8 or m.counted = 0)
      then round(m.last_records::float8 / m.last_pages * m.pages)::int8
    else m.counted
  end) as records,
  m.kept is not null or m.pages = 0 and not m.is_locked as exact,
  m.table_bytes, m.index_bytes
from measured m`;

/** PostgreSQL's figures about the tables in `place`. */
const MEASURED = sql`
  select p.*, pg_stat_get_live_tuples(p.oid) as counted,
    case when p.is_locked then p.last_pages else coalesce(pg_relation_size(p.oid), 0) / b.size end as pages,
    k.n as kept,
    case when p.is_locked then p.last_pages * b.size else coalesce(pg_table_size(p.oid), 0) end as table_bytes,
    case when p.is_locked then (
      select coalesce(sum(i.relpages), 0)::int8 * b.size from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = p.oid
    ) else coalesce(pg_indexes_size(p.oid), 0) end as index_bytes
  from place p left join kept k on k.relid = p.oid and k.relation = p.relation, (select current_setting('block_size')::int8 as size) b
`;

/** Loads the statistics of a workspace's entities, in the order of its document. 503 while its node does not answer. */
export async function loadStatistics(
  db: Database,
  workspaceId: string,
  topology: Topology,
): Promise<readonly EntityStatistics[]> {
  return load<EntityStatistics>(db, workspaceId, await buildStatisticsQuery(db, workspaceId, topology));
}

/** Loads the same on a connection for short work, for limits: migrations do not delay it. */
export async function loadUsedSpace(
  db: Database,
  workspaceId: string,
  topology: Topology,
): Promise<readonly EntityStatistics[]> {
  return db.query<EntityStatistics>(toQuery(await buildStatisticsQuery(db, workspaceId, topology)));
}

async function buildStatisticsQuery(db: Database, workspaceId: string, topology: Topology): Promise<Fragment> {
  const sizes = await topology.measureSizes(db, [workspaceId]);
  if ((sizes?.unavailable.size ?? 0) > 0) throw workspaceUnavailable();
  return sql`select entity, records::float8, exact, table_bytes::float8 as "tableBytes", index_bytes::float8 as "indexBytes"
from (${buildSizesQuery([workspaceId], sizes?.measured ?? MEASURED)}) s order by at`;
}

/** Loads statistics by workspace id, without workspaces on unavailable nodes. `tenant`: id used for fair queueing. */
export async function loadWorkspaceStatistics(
  db: Database,
  workspaceIds: readonly string[],
  tenant: string,
  topology: Topology,
): Promise<ReadonlyMap<string, WorkspaceStatistics>> {
  const sizes = await topology.measureSizes(db, workspaceIds);
  const rows = await load<WorkspaceStatistics & { readonly id: string }>(
    db,
    tenant,
    sql`select workspace::text as id, count(*)::float8 as entities, sum(records)::float8 as records, bool_and(exact) as exact,
  sum(table_bytes)::float8 as "tableBytes", sum(index_bytes)::float8 as "indexBytes"
from (${buildSizesQuery(workspaceIds, sizes?.measured ?? MEASURED)}) s group by workspace`,
  );
  const statisticsById = new Map(rows.map(({ id, ...statistics }) => [id, statistics]));
  const availableIds = workspaceIds.filter((id) => sizes?.unavailable.has(id) !== true);
  return new Map(availableIds.map((id) => [id, statisticsById.get(id) ?? NO_ENTITIES]));
}

function load<Row>(db: Database, tenant: string, select: Fragment): Promise<Row[]> {
  return db.transaction((session) => session.query<Row>(toQuery(select)), {
    readOnly: true,
    statementTimeoutMs: TIMEOUT_MS,
    purpose: 'migration',
    tenant,
  });
}
