// Where the schemas of workspaces lie on a Citus cluster: as its coordinator has it.
import type { Session } from '../db/pool.ts';
import type { Placement } from '../model/workspace.ts';
import { sql, toQuery } from '../sql/fragment.ts';

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
  // By the indexes of Citus's catalog: a thousand workspaces have 50,000 tables. pg_dist_placement has one row a shard, as
  // shards of schemas have no replicas. shard_name() knows how Citus cuts long names.
  const rows = await session.query<PlacementRow>(
    toQuery(sql`select p.groupid::text as group, n.nodename as host, n.nodeport as port, min(s.shardid)::text as shard,
  json_object_agg(c.relname, (parse_ident(shard_name(s.logicalrelid, s.shardid)))[2]) as tables
from pg_dist_schema d join pg_dist_partition t on t.colocationid = d.colocationid
join pg_dist_shard s on s.logicalrelid = t.logicalrelid join pg_dist_placement p on p.shardid = s.shardid
join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' and n.isactive
join pg_class c on c.oid = s.logicalrelid
where d.schemaid = to_regnamespace(quote_ident(${databaseSchema})) group by p.groupid, n.nodename, n.nodeport`),
  );
  const [row] = rows;
  if (row === undefined || rows.length > 1) return undefined;
  const { group, host, port, shard, tables } = row;
  return { node: { group, host, port }, shard, tables: new Map(Object.entries(tables)) };
}
