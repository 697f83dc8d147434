// Queries the nodes of a Citus cluster through the coordinator: which exist, which respond, and what lies on them.
import type { Database, Session } from '../database/pool.ts';
import { join, literal, sql, toQuery } from '../sql/fragment.ts';

export interface ClusterNode {
  /** Name in Citus, `host:port`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Citus's group id: all tables whose placement has this number lie on this node. */
  readonly groupId: number;
  readonly isCoordinator: boolean;
  /** False after citus_disable_node(). */
  readonly isActive: boolean;
  /** Whether workspaces may lie there (`shouldhaveshards`); false for a node that is to be emptied. */
  readonly takesWorkspaces: boolean;
}

/** Result of a query on a node. */
export interface NodeResult<T> {
  readonly node: ClusterNode;
  /** Result, or undefined if the node did not respond or the query failed there. */
  readonly result: T | undefined;
  /**
   * Whether the node exceeded its timeout. With several such nodes it is unknown which of them delayed the others.
   * False for a node that refuses: it is down, or has reached its connection limit.
   */
  readonly hasTimedOut: boolean;
  /** Error message of the database for the log, or undefined if there is a result. */
  readonly failure: string | undefined;
}

// A node that responds takes milliseconds. Without a timeout a machine that is off would cost half a minute.
const CONNECT_TIMEOUT_MS = 1500;
const QUERY_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 60_000;
// Grace for a coordinator that is late to cancel the query; later it waits for a silent node, and cancels nothing.
const CUT_DELAY_MS = 500;

/** Loads the primary nodes, the coordinator first. */
export function loadNodes(session: Pick<Session, 'query'>): Promise<ClusterNode[]> {
  return session.query<ClusterNode>(
    toQuery(sql`select nodename || ':' || nodeport as name, nodename as host, nodeport as port, groupid as "groupId",
  groupid = 0 as "isCoordinator", isactive as "isActive", shouldhaveshards as "takesWorkspaces"
from pg_dist_node where noderole = 'primary' order by groupid <> 0, nodename, nodeport`),
  );
}

/**
 * Runs the same query, with one row of one JSON value, on each active node concurrently. A node that falls silent
 * during the query fails it half a second after `limitMs`. `purpose`: selects the connections, as such a node occupies
 * one until then.
 */
export async function queryNodes<T>(
  db: Database,
  statement: string,
  { limitMs = QUERY_TIMEOUT_MS, purpose = 'migration' }: { limitMs?: number; purpose?: 'migration' | 'look' } = {},
): Promise<readonly NodeResult<T>[]> {
  const nodes = await loadNodes(db);
  let elapsedMs = 0;
  const resultRows = await db.transaction(
    async (session) => {
      await session.execute(`set local citus.node_connection_timeout = ${CONNECT_TIMEOUT_MS}`);
      const startedAt = performance.now();
      const cutTimer = setTimeout(session.cut, limitMs + CUT_DELAY_MS);
      const rows = await session
        .query<{ group: number; success: boolean; result: string }>(
          toQuery(sql`select n.groupid as "group", r.success, r.result
from run_command_on_all_nodes(${statement}) r join pg_dist_node n using (nodeid) where n.noderole = 'primary'`),
        )
        .finally(() => clearTimeout(cutTimer));
      elapsedMs = performance.now() - startedAt;
      return rows;
    },
    { purpose, statementTimeoutMs: limitMs },
  );
  const byGroup = new Map(resultRows.map((one) => [one.group, one]));
  return nodes.map((node) => {
    const row = byGroup.get(node.groupId);
    const hasResult = row?.success === true;
    return {
      node,
      result: hasResult ? (JSON.parse(row.result) as T) : undefined,
      hasTimedOut: !hasResult && elapsedMs >= CONNECT_TIMEOUT_MS,
      failure: hasResult ? undefined : (row?.result ?? 'it is no active node'),
    };
  });
}

/** Runs a command on each active node of a cluster, in its own transaction, whatever its outcome on the others. */
export async function runOnNodes(db: Database, command: string): Promise<void> {
  await db.transaction(
    async (session) => {
      await session.execute(`set local citus.node_connection_timeout = ${CONNECT_TIMEOUT_MS}`);
      await session.query(toQuery(sql`select success from run_command_on_all_nodes(${command})`));
    },
    { purpose: 'migration', statementTimeoutMs: COMMAND_TIMEOUT_MS },
  );
}

/** Loads the bytes of tables with their indexes on each node, by the PostgreSQL schema. `only`: these schemas. */
export function loadSizes(
  db: Database,
  schemas?: readonly string[],
): Promise<readonly NodeResult<Readonly<Record<string, number>>>[]> {
  const schemaCondition =
    schemas === undefined ? sql`n.nspname ~ '^ws[0-9]+_'` : sql`n.nspname in (${join(['', ...schemas].map(literal))})`;
  return queryNodes(
    db,
    sql`select coalesce(json_object_agg(s.name, s.bytes), '{}') from (
  select n.nspname as name, sum(pg_total_relation_size(c.oid)) as bytes
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and ${schemaCondition} group by n.nspname) s`.text,
  );
}

/**
 * Loads the timelines of the workers, as each has its own standbys and transaction numbers, which record versions use:
 * by a name of each worker that responds, which stays when its address changes.
 */
export async function loadWorkerTimelines(db: Database): Promise<ReadonlyMap<string, string>> {
  const results = await queryNodes<string>(
    db,
    sql`select to_json(left(pg_walfile_name(pg_current_wal_lsn()), 8))`.text,
  );
  return new Map(
    results.flatMap(({ node, result }) =>
      node.isCoordinator || result === undefined ? [] : [[`timeline of node ${node.groupId}`, result] as const],
    ),
  );
}
