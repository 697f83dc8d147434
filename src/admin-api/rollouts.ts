// /rollouts: the operator takes the workspaces that follow a shared schema to a version of it.
import type { Static } from 'typebox';
import type { Database } from '../database/pool.ts';
import { ApiError, badRequest, notFound, validationFailed } from '../errors.ts';
import { destructiveChange } from '../migrations/errors.ts';
import { planFollower } from '../migrations/followers.ts';
import { ADMIN_PREFIX } from '../request/record-path.ts';
import { command, createPlan, createRollout } from '../rollouts/commands.ts';
import { hasEnded, type RolloutCommand } from '../rollouts/state.ts';
import { DEFAULT_WAVES, type Share, type Waves } from '../rollouts/waves.ts';
import type { Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import {
  type Choice,
  countDestructive,
  findPlan,
  findRollout,
  findStrangers,
  loadLossyVersions,
  loadRollouts,
  loadRolloutWorkspaces,
  type Rollout,
  type RolloutWorkspace,
  WORKSPACE_STATES,
} from '../store/rollouts.ts';
import { findSharedSchemaVersion, type SharedSchema } from '../store/shared-schemas.ts';
import { requireValue } from './access.ts';
import { refinedBody } from './body.ts';
import { idParam } from './describe.ts';
import { MigrationErrorShape, showMigrationError } from './migrations.ts';
import { Slug } from './names.ts';
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
  respond,
  respondData,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker } from './route.ts';
import { requireSharedSchema, SCHEMA_PARAM, SHARED_SCHEMA } from './shared-schemas.ts';

export interface RolloutServices {
  readonly rollouts: {
    /** Lets this process look for rollouts with something to do. */
    readonly poll: () => Promise<void>;
  };
}

const ROLLOUTS = `${SHARED_SCHEMA}/rollouts` as const;

/* ---- bodies ---- */

const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'A version of the shared schema.' });
const SHARE_RULE = 'a number of workspaces, or a percentage of all of them such as "5%"';
// More than a list of a body may have is refused before.
const Workspaces = Type.Array(Slug, {
  minItems: 1,
  maxItems: 2000,
  uniqueItems: true,
  description: 'Slugs of workspaces, taken in this order. Without it: all that follow the schema, by slug.',
});
const ShareShape = Type.Unsafe<number | string>({ type: ['integer', 'string'] });

const NewPlan = objectShape({ version: Version, workspaces: Type.Optional(Workspaces) }, { title: 'NewRolloutPlan' });
const NewRollout = objectShape(
  {
    version: Version,
    workspaces: Type.Optional(Workspaces),
    waves: Type.Optional(
      Type.Array(ShareShape, {
        minItems: 1,
        maxItems: 100,
        description: `How many workspaces each wave has: ${SHARE_RULE}, rounded up; "rest" is last and may be left out. By default [1, 10, "rest"].`,
      }),
    ),
    pause: Type.Optional(
      Type.Unsafe<'none' | 'confirm'>({
        type: 'string',
        enum: ['none', 'confirm'],
        description: 'none, which is the default, or confirm: paused after each wave but the last, until `resume`.',
      }),
    ),
    maxFailures: Type.Optional(
      Type.Unsafe<number | string>({
        type: ['integer', 'string'],
        description: `When more than so many have failed, the rollout is paused: ${SHARE_RULE}, rounded up. By default 10.`,
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 16, description: 'Workspaces at a time, by default 2.' }),
    ),
    allowDestructive: Type.Optional(Type.Boolean({ description: 'Drop what the version does not have any more.' })),
    skipConflicts: Type.Optional(
      Type.Boolean({
        description: 'Workspaces with records in the way are `skipped` and do not count as failed.',
      }),
    ),
  },
  { title: 'NewRollout' },
);

const PLAN_BODY = refinedBody(NewPlan, ({ version, workspaces = null }) => ({ version, slugs: workspaces }));
const ROLLOUT_BODY = refinedBody(NewRollout, (input, report) => ({
  version: input.version,
  slugs: input.workspaces ?? null,
  waves: parseWaves(input.waves ?? DEFAULT_WAVES, report),
  pause: input.pause ?? 'none',
  maxFailures: parseShare(input.maxFailures ?? 10, 0, ['maxFailures'], report),
  concurrency: input.concurrency ?? 2,
  allowDestructive: input.allowDestructive ?? false,
  skipConflicts: input.skipConflicts ?? false,
}));

const MAX_WORKSPACES = 1_000_000;

