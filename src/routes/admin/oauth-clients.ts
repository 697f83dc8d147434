// /oauth-clients: made, listed and deleted. A secret is shown once, when its client is made.
import type { Static } from 'typebox';
import {
  createOAuthClient,
  deleteOAuthClient,
  loadOAuthClients,
  type OAuthClient,
} from '../../directory/oauth-clients.ts';
import { Type } from '../../document/type.ts';
import { notFound } from '../../errors.ts';
import { noWorkspace } from './access.ts';
import { closed, created, data, list, NOTHING, nothing, pageOf, Time, time } from './answer.ts';
import { refinedBody } from './body.ts';
import { DisplayName, KeyPermissions } from './names.ts';
import { PAGE } from './query.ts';
import { type AdminRooms, type AdminRoute, placeIn, routeMaker, WORKSPACE } from './route.ts';
import { EntityNames, findEntityIds, ReachedNames, scopeOf } from './scopes.ts';

const NewOAuthClient = closed(
  { name: DisplayName, permissions: Type.Optional(KeyPermissions), entities: Type.Optional(EntityNames) },
  { title: 'NewOAuthClient', description: 'Without `permissions` it is an OWNER.' },
);

const ClientId = { description: 'What the client calls itself at the token endpoint.' };
const SHOWN = {
  id: Type.String(ClientId),
  clientId: Type.String(ClientId),
  name: Type.String(),
  permissions: KeyPermissions,
  entities: ReachedNames,
  createdAt: Time,
};
const Shown = closed(SHOWN, { title: 'OAuthClient' });
const ShownOnce = closed(
  { ...SHOWN, clientSecret: Type.String({ description: 'It is stored as a hash and shown this once.' }) },
  { title: 'OAuthClientCreated' },
);

export interface OAuthClientMaker {
  readonly makeOAuthClient: () => {
    readonly clientId: string;
    readonly clientSecret: string;
    readonly secretHash: Buffer;
  };
  readonly isClientId: (text: string) => boolean;
}

export function oauthClientRoutes(rooms: AdminRooms & OAuthClientMaker): AdminRoute[] {
  const { databases, makeOAuthClient, isClientId } = rooms;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'oauthClients.list',
      method: 'GET',
      path: `${WORKSPACE}/oauth-clients`,
      may: 'workspace',
      summary: 'The OAuth clients of a workspace, without their secrets',
      description: 'The oldest first.',
      refuses: {},
      query: PAGE,
      answers: { 200: pageOf(Shown) },
      handle: async ({ workspace, query }) =>
        list(await loadOAuthClients(databases.directory, workspace.id, query), query, show),
    }),
    route({
      id: 'oauthClients.create',
      method: 'POST',
      path: `${WORKSPACE}/oauth-clients`,
      may: 'workspace',
      // Tokens are looked up when they come: no process has a verdict on one of its tokens yet.
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes an OAuth client, and shows its secret this once',
      description:
        'It exchanges id and secret for tokens at `/oauth/token`. Its tokens have its permissions and entities.',
      refuses: { CONFLICT: 'the workspace has as many clients as it may have' },
      find: findEntityIds(databases),
      body: refinedBody(NewOAuthClient, (asked, report, _, ids: ReadonlyMap<string, string>) => {
        const { name, permissions = 'OWNER' } = asked;
        return { name, permissions, scope: scopeOf(asked, report, ids) };
      }),
      example: { name: 'nightly sync', permissions: 'READ_WRITE' },
      answers: { 201: data(ShownOnce) },
      async handle({ workspace, body, note }) {
        const { clientId, clientSecret, secretHash } = makeOAuthClient();
        const client = { workspaceId: workspace.id, clientId, secretHash, ...body };
        const stored = await note.change(
          async (session) => {
            const stored = await createOAuthClient(session, client);
            if (stored === undefined) throw noWorkspace(workspace.slug);
            return stored;
          },
          ({ name, permissions, entities }) => ({ subject: name, details: { id: clientId, permissions, entities } }),
        );
        return created({ ...show(stored), clientSecret }, placeIn(workspace, `/oauth-clients/${clientId}`));
      },
    }),
    route({
      id: 'oauthClients.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/oauth-clients/:id`,
      may: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Deletes an OAuth client; its tokens end with it',
      description: 'It gets no more tokens, and those it has work in no process any more when this is answered.',
      refuses: {},
      params: {
        id: Type.String({ description: 'The client id.', examples: ['wdac_Ez6IwGXJyP8d91gzlvxb4Q'] }),
      },
      answers: { 204: NOTHING },
      async handle({ workspace, params: { id }, note }) {
        await note.change(
          async (session) => {
            const name = isClientId(id) ? await deleteOAuthClient(session, workspace.id, id) : undefined;
            if (name === undefined) throw notFound(`OAuth client ${id} does not exist`);
            return name;
          },
          (name) => ({ subject: name, details: { id } }),
        );
        return nothing();
      },
    }),
  ];
}

/** `id` is what the path takes; it is the client id, since a client needs no second name. */
function show({ clientId, name, permissions, entities, createdAt }: OAuthClient): Static<typeof Shown> {
  return { id: clientId, clientId, name, permissions, entities, createdAt: time(createdAt) };
}
