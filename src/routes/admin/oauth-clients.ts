// /oauth-clients: made, listed and deleted. A secret is shown once, when its client is made.
import Type, { type Static } from 'typebox';
import {
  createOAuthClient,
  deleteOAuthClient,
  loadOAuthClients,
  type OAuthClient,
} from '../../directory/oauth-clients.ts';
import { notFound } from '../../errors.ts';
import { noWorkspace } from './access.ts';
import { closed, created, data, list, NOTHING, nothing, pageOf, Time, time } from './answer.ts';
import { body } from './body.ts';
import { DisplayName, KeyPermissions } from './names.ts';
import { PAGE } from './query.ts';
import { type AdminRooms, type AdminRoute, placeIn, routeMaker, WORKSPACE } from './route.ts';

const NewOAuthClient = closed({ name: DisplayName, permissions: Type.Optional(KeyPermissions) });

const SHOWN = {
  id: Type.String(),
  clientId: Type.String(),
  name: Type.String(),
  permissions: KeyPermissions,
  createdAt: Time,
};
const Shown = closed(SHOWN);
const ShownOnce = closed({ ...SHOWN, clientSecret: Type.String() });

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
      method: 'GET',
      path: `${WORKSPACE}/oauth-clients`,
      may: 'workspace',
      summary: 'The OAuth clients of a workspace, without their secrets',
      query: PAGE,
      answer: pageOf(Shown),
      handle: async ({ workspace, query }) =>
        list(await loadOAuthClients(databases.directory, workspace.id, query), query, show),
    }),
    route({
      method: 'POST',
      path: `${WORKSPACE}/oauth-clients`,
      may: 'workspace',
      // Tokens are looked up when they come: no process has a verdict on one of its tokens yet.
      changes: 'nothing',
      summary: 'Makes an OAuth client, and shows its secret this once',
      body: body(NewOAuthClient),
      answer: data(ShownOnce),
      async handle({ workspace, body: { name, permissions = 'OWNER' } }) {
        const { clientId, clientSecret, secretHash } = makeOAuthClient();
        const client = { workspaceId: workspace.id, clientId, name, permissions, secretHash };
        const stored = await createOAuthClient(databases.directory, client);
        if (stored === undefined) throw noWorkspace(workspace.slug);
        return created({ ...show(stored), clientSecret }, placeIn(workspace, `/oauth-clients/${clientId}`));
      },
    }),
    route({
      method: 'DELETE',
      path: `${WORKSPACE}/oauth-clients/:id`,
      may: 'workspace',
      changes: 'workspace',
      summary: 'Deletes an OAuth client; its tokens end with it',
      answer: NOTHING,
      async handle({ workspace, params: { id } }) {
        if (!isClientId(id) || !(await deleteOAuthClient(databases.directory, workspace.id, id))) {
          throw notFound(`OAuth client ${id} does not exist`);
        }
        return nothing();
      },
    }),
  ];
}

/** `id` is what the path takes; it is the client id, since a client needs no second name. */
function show({ clientId, name, permissions, createdAt }: OAuthClient): Static<typeof Shown> {
  return { id: clientId, clientId, name, permissions, createdAt: time(createdAt) };
}
