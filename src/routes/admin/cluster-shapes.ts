// What routes about a cluster share: that there is one, sizes, and how a placed workspace and a move are shown.
import type { Static } from 'typebox';
import { type Citus, findCitus } from '../../cluster/citus.ts';
import { loadSizes } from '../../cluster/nodes.ts';
import type { Database } from '../../db/pool.ts';
import { Type } from '../../document/type.ts';
import { noCluster } from '../../errors.ts';
import type { Mover } from '../../moves/mover.ts';
import { type MoveProgress, PHASES } from '../../moves/progress.ts';
import type { Move, PlacedWorkspace } from '../../moves/store.ts';
import { closed, Id, oneOf, orNull, Time, time } from './answer.ts';
import { CreatedBy, Slug } from './names.ts';

export interface ClusterRooms {
  readonly mover: Pick<Mover, 'turn'>;
}

export const NodeName = Type.String({
  description: 'host:port, as Citus calls the node.',
  examples: ['10.0.0.11:5432'],
});
export const Bytes = Type.Number({ minimum: 0, description: 'Of its tables and indexes.' });

export const PLACE = { organization: Slug, workspace: Slug };
export const PlacedShape = closed(
  { ...PLACE, node: NodeName, bytes: { ...orNull(Bytes), description: 'null: the node does not answer.' } },
  { title: 'PlacedWorkspace' },
);

export const PLANNED = { ...PLACE, from: NodeName, to: NodeName };
export const MoveShape = closed(
  {
    id: Id,
    ...PLANNED,
    state: oneOf('pending', 'running', 'succeeded', 'failed', 'cancelled'),
    bytes: orNull(Type.Number({ description: 'When it was asked for.' })),
    progress: orNull(
      closed(
        {
          phase: oneOf(...PHASES),
          bytes: closed({ done: Type.Number(), total: Type.Number({ description: 'Estimated.' }) }),
        },
        { description: 'While it runs, as Citus tells it.' },
      ),
    ),
    error: orNull(Type.String({ description: 'Why it has failed.' })),
    createdAt: Time,
    startedAt: orNull(Time),
    finishedAt: orNull(Time),
    createdBy: CreatedBy,
  },
  { title: 'Move' },
);

export const NO_CLUSTER = 'the database is not a Citus cluster';
export const ALL_NODES = 'a node of the cluster does not answer';

/** What was noted; it goes on whatever becomes of the request. A failure is met again by the job. */
export function begin(mover: ClusterRooms['mover']): void {
  mover.turn().catch(() => undefined);
}

export async function clusterOf(db: Database): Promise<Citus> {
  const citus = await findCitus(db);
  if (citus === undefined) throw noCluster();
  return citus;
}

/** Bytes by the PostgreSQL schema; null: its node does not answer. */
export async function sizesOf(
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

export function showPlaced(
  { organization, workspace, databaseSchema, node }: PlacedWorkspace,
  bytesOf: (databaseSchema: string) => number | null,
): Static<typeof PlacedShape> {
  return { organization, workspace, node, bytes: bytesOf(databaseSchema) };
}

export function showMove(move: Move, progress?: MoveProgress): Static<typeof MoveShape> {
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
