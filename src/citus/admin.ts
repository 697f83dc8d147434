// Administers a cluster for the routes of /cluster: nodes, placements of workspaces, relocations between nodes.

import {
  type Cluster,
  type ClusterView,
  MAX_PLANNED_MOVES,
  type MoveProgress,
  type Move as MoveView,
  type RebalancePlan,
} from '../admin-api/cluster.ts';
import { formatTime } from '../admin-api/response.ts';
import type { Database } from '../database/pool.ts';
import {
  anotherMigrationRuns,
  conflict,
  listNames,
  noCluster,
  nodesUnavailable,
  notFound,
  workspaceMoves,
} from '../errors.ts';
import { cancelLockHolder } from '../migrations/workspace-lock.ts';
import { closest } from '../model/closest.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { isMigrating } from '../store/migrations.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { findCitus } from './engine.ts';
import { unknownNode } from './errors.ts';
import { type ClusterNode, loadNodes, loadSizes, queryNodes } from './nodes.ts';
import { findNodeName, loadPlacements } from './placements.ts';
import { planRebalance } from './rebalance.ts';
import { loadProgress } from './relocation-progress.ts';
import {
  findOpenRelocation,
  findRelocation,
  insertRelocations,
  loadAllPlacedWorkspaces,
  loadOpenRelocations,
  loadPlacedWorkspaces,
  loadRelocations,
  loadRelocationsByIds,
  type PlacedWorkspace,
  type Relocation,
  requestRelocationCancel,
} from './relocations.ts';

/** Creates the cluster's administration. `startRelocations` starts stored relocations without waiting for them. */
export function makeCluster(db: Database, startRelocations: () => void): Cluster {
  return {
    loadView: () => loadClusterView(db),
    async listWorkspaces(page, node) {
      const name = node === undefined ? undefined : getNodeByName(await loadNodes(db), node).name;
      const { rows, total } = await loadPlacedWorkspaces(db, page, name);
      const getBytes = await loadByteCounts(db, rows);
      return { total, rows: rows.map((row) => toWorkspaceView(row, getBytes)) };
    },
    plan: async () => toPlanView(await buildPlan(db)),
    async rebalance(audit) {
      const { moves } = await buildPlan(db);
      await checkNodes(db, new Set(moves.map(({ from }) => from)));
      const requested = moves.map(({ workspace: { id }, from, to, bytes }) => {
        return { workspaceId: id, source: from, target: to, bytes };
      });
      const ids = await audit.change(
        (session, actor) => insertRelocations(session, requested, actor),
        (insertedIds) => ({ subject: 'cluster', details: { moves: insertedIds.length } }),
      );
      startRelocations();
      return (await loadRelocationsByIds(db, ids)).map((move) => toMoveView(move));
    },
    async startMove(workspace, node, audit) {
      const target = getNodeByName(await loadNodes(db), node);
      const { id, organization, slug, databaseSchema } = workspace;
      const source = await findNodeName(db, databaseSchema);
      if (source === undefined) throw notDistributed(workspace);
      const getBytes = await loadByteCounts(db, [{ databaseSchema }]);
      if (source === target.name) {
        await audit.prepare({ subject: slug });
        return {
          placed: toWorkspaceView({ id, organization, workspace: slug, databaseSchema, node: source }, getBytes),
        };
      }
      await throwIfBusy(db, id);
      await checkNodes(db, new Set([source]));
      const requested = { workspaceId: id, source, target: target.name, bytes: getBytes(databaseSchema) };
      const [insertedId] = await audit.change(
        (session, actor) => insertRelocations(session, [requested], actor),
        () => ({ subject: slug, details: { from: source, to: target.name } }),
      );
      // A concurrent request was faster.
      if (insertedId === undefined) throw workspaceMoves();
      startRelocations();
      return { move: toMoveView(await getRelocation(db, insertedId)) };
    },
    async listMoves(page) {
      const { rows, total } = await loadRelocations(db, page);
      return { total, rows: await toMoveViews(db, rows) };
    },
    async findMove(id) {
      const [view] = await toMoveViews(db, [await getRelocation(db, id)]);
      return view as MoveView;
    },
    async cancelMove(id, audit) {
      const { state, workspaceId, workspace } = await getRelocation(db, id);
      await audit.change(
        async (session) => {
          if (!(await requestRelocationCancel(session, id)))
            throw conflict('ALREADY_ENDED', `Move ${id} has ended already`);
        },
        () => ({ subject: workspace, details: { move: Number(id) } }),
      );
      if (state === 'running') await cancelLockHolder(db, workspaceId);
      return toMoveView(await getRelocation(db, id));
    },
  };
}

