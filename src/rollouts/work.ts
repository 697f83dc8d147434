// The work on one workspace of a rollout: its migration, or its plan.
import { ApiError, shorten } from '../errors.ts';
import { type FollowerServices, migrateFollower, planFollower } from '../migrations/followers.ts';
import { type Actor, insertActivity } from '../store/activity.ts';
import { toControlError } from '../store/control-error.ts';
import type { MigrationError } from '../store/migrations.ts';
import type { Assignment, Result } from '../store/rollout-work.ts';
import type { LockedRollout } from '../store/rollouts.ts';

export interface WorkDeps extends FollowerServices {
  /** Called with the id of the migration of a workspace. */
  readonly onStarted: (assignment: Assignment, migrationId: string) => void;
  /** Called with errors that are mistakes of the server. */
  readonly onError: (message: string, error: unknown) => void;
}

export interface Task {
  readonly rollout: LockedRollout;
  readonly assignment: Assignment;
}

// A workspace whose migration ends its process, or that takes too long, is given up after as many attempts.
const MAX_ATTEMPTS = 5;
// Another change of the workspace, or of the database, is waited for.
const PAUSE_MS = 1000;
const SERVER: Actor = { kind: 'server', id: 'server', name: 'server' };
const NOWHERE = { entity: null, field: null, count: null, sampleIds: [] } as const;

/** Works on a workspace to its end. Does not reject. */
export async function workOn(deps: WorkDeps, task: Task): Promise<Result> {
  const { rollout, assignment } = task;
  if (assignment.attempts > MAX_ATTEMPTS) return { state: 'failed', error: GIVEN_UP };
  try {
    return await (rollout.isPlan ? plan(deps, task) : migrate(deps, task));
  } catch (error) {
    return toResult(error, deps);
  }
}

async function plan({ databases }: WorkDeps, { rollout, assignment: { workspaceId } }: Task): Promise<Result> {
  const result = await planFollower(databases, workspaceId, toTarget(rollout));
  switch (result.state) {
    case 'unchanged':
      return { state: 'unchanged' };
    case 'unfollowed':
      return { state: 'skipped' };
    case 'ready':
      return { state: 'succeeded', destructive: result.destructive };
    case 'conflicts':
      return { state: 'failed', destructive: result.destructive, conflicts: result.conflicts };
    default:
      return result satisfies never;
  }
}

async function migrate(deps: WorkDeps, { rollout, assignment }: Task): Promise<Result> {
  const { workspaceId, organization, workspace: slug, schema } = assignment;
  const actor = rollout.createdBy ?? SERVER;
  const result = await migrateFollower(deps, workspaceId, toTarget(rollout), {
    allowDestructive: rollout.allowDestructive,
    audit: {
      actor,
      write: (session, extra = {}) =>
        insertActivity(session, {
          actor,
          action: 'rollouts.migrate',
          organization,
          workspace: { id: workspaceId, slug },
          entity: null,
          subject: slug,
          ...extra,
          details: { schema, version: rollout.version, rollout: Number(rollout.id), ...extra.details },
        }),
    },
    onStarted: (id) => deps.onStarted(assignment, id),
  });
  switch (result.state) {
    case 'unchanged':
      // A process that is gone has finished it, or one that had lost the database.
      return { state: assignment.attempts > 1 || assignment.hasMigration ? 'succeeded' : 'unchanged' };
    case 'unfollowed':
      return { state: 'skipped' };
    case 'succeeded':
      return { state: 'succeeded', migration: result.migration.id };
    case 'failed':
      return toFailure(result.error, result.migration.id, rollout);
    default:
      return result satisfies never;
  }
}

const toTarget = ({ sharedSchemaId: schemaId, version }: LockedRollout) => ({ schemaId, version });

function toFailure(error: MigrationError, migration: string, { skipConflicts }: LockedRollout): Result {
  // The server stops: the next process begins again.
  if (error.code === 'INTERRUPTED') return { state: 'waiting', dueMs: 0 };
  const state = skipConflicts && error.code === 'DATA_CONFLICT' ? 'skipped' : 'failed';
  return { state, migration, error };
}

/** Returns the result of an error before a migration: what passes is waited for. */
function toResult(thrown: unknown, { onError }: WorkDeps): Result {
  const error = thrown instanceof ApiError ? thrown : toControlError(thrown);
  const isTimeout = error.code === 'QUERY_TIMEOUT';
  if (error.status === 503 || error.code === 'SCHEMA_MIGRATION_IN_PROGRESS')
    return { state: 'waiting', dueMs: error.reason === 'SHUTTING_DOWN' ? 0 : PAUSE_MS, isVoid: !isTimeout };
  if (error.code === 'INTERNAL_ERROR') onError('the work on a workspace of a rollout failed', thrown);
  return { state: 'failed', error: { code: error.code, message: formatMessage(error), ...NOWHERE } };
}

const MAX_DETAILS = 3;

/** Puts the first details of an error into its message. */
function formatMessage({ message, details = [] }: ApiError): string {
  const texts = details
    .slice(0, MAX_DETAILS)
    .map((one) => `${one.field === null ? '' : `${one.field}: `}${one.message}`);
  return texts.length === 0 ? message : `${message}: ${texts.map(shorten).join('; ')}`;
}

const GIVEN_UP: MigrationError = {
  code: 'INTERRUPTED',
  message: `The work on the workspace took too long or ended with its process, ${MAX_ATTEMPTS} times`,
  ...NOWHERE,
};
