// /migrations: lists, shows and cancels schema migrations.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { Database } from '../database/pool.ts';
import { badRequest, conflict, notFound } from '../errors.ts';
import type { Runner } from '../migrations/runner.ts';
import { cancelLockHolder } from '../migrations/workspace-lock.ts';
import { Type } from '../schema/type.ts';
import {
  findMigration,
  isEnded,
  loadMigrations,
  loadOpenMigrations,
  type Migration,
  type MigrationError,
  type MigrationStep,
  type PlacedMigration,
  requestCancel,
  type Waiting,
} from '../store/migrations.ts';
import { requireValue } from './access.ts';
import { idParam } from './describe.ts';
import { CreatedBy, Slug } from './names.ts';
import { PAGE, type Parameter } from './query.ts';
import {
  arrayShape,
  data,
  enumShape,
  formatTime,
  Id,
  nullableShape,
  objectShape,
  pageShape,
  respondData,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker, WORKSPACE } from './route.ts';

// Time to wait for a rollback, which usually takes milliseconds.
const CANCEL_WAIT_MS = 5000;
const CANCEL_POLL_MS = 50;
// Many times what it takes until an end is in force in every process: clocks of database and server may differ.
const NEW_MS = 60_000;

const State = enumShape('pending', 'running', 'succeeded', 'failed', 'cancelled');
const SampleIds = arrayShape(Type.Number());

const PLANNED_STEP_MEMBERS = {
  entity: Type.String(),
  kind: Type.String({ examples: ['addField'] }),
  description: Type.String({ description: 'In words.' }),
  destructive: Type.Boolean({ description: 'Whether something is dropped.' }),
  opens: Type.Optional(
    Type.Boolean({ description: 'Of a change of grants: whether every user may use the entity from then on.' }),
  ),
  grants: Type.Optional(
    arrayShape(Type.String({ description: 'Of a change of grants: each of the new ones in words.' })),
  ),
  blocksReads: Type.Boolean({ description: 'Whether reads are refused while it runs.' }),
  blocksWrites: Type.Boolean({ description: 'Whether writes are refused while it runs.' }),
  estimatedSeconds: Type.Number({ description: 'By the size of the table; 0 when that does not matter.' }),
  conflicts: nullableShape(
    objectShape(
      { count: Type.Number(), sampleIds: SampleIds },
      { description: 'Records that make it impossible, and the first ten of them.' },
    ),
  ),
};

/** Step of a plan. */
export const PlannedStepShape = objectShape(PLANNED_STEP_MEMBERS, { title: 'PlannedStep' });

const StepShape = objectShape(
  {
    ...PLANNED_STEP_MEMBERS,
    state: State,
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    records: nullableShape(
      objectShape(
        { done: Type.Number(), total: Type.Number({ description: 'Estimated.' }) },
        { description: 'While records are filled.' },
      ),
    ),
  },
  { title: 'MigrationStep' },
);

export const MigrationErrorShape = objectShape(
  {
    code: Type.String({ examples: ['DATA_CONFLICT'] }),
    message: Type.String(),
    entity: nullableShape(Type.String()),
    field: nullableShape(Type.String()),
    count: nullableShape(Type.Number({ description: 'How many records were in the way.' })),
    sampleIds: SampleIds,
  },
  { title: 'MigrationError', description: 'Why a migration has not succeeded.' },
);

const WaitingShape = objectShape(
  {
    pid: nullableShape(Type.Integer()),
    application: Type.String(),
    since: nullableShape(Type.String()),
  },
  { title: 'MigrationWaiting', description: 'The session of the database whose lock is in the way.' },
);

const MIGRATION = {
  id: Id,
  state: State,
  strategy: enumShape('online', 'blocking'),
  steps: arrayShape(StepShape),
  error: nullableShape(MigrationErrorShape),
  waitingFor: nullableShape(WaitingShape),
  createdAt: Time,
  startedAt: nullableShape(Time),
  finishedAt: nullableShape(Time),
  createdBy: CreatedBy,
};
export const MigrationShape = objectShape(MIGRATION, { title: 'Migration' });
const PlacedShape = objectShape({ organization: Slug, workspace: Slug, ...MIGRATION }, { title: 'RunningMigration' });

// A workspace has one at most, a process runs two long ones: people read no longer list.
const MAX_RUNNING = 1000;
const STATE: Parameter<'running'> = {
  shape: Type.Unsafe({
    type: 'string',
    enum: ['running'],
    default: 'running',
    description: 'Those that have not ended.',
  }),
  read(text = 'running') {
    if (text === 'running') return text;
    throw badRequest(
      'INVALID_PARAMETER',
      'state must be running: those that have ended are listed by their workspaces',
    );
  },
};

const ID = { id: idParam('migration') };

