// Moves of workspaces between the nodes of a cluster: begun, listed, watched and cancelled.
import { loadNodes } from '../../cluster/nodes.ts';
import { placementOf } from '../../cluster/placements.ts';
import type { Database } from '../../db/pool.ts';
import type { WorkspaceSummary } from '../../directory/workspaces.ts';
import { conflict, notFound, workspaceMoves } from '../../errors.ts';
import { interruptHolder } from '../../migrate/workspace-lock.ts';
import { checkNodes, nodeNamed, refuseBusy } from '../../moves/check.ts';
import { loadProgress } from '../../moves/progress.ts';
import { findMove, insertMoves, loadMoves, type Move, requestCancelOfMove } from '../../moves/store.ts';
import { answer, closed, data, list, pageOf, single } from './answer.ts';
import { body } from './body.ts';
import {
  ALL_NODES,
  begin,
  type ClusterRooms,
  clusterOf,
  MoveShape,
  NO_CLUSTER,
  NodeName,
  PlacedShape,
  showMove,
  showPlaced,
  sizesOf,
} from './cluster-shapes.ts';
import { idParam, MIGRATION_RUNS } from './describe.ts';
import { PAGE } from './query.ts';
import { type AdminRooms, type AdminRoute, idOf, PREFIX, routeMaker, WORKSPACE } from './route.ts';

const MOVE_ID = { id: idParam('move') };

export function moveRoutes(rooms: AdminRooms & ClusterRooms): AdminRoute[] {
  const { databases, mover } = rooms;
  const { directory: db } = databases;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'cluster.move',
      method: 'POST',
      path: `${WORKSPACE}/moves`,
      may: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Moves a workspace to another node of the cluster',
      description:
        'While requests go on; writes wait for a moment at its end. Moves are done one at a time: 202 says that it is noted, and its state is read by its id. To the node where the workspace lies there is nothing to do: 200.',
      refuses: {
        CONFLICT: `${NO_CLUSTER}, or a node is not prepared for moves`,
        SCHEMA_MIGRATION_IN_PROGRESS: { ...MIGRATION_RUNS, when: `${MIGRATION_RUNS.when}, or a move of it` },
        SERVICE_UNAVAILABLE: ALL_NODES,
      },
      body: body(closed({ node: NodeName }, { title: 'NewMove' })),
      example: { node: '10.0.0.12:5432' },
      answers: { 200: data(PlacedShape), 202: data(MoveShape) },
      async handle({ workspace, body: { node }, note }) {
        await clusterOf(db);
        const target = nodeNamed(await loadNodes(db), node);
        const { id, organization, slug, databaseSchema } = workspace;
        const source = await placementOf(db, databaseSchema);
        if (source === undefined) throw notDistributed(workspace);
        const { ahead } = note;
        const bytesOf = await sizesOf(db, [{ databaseSchema }]);
        if (source === target.name) {
          await ahead({ subject: slug });
          const placed = { id, organization, workspace: slug, databaseSchema, node: source };
          return single(showPlaced(placed, bytesOf));
        }
        await refuseBusy(db, id);
        await checkNodes(db, new Set([source]));
        const wanted = { workspaceId: id, source, target: target.name, bytes: bytesOf(databaseSchema) };
        const ids = await note.change(
          (session, actor) => insertMoves(session, [wanted], actor),
          () => ({ subject: slug, details: { from: source, to: target.name } }),
        );
        const made = ids[0];
        // Somebody else was quicker.
        if (made === undefined) throw workspaceMoves();
        begin(mover);
        return answer(202, { data: showMove(await moveOf(db, made)) }, { Location: `${PREFIX}/cluster/moves/${made}` });
      },
    }),
    route({
      id: 'cluster.moves',
      method: 'GET',
      path: '/cluster/moves',
      may: 'operator',
      summary: 'Moves of workspaces, newest first',
      description: 'The last 1,000 are kept.',
      refuses: { CONFLICT: NO_CLUSTER },
      query: PAGE,
      answers: { 200: pageOf(MoveShape) },
      async handle({ query }) {
        await clusterOf(db);
        const found = await loadMoves(db, query);
        const running = found.rows.find(({ state }) => state === 'running');
        const progress = running && (await loadProgress(db, running.databaseSchema));
        return list(found, query, (move) => showMove(move, move === running ? progress : undefined));
      },
    }),
    route({
      id: 'cluster.readMove',
      method: 'GET',
      path: '/cluster/moves/:id',
      may: 'operator',
      summary: 'A move of a workspace, with its progress',
      description: 'By `state` one sees whether it has ended.',
      refuses: { CONFLICT: NO_CLUSTER },
      params: MOVE_ID,
      answers: { 200: data(MoveShape) },
      async handle({ params }) {
        await clusterOf(db);
        const move = await moveOf(db, idOf(params.id, 'Move'));
        const isRunning = move.state === 'running';
        return single(showMove(move, isRunning ? await loadProgress(db, move.databaseSchema) : undefined));
      },
    }),
    route({
      id: 'cluster.cancelMove',
      method: 'POST',
      path: '/cluster/moves/:id/cancel',
      may: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Cancels a move that has not ended',
      description: 'The workspace stays where it is. One that was at its very end may still succeed.',
      refuses: { CONFLICT: `it has ended already, or ${NO_CLUSTER}` },
      params: MOVE_ID,
      answers: { 200: data(MoveShape) },
      async handle({ params, note }) {
        await clusterOf(db);
        const { id, state, workspaceId, workspace } = await moveOf(db, idOf(params.id, 'Move'));
        await note.change(
          async (session) => {
            if (!(await requestCancelOfMove(session, id))) throw conflict(`Move ${id} has ended already`);
          },
          () => ({ subject: workspace, details: { move: Number(id) } }),
        );
        if (state === 'running') await interruptHolder(db, workspaceId);
        return single(showMove(await moveOf(db, id)));
      },
    }),
  ];
}

const notDistributed = ({ organization, slug }: WorkspaceSummary): Error =>
  conflict(
    `Workspace ${organization}/${slug} was made before the database was a cluster and lies on the coordinator for good: back it up and restore it under another name to distribute it`,
  );

async function moveOf(db: Database, id: string): Promise<Move> {
  const move = await findMove(db, id);
  if (move === undefined) throw notFound(`Move ${id} does not exist`);
  return move;
}
