// Assembles the parts of a server whose database coordinates a Citus cluster; only services.ts loads src/citus/. Each
// part implements the interface of the same name: topology/topology.ts, sql/statement-forms.ts,
// database/cluster-dialect.ts, admin-api/cluster.ts.

import type { Cluster } from '../admin-api/cluster.ts';
import { setClusterDialect } from '../database/cluster-dialect.ts';
import type { Database } from '../database/pool.ts';
import type { Job } from '../jobs/jobs.ts';
import type { Metric } from '../metric.ts';
import { sql } from '../sql/fragment.ts';
import { makeTimelineWatch } from '../store/timeline.ts';
import type { Topology } from '../topology/topology.ts';
import { makeCluster } from './admin.ts';
import { findCitus, prepareNodes, TRIGGERS_SETTING } from './engine.ts';
import { endVacuumsOnNodes, findBlockerOnNodes, findIndexProgressOnNodes, findLockHolderOnNodes } from './locks.ts';
import { CITUS_DIALECT } from './node-errors.ts';
import { makeNodeReads, type NodeReadsOptions } from './node-reads.ts';
import { makeSnapshotsOnNodes } from './node-snapshot.ts';
import { makeNodeWatch } from './node-watch.ts';
import { loadWorkerTimelines } from './nodes.ts';
import { findPlacement } from './placements.ts';
import { makeRelocationRunner, type RelocationOptions } from './relocation-job.ts';
import { prepareSchema } from './schema.ts';
import { measureOnNodes } from './sizes.ts';
import { STATEMENT_FORMS } from './statement-forms.ts';
import { makeClusterTotals } from './totals.ts';

export interface CoordinatorOptions
  extends Pick<NodeReadsOptions, 'open' | 'now' | 'log'>,
    Omit<RelocationOptions, 'db'> {
  readonly db: Database;
  /** Whether reads may bypass the coordinator. */
  readonly nodeReads: boolean;
}

export interface Coordinator {
  readonly topology: Topology;
  readonly cluster: Cluster;
  /**
   * Applies the role's settings on the nodes, in one process at the start; throws InvalidSession if they are unusable.
   */
  readonly prepare: () => Promise<void>;
  readonly jobs: readonly Job[];
  readonly metrics: readonly Metric[];
  /** Open databases of nodes. */
  readonly databases: () => readonly Database[];
  readonly stop: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const CHECK_INTERVAL_MS = 5000;
const FOLD_ALL_MS = 300_000;

/** A table that was created before the database was a cluster is a local one. */
const TABLE_BYTES = sql`case when exists (select from pg_dist_partition p where p.logicalrelid = c.oid) then citus_relation_size(c.oid)
    else pg_relation_size(c.oid) end`;

export async function connectCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { db, nodeReads, log, onError, invalidateAll } = options;
  setClusterDialect(CITUS_DIALECT);
  const citus = await findCitus(db);
  const watch = makeNodeWatch(db, log);
  const nodes = makeNodeReads({ ...options, coordinator: db, beforeUse: (node) => totals.check(node) });
  const totals = makeClusterTotals({ db, nodes, onError });
  const relocationRunner = makeRelocationRunner(options);
  const getNodeSnapshot = makeSnapshotsOnNodes();
  const timelineWatch = makeTimelineWatch(db, invalidateAll, () => loadWorkerTimelines(db));
  const topology: Topology = {
    locate: (databaseSchema) => findPlacement(db, databaseSchema),
    getNode: ({ placement }) => (placement == null ? undefined : watch.getNode(placement)),
    everyNode: watch.everyNode,
    listUnavailableNodes: watch.listUnavailable,
    checkSoon: watch.checkSoon,
    routeRead(workspace, entity) {
      const { placement } = workspace;
      const executor = !nodeReads || placement == null ? undefined : nodes.reader(placement);
      const snapshot = executor === undefined ? undefined : getNodeSnapshot(workspace, entity);
      return executor === undefined || snapshot === undefined ? undefined : { ...snapshot, executor };
    },
    maintainTotal: totals.maintain,
    statementForms: STATEMENT_FORMS,
    triggersMissing:
      citus?.hasTriggers === true ? undefined : `, blocking, as ${TRIGGERS_SETTING} is off in the database`,
    // A move to another node would make the transaction numbers of stored changes meaningless.
    keepsChanges: false,
    tableBytes: TABLE_BYTES,
    localLockStatements: [sql`set local citus.enable_ddl_propagation = off`],
    prepareSchema,
    findLockHolder: findLockHolderOnNodes,
    findBlocker: findBlockerOnNodes,
    endVacuums: endVacuumsOnNodes,
    findIndexProgress: findIndexProgressOnNodes,
    measureSizes: measureOnNodes,
  };
  return {
    topology,
    // The job retries and reports a failure.
    cluster: makeCluster(db, () => void relocationRunner.run().catch(() => undefined)),
    prepare: () => prepareNodes(db, log),
    jobs: [
      { name: 'watch-nodes', scope: 'process', everyMs: CHECK_INTERVAL_MS, run: watch.check },
      { name: 'move-workspaces', scope: 'process', everyMs: CHECK_INTERVAL_MS, run: relocationRunner.run },
      { name: 'watch-worker-timelines', scope: 'process', everyMs: CHECK_INTERVAL_MS, run: timelineWatch.check },
      // Processes fold totals of the nodes that they read; one of them folds those of nodes without a connection.
      { name: 'fold-read-nodes', scope: 'process', everyMs: totals.pauseMs, run: totals.fold },
      { name: 'fold-node-totals', scope: 'installation', everyMs: FOLD_ALL_MS, db, run: totals.foldAll },
    ],
    metrics: [...relocationRunner.getMetrics(), ...watch.getMetrics()],
    databases: nodes.databases,
    stop: totals.stop,
    close: () => nodes.close(),
  };
}