function parseShare(value: number | string, least: number, path: readonly (string | number)[], report: Report): Share {
  const percent = typeof value === 'string' ? /^(0|[1-9]\d?|100)%$/.exec(value)?.[1] : undefined;
  const number = percent === undefined ? value : Number(percent);
  if (typeof number !== 'number' || number < least || number > MAX_WORKSPACES) {
    report(path, 'INVALID', `must be ${SHARE_RULE}, at least ${least}`);
    return least;
  }
  return percent === undefined ? number : `${number}%`;
}

function parseWaves(values: readonly (number | string)[], report: Report): Waves {
  return values.map((value, index) => {
    if (value !== 'rest') return parseShare(value, 1, ['waves', index], report);
    if (index < values.length - 1) report(['waves', index], 'INVALID', '"rest" may only be last');
    return value;
  });
}

/* ---- responses ---- */

const Count = Type.Integer({ minimum: 0 });
const RolloutShape = objectShape(
  {
    id: Id,
    version: Version,
    state: enumShape('planning', 'running', 'paused', 'succeeded', 'finishedWithFailures', 'cancelled'),
    wave: Type.Integer({ minimum: 1, description: 'The current wave.' }),
    counts: objectShape(
      { waiting: Count, running: Count, succeeded: Count, unchanged: Count, failed: Count, skipped: Count },
      { description: 'Workspaces by state.' },
    ),
    createdAt: Time,
    startedAt: nullableShape(Time),
    finishedAt: nullableShape(Time),
  },
  { title: 'Rollout' },
);

const WorkspaceShape = objectShape(
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

const PlanShape = objectShape(
  {
    id: Id,
    state: enumShape('planning', 'planned'),
    planned: { ...Count, description: 'Workspaces that are planned so far.' } as typeof Count,
    total: Count,
    unchanged: { ...Count, description: 'Those at this version or a newer one.' } as typeof Count,
    ready: Count,
    conflicts: {
      ...Count,
      description: 'Those with records in the way, or that cannot be changed so.',
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

/* ---- routes ---- */

const ID = { ...SCHEMA_PARAM, id: idParam('rollout') };
const PLAN: Parameter<string | null> = {
  shape: { ...idParam('plan'), description: 'Id of a plan. Without it: the newest.' },
  read: (text) => (text === undefined ? null : parseId(text, 'Plan')),
};

const STATE: Parameter<(typeof WORKSPACE_STATES)[number] | null> = {
  shape: Type.Unsafe({ type: 'string', enum: [...WORKSPACE_STATES], description: 'Only those in this state.' }),
  read(text) {
    if (text === undefined) return null;
    const state = WORKSPACE_STATES.find((one) => one === text);
    if (state === undefined)
      throw badRequest('INVALID_PARAMETER', `state must be one of ${WORKSPACE_STATES.join(', ')}`);
    return state;
  },
};

// A plan shows the first of them.
const MAX_SHOWN = 1000;

export const rolloutRoutes = (services: AdminServices & RolloutServices): AdminRoute[] => [
  ...planRoutes(services),
  ...startRoutes(services),
  ...readRoutes(services),
  ...(['pause', 'resume', 'retry', 'cancel'] as const).map((what) => commandRoute(services, what)),
];

/** Returns the routes of plans. */
function planRoutes(services: AdminServices & RolloutServices): AdminRoute[] {
  const { databases, rollouts } = services;
  const { directory } = databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'rollouts.plan',
      method: 'POST',
      path: `${ROLLOUTS}/plan`,
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Plans a rollout without changing anything',
      description: 'Counts the records in the way of each workspace. The plan is at `Location`, for a day.',
      errors: {},
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      body: PLAN_BODY,
      example: { version: 4 },
      responses: { 202: data(PlanShape) },
      async handle({ organization, resource: schema, body: { version, slugs }, audit }) {
        const choice = { sharedSchemaId: schema.id, slugs };
        await checkRequest(directory, schema, choice, version);
        const id = await audit.change(
          (session, actor) => createPlan(session, choice, version, actor),
          (plan) => ({ subject: schema.name, details: { plan: Number(plan), version } }),
        );
        startWork(rollouts);
        const location = toLocation(organization.slug, schema.name, `rollouts/plan?id=${id}`);
        return respond(202, { data: await showPlan(directory, schema, id) }, { Location: location });
      },
    }),
    route({
      id: 'rollouts.planned',
      method: 'GET',
      path: `${ROLLOUTS}/plan`,
      access: 'operator',
      summary: 'The plan of a rollout',
      description: `The newest one, or that of \`id\`. \`workspaces\` has the first ${MAX_SHOWN} with records in the way.`,
      errors: {},
      query: { id: PLAN },
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 200: data(PlanShape) },
      async handle({ resource: schema, query: { id } }) {
        return respondData(await showPlan(directory, schema, id));
      },
    }),
  ];
}

