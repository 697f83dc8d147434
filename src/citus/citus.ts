// What a server is where its database coordinates a Citus cluster; src/citus/ is loaded by that (services), and by nothing else.
// Each part is where the interface of the same name says what it is for: topology/topology.ts, sql/statement-forms.ts, db/behind.ts,
// routes/admin/cluster.ts.
import { makeTimelineWatch } from '../catalog/timeline.ts';
import { useNodesBehind } from '../db/behind.ts';
import type { Database } from '../db/pool.ts';
import type { Figure } from '../figure.ts';
import type { Job } from '../jobs/jobs.ts';
import type { Cluster } from '../routes/admin/cluster.ts';
import { sql } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { makeCluster } from './admin.ts';
import { findCitus, prepareNodes, TRIGGERS_SETTING } from './engine.ts';
import { endVacuumsOnNodes, findBlockerOnNodes, findHolderOnNodes, findShareOnNodes } from './locks.ts';
import { NODES_BEHIND } from './node-errors.ts';
import { makeNodeReads, type NodeReadsOptions } from './node-reads.ts';
import { makeNodeWatch } from './node-watch.ts';
import { workerTimelines } from './nodes.ts';
import { findPlacement } from './placements.ts';
import { type MoverOptions, makeMover } from './relocation-job.ts';
import { prepareSchema } from './schema.ts';
import { measureOnNodes } from './sizes.ts';
import { makeSnapshotsOnNodes } from './snapshot-on-node.ts';
import { STATEMENT_FORMS } from './statement-forms.ts';
import { makeNodeTotals } from './totals.ts';

export interface CoordinatorOptions extends Pick<NodeReadsOptions, 'open' | 'now' | 'log'>, Omit<MoverOptions, 'db'> {
  readonly db: Database;
  /** Whether reads may go past the coordinator. */
  readonly nodeReads: boolean;
}

export interface Coordinator {
  readonly topology: Topology;
  readonly cluster: Cluster;
  /** Gives the role its settings on the nodes; throws InvalidSession where they are of no use. In one process at the start. */
  readonly prepare: () => Promise<void>;
  readonly jobs: readonly Job[];
  readonly figures: readonly Figure[];
  /** Databases of nodes that are open. */
  readonly databases: () => readonly Database[];
  readonly stop: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const LOOK_MS = 5000;
const FOLD_ALL_MS = 300_000;

/** A table that was made before the database was a cluster lies where it lay. */
const TABLE_BYTES = sql`case when exists (select from pg_dist_partition p where p.logicalrelid = c.oid) then citus_relation_size(c.oid)
    else pg_relation_size(c.oid) end`;

export async function connectCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { db, nodeReads, log, onError, everywhere } = options;
  useNodesBehind(NODES_BEHIND);
  const citus = await findCitus(db);
  const watch = makeNodeWatch(db, log);
  const nodes = makeNodeReads({ ...options, coordinator: db, beforeUse: (node) => totals.check(node) });
  const totals = makeNodeTotals({ db, nodes, onError });
  const mover = makeMover(options);
  const onNode = makeSnapshotsOnNodes();
  const timelines = makeTimelineWatch(db, everywhere, () => workerTimelines(db));
  const topology: Topology = {
    locate: (databaseSchema) => findPlacement(db, databaseSchema),
    nodeOf: ({ placement }) => (placement == null ? undefined : watch.nodeOf(placement)),
    everyNode: watch.everyNode,
    down: watch.down,
    suspect: watch.suspect,
    readOn(workspace, entity) {
      const { placement } = workspace;
      const executor = !nodeReads || placement == null ? undefined : nodes.reader(placement);
      const snapshot = executor === undefined ? undefined : onNode(workspace, entity);
      return executor === undefined || snapshot === undefined ? undefined : { ...snapshot, executor };
    },
    keepTotal: totals.keep,
    statementForms: STATEMENT_FORMS,
    triggersMissing:
      citus?.hasTriggers === true ? undefined : `, blocking, as ${TRIGGERS_SETTING} is off in the database`,
    tableBytes: TABLE_BYTES,
    lockHere: [sql`set local citus.enable_ddl_propagation = off`],
    prepareSchema,
    findHolder: findHolderOnNodes,
    findBlocker: findBlockerOnNodes,
    endVacuums: endVacuumsOnNodes,
    findIndexShare: findShareOnNodes,
    sizes: measureOnNodes,
  };
  return {
    topology,
    // A failure is met again by the job.
    cluster: makeCluster(db, () => void mover.turn().catch(() => undefined)),
    prepare: () => prepareNodes(db, log),
    jobs: [
      { name: 'watch-nodes', once: 'process', everyMs: LOOK_MS, run: watch.look },
      { name: 'move-workspaces', once: 'process', everyMs: LOOK_MS, run: mover.turn },
      { name: 'watch-worker-timelines', once: 'process', everyMs: LOOK_MS, run: timelines.look },
      // Processes fold where they read; one of them looks after nodes that none is connected to.
      { name: 'fold-read-nodes', once: 'process', everyMs: totals.pauseMs, run: totals.fold },
      { name: 'fold-node-totals', once: 'installation', everyMs: FOLD_ALL_MS, db, run: totals.foldAll },
    ],
    figures: [...mover.figures(), ...watch.figures()],
    databases: nodes.databases,
    stop: totals.stop,
    close: () => nodes.close(),
  };
}
