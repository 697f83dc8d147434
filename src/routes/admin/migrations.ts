// /migrations: changes of the schema, listed and watched, and their cancelling.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
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
} from '../../catalog/migrations.ts';
import type { Database } from '../../db/pool.ts';
import { Type } from '../../document/type.ts';
import { badRequest, conflict, notFound } from '../../errors.ts';
import type { Runner } from '../../migrate/runner.ts';
import { interruptHolder } from '../../migrate/workspace-lock.ts';
import { required } from './access.ts';
import { idParam } from './describe.ts';
import { CreatedBy, Slug } from './names.ts';
import { PAGE, type Parameter } from './query.ts';
import { closed, data, Id, list, listOf, oneOf, orNull, pageOf, single, Time, time } from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker, WORKSPACE } from './route.ts';

// Cancelling takes back what was made, usually within milliseconds.
const CANCEL_WAIT_MS = 5000;
const CANCEL_POLL_MS = 50;
// Many times what it takes until an end holds everywhere: the clocks of the database and of this machine may differ.
const NEW_MS = 60_000;

const State = oneOf('pending', 'running', 'succeeded', 'failed', 'cancelled');
const SampleIds = listOf(Type.Number());

const PLANNED = {
  entity: Type.String(),
  kind: Type.String({ examples: ['addField'] }),
  description: Type.String({ description: 'In words.' }),
  destructive: Type.Boolean({ description: 'Whether something is dropped.' }),
  blocksReads: Type.Boolean({ description: 'Whether reads are refused while it runs.' }),
  blocksWrites: Type.Boolean({ description: 'Whether writes are refused while it runs.' }),
  estimatedSeconds: Type.Number({ description: 'By the size of the table; 0 when that does not matter.' }),
  conflicts: orNull(
    closed(
      { count: Type.Number(), sampleIds: SampleIds },
      { description: 'Records that make it impossible, and the first ten of them.' },
    ),
  ),
};

/** A step of a plan. */
export const PlannedShape = closed(PLANNED, { title: 'PlannedStep' });

const StepShape = closed(
  {
    ...PLANNED,
    state: State,
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    records: orNull(
      closed(
        { done: Type.Number(), total: Type.Number({ description: 'Estimated.' }) },
        { description: 'While records are filled.' },
      ),
    ),
  },
  { title: 'MigrationStep' },
);

const ErrorShape = closed(
  {
    code: Type.String({ examples: ['DATA_CONFLICT'] }),
    message: Type.String(),
    entity: orNull(Type.String()),
    field: orNull(Type.String()),
    count: orNull(Type.Number({ description: 'How many records were in the way.' })),
    sampleIds: SampleIds,
  },
  { title: 'MigrationError', description: 'Why a migration has not succeeded.' },
);

const WaitingShape = closed(
  {
    pid: orNull(Type.Integer()),
    application: Type.String(),
    since: orNull(Type.String()),
  },
  { title: 'MigrationWaiting', description: 'The session of the database whose lock is in the way.' },
);

const MIGRATION = {
  id: Id,
  state: State,
  strategy: oneOf('online', 'blocking'),
  steps: listOf(StepShape),
  error: orNull(ErrorShape),
  waitingFor: orNull(WaitingShape),
  createdAt: Time,
  startedAt: orNull(Time),
  finishedAt: orNull(Time),
  createdBy: CreatedBy,
};
export const MigrationShape = closed(MIGRATION, { title: 'Migration' });
const PlacedShape = closed({ organization: Slug, workspace: Slug, ...MIGRATION }, { title: 'RunningMigration' });