/** Returns the route that starts a rollout. */
function startRoutes(services: AdminServices & RolloutServices): AdminRoute[] {
  const { databases, rollouts } = services;
  const { directory } = databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'rollouts.start',
      method: 'POST',
      path: ROLLOUTS,
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Takes the workspaces that follow a shared schema to a version of it',
      description:
        'In waves, each workspace by an online migration. It goes forward only: workspaces at the version or a newer one are `unchanged`.',
      errors: {
        DESTRUCTIVE_CHANGE: 'it would drop something, and `allowDestructive` is not true',
        ROLLOUT_IN_PROGRESS: 'a rollout of the schema has not ended',
      },
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      body: ROLLOUT_BODY,
      example: { version: 4, waves: [1, '10%', 'rest'], pause: 'confirm', maxFailures: 5 },
      responses: { 202: data(RolloutShape) },
      async handle({ organization, resource: schema, body: { slugs, ...request }, audit }) {
        const { version, allowDestructive } = request;
        const choice = { sharedSchemaId: schema.id, slugs };
        await checkRequest(directory, schema, choice, version);
        if (!allowDestructive) await refuseDestruction(services, choice, version);
        const id = await audit.change(
          (session, actor) => createRollout(session, { choice, ...request }, actor),
          (rollout) => ({ subject: schema.name, details: { rollout: Number(rollout), version, allowDestructive } }),
        );
        startWork(rollouts);
        const rollout = await requireRollout(directory, schema, id);
        const location = toLocation(organization.slug, schema.name, `rollouts/${id}`);
        return respond(202, { data: showRollout(rollout) }, { Location: location });
      },
    }),
  ];
}

/** Returns the routes that read rollouts. */
function readRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const { directory } = databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'rollouts.list',
      method: 'GET',
      path: ROLLOUTS,
      access: 'operator',
      summary: 'The rollouts of a shared schema, newest first',
      description: 'The last 50 that have ended are kept.',
      errors: {},
      query: PAGE,
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 200: pageShape(RolloutShape) },
      async handle({ resource: schema, query }) {
        return respondPage(await loadRollouts(directory, schema.id, query), query, showRollout);
      },
    }),
    route({
      id: 'rollouts.read',
      method: 'GET',
      path: `${ROLLOUTS}/:id`,
      access: 'operator',
      summary: 'A rollout',
      description: 'With the number of workspaces in each state.',
      errors: {},
      params: ID,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 200: data(RolloutShape) },
      async handle({ resource: schema, params: { id } }) {
        return respondData(showRollout(await requireRollout(directory, schema, parseId(id, 'Rollout'))));
      },
    }),
    route({
      id: 'rollouts.workspaces',
      method: 'GET',
      path: `${ROLLOUTS}/:id/workspaces`,
      access: 'operator',
      summary: 'The workspaces of a rollout',
      description: 'In the order in which they are taken. `error` is that of the migration.',
      errors: {},
      query: { ...PAGE, state: STATE },
      params: ID,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 200: pageShape(WorkspaceShape) },
      async handle({ resource: schema, params: { id }, query: { state, ...page } }) {
        const rollout = await requireRollout(directory, schema, parseId(id, 'Rollout'));
        return respondPage(await loadRolloutWorkspaces(directory, rollout.id, state, page), page, showWorkspace);
      },
    }),
  ];
}

const COMMAND_TEXTS: Readonly<Record<RolloutCommand, { readonly summary: string; readonly description: string }>> = {
  pause: { summary: 'Pauses a rollout', description: 'Workspaces under way are finished.' },
  resume: {
    summary: 'Resumes a rollout that is paused',
    description: 'With the next wave where one has ended. Failures are counted from 0 again.',
  },
  retry: {
    summary: 'Tries the failed workspaces of a rollout again',
    description: 'Of one that is paused or has finished. Failures are counted from 0 again.',
  },
  cancel: {
    summary: 'Cancels a rollout that has not ended',
    description: 'What is done stays, workspaces under way are finished, the others are `skipped`.',
  },
};

