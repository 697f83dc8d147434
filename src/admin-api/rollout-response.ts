// Answers of the routes of rollouts: their shapes, and the rows they are made of.
import type { Static } from 'typebox';
import type { Database } from '../database/pool.ts';
import { notFound } from '../errors.ts';
import { hasEnded } from '../rollouts/state.ts';
import { Type } from '../schema/type.ts';
import {
  countDestructive,
  findPlan,
  loadRolloutWorkspaces,
  type Rollout,
  type RolloutCounts,
  type RolloutWorkspace,
  WORKSPACE_STATES,
} from '../store/rollouts.ts';
import type { SharedSchema } from '../store/shared-schemas.ts';
import { requireValue } from './access.ts';
import { MigrationErrorShape, showMigrationError } from './migrations.ts';
import { Slug } from './names.ts';
import { arrayShape, enumShape, formatTime, Id, nullableShape, objectShape, Time } from './response.ts';
import { Version } from './rollout-body.ts';

// A plan shows the first of them.
export const MAX_SHOWN = 1000;

const Count = Type.Integer({ minimum: 0 });
const COUNTS = { waiting: Count, running: Count, succeeded: Count, unchanged: Count, failed: Count, skipped: Count };
export const RolloutShape = objectShape(
  {
    id: Id,
    version: Version,
    state: enumShape('planning', 'running', 'paused', 'succeeded', 'finishedWithFailures', 'cancelled'),
    wave: Type.Integer({ minimum: 1, description: 'The current wave.' }),
    counts: objectShape(COUNTS, { description: 'Workspaces by state.' }),
    waves: arrayShape(objectShape(COUNTS, { description: 'The same of each wave, from the first.' })),
    createdAt: Time,
    startedAt: nullableShape(Time),
    finishedAt: nullableShape(Time),
  },
  { title: 'Rollout' },
);

export const WorkspaceShape = objectShape(
  {
    workspace: Slug,
    state: enumShape(...WORKSPACE_STATES),
    migration: nullableShape({ ...Id, description: 'Id of its migration.' } as typeof Id),
    error: nullableShape(MigrationErrorShape),
  },
  { title: 'RolloutWorkspace' },
);

const ConflictShape = objectShape(
  {
    entity: Type.String(),
    field: nullableShape(Type.String()),
    count: Type.Integer({ minimum: 1 }),
    sampleIds: arrayShape(Type.Number()),
  },
  { title: 'RolloutConflict', description: 'Records in the way, and the first ten of them.' },
);

export const PlanShape = objectShape(
  {
    id: Id,
    state: enumShape('planning', 'planned'),
    planned: { ...Count, description: 'Workspaces that are planned so far.' } as typeof Count,
    total: Count,
    unchanged: { ...Count, description: 'Those at this version or a newer one.' } as typeof Count,
    ready: Count,
    conflicts: {
      ...Count,
      description: 'Those with records in the way, or with no way to the version.',
    } as typeof Count,
    destructive: { ...Count, description: 'Those that would lose something.' } as typeof Count,
    workspaces: arrayShape(
      objectShape({
        workspace: Slug,
        conflicts: arrayShape(ConflictShape),
        error: nullableShape(MigrationErrorShape),
      }),
    ),
  },
  { title: 'RolloutPlan' },
);

export function showRollout(rollout: Rollout): Static<typeof RolloutShape> {
  const { id, version, state, wave, createdAt, startedAt, finishedAt } = rollout;
  return {
    id: Number(id),
    version,
    state,
    wave,
    counts: showCounts(rollout.counts),
    waves: rollout.waves.map(showCounts),
    createdAt: formatTime(createdAt),
    startedAt: formatTime(startedAt),
    finishedAt: formatTime(finishedAt),
  };
}

const showCounts = ({ waiting, running, succeeded, unchanged, failed, skipped }: RolloutCounts): RolloutCounts => ({
  waiting,
  running,
  succeeded,
  unchanged,
  failed,
  skipped,
});

export const showWorkspace = ({
  workspace,
  state,
  migration,
  error,
}: RolloutWorkspace): Static<typeof WorkspaceShape> => ({
  workspace,
  state,
  migration: migration === null ? null : Number(migration),
  error: error === null ? null : showMigrationError(error),
});

export async function showPlan(
  db: Database,
  schema: SharedSchema,
  which: string | null,
): Promise<Static<typeof PlanShape>> {
  const plan = await requireValue(findPlan(db, schema.id, which), () =>
    notFound(
      'ROLLOUT_NOT_FOUND',
      which === null
        ? 'The schema has no plan of a rollout'
        : `Plan ${which} of this schema does not exist, or not any more`,
    ),
  );
  const { id } = plan;
  const { waiting, running, succeeded: ready, unchanged, failed: conflicts } = plan.counts;
  const [destructive, { rows }] = await Promise.all([
    countDestructive(db, id),
    loadRolloutWorkspaces(db, id, 'failed', { page: 0, size: MAX_SHOWN }),
  ]);
  const planned = unchanged + ready + conflicts;
  return {
    id: Number(id),
    state: hasEnded(plan) ? 'planned' : 'planning',
    planned,
    total: planned + waiting + running,
    unchanged,
    ready,
    conflicts,
    destructive,
    workspaces: rows.map(({ workspace, conflicts: records, error }) => ({
      workspace,
      conflicts: (records ?? []).map(({ entity, field, count, sampleIds }) => ({ entity, field, count, sampleIds })),
      error: error === null ? null : showMigrationError(error),
    })),
  };
}
