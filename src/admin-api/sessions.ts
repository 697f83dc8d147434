// /sessions: sessions of the console, and the link that signs the operator in. A key lists and ends its own.
import type { Static } from 'typebox';
import type { Session } from '../database/pool.ts';
import { notFound } from '../errors.ts';
import { KEY_ID, type Operator, type Owner, type Person } from '../model/principal.ts';
import { Type } from '../schema/type.ts';
import type { WriteActivity } from '../store/activity.ts';
import type { PageOf } from '../store/pages.ts';
import type { OpenSession, SessionOwner } from '../store/sessions.ts';
import { KeyPermissions, Slug } from './names.ts';
import { PAGE, type PageRequest } from './query.ts';
import {
  data,
  formatTime,
  Id,
  NOTHING,
  nullableShape,
  objectShape,
  pageShape,
  respond,
  respondNothing,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker } from './route.ts';

export interface SessionListServices {
  readonly consoleSessions: {
    readonly list: (owner: SessionOwner, page: PageRequest) => Promise<PageOf<OpenSession>>;
    /** Ends a session; false when the owner has none of this id. */
    readonly endById: (session: Pick<Session, 'query'>, id: string, owner: SessionOwner) => Promise<boolean>;
    readonly makeLink: (
      audit: WriteActivity,
    ) => Promise<{ readonly code: string; readonly expiresAt: Date } | undefined>;
    /** URL of the console, or undefined if it is not served. */
    readonly address: string | undefined;
  };
}

const ConsoleSessionResponse = objectShape(
  {
    id: Id,
    key: nullableShape(
      objectShape(
        {
          name: Type.String(),
          prefix: Type.String({ description: 'The first characters of the key.' }),
          permissions: KeyPermissions,
          organization: Slug,
          workspace: Slug,
        },
        { title: 'ConsoleSessionKey', description: 'The API key that was signed in with.' },
      ),
    ),
    person: nullableShape(
      objectShape(
        {
          name: Type.String(),
          email: nullableShape(Type.String({ description: 'Mail address that the OpenID provider has verified.' })),
        },
        { title: 'ConsoleSessionPerson', description: 'The person who has signed in with the OpenID provider.' },
      ),
    ),
    createdAt: Time,
    lastUsedAt: Time,
    expiresAt: Time,
    userAgent: Type.String({ description: 'What the browser called itself.' }),
    current: Type.Boolean({ description: 'Whether it is the session that asks.' }),
  },
  {
    title: 'ConsoleSession',
    description: 'A session of the console, with a key or of a person; both are null for the operator.',
  },
);

const Link = objectShape(
  { url: Type.String({ description: 'Whoever opens it first is signed in as the operator.' }), expiresAt: Time },
  { title: 'ConsoleLink' },
);

export function sessionListRoutes(services: AdminServices & SessionListServices): AdminRoute[] {
  const { list: loadPage, endById, makeLink, address } = services.consoleSessions;
  const route = routeMaker(services);
  return [
    route({
      id: 'console.sessions',
      method: 'GET',
      path: '/sessions',
      access: 'credential',
      summary: 'Who is signed in to the console: with the own key or as the same person, or, for the operator, anybody',
      description: 'The oldest first. Those that have ended are not in the list.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(ConsoleSessionResponse) },
      handle: async ({ principal, query }) =>
        respondPage(await loadPage(getSessionOwner(principal), query), query, (one) => toResponse(one, principal)),
    }),
    route({
      id: 'console.endSession',
      method: 'DELETE',
      path: '/sessions/:id',
      access: 'credential',
      // No process caches sessions: every request loads its own.
      changes: 'nothing',
      activity: 'written',
      summary: 'Ends a session of the console: of the own key or the same person, or, for the operator, any',
      description: 'Its next request is refused, in every process.',
      errors: {},
      params: { id: { ...Id, description: 'The id in the list.' } },
      responses: { 204: NOTHING },
      async handle({ principal, params: { id }, audit }) {
        const sessionId = parseId(id, 'Session');
        await audit.change(
          async (session) => {
            if (!(await endById(session, sessionId, getSessionOwner(principal))))
              throw notFound('SESSION_NOT_FOUND', `Session ${id} does not exist`);
          },
          () => ({ subject: id }),
        );
        return respondNothing();
      },
    }),
    route({
      id: 'console.makeLink',
      method: 'POST',
      path: '/console-links',
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes a link that signs the operator in to the console, once and within ten minutes',
      description: 'Its code follows the #, which browsers do not send, so it is in no log.',
      errors: { NOT_FOUND: 'the console is not served' },
      responses: { 201: data(Link) },
      async handle({ audit }) {
        const { write } = await audit.prepare({ subject: 'link' });
        const link = address === undefined ? undefined : await makeLink(write);
        if (link === undefined) throw notFound('CONSOLE_NOT_SERVED', 'The console is not served: WDA_CONSOLE is off');
        return respond(201, { data: { url: `${address}#${link.code}`, expiresAt: formatTime(link.expiresAt) } });
      },
    }),
  ];
}

function getSessionOwner({ kind, credentialId, person }: Operator | Owner | Person): SessionOwner {
  if (kind === 'operator') return 'anybody';
  if (person !== undefined) return { personId: person.id };
  // Clients have no sessions.
  return { apiKeyId: credentialId.startsWith(KEY_ID) ? credentialId.slice(KEY_ID.length) : null };
}

function toResponse(
  session: OpenSession,
  { sessionId }: Operator | Owner | Person,
): Static<typeof ConsoleSessionResponse> {
  const { id, key, person, createdAt, lastUsedAt, expiresAt, userAgent } = session;
  return {
    id: Number(id),
    key,
    person,
    createdAt: formatTime(createdAt),
    lastUsedAt: formatTime(lastUsedAt),
    expiresAt: formatTime(expiresAt),
    userAgent,
    current: id === sessionId,
  };
}
