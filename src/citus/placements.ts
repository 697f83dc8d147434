// Finds the placement of workspaces' PostgreSQL schemas in the coordinator's catalog. A distributed schema lies on one
// node.
import type { Session } from '../database/pool.ts';
import type { Placement } from '../model/workspace.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

/** Shards of distributed schemas with their placements, one row a shard, as these have no replicas. */
const SHARDS = sql`pg_dist_schema d join pg_dist_partition t on t.colocationid = d.colocationid
join pg_dist_shard s on s.logicalrelid = t.logicalrelid join pg_dist_placement p on p.shardid = s.shardid`;
const NODE = sql`join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'`;

/**
 * Query for rows of (schema, node) in the coordinator's catalog, without access to nodes. All tables of a schema lie
 * together, so any one of them is enough; each workspace has some from its creation on.
 */
export const PLACEMENTS: Fragment = sql`select distinct on (d.schemaid) m.nspname as schema, n.nodename || ':' || n.nodeport as node, d.schemaid as oid
from ${SHARDS} ${NODE} join pg_namespace m on m.oid = d.schemaid
order by d.schemaid`;

/** Loads the node (`host:port`) of each distributed schema. */
export async function loadPlacements(session: Pick<Session, 'query'>): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query<{ schema: string; node: string }>(
    toQuery(sql`select schema, node from (${PLACEMENTS}) p`),
  );
  return new Map(rows.map(({ schema, node }) => [schema, node]));
}

/** Finds the node of one distributed schema, or undefined if there is no such schema. */
export async function findNodeName(session: Pick<Session, 'query'>, schema: string): Promise<string | undefined> {
  const [row] = await session.query<{ node: string }>(
    toQuery(sql`select n.nodename || ':' || n.nodeport as node
from ${SHARDS} ${NODE}
where d.schemaid = to_regnamespace(quote_ident(${schema})) limit 1`),
  );
  return row?.node;
}

/**
 * Builds a subquery for the group id of the node of a schema (`ClusterNode.groupId`) in the coordinator's catalog; null
 * if it is not distributed. `schema`: its name.
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
 * Finds the node of a workspace's schema with the names of its shards, or undefined if the schema is not distributed,
 * or its tables do not lie on one node at the moment.
 */
export async function findPlacement(
  session: Pick<Session, 'query'>,
  databaseSchema: string,
): Promise<Placement | undefined> {
  // Uses the indexes of Citus's catalog: a thousand workspaces have 50,000 tables. shard_name() truncates long names as
  // Citus does.
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
