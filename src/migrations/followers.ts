// Workspaces that follow a shared schema: from the version that one has to another, by identities, so that what was renamed
// on the way keeps its records; and from a document of its own to a version, by names.
import { ApiError, notFound, validationFailed } from '../errors.ts';
import { compareIdentities } from '../schema/identities.ts';
import type { Renames } from '../schema/renames.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { findMigration, isEnded, type Migration, type MigrationError, type PlannedStep } from '../store/migrations.ts';
import { advanceTarget, findSharedSchemaVersion, storeTarget, type Target } from '../store/shared-schemas.ts';
import type { Follows } from '../store/workspaces.ts';
import type { ParseDocument } from './plan.ts';
import { previewChange } from './preview.ts';
import type { Runner, StartedMigration } from './runner.ts';

export interface FollowerServices {
  readonly databases: Databases;
  readonly runner: Pick<Runner, 'start'>;
}

/** Records of a workspace that stand in the way of a version. */
export interface FollowerConflict {
  readonly entity: string;
  readonly field: string | null;
  readonly count: number;
  readonly sampleIds: readonly number[];
}

interface FollowerSteps {
  readonly steps: readonly PlannedStep[];
  /** Whether any of the steps is. */
  readonly destructive: boolean;
}

/** `unchanged`: has the version or a newer one. `unfollowed`: is deleted, or does not follow the schema any more. */
type Untouched = { readonly state: 'unchanged' } | { readonly state: 'unfollowed' };

export type FollowerPlan =
  | Untouched
  | (FollowerSteps & { readonly state: 'ready' })
  | (FollowerSteps & { readonly state: 'conflicts'; readonly conflicts: readonly FollowerConflict[] });

/** Plans the way of a workspace to a version without changing it. Throws where there is none, such as between types without a conversion. */
export async function planFollower(databases: Databases, workspaceId: string, target: Target): Promise<FollowerPlan> {
  try {
    const { change, steps } = await previewChange(databases, workspaceId, 'online', parseForFollower(target));
    const destructive = steps.some((step) => step.destructive);
    const conflicts = steps.flatMap(({ entity, conflicts: records }, index): FollowerConflict[] => {
      if (records === null) return [];
      return [{ entity, field: change.operations[index]?.conflictCheck?.field ?? null, ...records }];
    });
    return conflicts.length === 0
      ? { state: 'ready', steps, destructive }
      : { state: 'conflicts', steps, destructive, conflicts };
  } catch (error) {
    return toUntouched(error);
  }
}

export type FollowerMigration =
  | Untouched
  | { readonly state: 'succeeded'; readonly migration: Migration }
  | { readonly state: 'failed'; readonly migration: Migration; readonly error: MigrationError };

export interface FollowerOptions {
  readonly allowDestructive: boolean;
  readonly audit: AuditContext;
  readonly onStarted?: (migrationId: string) => void | Promise<void>;
}

/**
 * Migrates a workspace to a version, online, and resolves at the end of that. The version is stored in the transaction
 * that puts its document in force. Throws where no migration is started: what is not allowed, not possible, or not now.
 */
export async function migrateFollower(
  { databases, runner }: FollowerServices,
  workspaceId: string,
  target: Target,
  { allowDestructive, audit, onStarted }: FollowerOptions,
): Promise<FollowerMigration> {
  let run: StartedMigration;
  try {
    run = await runner.start({
      workspaceId,
      strategy: 'online',
      allowDestructive,
      isRecorded: true,
      audit,
      parseDocument: parseForFollower(target),
      alsoAtSwitch: (session) => advanceTarget(session, workspaceId, target),
    });
  } catch (error) {
    return toUntouched(error);
  }
  const id = run.id as string;
  await onStarted?.(id);
  await run.completion;
  const migration = await findMigration(databases.forWorkspace({ id: workspaceId }), workspaceId, id);
  if (migration === undefined) return { state: 'unfollowed' };
  if (migration.state === 'succeeded') return { state: 'succeeded', migration };
  return { state: 'failed', migration, error: migration.error ?? (isEnded(migration) ? CANCELLED : INTERRUPTED) };
}

