// /activity: audit log of one workspace or of all.
import type { Static } from 'typebox';
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { parseDateTime } from '../model/date-time.ts';
import { hint } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import { type ActivityFilter, loadActivity, type StoredActivity } from '../store/activity.ts';
import { ActorShape, Slug } from './names.ts';
import { PAGE, type Parameter, textParameter, type Values } from './query.ts';
import { arrayShape, formatTime, Id, nullableShape, objectShape, respond, Time } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

/** Actions that other parts of the server log; all others are ids of admin routes. */
const OF_OTHERS = ['records.import', 'records.forget', 'webhooks.disable'];

const ActivityResponse = objectShape(
  {
    id: Id,
    at: Time,
    actor: ActorShape,
    action: Type.String({ description: 'A noun and a verb, as operations are called.', examples: ['apiKeys.create'] }),
    organization: nullableShape(Slug),
    workspace: nullableShape(Slug),
    entity: nullableShape(Type.String()),
    subject: Type.String({ description: 'What was changed, by its name.' }),
    details: Type.Unsafe<object>({ type: 'object', description: 'More about the change, without secrets.' }),
  },
  { title: 'Activity', description: 'A change that was made, with its names as they were then.' },
);

const ActivityListResponse = objectShape({
  data: arrayShape(ActivityResponse),
  meta: objectShape({
    size: Type.Integer({ minimum: 1 }),
    nextCursor: nullableShape(Type.String({ description: '`after` of the next page; null on the last one.' })),
  }),
});

/** Parameter with a time that limits the list. */
const timeParameter = (name: string, description: string): Parameter<string | undefined> => ({
  shape: { ...Time, description },
  read(value) {
    const time = value === undefined ? undefined : parseDateTime(value);
    if (time === undefined && value !== undefined) {
      throw badRequest('INVALID_PARAMETER', `${name} must be an ISO 8601 datetime with Z or an offset`);
    }
    return time;
  },
});

const AFTER: Parameter<string | undefined> = {
  shape: Type.String({ description: '`nextCursor` of the page before.', examples: ['17'] }),
  read(value) {
    if (value !== undefined && !/^\d{1,18}$/.test(value))
      throw badRequest('INVALID_PARAMETER', 'after must be the nextCursor of an answer');
    return value;
  },
};

/** Returns the routes of the audit log. `routes`: routes whose ids are actions. */
export function activityRoutes(services: AdminServices, routes: readonly AdminRoute[]): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  const actions = [
    ...routes.filter(({ activity }) => activity === 'written').map(({ describe }) => describe.id),
    ...OF_OTHERS,
  ];
  const knownActions = [...new Set(actions.flatMap((action) => [action.split('.')[0] as string, action]))].sort();
  const query = {
    size: PAGE.size,
    after: AFTER,
    actor: textParameter('Id or name of who did it.', 'operator'),
    action: {
      shape: Type.String({ description: 'A noun, or a noun and a verb.', examples: ['apiKeys', 'apiKeys.create'] }),
      read(value: string | undefined) {
        if (value !== undefined && !knownActions.includes(value)) throw unknownAction(value, knownActions);
        return value;
      },
    },
    entity: textParameter('What was about this entity.', 'orders'),
    since: timeParameter('since', 'Only changes from this time on: ISO 8601 with Z or an offset.'),
    until: timeParameter('until', 'Only changes before this time: ISO 8601 with Z or an offset.'),
  };

  async function loadPage(workspaceId: string | null, values: Values<typeof query>) {
    const { size, after, ...conditions } = values;
    const filter: ActivityFilter = { workspaceId, ...conditions, before: after, limit: size + 1 };
    const rows = await loadActivity(databases.directory, filter);
    const page = rows.slice(0, size).map(toResponse);
    const nextCursor = rows.length > size ? String(page.at(-1)?.id) : null;
    return respond(200, { data: page, meta: { size, nextCursor } });
  }

  return [
    route({
      id: 'activity.list',
      method: 'GET',
      path: '/activity',
      access: 'operator',
      summary: 'Who changed what, newest first',
      description: 'Changes of organizations and of all workspaces, including deleted ones.',
      errors: {},
      query,
      responses: { 200: ActivityListResponse },
      handle: ({ query: values }) => loadPage(null, values),
    }),
    route({
      id: 'activity.ofWorkspace',
      method: 'GET',
      path: `${WORKSPACE}/activity`,
      access: 'workspace',
      summary: 'Who changed what in a workspace, newest first',
      description: 'Each entry is written in the transaction of its change, so changes that failed have none.',
      errors: {},
      query,
      responses: { 200: ActivityListResponse },
      handle: ({ workspace, query: values }) => loadPage(workspace.id, values),
    }),
  ];
}

const unknownAction = (value: string, knownActions: readonly string[]): Error =>
  badRequest(
    'INVALID_PARAMETER',
    `Unknown action ${shorten(value)}.${hint(closest(value, knownActions) ?? undefined)} Known: ${knownActions.join(', ')}`,
  );

function toResponse(entry: StoredActivity): Static<typeof ActivityResponse> {
  const { id, at, actor, action, organization, workspace, entity, subject, details } = entry;
  return { id: Number(id), at: formatTime(at), actor, action, organization, workspace, entity, subject, details };
}
