// What operators see of a cluster and do with it, behind the routes of /cluster: nodes, where workspaces lie, moves between nodes.
import { isMigrating } from '../catalog/migrations.ts';
import type { Database } from '../db/pool.ts';
import type { WorkspaceSummary } from '../directory/workspaces.ts';
import { anotherMigrationRuns, conflict, listed, noCluster, nodesAway, notFound, workspaceMoves } from '../errors.ts';
import { interruptHolder } from '../migrate/workspace-lock.ts';
import { closest } from '../model/closest.ts';
import {
  type Cluster,
  type ClusterView,
  MAX_PLANNED,
  type MoveProgress,
  type Move as MoveView,
  type RebalancePlan,
} from '../routes/admin/cluster.ts';
import { time } from '../routes/admin/response.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { findCitus } from './engine.ts';
import { unknownNode } from './errors.ts';
import { askNodes, type ClusterNode, loadNodes, loadSizes } from './nodes.ts';
import { placementOf, placements } from './placements.ts';
import { planRebalance } from './rebalance.ts';
import { loadProgress } from './relocation-progress.ts';
import {
  findMove,
  insertMoves,
  loadAllPlaced,
  loadMoves,
  loadMovesOf,
  loadPlaced,
  type Move,
  openMoveOf,
  type PlacedWorkspace,
  requestCancelOfMove,
} from './relocations.ts';

/** `begin` starts the moves that were stored, and does not wait for them. */
export function makeCluster(db: Database, begin: () => void): Cluster {
  return {
    show: () => showCluster(db),
    async workspaces(page, node) {
      const name = node === undefined ? undefined : nodeNamed(await loadNodes(db), node).name;
      const { rows, total } = await loadPlaced(db, page, name);
      const bytesOf = await sizesOf(db, rows);
      return { total, rows: rows.map((row) => showPlaced(row, bytesOf)) };
    },
    plan: async () => showPlan(await planOf(db)),
    async rebalance(audit) {
      const { moves } = await planOf(db);
      await checkNodes(db, new Set(moves.map(({ from }) => from)));
      const requested = moves.map(({ workspace: { id }, from, to, bytes }) => {
        return { workspaceId: id, source: from, target: to, bytes };
      });
      const ids = await audit.change(
        (session, actor) => insertMoves(session, requested, actor),
        (stored) => ({ subject: 'cluster', details: { moves: stored.length } }),
      );
      begin();
      return (await loadMovesOf(db, ids)).map((move) => showMove(move));
    },
    async move(workspace, node, audit) {
      const target = nodeNamed(await loadNodes(db), node);
      const { id, organization, slug, databaseSchema } = workspace;
      const source = await placementOf(db, databaseSchema);
      if (source === undefined) throw notDistributed(workspace);
      const bytesOf = await sizesOf(db, [{ databaseSchema }]);
      if (source === target.name) {
        await audit.prepare({ subject: slug });
        return { placed: showPlaced({ id, organization, workspace: slug, databaseSchema, node: source }, bytesOf) };
      }
      await refuseBusy(db, id);
      await checkNodes(db, new Set([source]));
      const requested = { workspaceId: id, source, target: target.name, bytes: bytesOf(databaseSchema) };
      const [stored] = await audit.change(
        (session, actor) => insertMoves(session, [requested], actor),
        () => ({ subject: slug, details: { from: source, to: target.name } }),
      );
      // Somebody else was quicker.
      if (stored === undefined) throw workspaceMoves();
      begin();
      return { move: showMove(await moveOf(db, stored)) };
    },
    async moves(page) {
      const { rows, total } = await loadMoves(db, page);
      const running = rows.find(({ state }) => state === 'running');
      const progress = running && (await loadProgress(db, running.databaseSchema));
      return { total, rows: rows.map((move) => showMove(move, move === running ? progress : undefined)) };
    },
    async findMove(id) {
      const move = await moveOf(db, id);
      return showMove(move, move.state === 'running' ? await loadProgress(db, move.databaseSchema) : undefined);
    },
    async cancelMove(id, audit) {
      const { state, workspaceId, workspace } = await moveOf(db, id);
      await audit.change(
        async (session) => {
          if (!(await requestCancelOfMove(session, id)))
            throw conflict('ALREADY_ENDED', `Move ${id} has ended already`);
        },
        () => ({ subject: workspace, details: { move: Number(id) } }),
      );
      if (state === 'running') await interruptHolder(db, workspaceId);
      return showMove(await moveOf(db, id));
    },
  };
}

const notDistributed = ({ organization, slug }: WorkspaceSummary): Error =>
  conflict(
    'NOT_DISTRIBUTED',
    `Workspace ${organization}/${slug} was made before the database was a cluster and lies on the coordinator for good: back it up and restore it under another name to distribute it`,
  );

async function moveOf(db: Database, id: string): Promise<Move> {
  const move = await findMove(db, id);
  if (move === undefined) throw notFound('MOVE_NOT_FOUND', `Move ${id} does not exist`);
  return move;
}

/** The node of a name, `host:port`, or the host alone where it has one node. 400 with those that there are. */
function nodeNamed(nodes: readonly ClusterNode[], name: string): ClusterNode {
  const fit = nodes.filter((node) => node.isActive && node.takesWorkspaces);
  const exact = fit.filter((node) => node.name === name);
  const [only, ...others] = exact.length > 0 ? exact : fit.filter(({ host }) => host === name);
  if (only !== undefined && others.length === 0) return only;
  const known = fit.map((node) => node.name);
  throw unknownNode(name, closest(name, known), known);
}

