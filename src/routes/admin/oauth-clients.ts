// /oauth-clients: made, listed and deleted. A secret is shown once, when its client is made.
import Type from 'typebox';
import {
  createOAuthClient,
  deleteOAuthClient,
  loadOAuthClients,
  type OAuthClient,
} from '../../catalog/oauth-clients.ts';
import { notFound } from '../../errors.ts';
import type { Route } from '../../http/routes.ts';
import { noContent } from '../../response/reply.ts';
import { ADMIN_PREFIX, type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { KeyPermissions } from './api-keys.ts';
import { bodyOf, created, list, PAGE_PARAMETERS, pageOf, time } from './exchange.ts';
import { DisplayName } from './organizations.ts';

const NewOAuthClient = Type.Object(
  { name: DisplayName, permissions: Type.Optional(KeyPermissions) },
  { additionalProperties: false },
);

export interface OAuthClientMaker {
  readonly makeOAuthClient: () => {
    readonly clientId: string;
    readonly clientSecret: string;
    readonly secretHash: Buffer;
  };
  readonly isClientId: (text: string) => boolean;
}

export function oauthClientRoutes(rooms: AdminRooms & OAuthClientMaker): Route[] {
  const { db, announced, makeOAuthClient, isClientId } = rooms;
  return [
    adminRoute('GET', `${WORKSPACE}/oauth-clients`, PAGE_PARAMETERS, async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const page = pageOf(request);
      return list(await loadOAuthClients(db, id, page), page, show);
    }),
    adminRoute('POST', `${WORKSPACE}/oauth-clients`, [], async (request) => {
      const { id, organization, slug } = await requireWorkspace(rooms, request);
      const { name, permissions = 'OWNER' } = await bodyOf(request, NewOAuthClient);
      const { clientId, clientSecret, secretHash } = makeOAuthClient();
      const stored = await createOAuthClient(db, { workspaceId: id, clientId, name, permissions, secretHash });
      if (stored === undefined) throw notFound(`Workspace ${slug} does not exist`);
      const here = `${ADMIN_PREFIX}/organizations/${organization}/workspaces/${slug}`;
      return created({ ...show(stored), clientSecret }, `${here}/oauth-clients/${clientId}`);
    }),
    adminRoute('DELETE', `${WORKSPACE}/oauth-clients/:id`, [], async (request) => {
      const workspace = await requireWorkspace(rooms, request);
      const { id = '' } = request.params;
      if (!isClientId(id) || !(await deleteOAuthClient(db, workspace.id, id))) {
        throw notFound(`OAuth client ${id} does not exist`);
      }
      await announced(workspace.id);
      return noContent();
    }),
  ];
}

/** `id` is what the path takes; it is the client id, since a client needs no second name. */
function show({ clientId, name, permissions, createdAt }: OAuthClient) {
  return { id: clientId, clientId, name, permissions, createdAt: time(createdAt) };
}