// One of a workspace at most, two long ones of a process: more than this is no list for people.
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
      may: 'administrator',
      summary: 'The migrations that have not ended, newest first',
      description: 'Of all workspaces for the operator; owners see that of their own.',
      refuses: {},
      query: { state: STATE },
      responses: { 200: data(listOf(PlacedShape)) },
      async handle({ principal }) {
        const own = principal.kind === 'owner' ? principal.workspaceId : null;
        const of = databases.all().map((database) => loadOpenMigrations(database, own, MAX_RUNNING));
        return single((await Promise.all(of)).flat().map(showPlaced));
      },
    }),
    route({
      id: 'migrations.list',
      method: 'GET',
      path: `${WORKSPACE}/migrations`,
      may: 'workspace',
      summary: 'The migrations of a workspace, newest first',
      description: 'The last 200 are kept.',
      refuses: {},
      query: PAGE,
      responses: { 200: pageOf(MigrationShape) },
      async handle({ workspace, query, changed }) {
        const found = await loadMigrations(databases.of(workspace), workspace.id, query);
        if (found.rows.some(isNew)) changed(workspace.id);
        return list(found, query, showMigration);
      },
    }),
    route({
      id: 'migrations.read',
      method: 'GET',
      path: `${WORKSPACE}/migrations/:id`,
      may: 'workspace',
      summary: 'A migration',
      find: ({ workspace, params }) => migrationOf(databases.of(workspace), workspace.id, params.id),
      description: 'Who reads here that it has ended may rely on its end in every process.',
      refuses: {},
      params: ID,
      responses: { 200: data(MigrationShape) },
      async handle({ workspace, resource: migration, changed }) {
        if (isNew(migration)) changed(workspace.id);
        return single(showMigration(migration));
      },
    }),
    route({
      id: 'migrations.cancel',
      method: 'POST',
      path: `${WORKSPACE}/migrations/:id/cancel`,
      may: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Cancels a migration that has not ended',
      find: ({ workspace, params }) => migrationOf(databases.of(workspace), workspace.id, params.id),
      description:
        'What it has made is taken back. Waits for that some seconds; the state in the answer says how far it is.',
      refuses: { CONFLICT: 'it has ended already' },
      params: ID,
      responses: { 200: data(MigrationShape) },
      async handle({ workspace, resource: migration, audit }) {
        const { id } = migration;
        const database = databases.of(workspace);
        await audit.change(
          async (session) => {
            if (isEnded(migration) || !(await requestCancel(session, workspace.id, id))) {
              throw conflict('ALREADY_ENDED', `Migration ${id} has ended already`);
            }
          },
          () => ({ subject: id, details: { migration: Number(id) } }),
        );
        await interruptHolder(database, workspace.id);
        return single(showMigration(await waitForEnd(database, workspace.id, id)));
      },
    }),
  ];

  async function waitForEnd(database: Database, workspaceId: string, id: string): Promise<Migration> {
    for (const deadline = performance.now() + CANCEL_WAIT_MS; ; ) {
      // When its process is gone nobody works on it; then it ends here.
      await runner.recover(workspaceId);
      const migration = await migrationOf(database, workspaceId, id);
      if (isEnded(migration) || performance.now() > deadline) return migration;
      await sleep(CANCEL_POLL_MS);
    }
  }
}

async function migrationOf(database: Database, workspaceId: string, text: string): Promise<Migration> {
  const id = parseId(text, 'Migration');
  return required(findMigration(database, workspaceId, id), () =>
    notFound('MIGRATION_NOT_FOUND', `Migration ${id} does not exist`),
  );
}

/**
 * True when it has ended so lately that some process may not know. A client that reads here that it has ended may rely
 * on it.
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
    error: error === null ? null : showError(error),
    waitingFor: waitingFor === null ? null : showWaiting(waitingFor),
    createdAt: time(createdAt),
    startedAt: time(startedAt),
    finishedAt: time(finishedAt),
    createdBy,
  };
}

function showPlaced(migration: PlacedMigration): Static<typeof PlacedShape> {
  const { organization, workspace } = migration;
  return { organization, workspace, ...showMigration(migration) };
}

// The database gives the members in an order of its own.
function showStep(step: MigrationStep): Static<typeof StepShape> {
  const { entity, kind, description, destructive, blocksReads, blocksWrites, estimatedSeconds, conflicts } = step;
  // Counted only while records are filled, and gone when the migration has ended.
  const { state, progress, records = null } = step;
  const planned = { entity, kind, description, destructive, blocksReads, blocksWrites, estimatedSeconds, conflicts };
  return { ...planned, state, progress, records };
}

function showWaiting({ pid, application, since }: Waiting): Static<typeof WaitingShape> {
  return { pid, application, since };
}

function showError({ code, message, entity, field, count, sampleIds }: MigrationError): Static<typeof ErrorShape> {
  return { code, message, entity, field, count, sampleIds };
}
