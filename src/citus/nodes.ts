// The nodes of a Citus cluster: which there are, which answer, and what lies on them. All by questions to the coordinator.
import type { Database, Session } from '../database/pool.ts';
import { join, literal, sql, toQuery } from '../sql/fragment.ts';

export interface ClusterNode {
  /** `host:port`, as Citus calls it. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Of Citus: all tables with this number of a placement lie on this node. */
  readonly groupId: number;
  readonly isCoordinator: boolean;
  /** False after citus_disable_node(). */
  readonly isActive: boolean;
  /** Whether workspaces may lie there (`shouldhaveshards`); a node that is to be emptied says no. */
  readonly takesWorkspaces: boolean;
}

/** What a node says of itself; undefined bytes: it did not answer. */
export interface NodeResult<T> {
  readonly node: ClusterNode;
  /** Undefined: it did not answer, or the question failed there. */
  readonly result: T | undefined;
  /**
   * It did not answer, and the longest time that a node has for that was over. Of several it cannot be told which kept the
   * others waiting. False for one that refuses: it is down, or has all the connections that it may.
   */
  readonly hasTimedOut: boolean;
  /** Why there is no answer, in the database's words, for the log. */
  readonly failure: string | undefined;
}

// A node that answers takes milliseconds. Without an end a machine that is off would be waited for half a minute.
const CONNECT_TIMEOUT_MS = 1500;
const QUERY_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 60_000;
// For a coordinator that is late to end the question; then it waits for a silent node, and ends nothing.
const CUT_DELAY_MS = 500;

/** The primary nodes, the coordinator first. */
export function loadNodes(session: Pick<Session, 'query'>): Promise<ClusterNode[]> {
  return session.query<ClusterNode>(
    toQuery(sql`select nodename || ':' || nodeport as name, nodename as host, nodeport as port, groupid as "groupId",
  groupid = 0 as "isCoordinator", isactive as "isActive", shouldhaveshards as "takesWorkspaces"
from pg_dist_node where noderole = 'primary' order by groupid <> 0, nodename, nodeport`),
  );
}

/**
 * Asks each active node the same question, a statement with one row of one JSON value, all at the same time. A node that falls
 * silent under the question fails it, half a second after `limitMs`. `purpose`: whose connections it takes, as such a node keeps
 * one so long.
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

/** Runs a command on each active node of a cluster, in a transaction of its own, whatever becomes of it on the others. */
export async function runOnNodes(db: Database, command: string): Promise<void> {
  await db.transaction(
    async (session) => {
      await session.execute(`set local citus.node_connection_timeout = ${CONNECT_TIMEOUT_MS}`);
      await session.query(toQuery(sql`select success from run_command_on_all_nodes(${command})`));
    },
    { purpose: 'migration', statementTimeoutMs: COMMAND_TIMEOUT_MS },
  );
}

/** Bytes of tables with their indexes, by the PostgreSQL schema of a workspace, on each node; `only`: of these schemas. */
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
 * The timelines of the workers, as each has standbys of its own and versions of records are its numbers: by a name of each
 * worker that answers, which stays when its address changes.
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