const notDistributed = ({ organization, slug }: WorkspaceSummary): Error =>
  conflict(
    'NOT_DISTRIBUTED',
    `Workspace ${organization}/${slug} was made before the database was a cluster and lies on the coordinator for good: back it up and restore it under another name to distribute it`,
  );

async function getRelocation(db: Database, id: string): Promise<Relocation> {
  const relocation = await findRelocation(db, id);
  if (relocation === undefined) throw notFound('MOVE_NOT_FOUND', `Move ${id} does not exist`);
  return relocation;
}

/** Finds a node by its name, `host:port`, or by its host if that has only one node. 400 with the names of all nodes. */
function getNodeByName(nodes: readonly ClusterNode[], name: string): ClusterNode {
  const candidates = nodes.filter((node) => node.isActive && node.takesWorkspaces);
  const exact = candidates.filter((node) => node.name === name);
  const [only, ...others] = exact.length > 0 ? exact : candidates.filter(({ host }) => host === name);
  if (only !== undefined && others.length === 0) return only;
  const names = candidates.map((node) => node.name);
  throw unknownNode(name, closest(name, names), names);
}

/** Checks that all nodes respond, as Citus tells each of a move, and that sources have logical replication. */
async function checkNodes(db: Database, sources: ReadonlySet<string>): Promise<void> {
  const results = await queryNodes<string>(db, "select to_json(current_setting('wal_level'))");
  const unavailable = results.filter(({ node, result }) => node.isActive && result === undefined);
  if (unavailable.length > 0) throw nodesUnavailable(unavailable.map(({ node }) => node.name));
  const unprepared = results.filter(({ node, result }) => sources.has(node.name) && result !== 'logical');
  if (unprepared.length > 0) {
    throw conflict(
      'CLUSTER_NOT_PREPARED',
      `Moves need wal_level=logical in PostgreSQL, which is not so on ${listNames(unprepared.map(({ node }) => node.name))}`,
    );
  }
}

/** Throws 409 while the schema of the workspace is being changed, or its relocation is pending or running. */
async function throwIfBusy(db: Pick<Database, 'query'>, workspaceId: string): Promise<void> {
  const [row] = await db.query<{ migrating: boolean }>(toQuery(sql`select ${isMigrating(workspaceId)} as migrating`));
  if (row?.migrating === true) throw anotherMigrationRuns();
  if ((await findOpenRelocation(db, workspaceId)) !== undefined) throw workspaceMoves();
}

/** Plans a rebalance of the nodes as they will be when all open relocations have succeeded. */
async function buildPlan(db: Database) {
  const [nodes, placed, sizes, open] = await Promise.all([
    loadNodes(db),
    loadAllPlacedWorkspaces(db),
    loadSizes(db),
    loadOpenRelocations(db, MAX_PLANNED_MOVES),
  ]);
  const openTargets = new Map(open.map(({ workspaceId, target }) => [workspaceId, target]));
  await checkNodes(db, new Set());
  const bytesOn = new Map(sizes.map(({ node, result }) => [node.name, result ?? {}]));
  const workspaceLoads = placed.map((workspace) => {
    const { node, databaseSchema } = workspace;
    return { workspace, node: openTargets.get(workspace.id) ?? node, bytes: bytesOn.get(node)?.[databaseSchema] ?? 0 };
  });
  const rebalanceNodes = nodes
    .filter(({ isActive }) => isActive)
    .map(({ name, takesWorkspaces }) => ({ node: name, takesWorkspaces }));
  const moves = planRebalance(rebalanceNodes, workspaceLoads, MAX_PLANNED_MOVES);
  // Nodes that take and hold no workspaces, as most coordinators, are left out.
  const names = new Set([
    ...rebalanceNodes.filter((one) => one.takesWorkspaces).map(({ node }) => node),
    ...workspaceLoads.map(({ node }) => node),
  ]);
  return { moves, names, workspaceLoads };
}

