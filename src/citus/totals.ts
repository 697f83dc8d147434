// Kept totals on the nodes of a cluster, where they are kept past the coordinator as they are read past it. A node that is away
// keeps the others from nothing.
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
  /** Not folded before. */
  foldAt: number;
  /** The last turn has failed, and it was said. */
  isFailing: boolean;
}

export interface ClusterTotals extends Pick<Totals, 'fold' | 'pauseMs' | 'stop'> {
  /** See Topology. */
  readonly maintain: Topology['maintainTotal'];
  /** For a node that is about to be read: what happened there while it was not may have silenced triggers. */
  readonly check: (node: UsableNode) => Promise<void>;
  /**
   * Folds what writers have added on nodes that no server is connected to, as with WDA_NODE_READS=off: what triggers add is
   * bounded by that.
   */
  readonly foldAll: () => Promise<void>;
}

interface ClusterTotalsOptions {
  readonly db: Database;
  readonly nodes: Pick<Nodes, 'usable'>;
  readonly onError: (message: string, error: unknown) => void;
}

// As makeTotals(): nobody waits longer for the end.
const STOP_MS = 1000;
// As makeTotals(), for a cluster of which no node is read yet.
const FOLD_MS = 2000;

/** The totals of the nodes that are read. */
export function makeClusterTotals({ db, nodes, onError }: ClusterTotalsOptions): ClusterTotals {
  // As many as there are nodes.
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

  /** What reads of the node report, and what passes when the workspace has moved, is no news. */
  function report(message: string, error: unknown): void {
    if (!isTransient(error)) onError(message, error);
  }

  /** In the background: a node that is silent is waited for by nobody else. */
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
      // Far from its records only the node can keep their number, and whoever reads there asks for it.
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

// 55000: while the workspace is moved its tables are published, and no row of a total may be deleted.
const isTransient = (error: unknown): boolean =>
  isStaleSnapshot(error) || isLockConflict(error) || getSqlState(error) === '55000' || toOutage(error).isTransient;
