// Which nodes of the cluster do not answer, as each process sees it: for /readyz and metrics, and so that requests for what
// lies there are refused at once. A coordinator waits for a node that has fallen silent without end, and nothing that is sent
// to the coordinator ends that: of what is known to be away nothing is asked. A server whose worker is away goes on for all
// workspaces that lie elsewhere, so it is no reason to send it no requests.
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeStatus } from '../database/executor.ts';
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import type { Placement } from '../model/workspace.ts';
import type { EveryNode } from '../topology/topology.ts';
import { type ClusterNode, type NodeResult, queryNodes } from './nodes.ts';

export interface NodeWatch {
  /** Asks all nodes; one that was there is away when it is silent twice. */
  readonly check: () => Promise<void>;
  /** Looks soon, as something took suspiciously long. */
  readonly checkSoon: () => void;
  readonly getNode: (placement: Pick<Placement, 'node'>) => NodeStatus;
  readonly everyNode: EveryNode;
  /** `host:port` of the nodes that did not answer the last look. */
  readonly listUnavailable: () => readonly string[];
  readonly getMetrics: () => readonly Metric[];
}

// Between two looks for a suspicion.
const MIN_CHECK_INTERVAL_MS = 2000;
// Twice what a node that is away from the beginning takes.
const CHECK_TIMEOUT_MS = 3000;

type Log = Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;

type WatchedNode = NodeStatus & { readonly notify: () => void };

function makeWatchedNode(isUnavailable: () => boolean): WatchedNode {
  const listeners = new Set<() => void>();
  return {
    isUnavailable,
    onUnavailable(listener) {
      // Of its own, as one function may be given twice.
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
  /** By the numbers of their groups. */
  let unavailable: ReadonlyMap<string, ClusterNode> = new Map();
  let checking: Promise<void> | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** As many as there are nodes, by the numbers of their groups. */
  const watchedNodes = new Map<string, WatchedNode>();
  const all = makeWatchedNode(() => unavailable.size > 0);

  function getWatchedNode(group: string): NodeStatus {
    const watchedNode = watchedNodes.get(group) ?? makeWatchedNode(() => unavailable.has(group));
    watchedNodes.set(group, watchedNode);
    return watchedNode;
  }

  /** Undefined: a node fell silent under the question, which tells nothing of the others. */
  async function queryOnce(): Promise<readonly NodeResult<boolean>[] | undefined> {
    const query = queryNodes<boolean>(db, 'select to_json(true)', { limitMs: CHECK_TIMEOUT_MS, purpose: 'look' }).then(
      (results) => results.filter(({ node }) => node.isActive),
    );
    // The coordinator says so much later, or nothing at all while the node is silent.
    query.catch(() => undefined);
    const timeoutController = new AbortController();
    const timeout = sleep(CHECK_TIMEOUT_MS, undefined, { signal: timeoutController.signal, ref: false });
    return Promise.race([query, timeout.catch(() => undefined)]).finally(() => timeoutController.abort());
  }

  async function queryWithRetry(): Promise<readonly NodeResult<boolean>[]> {
    // New connections are refused, or have a limit.
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

  /** Logs what differs from the look before. */
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

// Whoever asks a node that refuses is told at once, and what is open to it goes on.
const findTimedOut = (results: readonly NodeResult<boolean>[]): ReadonlyMap<string, ClusterNode> =>
  new Map(results.flatMap(({ node, hasTimedOut }) => (hasTimedOut ? [[String(node.groupId), node]] : [])));
