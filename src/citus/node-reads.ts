// Reads from the nodes of a Citus cluster directly: reads of a workspace go to the node that holds it. A node is used
// once its identity is confirmed; until then, and while it is unreachable, reads go through the coordinator.

import { getSqlState, isConnectionLoss, StaleStatement } from '../database/errors.ts';
import type { Database, Executor, StatementOptions } from '../database/pool.ts';
import { ApiError } from '../errors.ts';
import type { ClusterNode, Placement } from '../model/workspace.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { queryNodes } from './nodes.ts';

export interface Nodes {
  /**
   * Returns the executor of reads on the node of the placement, or undefined if they have to go through the
   * coordinator. Reads throw StaleStatement when the node becomes unavailable, so that the request is planned again for
   * the coordinator.
   */
  readonly reader: (placement: Placement) => Executor | undefined;
  /** Open databases of nodes. */
  readonly databases: () => readonly Database[];
  /** Nodes that reads use at the moment. */
  readonly usable: () => readonly UsableNode[];
  readonly close: (graceMs?: number) => Promise<void>;
}

export interface UsableNode {
  readonly group: string;
  readonly database: Database;
}

export interface NodeReadsOptions {
  /** Database of the coordinator. */
  readonly coordinator: Database;
  /** Creates the database at another address, with the same credentials. Connects at the first query. */
  readonly open: (address: Pick<ClusterNode, 'host' | 'port'>) => Database;
  /** Prepares a node for reads, each time that its identity was confirmed. */
  readonly beforeUse: (node: UsableNode) => Promise<void>;
  readonly now: () => number;
  readonly log: Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;
}

interface NodeEntry {
  readonly node: ClusterNode;
  readonly database: Database;
  readonly reader: Executor;
  /** 'new' until the first confirmation. */
  state: 'new' | 'usable' | 'away';
  /** Earliest time of the next probe. */
  retryAt: number;
}

// Milliseconds between probes of an unavailable node, which requests start without waiting for them.
const PROBE_INTERVAL_MS = 5000;
// With more nodes the remaining ones are read through the coordinator.
const MAX_NODES = 64;

export function makeNodeReads({ coordinator, open, beforeUse, now, log }: NodeReadsOptions): Nodes {
  const entries = new Map<string, NodeEntry>();
  function getEntry(node: ClusterNode): NodeEntry | undefined {
    const address = `${node.group} ${node.host} ${node.port}`;
    const existing = entries.get(address);
    if (existing !== undefined) return existing;
    if (entries.size >= MAX_NODES) return undefined;
    const database = open(node);
    const entry: NodeEntry = {
      node,
      database,
      state: 'new',
      retryAt: 0,
      reader: makeReader(database, () => markUnavailable(entry)),
    };
    entries.set(address, entry);
    return entry;
  }

  function markUnavailable(entry: NodeEntry): void {
    if (entry.state === 'away') return;
    entry.state = 'away';
    entry.retryAt = now() + PROBE_INTERVAL_MS;
    log.warn('a node of the cluster is unavailable: it is read through the coordinator', formatAddress(entry.node));
  }

  /** Probes the node in the background: current requests go through the coordinator. */
  function probe(entry: NodeEntry): void {
    // Prevents concurrent probes.
    entry.retryAt = Number.POSITIVE_INFINITY;
    const { node, database } = entry;
    isExpectedNode(coordinator, entry)
      .then(async (isExpected) => {
        if (isExpected) {
          await beforeUse({ group: node.group, database });
          // An entry of the same group with another address is obsolete.
          for (const other of entries.values()) if (other.node.group === node.group) other.state = 'away';
          entry.state = 'usable';
          log.info('reads of a node of the cluster bypass the coordinator', formatAddress(node));
          return;
        }
        const message = 'the address of a node is that of another server from here: it is read through the coordinator';
        if (entry.state === 'new') log.warn(message, formatAddress(node));
        entry.state = 'away';
      })
      .catch((error) => {
        if (entry.state === 'new') {
          const message = 'a node of the cluster cannot be reached from here: it is read through the coordinator';
          log.warn(message, { ...formatAddress(node), error: String(error) });
        }
        entry.state = 'away';
      })
      .then(() => {
        entry.retryAt = now() + PROBE_INTERVAL_MS;
      });
  }

  return {
    reader({ node }) {
      const entry = getEntry(node);
      if (entry === undefined) return undefined;
      if (entry.state === 'usable') return entry.reader;
      if (now() >= entry.retryAt) probe(entry);
      return undefined;
    },
    databases: () => [...entries.values()].map(({ database }) => database),
    usable: () =>
      [...entries.values()].flatMap(({ state, node: { group }, database }) =>
        state === 'usable' ? { group, database } : [],
      ),
    async close(graceMs) {
      await Promise.all([...entries.values()].map(({ database }) => database.close(graceMs)));
    },
  };
}

const formatAddress = ({ host, port }: ClusterNode) => ({ node: `${host}:${port}` });

/** Reads records on the node, or has the request planned again. */
function makeReader(database: Database, onUnavailable: () => void): Executor {
  return {
    isTransaction: false,
    run: (query, pool, options) =>
      rejectWhenUnavailable(database.run(query, pool, options), options?.node).catch((error) => {
        if (!isNodeUnavailable(error)) throw error;
        onUnavailable();
        throw new StaleStatement();
      }),
  };
}

/** Rejects once the node is known to be silent: a machine that has stopped closes no connection. */
function rejectWhenUnavailable<T>(result: Promise<T>, node: StatementOptions['node']): Promise<T> {
  if (node === undefined) return result;
  return new Promise((resolve, reject) => {
    const unsubscribe = node.onUnavailable(() => reject(new StaleStatement()));
    result.then(resolve, reject).finally(unsubscribe);
  });
}

// 28: credentials; 3D000: database; 42501: permissions; 53300: too many connections; 57P03: starting up.
function isNodeUnavailable(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error;
  const state = getSqlState(cause);
  if (state !== undefined) return /^(08|28|3D000|42501|53300|57P0[123])/.test(state);
  // `timeout expired` is the driver's message for a connection that was not established in time.
  return (
    isConnectionLoss(cause) ||
    (cause instanceof Error && /InvalidSession|timeout/.test(`${cause.name} ${cause.message}`))
  );
}

/**
 * True when the address leads to the same node from here as from the coordinator: names such as localhost, and networks
 * of containers, may mean another server. Compares the system identifier of the database cluster.
 */
async function isExpectedNode(coordinator: Database, { node, database }: NodeEntry): Promise<boolean> {
  const identityQuery = sql`select to_json(system_identifier::text || ' ' || current_database()) from pg_control_system()`;
  // Queries the node first, which fails at once if it is down: the coordinator asks all nodes, and waits for silent
  // ones.
  const [row] = await database.query<{ identity: string; group: number }>(
    toQuery(sql`select (${identityQuery}) as identity, groupid as "group" from pg_dist_local_group`),
  );
  const results = await queryNodes<string>(coordinator, identityQuery.text);
  const expected = results.find((one) => String(one.node.groupId) === node.group)?.result;
  return expected !== undefined && row?.identity === expected && String(row.group) === node.group;
}
