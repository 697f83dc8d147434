// /cluster: nodes of a Citus cluster, locations of workspaces, and moves between nodes. The routes call the Cluster service,
// which exists when the database is a Citus coordinator.
import type { Static } from 'typebox';
import { noCluster } from '../errors.ts';
import { ADMIN_PREFIX } from '../request/record-path.ts';
import { Type } from '../schema/type.ts';
import type { PageOf } from '../store/pages.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import type { Audit } from './audit.ts';
import { body } from './body.ts';
import { idParam, MIGRATION_RUNS } from './describe.ts';
import { CreatedBy, Slug } from './names.ts';
import { PAGE, type PageRequest, type Parameter } from './query.ts';
import {
  arrayShape,
  data,
  enumShape,
  Id,
  nullableShape,
  objectShape,
  pageShape,
  respond,
  respondData,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker, WORKSPACE } from './route.ts';

const NodeName = Type.String({
  description: 'host:port, the name of the node in Citus.',
  examples: ['10.0.0.11:5432'],
});
const Bytes = Type.Number({ minimum: 0, description: 'Of its tables and indexes.' });

const WORKSPACE_MEMBERS = { organization: Slug, workspace: Slug };
const PlacedShape = objectShape(
  {
    ...WORKSPACE_MEMBERS,
    node: NodeName,
    bytes: { ...nullableShape(Bytes), description: 'null: the node does not answer.' },
  },
  { title: 'PlacedWorkspace' },
);

const MOVE_MEMBERS = { ...WORKSPACE_MEMBERS, from: NodeName, to: NodeName };
const MoveShape = objectShape(
  {
    id: Id,
    ...MOVE_MEMBERS,
    state: enumShape('pending', 'running', 'succeeded', 'failed', 'cancelled'),
    bytes: nullableShape(Type.Number({ description: 'When it was asked for.' })),
    progress: nullableShape(
      objectShape(
        {
          phase: enumShape('preparing', 'copying', 'indexing', 'catchingUp', 'switching'),
          bytes: objectShape({ done: Type.Number(), total: Type.Number({ description: 'Estimated.' }) }),
        },
        { description: 'Progress as Citus reports it, while it runs.' },
      ),
    ),
    error: nullableShape(Type.String({ description: 'Why it has failed.' })),
    createdAt: Time,
    startedAt: nullableShape(Time),
    finishedAt: nullableShape(Time),
    createdBy: CreatedBy,
  },
  { title: 'Move' },
);

const NodeShape = objectShape(
  {
    name: NodeName,
    role: enumShape('coordinator', 'worker'),
    state: enumShape('up', 'down', 'disabled'),
    takesWorkspaces: Type.Boolean({
      description: '`shouldhaveshards` of Citus: false on a node that is to be emptied.',
    }),
    workspaces: Type.Integer({ minimum: 0, description: 'How many lie there.' }),
    bytes: nullableShape(
      Type.Number({ minimum: 0, description: 'Of their tables and indexes; null: it does not answer.' }),
    ),
  },
  { title: 'ClusterNode' },
);

const ClusterShape = objectShape(
  {
    engine: enumShape('citus'),
    version: Type.String({ description: 'Of Citus.', examples: ['13.2-1'] }),
    triggers: Type.Boolean({ description: 'Whether `citus.enable_unsafe_triggers` is on.' }),
    nodes: arrayShape(NodeShape),
  },
  { title: 'Cluster' },
);

const PlanShape = objectShape(
  {
    moves: arrayShape(objectShape({ ...MOVE_MEMBERS, bytes: Bytes }, { title: 'PlannedMove' })),
    bytes: Type.Number({ minimum: 0, description: 'Of all of them.' }),
    nodes: arrayShape(
      objectShape(
        {
          name: NodeName,
          workspaces: Type.Integer({ minimum: 0 }),
          workspacesAfter: Type.Integer({ minimum: 0 }),
          bytes: Bytes,
          bytesAfter: Bytes,
        },
        { title: 'PlannedNode', description: 'Before and after.' },
      ),
    ),
  },
  { title: 'RebalancePlan' },
);