const NOWHERE = { entity: null, field: null, count: null, sampleIds: [] } as const;
const CANCELLED: MigrationError = { code: 'CANCELLED', message: 'The migration was cancelled', ...NOWHERE };
const INTERRUPTED: MigrationError = {
  code: 'INTERRUPTED',
  message: 'The server stopped during the migration, which will be rolled back',
  ...NOWHERE,
};

/**
 * Starts the migration by which a workspace begins to follow a schema, or goes on to a newer version of the one that it
 * follows. Returns undefined if it has this version.
 */
export async function beginFollowing(
  { runner }: Pick<FollowerServices, 'runner'>,
  workspaceId: string,
  target: Target,
  { allowDestructive, audit }: Omit<FollowerOptions, 'onStarted'>,
): Promise<StartedMigration | undefined> {
  const parse = parseVersion(target);
  try {
    return await runner.start({
      workspaceId,
      strategy: 'online',
      allowDestructive,
      isRecorded: true,
      audit,
      parseDocument: (inForce, context) => {
        const { follows } = context;
        if (follows?.schemaId !== target.schemaId || follows.version < target.version) return parse(inForce, context);
        if (follows.version === target.version) throw new NothingToDo('unchanged');
        throw validationFailed([
          { field: 'follows.version', code: 'INVALID', message: describeForward(follows.version) },
        ]);
      },
      alsoAtSwitch: (session) => storeTarget(session, workspaceId, target),
    });
  } catch (error) {
    if (error instanceof NothingToDo) return undefined;
    throw error;
  }
}

const describeForward = (version: number): string =>
  `the workspace has version ${version}, and goes forward only: to go back, publish the former document as a new version`;

/** Says that a workspace needs no migration. */
class NothingToDo extends Error {
  readonly untouched: Untouched;
  constructor(state: Untouched['state']) {
    super(state);
    this.untouched = { state };
  }
}

function toUntouched(error: unknown): Untouched {
  if (error instanceof NothingToDo) return error.untouched;
  if (error instanceof ApiError && error.reason === 'WORKSPACE_NOT_FOUND') return { state: 'unfollowed' };
  throw error;
}

/** Returns the parser that takes a workspace forward to a version of the schema that it follows. */
function parseForFollower(target: Target): ParseDocument {
  const parse = parseVersion(target);
  return (inForce, context) => {
    const { follows } = context;
    if (follows?.schemaId !== target.schemaId) throw new NothingToDo('unfollowed');
    if (follows.version >= target.version) throw new NothingToDo('unchanged');
    return parse(inForce, context);
  };
}

/** Returns the parser whose document is a version as it is: nothing in force is carried over. */
const parseVersion =
  ({ schemaId, version }: Target): ParseDocument =>
  async (_inForce, { session, follows }) => {
    const next = await findSharedSchemaVersion(session, schemaId, version);
    if (next === undefined) throw notFound('SCHEMA_VERSION_NOT_FOUND', `Version ${version} does not exist any more`);
    const { document, identities } = next;
    const before = await findFollowed(follows, schemaId, session);
    return { ok: true, document, renames: before === undefined ? BY_NAMES : compareIdentities(before, identities) };
  };

type Sessions = Parameters<ParseDocument>[1]['session'];

/** Returns the identities of the version that the workspace has, or undefined if it does not follow the schema. */
async function findFollowed(follows: Follows | null, schemaId: string, session: Sessions) {
  if (follows?.schemaId !== schemaId) return undefined;
  return (await findSharedSchemaVersion(session, schemaId, follows.version))?.identities;
}

const BY_NAMES: Renames = { entities: new Map(), fields: new Map(), relations: new Map() };