/** Citus tells every node where tables lie, and copies by logical replication, which the source must be able to send. */
async function checkNodes(db: Database, sources: ReadonlySet<string>): Promise<void> {
  const answers = await askNodes<string>(db, "select to_json(current_setting('wal_level'))");
  const away = answers.filter(({ node, answer }) => node.isActive && answer === undefined);
  if (away.length > 0) throw nodesAway(away.map(({ node }) => node.name));
  const unprepared = answers.filter(({ node, answer }) => sources.has(node.name) && answer !== 'logical');
  if (unprepared.length > 0) {
    throw conflict(
      'CLUSTER_NOT_PREPARED',
      `Moves need wal_level=logical in PostgreSQL, which is not so on ${listed(unprepared.map(({ node }) => node.name))}`,
    );
  }
}

/** 409 while its schema is being changed or it is being moved, also before that has begun. */
async function refuseBusy(db: Pick<Database, 'query'>, workspaceId: string): Promise<void> {
  const [row] = await db.query<{ migrating: boolean }>(toQuery(sql`select ${isMigrating(workspaceId)} as migrating`));
  if (row?.migrating === true) throw anotherMigrationRuns();
  if ((await openMoveOf(db, workspaceId)) !== undefined) throw workspaceMoves();
}

async function planOf(db: Database) {
  const [nodes, placed, sizes] = await Promise.all([loadNodes(db), loadAllPlaced(db), loadSizes(db)]);
  await checkNodes(db, new Set());
  const bytesOn = new Map(sizes.map(({ node, answer }) => [node.name, answer ?? {}]));
  const held = placed.map((workspace) => {
    const { node, databaseSchema } = workspace;
    return { workspace, node, bytes: bytesOn.get(node)?.[databaseSchema] ?? 0 };
  });
  const holders = nodes
    .filter(({ isActive }) => isActive)
    .map(({ name, takesWorkspaces }) => ({ node: name, takesWorkspaces }));
  const moves = planRebalance(holders, held, MAX_PLANNED);
  // What takes nothing and holds nothing, as most coordinators, is no part of it.
  const bytes = new Map(holders.filter((one) => one.takesWorkspaces).map(({ node }) => [node, 0]));
  for (const one of held) bytes.set(one.node, (bytes.get(one.node) ?? 0) + one.bytes);
  return { moves, bytes };
}

async function showCluster(db: Database): Promise<ClusterView> {
  const citus = await findCitus(db);
  if (citus === undefined) throw noCluster();
  const { version, hasTriggers } = citus;
  const [placed, sizes] = await Promise.all([placements(db), loadSizes(db)]);
  const counts = Map.groupBy(placed.values(), (node) => node);
  return {
    engine: 'citus',
    version,
    triggers: hasTriggers,
    nodes: sizes.map(({ node: { name, isCoordinator, isActive, takesWorkspaces }, answer }) => ({
      name,
      role: isCoordinator ? 'coordinator' : 'worker',
      state: !isActive ? 'disabled' : answer === undefined ? 'down' : 'up',
      takesWorkspaces,
      workspaces: counts.get(name)?.length ?? 0,
      bytes:
        answer === undefined
          ? null
          : Object.entries(answer).reduce((sum, [schema, one]) => (placed.get(schema) === name ? sum + one : sum), 0),
    })),
  };
}

function showPlan({ moves, bytes }: Awaited<ReturnType<typeof planOf>>): RebalancePlan {
  const after = new Map(bytes);
  const add = (node: string, amount: number): void => void after.set(node, (after.get(node) ?? 0) + amount);
  for (const move of moves) {
    add(move.from, -move.bytes);
    add(move.to, move.bytes);
  }
  return {
    moves: moves.map(({ workspace: { organization, workspace }, from, to, bytes }) => {
      return { organization, workspace, from, to, bytes };
    }),
    bytes: moves.reduce((sum, one) => sum + one.bytes, 0),
    nodes: [...bytes].map(([name, now]) => ({ name, bytes: now, bytesAfter: after.get(name) ?? 0 })),
  };
}

/** Bytes by the PostgreSQL schema; null: its node does not answer. */
async function sizesOf(
  db: Database,
  workspaces: readonly { readonly databaseSchema: string }[],
): Promise<(databaseSchema: string) => number | null> {
  const answers = await loadSizes(
    db,
    workspaces.map(({ databaseSchema }) => databaseSchema),
  );
  const isComplete = answers.every(({ node, answer }) => !node.isActive || answer !== undefined);
  return (schema) => {
    // Other nodes have empty tables of the name.
    const sizes = answers.flatMap(({ answer }) => answer?.[schema] ?? []);
    return sizes.length === 0 || !isComplete ? null : Math.max(...sizes);
  };
}

function showPlaced(
  { organization, workspace, databaseSchema, node }: PlacedWorkspace,
  bytesOf: (databaseSchema: string) => number | null,
): Omit<PlacedWorkspace, 'id' | 'databaseSchema'> & { readonly bytes: number | null } {
  return { organization, workspace, node, bytes: bytesOf(databaseSchema) };
}

function showMove(move: Move, progress?: MoveProgress): MoveView {
  const { id, organization, workspace, source, target, state, bytes, error } = move;
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
    createdAt: time(move.createdAt),
    startedAt: time(move.startedAt),
    finishedAt: time(move.finishedAt),
    createdBy: move.createdBy,
  };
}
