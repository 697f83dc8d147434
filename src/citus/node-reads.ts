// The nodes of a Citus cluster as databases of their own: reads of a workspace go straight to the node that holds it. A node
// is used once it has shown that it is the one that the coordinator means; while it cannot be reached, or has shown nothing,
// reads go through the coordinator.

import { getSqlState, isConnectionLoss, StaleStatement } from '../database/errors.ts';
import type { Database, Executor, StatementOptions } from '../database/pool.ts';
import { ApiError } from '../errors.ts';
import type { ClusterNode, Placement } from '../model/workspace.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { queryNodes } from './nodes.ts';

export interface Nodes {
  /**
   * Runs reads on the node of the placement; undefined while they are to go through the coordinator. They throw
   * StaleStatement when the node is away, so that the request is planned again, for the coordinator.
   */
  readonly reader: (placement: Placement) => Executor | undefined;
  /** Those that are open. */
  readonly databases: () => readonly Database[];
  /** Those that are read now. */
  readonly usable: () => readonly UsableNode[];
  readonly close: (graceMs?: number) => Promise<void>;
}

export interface UsableNode {
  readonly group: string;
  readonly database: Database;
}

export interface NodeReadsOptions {
  /** That of the coordinator. */
  readonly coordinator: Database;
  /** Makes the database at another address, with the same credentials. Opens nothing before it is asked. */
  readonly open: (address: Pick<ClusterNode, 'host' | 'port'>) => Database;
  /** What is to be done before a node is read, each time that it has shown itself. */
  readonly beforeUse: (node: UsableNode) => Promise<void>;
  readonly now: () => number;
  readonly log: Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;
}

interface NodeEntry {
  readonly node: ClusterNode;
  readonly database: Database;
  readonly reader: Executor;
  /** 'new' until the first proof. */
  state: 'new' | 'usable' | 'away';
  /** Not asked again before. */
  retryAt: number;
}

// A node that is away is asked again so often; requests that wait for nothing bring it about.
const PROBE_INTERVAL_MS = 5000;
// Of a cluster with more nodes the rest is read through the coordinator.
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
    log.warn('a node of the cluster is away: what it holds is read through the coordinator', formatAddress(entry.node));
  }

  /** In the background: whoever asks now goes through the coordinator. */
  function probe(entry: NodeEntry): void {
    // Once at a time.
    entry.retryAt = Number.POSITIVE_INFINITY;
    const { node, database } = entry;
    isExpectedNode(coordinator, entry)
      .then(async (isExpected) => {
        if (isExpected) {
          await beforeUse({ group: node.group, database });
          // One that had its place and another address is nobody's any more.
          for (const other of entries.values()) if (other.node.group === node.group) other.state = 'away';
          entry.state = 'usable';
          log.info('reads go straight to a node of the cluster', formatAddress(node));
          return;
        }
        const message = 'an address of the cluster leads elsewhere from here: it is read through the coordinator';
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

/** Reads of records go to the node, or the request is planned anew. */
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

/** The same, or an error once the node is known to be silent: a machine that has stopped closes no connection. */
function rejectWhenUnavailable<T>(result: Promise<T>, node: StatementOptions['node']): Promise<T> {
  if (node === undefined) return result;
  return new Promise((resolve, reject) => {
    const unsubscribe = node.onUnavailable(() => reject(new StaleStatement()));
    result.then(resolve, reject).finally(unsubscribe);
  });
}

// 28: its credentials; 3D000: its database; 42501: its rights; 53300: its connections; 57P03: it is starting.
function isNodeUnavailable(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error;
  const state = getSqlState(cause);
  if (state !== undefined) return /^(08|28|3D000|42501|53300|57P0[123])/.test(state);
  // `timeout expired` is the driver's, of a connection that was not opened in time.
  return (
    isConnectionLoss(cause) ||
    (cause instanceof Error && /InvalidSession|timeout/.test(`${cause.name} ${cause.message}`))
  );
}

/**
 * Whether the address leads from here where it leads from the coordinator: names such as localhost, and networks of
 * containers, may mean another server there. Told by the number that each cluster of databases is made with.
 */
async function isExpectedNode(coordinator: Database, { node, database }: NodeEntry): Promise<boolean> {
  const identityQuery = sql`select to_json(system_identifier::text || ' ' || current_database()) from pg_control_system()`;
  // First what fails at once for a node that is away: the coordinator asks all of them, and waits for those that are silent.
  const [row] = await database.query<{ identity: string; group: number }>(
    toQuery(sql`select (${identityQuery}) as identity, groupid as "group" from pg_dist_local_group`),
  );
  const results = await queryNodes<string>(coordinator, identityQuery.text);
  const expected = results.find((one) => String(one.node.groupId) === node.group)?.result;
  return expected !== undefined && row?.identity === expected && String(row.group) === node.group;
}
