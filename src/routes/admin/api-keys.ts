// /api-keys: made, listed and revoked. A key is shown once, when it is made.
import Type from 'typebox';
import { type ApiKey, createApiKey, deleteApiKey, loadApiKeys } from '../../catalog/api-keys.ts';
import { notFound } from '../../errors.ts';
import type { Route } from '../../http/routes.ts';
import { parseDateTime } from '../../model/date-time.ts';
import type { Permissions } from '../../model/principal.ts';
import { noContent } from '../../response/reply.ts';
import { ADMIN_PREFIX, type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { bodyOf, created, idOf, list, PAGE_PARAMETERS, pageOf, time } from './exchange.ts';
import { DisplayName } from './organizations.ts';

/** Of keys and OAuth clients. */
export const KeyPermissions = Type.Unsafe<Permissions>({ type: 'string', enum: ['OWNER', 'READ_WRITE', 'READ_ONLY'] });

const NewApiKey = Type.Object(
  {
    name: DisplayName,
    permissions: Type.Optional(KeyPermissions),
    expiresAt: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
  },
  { additionalProperties: false },
);

export function apiKeyRoutes(rooms: AdminRooms): Route[] {
  const { db, announced, makeKey } = rooms;
  return [
    adminRoute('GET', `${WORKSPACE}/api-keys`, PAGE_PARAMETERS, async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const page = pageOf(request);
      return list(await loadApiKeys(db, id, page), page, show);
    }),
    adminRoute('POST', `${WORKSPACE}/api-keys`, [], async (request) => {
      const { id, organization, slug } = await requireWorkspace(rooms, request);
      let expiresAt: Date | null = null;
      const { name, permissions = 'OWNER' } = await bodyOf(request, NewApiKey, (body, report) => {
        if (typeof body.expiresAt !== 'string') return;
        const text = parseDateTime(body.expiresAt);
        if (text === undefined) {
          report(['expiresAt'], 'INVALID', 'must be an ISO 8601 datetime with Z or an offset');
        } else {
          expiresAt = new Date(text);
          if (expiresAt.getTime() <= Date.now()) report(['expiresAt'], 'OUT_OF_RANGE', 'must be in the future');
        }
      });
      const { key, prefix, hash } = makeKey();
      const stored = await createApiKey(db, { workspaceId: id, name, prefix, hash, permissions, expiresAt });
      if (stored === undefined) throw notFound(`Workspace ${slug} does not exist`);
      await announced(id);
      const here = `${ADMIN_PREFIX}/organizations/${organization}/workspaces/${slug}`;
      return created({ ...show(stored), key }, `${here}/api-keys/${stored.id}`);
    }),
    adminRoute('DELETE', `${WORKSPACE}/api-keys/:id`, [], async (request) => {
      const workspace = await requireWorkspace(rooms, request);
      const id = idOf(request, 'id', 'API key');
      if (!(await deleteApiKey(db, workspace.id, id))) throw notFound(`API key ${id} does not exist`);
      await announced(workspace.id);
      return noContent();
    }),
  ];
}

function show(key: ApiKey) {
  const { id, name, prefix, permissions, createdAt, expiresAt, lastUsedAt } = key;
  return {
    id: Number(id),
    name,
    prefix,
    permissions,
    createdAt: time(createdAt),
    expiresAt: time(expiresAt),
    lastUsedAt: time(lastUsedAt),
  };
}
