// Kept totals wherever the records are: in the database, and on each node of the cluster that it may coordinate, where they are
// kept past the coordinator as they are read past it. A node that is away keeps the others from nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Nodes, UsableNode } from '../cluster/node-reads.ts';
import { runOnNodes } from '../cluster/nodes.ts';
import { isLockConflict } from '../db/lock-retry.ts';
import { outageOf } from '../db/outage.ts';
import { isStaleSnapshot, sqlState } from '../db/pg-error.ts';
import type { Database } from '../db/pool.ts';
import { FOLD_NODE } from './node-total.ts';
import { makeTotals, type Totals } from './totals.ts';

interface Keeper {
  readonly totals: Totals;
  folding: Promise<void> | undefined;
  /** Not folded before. */
  foldAt: number;
  /** The last turn has failed, and it was said. */
  isFailing: boolean;
}

export interface ClusterTotals extends Totals {
  /** As check() for a node that is about to be read: what happened there while it was not may have silenced triggers. */
  checkNode(node: UsableNode): Promise<void>;
  /**
   * Folds what writers have added on nodes that no server is connected to, as with WDA_NODE_READS=off: what triggers add is
   * bounded by that. Does nothing on plain PostgreSQL.
   */
  foldFromAfar(): Promise<void>;
}

export interface ClusterTotalsOptions {
  readonly db: Database;
  readonly nodes: Pick<Nodes, 'usable'>;
  readonly onError: (message: string, error: unknown) => void;
}

// As makeTotals(): nobody waits longer for the end.
const STOP_MS = 1000;

/** The totals of the database and of those of its nodes that are read. */
export function makeClusterTotals({ db, nodes, onError }: ClusterTotalsOptions): ClusterTotals {
  const own = makeTotals({ db, onError });
  // As many as there are nodes.
  const keepers = new Map<Database, Keeper>();
  let isStopped = false;

  function keeperOf({ group, database }: UsableNode): Keeper {
    const found = keepers.get(database);
    if (found !== undefined) return found;
    const totals = makeTotals({ db: database, group, onError: tell });
    const keeper: Keeper = { totals, folding: undefined, foldAt: 0, isFailing: false };
    keepers.set(database, keeper);
    return keeper;
  }

  /** What reads of the node tell, and what passes when the workspace has moved, is no news. */
  function tell(message: string, error: unknown): void {
    if (!mayPass(error)) onError(message, error);
  }

  /** In the background: a node that is silent is waited for by nobody else. */
  function fold(keeper: Keeper): void {
    if (isStopped || keeper.folding !== undefined || performance.now() < keeper.foldAt) return;
    keeper.folding = keeper.totals
      .fold()
      .then(() => {
        keeper.isFailing = false;
      })
      .catch((error) => {
        if (!keeper.isFailing) tell('totals of a node of the cluster could not be folded', error);
        keeper.isFailing = !mayPass(error);
      })
      .then(() => {
        keeper.folding = undefined;
        keeper.foldAt = performance.now() + keeper.totals.pauseMs();
      });
  }

  return {
    keep(entity) {
      const { total } = entity.table;
      // Far from its records only the node can keep their number, and whoever reads there asks for it.
      if (total === undefined) return entity.isDistributed === true ? undefined : own.keep(entity);
      const node = nodes.usable().find(({ group }) => group === total.group);
      if (node !== undefined) keeperOf(node).totals.keep(entity);
    },
    check: own.check,
    checkNode: (node) => keeperOf(node).totals.check(),
    foldFromAfar: () => runOnNodes(db, FOLD_NODE),
    lookAgain: own.lookAgain,
    async fold() {
      for (const node of nodes.usable()) fold(keeperOf(node));
      await own.fold();
    },
    pauseMs: () => Math.min(own.pauseMs(), ...[...keepers.values()].map(({ totals }) => totals.pauseMs())),
    async stop() {
      isStopped = true;
      const all = [...keepers.values()];
      const folded = Promise.race([
        Promise.all(all.map(({ folding }) => folding)),
        sleep(STOP_MS, undefined, { ref: false }),
      ]);
      await Promise.all([own.stop(), folded, ...all.map(({ totals }) => totals.stop())]);
    },
  };
}

// 55000: while the workspace is moved its tables are published, and no row of a total may be deleted.
const mayPass = (error: unknown): boolean =>
  isStaleSnapshot(error) || isLockConflict(error) || sqlState(error) === '55000' || outageOf(error).isPassing;