async function loadClusterView(db: Database): Promise<ClusterView> {
  const citus = await findCitus(db);
  if (citus === undefined) throw noCluster();
  const { version, hasTriggers } = citus;
  const [placed, sizes] = await Promise.all([loadPlacements(db), loadSizes(db)]);
  const counts = Map.groupBy(placed.values(), (node) => node);
  return {
    engine: 'citus',
    version,
    triggers: hasTriggers,
    nodes: sizes.map(({ node: { name, isCoordinator, isActive, takesWorkspaces }, result }) => ({
      name,
      role: isCoordinator ? 'coordinator' : 'worker',
      state: !isActive ? 'disabled' : result === undefined ? 'down' : 'up',
      takesWorkspaces,
      workspaces: counts.get(name)?.length ?? 0,
      bytes:
        result === undefined
          ? null
          : Object.entries(result).reduce((sum, [schema, one]) => (placed.get(schema) === name ? sum + one : sum), 0),
    })),
  };
}

function toPlanView({ moves, names, workspaceLoads }: Awaited<ReturnType<typeof buildPlan>>): RebalancePlan {
  const targets = new Map(moves.map(({ workspace, to }) => [workspace, to]));
  const sum = (node: string, getNode: (one: (typeof workspaceLoads)[number]) => string) => {
    const there = workspaceLoads.filter((one) => getNode(one) === node);
    return { workspaces: there.length, bytes: there.reduce((total, { bytes }) => total + bytes, 0) };
  };
  return {
    moves: moves.map(({ workspace: { organization, workspace }, from, to, bytes }) => {
      return { organization, workspace, from, to, bytes };
    }),
    bytes: moves.reduce((total, { bytes }) => total + bytes, 0),
    nodes: [...names].map((name) => {
      const after = sum(name, ({ workspace, node }) => targets.get(workspace) ?? node);
      return {
        name,
        ...sum(name, ({ node }) => node),
        workspacesAfter: after.workspaces,
        bytesAfter: after.bytes,
      };
    }),
  };
}

/** Loads the bytes of a PostgreSQL schema, or null if its node does not respond. */
async function loadByteCounts(
  db: Database,
  workspaces: readonly { readonly databaseSchema: string }[],
): Promise<(databaseSchema: string) => number | null> {
  const results = await loadSizes(
    db,
    workspaces.map(({ databaseSchema }) => databaseSchema),
  );
  const isComplete = results.every(({ node, result }) => !node.isActive || result !== undefined);
  return (schema) => {
    // Other nodes have empty tables of the name.
    const sizes = results.flatMap(({ result }) => result?.[schema] ?? []);
    return sizes.length === 0 || !isComplete ? null : Math.max(...sizes);
  };
}

function toWorkspaceView(
  { organization, workspace, databaseSchema, node }: PlacedWorkspace,
  getBytes: (databaseSchema: string) => number | null,
): Omit<PlacedWorkspace, 'id' | 'databaseSchema'> & { readonly bytes: number | null } {
  return { organization, workspace, node, bytes: getBytes(databaseSchema) };
}

/** Adds the progress of those that are running. */
async function toMoveViews(db: Database, relocations: readonly Relocation[]): Promise<MoveView[]> {
  const running = relocations.filter(({ state }) => state === 'running').map(({ databaseSchema }) => databaseSchema);
  const progress = await loadProgress(db, running);
  return relocations.map((one) =>
    toMoveView(one, one.state === 'running' ? progress.get(one.databaseSchema) : undefined),
  );
}

function toMoveView(relocation: Relocation, progress?: MoveProgress): MoveView {
  const { id, organization, workspace, source, target, state, bytes, error } = relocation;
  return {
    id: Number(id),
    organization,
    workspace,
    from: source,
    to: target,
    state,
    bytes: bytes === null ? null : Number(bytes),
    progress: progress ?? null,
    error,
    createdAt: formatTime(relocation.createdAt),
    startedAt: formatTime(relocation.startedAt),
    finishedAt: formatTime(relocation.finishedAt),
    createdBy: relocation.createdBy,
  };
}