const NODE: Parameter<string | undefined> = {
  shape: Type.String({ description: 'Only workspaces on this node.', examples: ['10.0.0.11:5432'] }),
  read: (text) => text,
};
export type ClusterView = Static<typeof ClusterShape>;
export type PlacedWorkspace = Static<typeof PlacedShape>;
export type Move = Static<typeof MoveShape>;
export type MoveProgress = NonNullable<Move['progress']>;
export type RebalancePlan = Static<typeof PlanShape>;

/** Limit of moves of a plan. More would be out of date before the last is done. */
export const MAX_PLANNED_MOVES = 1000;

export interface Cluster {
  readonly loadView: () => Promise<ClusterView>;
  /** Lists workspaces, oldest first. `node`: only workspaces of this node. */
  readonly listWorkspaces: (page: PageRequest, node: string | undefined) => Promise<PageOf<PlacedWorkspace>>;
  readonly plan: () => Promise<RebalancePlan>;
  /** Starts the moves of the plan. */
  readonly rebalance: (audit: Audit) => Promise<readonly Move[]>;
  /** Starts a move; returns the workspace if it is on that node already. */
  readonly startMove: (
    workspace: WorkspaceSummary,
    node: string,
    audit: Audit,
  ) => Promise<{ readonly move: Move } | { readonly placed: PlacedWorkspace }>;
  /** Lists moves, newest first. */
  readonly listMoves: (page: PageRequest) => Promise<PageOf<Move>>;
  /** Loads a move; 404 if it does not exist. */
  readonly findMove: (id: string) => Promise<Move>;
  readonly cancelMove: (id: string, audit: Audit) => Promise<Move>;
}

export interface ClusterServices {
  /** Returns the cluster, or undefined if the database is not a Citus coordinator. */
  readonly cluster: () => Cluster | undefined;
}

const NO_CLUSTER = 'the database is not a Citus cluster';
const ALL_NODES = 'a node of the cluster does not answer';

const MOVE_ID = { id: idParam('move') };

type Services = AdminServices & ClusterServices;

export const clusterRoutes = (services: Services): AdminRoute[] => [...nodeRoutes(services), ...moveRoutes(services)];

/** Returns the cluster; 409 if the database is not a Citus coordinator. */
function requireCluster(services: ClusterServices): Cluster {
  const cluster = services.cluster();
  if (cluster === undefined) throw noCluster();
  return cluster;
}

/** Returns the routes of nodes, of the workspaces on them, and of rebalancing. */
function nodeRoutes(services: Services): AdminRoute[] {
  const route = routeMaker(services);
  return [
    route({
      id: 'cluster.read',
      method: 'GET',
      path: '/cluster',
      access: 'operator',
      summary: 'The nodes of the cluster, and what lies on them',
      description: 'Each node has 1.5 s to answer.',
      errors: { CONFLICT: NO_CLUSTER },
      responses: { 200: data(ClusterShape) },
      handle: async () => respondData(await requireCluster(services).loadView()),
    }),
    route({
      id: 'cluster.workspaces',
      method: 'GET',
      path: '/cluster/workspaces',
      access: 'operator',
      summary: 'Where each workspace lies',
      description: 'The oldest first.',
      errors: { CONFLICT: NO_CLUSTER },
      query: { ...PAGE, node: NODE },
      responses: { 200: pageShape(PlacedShape) },
      handle: async ({ query }) =>
        respondPage(await requireCluster(services).listWorkspaces(query, query.node), query, (row) => row),
    }),
    route({
      id: 'cluster.plan',
      method: 'GET',
      path: '/cluster/plan',
      access: 'operator',
      summary: 'The moves by which the nodes would hold about the same',
      description: `While a node that takes no workspaces has some, the moves of these alone. Else few moves by which each node has about the same load, within a tenth: the bytes of its workspaces and 100 MB for each of them. At most ${MAX_PLANNED_MOVES} moves. Changes nothing.`,
      errors: { CONFLICT: NO_CLUSTER, SERVICE_UNAVAILABLE: ALL_NODES },
      responses: { 200: data(PlanShape) },
      handle: async () => respondData(await requireCluster(services).plan()),
    }),
    route({
      id: 'cluster.rebalance',
      method: 'POST',
      path: '/cluster/rebalance',
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Does the moves of a plan',
      description:
        'Of the plan as it is now, in which a workspace with a move that has not ended lies on its new node.',
      errors: { CONFLICT: `${NO_CLUSTER}, or a node is not prepared for moves`, SERVICE_UNAVAILABLE: ALL_NODES },
      responses: { 202: data(arrayShape(MoveShape)) },
      handle: async ({ audit }) => respond(202, { data: [...(await requireCluster(services).rebalance(audit))] }),
    }),
  ];
}

