// Measures the sizes of workspaces for their statistics on the nodes, as the coordinator has empty tables of these
// names.
import type { Database } from '../database/pool.ts';
import { type Fragment, join, literal, sql, toQuery } from '../sql/fragment.ts';
import type { NodeSizes } from '../topology/topology.ts';
import { queryNodes } from './nodes.ts';
import { buildGroupQuery } from './placements.ts';

/** Builds the sizes of the tables `place` from the nodes' responses, which omit locked tables. */
const buildMeasured = (results: string): Fragment => sql`
  select p.workspace, p.entity, p.at, p.oid, t.name is null as is_locked, t.last_pages, t.last_records,
    coalesce(t.counted, 0) as counted, coalesce(t.pages, 0) as pages, null::int8 as kept,
    coalesce(t.table_bytes, 0) as table_bytes, coalesce(t.index_bytes, 0) as index_bytes
  from place p join pg_namespace n on n.oid = p.namespace
  -- A workspace that was made before the database became a cluster lies with the coordinator, under its own names.
  left join pg_dist_shard s on s.logicalrelid = p.oid
  left join json_to_recordset(${results}::json) t (schema text, name text, last_pages int8, last_records float4, counted int8, pages int8, table_bytes int8, index_bytes int8)
    on t.schema = n.nspname and t.name = coalesce((parse_ident(shard_name(s.logicalrelid, s.shardid)))[2], p.relation)
`;

const buildSizesStatement = (schemas: readonly string[]): string =>
  sql`select coalesce(json_agg(json_build_object('schema', n.nspname, 'name', c.relname, 'last_pages', c.relpages,
  'last_records', c.reltuples, 'counted', pg_stat_get_live_tuples(c.oid), 'pages', pg_relation_size(c.oid) / current_setting('block_size')::int8,
  'table_bytes', pg_table_size(c.oid), 'index_bytes', pg_indexes_size(c.oid))), '[]')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname in (${join(['', ...schemas].map(literal))})
  and c.oid not in (select relation from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock')`.text;

export async function measureOnNodes(db: Database, workspaceIds: readonly string[]): Promise<NodeSizes> {
  const workspaces = await db.query<{ id: string; schema: string; group: number | null }>(
    toQuery(sql`select w.id::text, w.database_schema as schema, ${buildGroupQuery(sql`w.database_schema`)} as group
from wda.workspace w where w.id = any(${workspaceIds}::bigint[])`),
  );
  const results = await queryNodes<readonly object[]>(db, buildSizesStatement(workspaces.map(({ schema }) => schema)));
  const groups = new Set(results.flatMap(({ node, result }) => (result === undefined ? [] : [node.groupId])));
  return {
    measured: buildMeasured(JSON.stringify(results.flatMap(({ result }) => result ?? []))),
    unavailable: new Set(workspaces.flatMap(({ id, group }) => (group === null || groups.has(group) ? [] : [id]))),
  };
}