function commandRoute(services: AdminServices & RolloutServices, what: RolloutCommand): AdminRoute {
  const { databases, rollouts } = services;
  const { directory } = databases;
  const errors = { CONFLICT: 'the state of the rollout does not allow it' };
  return routeMaker(services)({
    id: `rollouts.${what}`,
    method: 'POST',
    path: `${ROLLOUTS}/:id/${what}`,
    access: 'operator',
    changes: 'nothing',
    activity: 'written',
    ...COMMAND_TEXTS[what],
    errors:
      what === 'retry' ? { ...errors, ROLLOUT_IN_PROGRESS: 'another rollout of the schema has not ended' } : errors,
    params: ID,
    find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
    responses: { 202: data(RolloutShape) },
    async handle({ resource: schema, params, audit }) {
      const { id, version } = await requireRollout(directory, schema, parseId(params.id, 'Rollout'));
      await audit.change(
        async (session) => {
          if (!(await command(session, id, what))) throw noRollout(id);
        },
        () => ({ subject: schema.name, details: { rollout: Number(id), version } }),
      );
      startWork(rollouts);
      return respond(202, { data: showRollout(await requireRollout(directory, schema, id)) });
    },
  });
}

/** Begins at once in this process; the processes that look each second do it otherwise. */
function startWork({ poll }: RolloutServices['rollouts']): void {
  poll().catch(() => undefined);
}

const toLocation = (organization: string, schema: string, rest: string): string =>
  `${ADMIN_PREFIX}/organizations/${organization}/schemas/${schema}/${rest}`;

/** Refuses a version that is not there, and workspaces that do not follow the schema: 400 with each of them. */
async function checkRequest(
  db: Database,
  { id, name, newest }: SharedSchema,
  choice: Choice,
  version: number,
): Promise<void> {
  const hasVersion = (await findSharedSchemaVersion(db, id, version)) !== undefined;
  const range = newest === null ? 'it has none yet' : `its versions are 1 to ${newest}`;
  const strangers = choice.slugs === null ? new Set() : await findStrangers(db, choice);
  const details = [
    ...(hasVersion
      ? []
      : [{ field: 'version', code: 'INVALID' as const, message: `is no version of ${name}: ${range}` }]),
    ...(choice.slugs ?? []).flatMap((slug, index) =>
      strangers.has(slug)
        ? [{ field: `workspaces.${index}`, code: 'INVALID' as const, message: `${slug} does not follow ${name}` }]
        : [],
    ),
  ];
  if (details.length > 0) throw validationFailed(details);
}

/**
 * Refuses a rollout that would drop something, by the versions that its workspaces have: 409 with each step. Where a later
 * version on the way drops what an earlier one has made, nothing is lost, so one workspace of each such version is planned.
 */
async function refuseDestruction({ databases }: AdminServices, choice: Choice, version: number): Promise<void> {
  const target = { schemaId: choice.sharedSchemaId, version };
  const dropped = new Map<string, string>();
  for (const { workspaceId } of await loadLossyVersions(databases.directory, choice, version)) {
    for (const { entity, description, destructive } of await planSteps(databases, workspaceId, target))
      if (destructive) dropped.set(description, entity);
  }
  if (dropped.size > 0) {
    throw destructiveChange([...dropped].map(([message, field]) => ({ field, code: 'DESTRUCTIVE', message })));
  }
}

/** Returns the steps of a workspace to a version; none where there is no way, which the rollout notes for each workspace. */
async function planSteps(...[databases, workspaceId, target]: Parameters<typeof planFollower>) {
  try {
    const plan = await planFollower(databases, workspaceId, target);
    return plan.state === 'ready' || plan.state === 'conflicts' ? plan.steps : [];
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VALIDATION_FAILED') return [];
    throw error;
  }
}

const noRollout = (id: string): Error => notFound('ROLLOUT_NOT_FOUND', `Rollout ${id} of this schema does not exist`);

const requireRollout = (db: Database, schema: SharedSchema, id: string): Promise<Rollout> =>
  requireValue(findRollout(db, schema.id, id), () => noRollout(id));

function showRollout(rollout: Rollout): Static<typeof RolloutShape> {
  const { id, version, state, wave, createdAt, startedAt, finishedAt } = rollout;
  const { waiting, running, succeeded, unchanged, failed, skipped } = rollout.counts;
  return {
    id: Number(id),
    version,
    state,
    wave,
    counts: { waiting, running, succeeded, unchanged, failed, skipped },
    createdAt: formatTime(createdAt),
    startedAt: formatTime(startedAt),
    finishedAt: formatTime(finishedAt),
  };
}

const showWorkspace = ({ workspace, state, migration, error }: RolloutWorkspace): Static<typeof WorkspaceShape> => ({
  workspace,
  state,
  migration: migration === null ? null : Number(migration),
  error: error === null ? null : showMigrationError(error),
});

async function showPlan(db: Database, schema: SharedSchema, which: string | null): Promise<Static<typeof PlanShape>> {
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
