// /rollouts: the operator takes the workspaces that follow a shared schema to a version of it.
import type { Database } from '../database/pool.ts';
import { ApiError, badRequest, notFound, validationFailed } from '../errors.ts';
import { destructiveChange } from '../migrations/errors.ts';
import { planFollower } from '../migrations/followers.ts';
import { ADMIN_PREFIX } from '../request/record-path.ts';
import { command, createPlan, createRollout } from '../rollouts/commands.ts';
import type { RolloutCommand } from '../rollouts/state.ts';
import { Type } from '../schema/type.ts';
import {
  type Choice,
  findRollout,
  findStrangers,
  loadLossyVersions,
  loadRollouts,
  loadRolloutWorkspaces,
  type Rollout,
  WORKSPACE_STATES,
} from '../store/rollouts.ts';
import { findSharedSchemaVersion, type SharedSchema } from '../store/shared-schemas.ts';
import { requireValue } from './access.ts';
import { idParam } from './describe.ts';
import { PAGE, type Parameter } from './query.ts';
import { data, pageShape, respond, respondData, respondPage } from './response.ts';
import { PLAN_BODY, ROLLOUT_BODY } from './rollout-body.ts';
import {
  MAX_SHOWN,
  PlanShape,
  RolloutShape,
  showPlan,
  showRollout,
  showWorkspace,
  WorkspaceShape,
} from './rollout-response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker } from './route.ts';
import { requireSharedSchema, SCHEMA_PARAM, SHARED_SCHEMA } from './shared-schemas.ts';

export interface RolloutServices {
  readonly rollouts: {
    /** Lets this process look for rollouts with something to do. */
    readonly poll: () => Promise<void>;
  };
}

const ROLLOUTS = `${SHARED_SCHEMA}/rollouts` as const;

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
