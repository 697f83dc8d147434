// Maintains totals on the nodes of a cluster, bypassing the coordinator like the reads of them. An unavailable node
// does not delay the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { getSqlState, isStaleSnapshot, toOutage } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import { isLockConflict } from '../database/transaction.ts';
import type { Topology } from '../topology/topology.ts';
import { makeTotals, type Totals } from '../workspace-schema/totals.ts';
import type { Nodes, UsableNode } from './node-reads.ts';
import { buildNodeTotals, FOLD_NODE } from './node-total.ts';
import { runOnNodes } from './nodes.ts';

interface NodeState {
  readonly totals: Totals;
  folding: Promise<void> | undefined;
  /** Earliest time of the next fold. */
  foldAt: number;
  /** Whether the last run failed and was reported. */
  isFailing: boolean;
}

export interface ClusterTotals extends Pick<Totals, 'fold' | 'pauseMs' | 'stop'> {
  /** See Topology. */
  readonly maintain: Topology['maintainTotal'];
  /** Checks a node before its first read: changes in the meantime may have disabled triggers. */
  readonly check: (node: UsableNode) => Promise<void>;
  /**
   * Folds the rows that writers have added on nodes without a connection, as with WDA_NODE_READS=off, to limit their
   * number.
   */
  readonly foldAll: () => Promise<void>;
}

interface ClusterTotalsOptions {
  readonly db: Database;
  readonly nodes: Pick<Nodes, 'usable'>;
  readonly onError: (message: string, error: unknown) => void;
}

// Same limit as in makeTotals().
const STOP_MS = 1000;
// Same interval as in makeTotals(), for a cluster without nodes that are read.
const FOLD_MS = 2000;

/** Creates the totals of the nodes that are read. */
export function makeClusterTotals({ db, nodes, onError }: ClusterTotalsOptions): ClusterTotals {
  // States by database, at most one per node of the cluster.
  const states = new Map<Database, NodeState>();
  let isStopped = false;

  function getState({ group, database }: UsableNode): NodeState {
    const state = states.get(database) ?? {
      totals: makeTotals({ db: database, node: buildNodeTotals(group), onError: report }),
      folding: undefined,
      foldAt: 0,
      isFailing: false,
    };
    states.set(database, state);
    return state;
  }

  /** Reports an error, unless reads of the node report it or it is transient after a relocation. */
  function report(message: string, error: unknown): void {
    if (!isTransient(error)) onError(message, error);
  }

  /** Folds in the background: a silent node delays no other work. */
  function fold(state: NodeState): void {
    if (isStopped || state.folding !== undefined || performance.now() < state.foldAt) return;
    state.folding = state.totals
      .fold()
      .then(() => {
        state.isFailing = false;
      })
      .catch((error) => {
        if (!state.isFailing) report('totals of a node of the cluster could not be folded', error);
        state.isFailing = !isTransient(error);
      })
      .then(() => {
        state.folding = undefined;
        state.foldAt = performance.now() + state.totals.pauseMs();
      });
  }

  return {
    maintain({ table: { schema, name, total }, statementForms }) {
      // Only the node of the records can maintain their total, when it is read directly.
      if (total === undefined) return statementForms !== undefined;
      const node = nodes.usable().find(({ group }) => group === total.group);
      if (node !== undefined) getState(node).totals.maintain({ table: { schema, name, total } });
      return true;
    },
    check: (node) => getState(node).totals.check(),
    foldAll: () => runOnNodes(db, FOLD_NODE),
    async fold() {
      for (const node of nodes.usable()) fold(getState(node));
    },
    pauseMs: () => Math.min(FOLD_MS, ...[...states.values()].map(({ totals }) => totals.pauseMs())),
    async stop() {
      isStopped = true;
      const all = [...states.values()];
      const folded = Promise.race([
        Promise.all(all.map(({ folding }) => folding)),
        sleep(STOP_MS, undefined, { ref: false }),
      ]);
      await Promise.all([folded, ...all.map(({ totals }) => totals.stop())]);
    },
  };
}

// 55000: during a relocation the tables are published without replica identity, so no row of a total may be deleted.
const isTransient = (error: unknown): boolean =>
  isStaleSnapshot(error) || isLockConflict(error) || getSqlState(error) === '55000' || toOutage(error).isTransient;