export function migrationRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'migrations.running',
      method: 'GET',
      path: '/migrations',
      access: 'administrator',
      summary: 'The migrations that have not ended, newest first',
      description: 'Of all workspaces for the operator; owners see that of their own.',
      errors: {},
      query: { state: STATE },
      responses: { 200: data(arrayShape(PlacedShape)) },
      async handle({ principal }) {
        const loads = databases.all().map((database) => loadOpenMigrations(database, principal, MAX_RUNNING));
        return respondData((await Promise.all(loads)).flat().map(showPlaced));
      },
    }),
    route({
      id: 'migrations.list',
      method: 'GET',
      path: `${WORKSPACE}/migrations`,
      access: 'workspace',
      summary: 'The migrations of a workspace, newest first',
      description: 'The last 200 are kept.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(MigrationShape) },
      async handle({ workspace, query, changed }) {
        const page = await loadMigrations(databases.forWorkspace(workspace), workspace.id, query);
        if (page.rows.some(isNew)) changed(workspace.id);
        return respondPage(page, query, showMigration);
      },
    }),
    route({
      id: 'migrations.read',
      method: 'GET',
      path: `${WORKSPACE}/migrations/:id`,
      access: 'workspace',
      summary: 'A migration',
      find: ({ workspace, params }) => requireMigration(databases.forWorkspace(workspace), workspace.id, params.id),
      description: 'Who reads here that it has ended may rely on its end in every process.',
      errors: {},
      params: ID,
      responses: { 200: data(MigrationShape) },
      async handle({ workspace, resource: migration, changed }) {
        if (isNew(migration)) changed(workspace.id);
        return respondData(showMigration(migration));
      },
    }),
    route({
      id: 'migrations.cancel',
      method: 'POST',
      path: `${WORKSPACE}/migrations/:id/cancel`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Cancels a migration that has not ended',
      find: ({ workspace, params }) => requireMigration(databases.forWorkspace(workspace), workspace.id, params.id),
      description:
        'What it has made is taken back. Waits for that some seconds; the state in the answer says how far it is.',
      errors: { CONFLICT: 'it has ended already' },
      params: ID,
      responses: { 200: data(MigrationShape) },
      async handle({ workspace, resource: migration, audit }) {
        const { id } = migration;
        const database = databases.forWorkspace(workspace);
        await audit.change(
          async (session) => {
            if (isEnded(migration) || !(await requestCancel(session, workspace.id, id))) {
              throw conflict('ALREADY_ENDED', `Migration ${id} has ended already`);
            }
          },
          () => ({ subject: id, details: { migration: Number(id) } }),
        );
        await cancelLockHolder(database, workspace.id);
        return respondData(showMigration(await waitForEnd(database, workspace.id, id)));
      },
    }),
  ];

  async function waitForEnd(database: Database, workspaceId: string, id: string): Promise<Migration> {
    for (const deadline = performance.now() + CANCEL_WAIT_MS; ; ) {
      // A migration whose process has died ends here.
      await runner.recover(workspaceId);
      const migration = await requireMigration(database, workspaceId, id);
      if (isEnded(migration) || performance.now() > deadline) return migration;
      await sleep(CANCEL_POLL_MS);
    }
  }
}

async function requireMigration(database: Database, workspaceId: string, text: string): Promise<Migration> {
  const id = parseId(text, 'Migration');
  return requireValue(findMigration(database, workspaceId, id), () =>
    notFound('MIGRATION_NOT_FOUND', `Migration ${id} does not exist`),
  );
}

/**
 * Returns true for a migration that ended so recently that some process may not know yet: a client that reads its end here
 * may rely on it.
 */
function isNew({ finishedAt }: Migration): boolean {
  return finishedAt !== null && Math.abs(Date.now() - finishedAt.getTime()) < NEW_MS;
}

export function showMigration(migration: Migration): Static<typeof MigrationShape> {
  const { id, state, strategy, steps, error, waitingFor, createdAt, startedAt, finishedAt, createdBy } = migration;
  return {
    id: Number(id),
    state,
    strategy,
    steps: steps.map(showStep),
    error: error === null ? null : showMigrationError(error),
    waitingFor: waitingFor === null ? null : showWaiting(waitingFor),
    createdAt: formatTime(createdAt),
    startedAt: formatTime(startedAt),
    finishedAt: formatTime(finishedAt),
    createdBy,
  };
}

function showPlaced(migration: PlacedMigration): Static<typeof PlacedShape> {
  const { organization, workspace } = migration;
  return { organization, workspace, ...showMigration(migration) };
}

// jsonb does not preserve the order of members.
function showStep(step: MigrationStep): Static<typeof StepShape> {
  const { entity, kind, description, destructive, opens, grants } = step;
  const { blocksReads, blocksWrites, estimatedSeconds, conflicts } = step;
  // Exists only while records are filled, and not after the end of the migration.
  const { state, progress, records = null } = step;
  const plannedStep = {
    entity,
    kind,
    description,
    destructive,
    ...(opens === undefined ? {} : { opens }),
    ...(grants === undefined ? {} : { grants }),
    blocksReads,
    blocksWrites,
    estimatedSeconds,
    conflicts,
  };
  return { ...plannedStep, state, progress, records };
}

function showWaiting({ pid, application, since }: Waiting): Static<typeof WaitingShape> {
  return { pid, application, since };
}

export function showMigrationError({
  code,
  message,
  entity,
  field,
  count,
  sampleIds,
}: MigrationError): Static<typeof MigrationErrorShape> {
  return { code, message, entity, field, count, sampleIds };
}
