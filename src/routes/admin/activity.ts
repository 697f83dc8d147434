// /activity: who changed what, of one workspace or of all.
import type { Static } from 'typebox';
import { type ActivityWanted, loadActivity, type StoredActivity } from '../../directory/activity.ts';
import { hint } from '../../document/report.ts';
import { Type } from '../../document/type.ts';
import { badRequest, shown } from '../../errors.ts';
import { closest } from '../../model/closest.ts';
import { parseDateTime } from '../../model/date-time.ts';
import { ActorShape, Slug } from './names.ts';
import { PAGE, type Parameter, type Values } from './query.ts';
import { closed, Id, listOf, orNull, respond, Time, time } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

/** What is written besides by routes. */
const IMPORT = 'records.import';

const ActivityResponse = closed(
  {
    id: Id,
    at: Time,
    actor: ActorShape,
    action: Type.String({ description: 'A noun and a verb, as operations are called.', examples: ['apiKeys.create'] }),
    organization: orNull(Slug),
    workspace: orNull(Slug),
    entity: orNull(Type.String()),
    subject: Type.String({ description: 'What was changed, by its name.' }),
    details: Type.Unsafe<object>({ type: 'object', description: 'What else there is to say, without secrets.' }),
  },
  { title: 'Activity', description: 'A change that was made, with its names as they were then.' },
);

const Listed = closed({
  data: listOf(ActivityResponse),
  meta: closed({
    size: Type.Integer({ minimum: 1 }),
    nextCursor: orNull(Type.String({ description: '`after` of the next page; null on the last one.' })),
  }),
});

const text = (description: string, example: string): Parameter<string | undefined> => ({
  shape: Type.String({ description, examples: [example] }),
  read: (given) => given,
});

const SINCE: Parameter<string | undefined> = {
  shape: { ...Time, description: 'No older ones: ISO 8601 with Z or an offset.' },
  read(given) {
    const since = given === undefined ? undefined : parseDateTime(given);
    if (since === undefined && given !== undefined) {
      throw badRequest('INVALID_PARAMETER', 'since must be an ISO 8601 datetime with Z or an offset');
    }
    return since;
  },
};

const AFTER: Parameter<string | undefined> = {
  shape: Type.String({ description: '`nextCursor` of the page before.', examples: ['17'] }),
  read(given) {
    if (given !== undefined && !/^\d{1,18}$/.test(given))
      throw badRequest('INVALID_PARAMETER', 'after must be the nextCursor of an answer');
    return given;
  },
};

/** `routes`: those whose activities are listed. */
export function activityRoutes(services: AdminServices, routes: readonly AdminRoute[]): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  const actions = [
    ...routes.filter(({ activity }) => activity === 'written').map(({ describe }) => describe.id),
    IMPORT,
  ];
  const known = [...new Set(actions.flatMap((action) => [action.split('.')[0] as string, action]))].sort();
  const query = {
    size: PAGE.size,
    after: AFTER,
    actor: text('Id or name of who did it.', 'operator'),
    action: {
      shape: Type.String({ description: 'A noun, or a noun and a verb.', examples: ['apiKeys', 'apiKeys.create'] }),
      read(given: string | undefined) {
        if (given !== undefined && !known.includes(given)) throw unknownAction(given, known);
        return given;
      },
    },
    entity: text('What was about this entity.', 'orders'),
    since: SINCE,
  };

  async function pageFor(workspaceId: string | null, asked: Values<typeof query>) {
    const { size, after, ...conditions } = asked;
    const wanted: ActivityWanted = { workspaceId, ...conditions, before: after, limit: size + 1 };
    const rows = await loadActivity(databases.directory, wanted);
    const page = rows.slice(0, size).map(toResponse);
    const nextCursor = rows.length > size ? String(page.at(-1)?.id) : null;
    return respond(200, { data: page, meta: { size, nextCursor } });
  }

  return [
    route({
      id: 'activity.list',
      method: 'GET',
      path: '/activity',
      may: 'operator',
      summary: 'Who changed what, newest first',
      description: 'Of organizations and of all workspaces, deleted ones among them.',
      refuses: {},
      query,
      responses: { 200: Listed },
      handle: ({ query: asked }) => pageFor(null, asked),
    }),
    route({
      id: 'activity.ofWorkspace',
      method: 'GET',
      path: `${WORKSPACE}/activity`,
      may: 'workspace',
      summary: 'Who changed what in a workspace, newest first',
      description: 'Each is written in the transaction of its change: what failed is not there.',
      refuses: {},
      query,
      responses: { 200: Listed },
      handle: ({ workspace, query: asked }) => pageFor(workspace.id, asked),
    }),
  ];
}

const unknownAction = (given: string, known: readonly string[]): Error =>
  badRequest(
    'INVALID_PARAMETER',
    `Unknown action ${shown(given)}.${hint(closest(given, known) ?? undefined)} Known: ${known.join(', ')}`,
  );

function toResponse(stored: StoredActivity): Static<typeof ActivityResponse> {
  const { id, at, actor, action, organization, workspace, entity, subject, details } = stored;
  return { id: Number(id), at: time(at), actor, action, organization, workspace, entity, subject, details };
}
