// Which nodes of the cluster do not answer, as each process sees it: for /readyz and metrics, and so that requests for what
// lies there are refused at once. A coordinator waits for a node that has fallen silent without end, and nothing that is sent
// to the coordinator ends that: of what is known to be away nothing is asked. A server whose worker is away goes on for all
// workspaces that lie elsewhere, so it is no reason to send it no requests.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from '../db/executor.ts';
import type { Database } from '../db/pool.ts';
import type { Figure } from '../figure.ts';
import type { Placement } from '../model/workspace.ts';
import type { EveryNode } from '../topology/topology.ts';
import { askNodes, type ClusterNode, type NodeAnswer } from './nodes.ts';

export interface NodeWatch {
  /** Asks all nodes; one that was there is away when it is silent twice. */
  readonly look: () => Promise<void>;
  /** Looks soon, as something took suspiciously long. */
  readonly suspect: () => void;
  readonly nodeOf: (placement: Pick<Placement, 'node'>) => Place;
  readonly everyNode: EveryNode;
  /** `host:port` of the nodes that did not answer the last look. */
  readonly down: () => readonly string[];
  readonly figures: () => readonly Figure[];
}

// Between two looks for a suspicion.
const SUSPECT_MS = 2000;
// Twice what a node that is away from the beginning takes.
const LOOK_MS = 3000;

type Log = Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;

type NotedPlace = Place & { readonly tell: () => void };

function makePlace(isAway: () => boolean): NotedPlace {
  const listeners = new Set<() => void>();
  return {
    isAway,
    onAway(listener) {
      // Of its own, as one function may be given twice.
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    tell() {
      for (const listener of [...listeners]) listener();
    },
  };
}

export function makeNodeWatch(db: Database, log: Log): NodeWatch {
  let nodes = { up: 0, down: 0 };
  let down: readonly string[] = [];
  /** By the numbers of their groups. */
  let away: ReadonlyMap<string, ClusterNode> = new Map();
  let looking: Promise<void> | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** As many as there are nodes, by the numbers of their groups. */
  const places = new Map<string, NotedPlace>();
  const all = makePlace(() => away.size > 0);

  function placeOf(group: string): Place {
    const place = places.get(group) ?? makePlace(() => away.has(group));
    places.set(group, place);
    return place;
  }

  /** Undefined: a node fell silent under the question, which tells nothing of the others. */
  async function askOnce(): Promise<readonly NodeAnswer<boolean>[] | undefined> {
    const asked = askNodes<boolean>(db, 'select to_json(true)', { limitMs: LOOK_MS, purpose: 'look' }).then((answers) =>
      answers.filter(({ node }) => node.isActive),
    );
    // The coordinator says so much later, or nothing at all while the node is silent.
    asked.catch(() => undefined);
    const patience = new AbortController();
    const late = sleep(LOOK_MS, undefined, { signal: patience.signal, ref: false });
    return Promise.race([asked, late.catch(() => undefined)]).finally(() => patience.abort());
  }

  async function ask(): Promise<readonly NodeAnswer<boolean>[]> {
    // New connections are refused, or have a limit.
    const answers = (await askOnce()) ?? (await askOnce());
    if (answers === undefined) throw new Error('the nodes of the cluster could not be asked in time');
    return answers;
  }

  async function lookOnce(): Promise<void> {
    let answers = await ask();
    // A busy node may be late once.
    if ([...silentOf(answers).keys()].some((group) => !away.has(group))) answers = await ask();
    tell(answers);
    down = answers.flatMap(({ node, answer }) => (answer === undefined ? [node.name] : []));
    nodes = { up: answers.length - down.length, down: down.length };
    away = silentOf(answers);
    for (const group of away.keys()) places.get(group)?.tell();
    if (away.size > 0) all.tell();
  }

  /** Logs what differs from the look before. */
  function tell(answers: readonly NodeAnswer<boolean>[]): void {
    for (const { node, answer, failure } of answers) {
      const wasDown = down.includes(node.name);
      if (answer === undefined && !wasDown)
        log.warn('a node of the cluster does not answer', { node: node.name, error: failure });
      if (answer !== undefined && wasDown) log.info('a node of the cluster answers again', { node: node.name });
    }
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
      lookedAt = performance.now();
    });
    return looking;
  }

  return {
    look,
    suspect() {
      if (performance.now() - lookedAt < SUSPECT_MS) return;
      look().catch(() => undefined);
    },
    nodeOf: ({ node }) => placeOf(node.group),
    everyNode: { ...all, names: () => [...away.values()].map(({ name }) => name) },
    down: () => down,
    figures: () => [
      {
        name: 'wda_cluster_nodes',
        help: 'Nodes of the database cluster by state',
        read: () => nodes,
        across: 'max',
      },
    ],
  };
}

// Whoever asks a node that refuses is told at once, and what is open to it goes on.
const silentOf = (answers: readonly NodeAnswer<boolean>[]): ReadonlyMap<string, ClusterNode> =>
  new Map(answers.flatMap(({ node, isSilent }) => (isSilent ? [[String(node.groupId), node]] : [])));
