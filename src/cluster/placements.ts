// Where the PostgreSQL schemas of workspaces lie in a cluster. A distributed schema lies on one node, whole.
import type { Session } from '../db/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

/**
 * Rows of (schema, node), as a query of the coordinator's catalog: no node is asked. All tables of a schema lie together,
 * so any one of them tells; each workspace has some from its beginning.
 */
export const PLACEMENTS: Fragment = sql`select distinct on (d.schemaid) s.nspname as schema, o.nodename || ':' || o.nodeport as node, d.schemaid as oid
from pg_dist_schema d
join pg_namespace s on s.oid = d.schemaid
join pg_dist_partition t on t.colocationid = d.colocationid
join pg_dist_shard h on h.logicalrelid = t.logicalrelid
join pg_dist_placement p on p.shardid = h.shardid
join pg_dist_node o on o.groupid = p.groupid and o.noderole = 'primary'
order by d.schemaid`;

/** The node (`host:port`) of each distributed schema. */
export async function placements(session: Pick<Session, 'query'>): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query<{ schema: string; node: string }>(
    toQuery(sql`select schema, node from (${PLACEMENTS}) p`),
  );
  return new Map(rows.map(({ schema, node }) => [schema, node]));
}

/** The node of one distributed schema; undefined when there is no such schema. */
export async function placementOf(session: Pick<Session, 'query'>, schema: string): Promise<string | undefined> {
  const [row] = await session.query<{ node: string }>(
    toQuery(sql`select o.nodename || ':' || o.nodeport as node
from pg_dist_schema d
join pg_dist_partition t on t.colocationid = d.colocationid
join pg_dist_shard h on h.logicalrelid = t.logicalrelid
join pg_dist_placement p on p.shardid = h.shardid
join pg_dist_node o on o.groupid = p.groupid and o.noderole = 'primary'
where d.schemaid = to_regnamespace(quote_ident(${schema})) limit 1`),
  );
  return row?.node;
}

/**
 * The number of the nodes on which a schema lies (`ClusterNode.groupId`), as a subquery of the coordinator's catalog; null for
 * one that is not distributed. `schema`: its name.
 */
export const groupOf = (schema: Fragment): Fragment => sql`(select p.groupid
  from pg_dist_schema d
  join pg_dist_partition t on t.colocationid = d.colocationid
  join pg_dist_shard h on h.logicalrelid = t.logicalrelid
  join pg_dist_placement p on p.shardid = h.shardid
  where d.schemaid = to_regnamespace(quote_ident(${schema})) limit 1)`;
