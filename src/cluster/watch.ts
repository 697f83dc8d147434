// Which nodes of the cluster do not answer, as each process sees it: for /readyz and metrics. A server whose worker is away
// goes on for all workspaces that lie elsewhere, so it is no reason to send it no requests.
import type { Database } from '../db/pool.ts';
import type { Figure } from '../figure.ts';
import { findCitus } from './citus.ts';
import { askNodes } from './nodes.ts';

export interface NodeWatch {
  readonly look: () => Promise<void>;
  /** `host:port` of the nodes that did not answer the last look; none where there is no cluster. */
  readonly down: () => readonly string[];
  readonly figures: () => readonly Figure[];
}

export function makeNodeWatch(db: Database): NodeWatch {
  let isPlain = false;
  let nodes = { up: 0, down: 0 };
  let down: readonly string[] = [];

  return {
    async look() {
      if (isPlain) return;
      isPlain = (await findCitus(db)) === undefined;
      if (isPlain) return;
      const answers = (await askNodes<boolean>(db, 'select to_json(true)')).filter(({ node }) => node.isActive);
      down = answers.flatMap(({ node, answer }) => (answer === undefined ? [node.name] : []));
      nodes = { up: answers.length - down.length, down: down.length };
    },
    down: () => down,
    figures: () => [
      {
        name: 'wda_cluster_nodes',
        help: 'Nodes of the cluster that the database is, by whether they answer; none where it is no cluster',
        read: () => nodes,
        across: 'max',
      },
    ],
  };
}
