// /oauth-clients: create, list and delete. A secret is shown once, when its client is created.
import type { Static } from 'typebox';
import {
  createOAuthClient,
  deleteOAuthClient,
  loadOAuthClients,
  type OAuthClient,
} from '../../directory/oauth-clients.ts';
import { Type } from '../../document/type.ts';
import { notFound } from '../../errors.ts';
import { noWorkspace, required } from './access.ts';
import { refinedBody } from './body.ts';
import { DisplayName, KeyPermissions } from './names.ts';
import { PAGE } from './query.ts';
import { closed, created, data, list, NOTHING, nothing, pageOf, Time, time } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import { EntityNames, findEntityIds, ReachedNames, scopeOf } from './scopes.ts';

const NewOAuthClient = closed(
  { name: DisplayName, permissions: Type.Optional(KeyPermissions), entities: Type.Optional(EntityNames) },
  { title: 'NewOAuthClient', description: 'Without `permissions` it is an OWNER.' },
);

const ClientId = { description: 'What the client calls itself at the token endpoint.' };
const MEMBERS = {
  id: Type.String(ClientId),
  clientId: Type.String(ClientId),
  name: Type.String(),
  permissions: KeyPermissions,
  entities: ReachedNames,
  createdAt: Time,
};
const OAuthClientResponse = closed(MEMBERS, { title: 'OAuthClient' });
const OAuthClientCreated = closed(
  { ...MEMBERS, clientSecret: Type.String({ description: 'It is stored as a hash and shown this once.' }) },
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

export function oauthClientRoutes(services: AdminServices & OAuthClientMaker): AdminRoute[] {
  const { databases, makeOAuthClient, isClientId } = services;
  const route = routeMaker(services);
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
      responses: { 200: pageOf(OAuthClientResponse) },
      handle: async ({ workspace, query }) =>
        list(await loadOAuthClients(databases.directory, workspace.id, query), query, toResponse),
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
      responses: { 201: data(OAuthClientCreated) },
      async handle({ workspace, body, audit }) {
        const { clientId, clientSecret, secretHash } = makeOAuthClient();
        const client = { workspaceId: workspace.id, clientId, secretHash, ...body };
        const stored = await audit.change(
          (session) => required(createOAuthClient(session, client), () => noWorkspace(workspace.slug)),
          ({ name, permissions, entities }) => ({ subject: name, details: { id: clientId, permissions, entities } }),
        );
        return created(
          { ...toResponse(stored), clientSecret },
          workspaceLocation(workspace, `/oauth-clients/${clientId}`),
        );
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
      responses: { 204: NOTHING },
      async handle({ workspace, params: { id }, audit }) {
        await audit.change(
          async (session) => {
            if (!isClientId(id)) throw noClient(id);
            return required(deleteOAuthClient(session, workspace.id, id), () => noClient(id));
          },
          (name) => ({ subject: name, details: { id } }),
        );
        return nothing();
      },
    }),
  ];
}

/** `id` is what the path takes; it is the client id, since a client needs no second name. */
const noClient = (id: string) => notFound('OAUTH_CLIENT_NOT_FOUND', `OAuth client ${id} does not exist`);

function toResponse({
  clientId,
  name,
  permissions,
  entities,
  createdAt,
}: OAuthClient): Static<typeof OAuthClientResponse> {
  return { id: clientId, clientId, name, permissions, entities, createdAt: time(createdAt) };
}
