// The kept total of a table where it is: in the schema of its workspace, or on the node of the cluster that holds it.
import pg from 'pg';
import { type TOTAL_OBJECTS, totalRef } from '../../src/sql/internal-names.ts';
import type { TotalTable } from '../../src/workspace-schema/count.ts';
import { isCluster } from './citus.ts';
import type { TestDatabase } from './database.ts';

export interface KeptTotal {
  /** Where its records lie: `query` is run there. */
  readonly url: string;
  readonly query: TestDatabase['query'];
  /** As SQL has them there: the table, and what keeps its total by the name without `$`. */
  readonly table: string;
  readonly named: (name: (typeof TOTAL_OBJECTS)[number]) => string;
  /** As whoever counts it there knows it. */
  readonly counted: TotalTable;
  /** Null while none is kept. */
  readonly total: () => Promise<number | null>;
  readonly close: () => Promise<void>;
}

/** `table`: `things` of the schema `ws1_shop`. Of a workspace that moves it is to be asked for anew. */
export async function keptTotal(database: TestDatabase, schema: string, table: string): Promise<KeptTotal> {
  const place = isCluster ? await placeOf(database, schema, table) : { url: database.url, name: table };
  const client = new pg.Client({ connectionString: place.url });
  // Its database may be dropped first.
  client.on('error', () => undefined);
  await client.connect();
  const query: KeptTotal['query'] = async (text, values = []) => (await client.query(text, values)).rows;
  const named = (name: (typeof TOTAL_OBJECTS)[number]): string =>
    totalRef({ schema, ...(place.total === undefined ? {} : { total: place.total }) }, name).text;
  const own = `"${schema}"."${place.name}"`;
  return {
    url: place.url,
    query,
    table: own,
    named,
    counted: { schema, name: place.name, ...(place.total === undefined ? {} : { total: place.total }) },
    async total() {
      const [made] = await query('select to_regprocedure($1) is not null as made', [`${named('total_of')}(oid)`]);
      if (made?.made !== true) return null;
      const [row] = await query(`select ${named('total_of')}($1::regclass) as n`, [own]);
      return row?.n === null || row?.n === undefined ? null : Number(row.n);
    },
    close: () => client.end(),
  };
}

interface Place extends Pick<TotalTable, 'name' | 'total'> {
  readonly url: string;
}

async function placeOf(database: TestDatabase, schema: string, table: string): Promise<Place> {
  const [row] = await database.query(
    `select n.nodename as host, n.nodeport as port, parse_ident(shard_name(s.logicalrelid, s.shardid)) as names, p.groupid::text as group,
  (select shardid from pg_dist_shard where logicalrelid = format('%I."$total"', $1::text)::regclass) as shard
from pg_dist_shard s join pg_dist_placement p using (shardid) join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
where s.logicalrelid = format('%I.%I', $1::text, $2::text)::regclass`,
    [schema, table],
  );
  const { host, port, names, shard, group } = row as Record<string, string> & { readonly names: readonly string[] };
  const url = Object.assign(new URL(database.url), { host: `${host}:${port}` }).href;
  return { url, name: names[1] as string, total: { shard: shard as string, group: group as string } };
}
