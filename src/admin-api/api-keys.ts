// /api-keys: create, list, update and revoke. A key is shown once, when it is created.
import type { Static } from 'typebox';
import { notFound } from '../errors.ts';
import { parseDateTime } from '../model/date-time.ts';
import type { Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import { type ApiKey, createApiKey, deleteApiKey, loadApiKeys, updateApiKey } from '../store/api-keys.ts';
import { noWorkspace, requireValue } from './access.ts';
import { refinedBody } from './body.ts';
import { idParam } from './describe.ts';
import { CreatedBy, DisplayName, KeyPermissions } from './names.ts';
import { PAGE } from './query.ts';
import {
  data,
  formatTime,
  Id,
  NOTHING,
  nullableShape,
  objectShape,
  pageShape,
  respondCreated,
  respondData,
  respondNothing,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import {
  CREDENTIAL_MEMBERS,
  findKeyTargets,
  GRANT_MEMBERS,
  type KeyTargets,
  parseCredential,
  ReachedNames,
  showGrants,
} from './scopes.ts';

export interface ApiKeyMaker {
  readonly makeKey: () => { readonly key: string; readonly prefix: string; readonly hash: Buffer };
}

export const NewApiKey = objectShape(
  {
    ...CREDENTIAL_MEMBERS,
    expiresAt: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'A time in the future, ISO 8601 with Z or an offset. Left out: it works until it is revoked.',
      }),
    ),
  },
  { title: 'NewApiKey', description: 'Without `permissions` it is an OWNER.' },
);

const ApiKeyChange = objectShape(
  {
    name: Type.Optional(DisplayName),
    expiresAt: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'A time in the future, ISO 8601 with Z or an offset; null: it works until it is revoked.',
      }),
    ),
  },
  { title: 'ApiKeyChange', description: 'Members that are left out keep their values.' },
);

const MEMBERS = {
  id: Id,
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key, by which people recognize it.' }),
  permissions: KeyPermissions,
  entities: ReachedNames,
  ...GRANT_MEMBERS,
  createdAt: Time,
  expiresAt: nullableShape(Time),
  lastUsedAt: nullableShape(Time),
  createdBy: CreatedBy,
};
const ApiKeyResponse = objectShape(MEMBERS, { title: 'ApiKey' });
export const ApiKeyCreated = objectShape(
  { ...MEMBERS, key: Type.String({ description: 'The credential. It is stored as a hash and shown this once.' }) },
  { title: 'ApiKeyCreated' },
);

export function apiKeyRoutes(services: AdminServices & ApiKeyMaker): AdminRoute[] {
  const { databases, makeKey } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'apiKeys.list',
      method: 'GET',
      path: `${WORKSPACE}/api-keys`,
      access: 'workspace',
      summary: 'The API keys of a workspace, without the keys themselves',
      description: 'The oldest first, expired ones among them. `lastUsedAt` is exact to about a minute.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(ApiKeyResponse) },
      handle: async ({ workspace, query }) =>
        respondPage(await loadApiKeys(databases.directory, workspace.id, query), query, showKey),
    }),
    route({
      id: 'apiKeys.create',
      method: 'POST',
      path: `${WORKSPACE}/api-keys`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Makes an API key, and shows it this once',
      description: 'It works in every process when it is answered.',
      errors: { CONFLICT: 'the workspace has as many keys as it may have' },
      find: findKeyTargets(databases),
      body: refinedBody(NewApiKey, parseNewKey),
      example: { name: 'nightly export', permissions: 'READ_ONLY', expiresAt: '2027-12-31T00:00:00Z' },
      responses: { 201: data(ApiKeyCreated) },
      async handle({ workspace, body, audit }) {
        const { key, prefix, hash } = makeKey();
        const apiKey = await audit.change(
          (session, createdBy) =>
            requireValue(createApiKey(session, { workspaceId: workspace.id, prefix, hash, createdBy, ...body }), () =>
              noWorkspace(workspace.slug),
            ),
          ({ id, name, permissions, entities, grants, expiresAt }) => ({
            subject: name,
            details: { id: Number(id), permissions, entities, ...showGrants(grants), expiresAt: formatTime(expiresAt) },
          }),
        );
        return respondCreated({ ...showKey(apiKey), key }, workspaceLocation(workspace, `/api-keys/${apiKey.id}`));
      },
    }),
    route({
      id: 'apiKeys.update',
      method: 'PUT',
      path: `${WORKSPACE}/api-keys/:id`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Renames an API key or changes its expiry',
      description:
        'The key itself stays. Permissions and entities cannot be changed: whoever has the key relies on them, so a new one is made.',
      errors: { CONFLICT: 'the key has expired, and its end was to be changed' },
      params: { id: idParam('key') },
      find: ({ params }) => parseId(params.id, 'API key'),
      body: refinedBody(ApiKeyChange, ({ name, expiresAt }, report) => ({
        name,
        expiresAt: typeof expiresAt === 'string' ? parseFutureTime(expiresAt, report) : expiresAt,
      })),
      example: { name: 'nightly export of orders', expiresAt: null },
      responses: { 200: data(ApiKeyResponse) },
      async handle({ workspace, resource: id, body, audit }) {
        const apiKey = await audit.change(
          (session) => requireValue(updateApiKey(session, workspace.id, id, body), () => noKey(id)),
          ({ name, expiresAt }) => ({
            subject: name,
            details: { id: Number(id), name, expiresAt: formatTime(expiresAt) },
          }),
        );
        return respondData(showKey(apiKey));
      },
    }),
    route({
      id: 'apiKeys.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/api-keys/:id`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Revokes an API key',
      description: 'It works in no process any more when this is answered.',
      errors: {},
      params: { id: idParam('key') },
      find: ({ params }) => parseId(params.id, 'API key'),
      responses: { 204: NOTHING },
      async handle({ workspace, resource: id, audit }) {
        await audit.change(
          (session) => requireValue(deleteApiKey(session, workspace.id, id), () => noKey(id)),
          (name) => ({ subject: name, details: { id: Number(id) } }),
        );
        return respondNothing();
      },
    }),
  ];
}

/** Parses the members of a new key; `raw`: with all digits of its numbers. */
export const parseNewKey = (
  { expiresAt, ...credential }: Static<typeof NewApiKey>,
  report: Report,
  raw: unknown,
  targets: KeyTargets,
) => ({
  ...parseCredential(credential, report, raw, targets),
  expiresAt: typeof expiresAt === 'string' ? parseFutureTime(expiresAt, report) : null,
});

const noKey = (id: string) => notFound('API_KEY_NOT_FOUND', `API key ${id} does not exist`);

function parseFutureTime(value: string, report: Report): Date | null {
  const text = parseDateTime(value);
  if (text === undefined) {
    report(['expiresAt'], 'INVALID', 'must be an ISO 8601 datetime with Z or an offset');
    return null;
  }
  const time = new Date(text);
  if (time.getTime() <= Date.now()) report(['expiresAt'], 'OUT_OF_RANGE', 'must be in the future');
  return time;
}

export function showKey(key: ApiKey): Static<typeof ApiKeyResponse> {
  const { id, name, prefix, permissions, grants, entities, createdAt, expiresAt, lastUsedAt, createdBy } = key;
  return {
    id: Number(id),
    name,
    prefix,
    permissions,
    entities,
    ...showGrants(grants),
    createdAt: formatTime(createdAt),
    expiresAt: formatTime(expiresAt),
    lastUsedAt: formatTime(lastUsedAt),
    createdBy,
  };
}
