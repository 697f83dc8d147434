// Watches which nodes of the cluster do not respond, in each process: for /readyz and metrics, and to reject requests
// for their workspaces at once. A coordinator waits for a silent node without end, and nothing that is sent to the
// coordinator stops that, so no query is sent to an unavailable node. A server with an unavailable worker still serves
// all workspaces on other nodes, so it stays ready.
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeStatus } from '../database/executor.ts';
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import type { Placement } from '../model/workspace.ts';
import type { EveryNode } from '../topology/topology.ts';
import { type ClusterNode, type NodeResult, queryNodes } from './nodes.ts';

export interface NodeWatch {
  /** Queries all nodes; an available one becomes unavailable when it is silent twice. */
  readonly check: () => Promise<void>;
  /** Checks the nodes soon, after something took suspiciously long. */
  readonly checkSoon: () => void;
  readonly getNode: (placement: Pick<Placement, 'node'>) => NodeStatus;
  readonly everyNode: EveryNode;
  /** Names (`host:port`) of the nodes that did not respond to the last check. */
  readonly listUnavailable: () => readonly string[];
  readonly getMetrics: () => readonly Metric[];
}

// Interval of checks on suspicion.
const MIN_CHECK_INTERVAL_MS = 2000;
// Twice the time of a query that meets a node which is already down.
const CHECK_TIMEOUT_MS = 3000;

type Log = Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;

type WatchedNode = NodeStatus & { readonly notify: () => void };

function makeWatchedNode(isUnavailable: () => boolean): WatchedNode {
  const listeners = new Set<() => void>();
  return {
    isUnavailable,
    onUnavailable(listener) {
      // Wrapped, as the same function may subscribe twice.
      const subscriber = (): void => listener();
      listeners.add(subscriber);
      return () => void listeners.delete(subscriber);
    },
    notify() {
      for (const listener of [...listeners]) listener();
    },
  };
}

export function makeNodeWatch(db: Database, log: Log): NodeWatch {
  let nodes = { up: 0, down: 0 };
  let downNodes: readonly string[] = [];
  /** Unavailable nodes by group id. */
  let unavailable: ReadonlyMap<string, ClusterNode> = new Map();
  let checking: Promise<void> | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** Watched nodes by group id, at most one per node of the cluster. */
  const watchedNodes = new Map<string, WatchedNode>();
  const all = makeWatchedNode(() => unavailable.size > 0);

  function getWatchedNode(group: string): NodeStatus {
    const watchedNode = watchedNodes.get(group) ?? makeWatchedNode(() => unavailable.has(group));
    watchedNodes.set(group, watchedNode);
    return watchedNode;
  }

  /** Queries all nodes, or returns undefined if one fell silent during the query, which leaves the others unknown. */
  async function queryOnce(): Promise<readonly NodeResult<boolean>[] | undefined> {
    const query = queryNodes<boolean>(db, 'select to_json(true)', { limitMs: CHECK_TIMEOUT_MS, purpose: 'look' }).then(
      (results) => results.filter(({ node }) => node.isActive),
    );
    // The coordinator reports a silent node much later, or never.
    query.catch(() => undefined);
    const timeoutController = new AbortController();
    const timeout = sleep(CHECK_TIMEOUT_MS, undefined, { signal: timeoutController.signal, ref: false });
    return Promise.race([query, timeout.catch(() => undefined)]).finally(() => timeoutController.abort());
  }

  async function queryWithRetry(): Promise<readonly NodeResult<boolean>[]> {
    // The second query gets new connections, which are refused or time out.
    const results = (await queryOnce()) ?? (await queryOnce());
    if (results === undefined) throw new Error('the nodes of the cluster could not be asked in time');
    return results;
  }

  async function checkOnce(): Promise<void> {
    let results = await queryWithRetry();
    // A busy node may be late once.
    if ([...findTimedOut(results).keys()].some((group) => !unavailable.has(group))) results = await queryWithRetry();
    logChanges(results);
    downNodes = results.flatMap(({ node, result }) => (result === undefined ? [node.name] : []));
    nodes = { up: results.length - downNodes.length, down: downNodes.length };
    unavailable = findTimedOut(results);
    for (const group of unavailable.keys()) watchedNodes.get(group)?.notify();
    if (unavailable.size > 0) all.notify();
  }

  /** Logs the changes since the last check. */
  function logChanges(results: readonly NodeResult<boolean>[]): void {
    for (const { node, result, failure } of results) {
      const wasDown = downNodes.includes(node.name);
      if (result === undefined && !wasDown)
        log.warn('a node of the cluster does not answer', { node: node.name, error: failure });
      if (result !== undefined && wasDown) log.info('a node of the cluster answers again', { node: node.name });
    }
  }

  function check(): Promise<void> {
    checking ??= checkOnce().finally(() => {
      checking = undefined;
      checkedAt = performance.now();
    });
    return checking;
  }

  return {
    check,
    checkSoon() {
      if (performance.now() - checkedAt < MIN_CHECK_INTERVAL_MS) return;
      check().catch(() => undefined);
    },
    getNode: ({ node }) => getWatchedNode(node.group),
    everyNode: { ...all, names: () => [...unavailable.values()].map(({ name }) => name) },
    listUnavailable: () => downNodes,
    getMetrics: () => [
      {
        name: 'wda_cluster_nodes',
        help: 'Nodes of the database cluster by state',
        read: () => nodes,
        aggregator: 'max',
      },
    ],
  };
}

// A node that refuses connections fails fast and needs no gate, as open connections still work.
const findTimedOut = (results: readonly NodeResult<boolean>[]): ReadonlyMap<string, ClusterNode> =>
  new Map(results.flatMap(({ node, hasTimedOut }) => (hasTimedOut ? [[String(node.groupId), node]] : [])));