/** Returns the routes of moves of single workspaces. */
function moveRoutes(services: Services): AdminRoute[] {
  const route = routeMaker(services);
  return [
    route({
      id: 'cluster.move',
      method: 'POST',
      path: `${WORKSPACE}/moves`,
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Moves a workspace to another node of the cluster',
      description:
        'While requests go on; writes wait for a moment at its end. Three are done at a time, of which one may be of a workspace above 100 MB: 202 says that it is noted, and its state is read by its id. To the node where the workspace lies there is nothing to do: 200.',
      errors: {
        CONFLICT: `${NO_CLUSTER}, or a node is not prepared for moves`,
        SCHEMA_MIGRATION_IN_PROGRESS: { ...MIGRATION_RUNS, when: `${MIGRATION_RUNS.when}, or a move of it` },
        SERVICE_UNAVAILABLE: ALL_NODES,
      },
      body: body(objectShape({ node: NodeName }, { title: 'NewMove' })),
      example: { node: '10.0.0.12:5432' },
      responses: { 200: data(PlacedShape), 202: data(MoveShape) },
      async handle({ workspace, body: { node }, audit }) {
        const outcome = await requireCluster(services).startMove(workspace, node, audit);
        if ('placed' in outcome) return respondData(outcome.placed);
        const { move } = outcome;
        return respond(202, { data: move }, { Location: `${ADMIN_PREFIX}/cluster/moves/${move.id}` });
      },
    }),
    route({
      id: 'cluster.moves',
      method: 'GET',
      path: '/cluster/moves',
      access: 'operator',
      summary: 'Moves of workspaces, newest first',
      description: 'The last 1,000 are kept.',
      errors: { CONFLICT: NO_CLUSTER },
      query: PAGE,
      responses: { 200: pageShape(MoveShape) },
      handle: async ({ query }) => respondPage(await requireCluster(services).listMoves(query), query, (move) => move),
    }),
    route({
      id: 'cluster.readMove',
      method: 'GET',
      path: '/cluster/moves/:id',
      access: 'operator',
      summary: 'A move of a workspace, with its progress',
      description: '`state` says whether it has ended.',
      errors: { CONFLICT: NO_CLUSTER },
      params: MOVE_ID,
      responses: { 200: data(MoveShape) },
      handle: async ({ params }) => respondData(await requireCluster(services).findMove(parseId(params.id, 'Move'))),
    }),
    route({
      id: 'cluster.cancelMove',
      method: 'POST',
      path: '/cluster/moves/:id/cancel',
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Cancels a move that has not ended',
      description: 'The workspace stays where it is. One that was at its very end may still succeed.',
      errors: { CONFLICT: `it has ended already, or ${NO_CLUSTER}` },
      params: MOVE_ID,
      responses: { 200: data(MoveShape) },
      handle: async ({ params, audit }) =>
        respondData(await requireCluster(services).cancelMove(parseId(params.id, 'Move'), audit)),
    }),
  ];
}
