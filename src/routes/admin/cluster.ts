// /cluster: the nodes of a Citus cluster, where workspaces lie on them, and moves of workspaces between them.
import type { Static } from 'typebox';
import type { Citus } from '../../cluster/citus.ts';
import { loadNodes, loadSizes } from '../../cluster/nodes.ts';
import { placements } from '../../cluster/placements.ts';
import type { Database } from '../../db/pool.ts';
import { Type } from '../../document/type.ts';
import { checkNodes, nodeNamed } from '../../moves/check.ts';
import { planRebalance } from '../../moves/plan.ts';
import { insertMoves, loadAllPlaced, loadMovesOf, loadPlaced } from '../../moves/store.ts';
import { answer, closed, data, list, listOf, oneOf, orNull, pageOf, single } from './answer.ts';
import {
  ALL_NODES,
  Bytes,
  begin,
  type ClusterRooms,
  clusterOf,
  MoveShape,
  NO_CLUSTER,
  NodeName,
  PLANNED,
  PlacedShape,
  showMove,
  showPlaced,
  sizesOf,
} from './cluster-shapes.ts';
import { moveRoutes } from './moves.ts';
import { PAGE, type Parameter } from './query.ts';
import { type AdminRooms, type AdminRoute, routeMaker } from './route.ts';

const NodeShape = closed(
  {
    name: NodeName,
    role: oneOf('coordinator', 'worker'),
    state: oneOf('up', 'down', 'disabled'),
    takesWorkspaces: Type.Boolean({
      description: '`shouldhaveshards` of Citus: false on a node that is to be emptied.',
    }),
    workspaces: Type.Integer({ minimum: 0, description: 'How many lie there.' }),
    bytes: orNull(Type.Number({ minimum: 0, description: 'Of their tables and indexes; null: it does not answer.' })),
  },
  { title: 'ClusterNode' },
);

const ClusterShape = closed(
  {
    engine: oneOf('citus'),
    version: Type.String({ description: 'Of Citus.', examples: ['13.2-1'] }),
    triggers: Type.Boolean({ description: 'Whether `citus.enable_unsafe_triggers` is on.' }),
    nodes: listOf(NodeShape),
  },
  { title: 'Cluster' },
);

const PlanShape = closed(
  {
    moves: listOf(closed({ ...PLANNED, bytes: Bytes }, { title: 'PlannedMove' })),
    bytes: Type.Number({ minimum: 0, description: 'Of all of them.' }),
    nodes: listOf(
      closed(
        { name: NodeName, bytes: Bytes, bytesAfter: Bytes },
        { title: 'PlannedNode', description: 'Before and after.' },
      ),
    ),
  },
  { title: 'RebalancePlan' },
);

const NODE: Parameter<string | undefined> = {
  shape: Type.String({ description: 'Only what lies on this node.', examples: ['10.0.0.11:5432'] }),
  read: (text) => text,
};
// More would be out of date before the last is done.
const MAX_PLANNED = 1000;

export function clusterRoutes(rooms: AdminRooms & ClusterRooms): AdminRoute[] {
  const { databases, mover } = rooms;
  const { directory: db } = databases;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'cluster.read',
      method: 'GET',
      path: '/cluster',
      may: 'operator',
      summary: 'The nodes of the cluster, and what lies on them',
      description: 'Each node is asked, for 1.5 s at most.',
      refuses: { CONFLICT: NO_CLUSTER },
      answers: { 200: data(ClusterShape) },
      handle: async () => single(await showCluster(db, await clusterOf(db))),
    }),
    route({
      id: 'cluster.workspaces',
      method: 'GET',
      path: '/cluster/workspaces',
      may: 'operator',
      summary: 'Where each workspace lies',
      description: 'The oldest first.',
      refuses: { CONFLICT: NO_CLUSTER },
      query: { ...PAGE, node: NODE },
      answers: { 200: pageOf(PlacedShape) },
      async handle({ query }) {
        await clusterOf(db);
        const { node } = query;
        const there = node === undefined ? undefined : nodeNamed(await loadNodes(db), node).name;
        const found = await loadPlaced(db, query, there);
        const bytesOf = await sizesOf(db, found.rows);
        return list(found, query, (row) => showPlaced(row, bytesOf));
      },
    }),
    route({
      id: 'cluster.plan',
      method: 'GET',
      path: '/cluster/plan',
      may: 'operator',
      summary: 'The moves by which the nodes would hold about the same',
      description: `By bytes, within a tenth of what each should hold; nodes that take no workspaces are emptied. At most ${MAX_PLANNED} moves. Changes nothing.`,
      refuses: { CONFLICT: NO_CLUSTER, SERVICE_UNAVAILABLE: ALL_NODES },
      answers: { 200: data(PlanShape) },
      async handle() {
        await clusterOf(db);
        return single(showPlan(await planOf(db)));
      },
    }),
    route({
      id: 'cluster.rebalance',
      method: 'POST',
      path: '/cluster/rebalance',
      may: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Does the moves of a plan, one after the other',
      description: 'Of the plan as it is now. A workspace that is being moved already is left out.',
      refuses: { CONFLICT: `${NO_CLUSTER}, or a node is not prepared for moves`, SERVICE_UNAVAILABLE: ALL_NODES },
      answers: { 202: data(listOf(MoveShape)) },
      async handle({ note }) {
        await clusterOf(db);
        const { moves } = await planOf(db);
        await checkNodes(db, new Set(moves.map(({ from }) => from)));
        const wanted = moves.map(({ workspace: { id }, from, to, bytes }) => {
          return { workspaceId: id, source: from, target: to, bytes };
        });
        const ids = await note.change(
          (session, actor) => insertMoves(session, wanted, actor),
          (made) => ({ subject: 'cluster', details: { moves: made.length } }),
        );
        begin(mover);
        return answer(202, { data: (await loadMovesOf(db, ids)).map((move) => showMove(move)) });
      },
    }),
    ...moveRoutes(rooms),
  ];
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

async function showCluster(db: Database, { version, hasTriggers }: Citus): Promise<Static<typeof ClusterShape>> {
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

function showPlan({ moves, bytes }: Awaited<ReturnType<typeof planOf>>): Static<typeof PlanShape> {
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
