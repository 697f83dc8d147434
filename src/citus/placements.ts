// Where the PostgreSQL schemas of workspaces lie in a cluster, as its coordinator has it. A distributed schema lies on one node,
// whole.
import type { Session } from '../database/pool.ts';
import type { Placement } from '../model/workspace.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

/** The shards of distributed schemas and where they lie. pg_dist_placement has one row a shard, as these have no replicas. */
const SHARDS = sql`pg_dist_schema d join pg_dist_partition t on t.colocationid = d.colocationid
join pg_dist_shard s on s.logicalrelid = t.logicalrelid join pg_dist_placement p on p.shardid = s.shardid`;
const NODE = sql`join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'`;

/**
 * Rows of (schema, node), as a query of the coordinator's catalog: no node is asked. All tables of a schema lie together,
 * so any one of them tells; each workspace has some from its beginning.
 */
export const PLACEMENTS: Fragment = sql`select distinct on (d.schemaid) m.nspname as schema, n.nodename || ':' || n.nodeport as node, d.schemaid as oid
from ${SHARDS} ${NODE} join pg_namespace m on m.oid = d.schemaid
order by d.schemaid`;

/** The node (`host:port`) of each distributed schema. */
export async function loadPlacements(session: Pick<Session, 'query'>): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query<{ schema: string; node: string }>(
    toQuery(sql`select schema, node from (${PLACEMENTS}) p`),
  );
  return new Map(rows.map(({ schema, node }) => [schema, node]));
}

/** The node of one distributed schema; undefined when there is no such schema. */
export async function findNodeName(session: Pick<Session, 'query'>, schema: string): Promise<string | undefined> {
  const [row] = await session.query<{ node: string }>(
    toQuery(sql`select n.nodename || ':' || n.nodeport as node
from ${SHARDS} ${NODE}
where d.schemaid = to_regnamespace(quote_ident(${schema})) limit 1`),
  );
  return row?.node;
}

/**
 * The number of the nodes on which a schema lies (`ClusterNode.groupId`), as a subquery of the coordinator's catalog; null for
 * one that is not distributed. `schema`: its name.
 */
export const buildGroupQuery = (schema: Fragment): Fragment => sql`(select p.groupid
  from ${SHARDS} where d.schemaid = to_regnamespace(quote_ident(${schema})) limit 1)`;

interface PlacementRow {
  readonly group: string;
  readonly host: string;
  readonly port: number;
  readonly shard: string;
  readonly tables: Readonly<Record<string, string>>;
}

/**
 * The node of a workspace's schema with the names that its tables have there; undefined for a schema that is not distributed,
 * or whose tables do not lie on one node at the moment.
 */
export async function findPlacement(
  session: Pick<Session, 'query'>,
  databaseSchema: string,
): Promise<Placement | undefined> {
  // By the indexes of Citus's catalog: a thousand workspaces have 50,000 tables. shard_name() knows how Citus cuts long names.
  const rows = await session.query<PlacementRow>(
    toQuery(sql`select p.groupid::text as group, n.nodename as host, n.nodeport as port, min(s.shardid)::text as shard,
  json_object_agg(c.relname, (parse_ident(shard_name(s.logicalrelid, s.shardid)))[2]) as tables
from ${SHARDS} ${NODE} and n.isactive
join pg_class c on c.oid = s.logicalrelid
where d.schemaid = to_regnamespace(quote_ident(${databaseSchema})) group by p.groupid, n.nodename, n.nodeport`),
  );
  const [row] = rows;
  if (row === undefined || rows.length > 1) return undefined;
  const { group, host, port, shard, tables } = row;
  return { node: { group, host, port }, shard, tables: new Map(Object.entries(tables)) };
}
