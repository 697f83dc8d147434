// /oauth-clients: create, list and delete. A secret is shown once, when its client is created. And /signing-keys: the keys
// that sign the tokens of all clients, without their private halves, for the operator.
import type { Static } from 'typebox';
import { notFound } from '../errors.ts';
import { Type } from '../schema/type.ts';
import type { WriteActivity } from '../store/activity.ts';
import { createOAuthClient, deleteOAuthClient, loadOAuthClients, type OAuthClient } from '../store/oauth-clients.ts';
import type { StoredSigningKey } from '../store/signing-keys.ts';
import { noWorkspace, requireValue } from './access.ts';
import { refinedBody } from './body.ts';
import { KeyPermissions } from './names.ts';
import { flag, PAGE } from './query.ts';
import {
  arrayShape,
  data,
  enumShape,
  formatTime,
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
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import {
  CREDENTIAL_MEMBERS,
  findKeyTargets,
  GRANT_MEMBERS,
  type KeyTargets,
  parseCredential,
  ReachedNames,
  showGrants,
} from './scopes.ts';

const NewOAuthClient = objectShape(CREDENTIAL_MEMBERS, {
  title: 'NewOAuthClient',
  description: 'Without `permissions` it is an OWNER.',
});

const ClientId = { description: 'What the client calls itself at the token endpoint.' };
const MEMBERS = {
  id: Type.String(ClientId),
  clientId: Type.String(ClientId),
  name: Type.String(),
  permissions: KeyPermissions,
  entities: ReachedNames,
  ...GRANT_MEMBERS,
  createdAt: Time,
};
const OAuthClientResponse = objectShape(MEMBERS, { title: 'OAuthClient' });
const OAuthClientCreated = objectShape(
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
      access: 'workspace',
      summary: 'The OAuth clients of a workspace, without their secrets',
      description: 'The oldest first.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(OAuthClientResponse) },
      handle: async ({ workspace, query }) =>
        respondPage(await loadOAuthClients(databases.directory, workspace.id, query), query, toResponse),
    }),
    route({
      id: 'oauthClients.create',
      method: 'POST',
      path: `${WORKSPACE}/oauth-clients`,
      access: 'workspace',
      // No process caches a token of a new client.
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes an OAuth client, and shows its secret this once',
      description:
        'It exchanges id and secret for tokens at `/oauth/token`. Its tokens have its permissions and entities.',
      errors: { CONFLICT: 'the workspace has as many clients as it may have' },
      find: findKeyTargets(databases),
      body: refinedBody(NewOAuthClient, (input, report, raw, targets: KeyTargets) =>
        parseCredential(input, report, raw, targets),
      ),
      example: { name: 'nightly sync', permissions: 'READ_WRITE' },
      responses: { 201: data(OAuthClientCreated) },
      async handle({ workspace, body, audit }) {
        const { clientId, clientSecret, secretHash } = makeOAuthClient();
        const client = { workspaceId: workspace.id, clientId, secretHash, ...body };
        const storedClient = await audit.change(
          (session) => requireValue(createOAuthClient(session, client), () => noWorkspace(workspace.slug)),
          ({ name, permissions, entities, grants }) => ({
            subject: name,
            details: { id: clientId, permissions, entities, ...showGrants(grants) },
          }),
        );
        return respondCreated(
          { ...toResponse(storedClient), clientSecret },
          workspaceLocation(workspace, `/oauth-clients/${clientId}`),
        );
      },
    }),
    route({
      id: 'oauthClients.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/oauth-clients/:id`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Deletes an OAuth client; its tokens end with it',
      description: 'It gets no more tokens, and those it has work in no process any more when this is answered.',
      errors: {},
      params: {
        id: Type.String({ description: 'The client id.', examples: ['wdac_Ez6IwGXJyP8d91gzlvxb4Q'] }),
      },
      responses: { 204: NOTHING },
      async handle({ workspace, params: { id }, audit }) {
        await audit.change(
          async (session) => {
            if (!isClientId(id)) throw noClient(id);
            return requireValue(deleteOAuthClient(session, workspace.id, id), () => noClient(id));
          },
          (name) => ({ subject: name, details: { id } }),
        );
        return respondNothing();
      },
    }),
  ];
}

/** Builds the 404 of a client. `id` of the path: the client id. */
const noClient = (id: string) => notFound('OAUTH_CLIENT_NOT_FOUND', `OAuth client ${id} does not exist`);

function toResponse({
  clientId,
  name,
  permissions,
  grants,
  entities,
  createdAt,
}: OAuthClient): Static<typeof OAuthClientResponse> {
  return {
    id: clientId,
    clientId,
    name,
    permissions,
    entities,
    ...showGrants(grants),
    createdAt: formatTime(createdAt),
  };
}

export interface SigningKeyServices {
  readonly signingKeys: {
    readonly list: () => Promise<readonly StoredSigningKey[]>;
    readonly rotate: (revoke: boolean, audit: WriteActivity) => Promise<void>;
  };
}

const SigningKeyResponse = objectShape(
  {
    kid: Type.String({ description: 'Its name in the head of tokens and in the key set.' }),
    state: enumShape('signing', 'verifying'),
    createdAt: Time,
    rotatedAt: nullableShape(Time),
    expiresAt: nullableShape(Time),
  },
  { title: 'SigningKey' },
);

export function signingKeyRoutes(services: AdminServices & SigningKeyServices): AdminRoute[] {
  const keys = services.signingKeys;
  const route = routeMaker(services);
  return [
    route({
      id: 'signingKeys.list',
      method: 'GET',
      path: '/signing-keys',
      access: 'operator',
      summary: 'The keys that sign or verify tokens, without their private halves',
      description: 'The newest first; it signs. The others verify until the last token of theirs has expired.',
      errors: {},
      responses: { 200: data(arrayShape(SigningKeyResponse)) },
      handle: async () => respondData((await keys.list()).map(toSigningKey)),
    }),
    route({
      id: 'signingKeys.rotate',
      method: 'POST',
      path: '/signing-keys/rotate',
      access: 'operator',
      changes: 'everything',
      activity: 'written',
      summary: 'Lets a new key sign; with revoke, all tokens signed so far end',
      description: 'Without `revoke` tokens of the key so far work until they expire.',
      errors: {},
      query: { revoke: flag('End all tokens signed so far: for a key that others have seen.') },
      responses: { 200: data(arrayShape(SigningKeyResponse)) },
      async handle({ query: { revoke }, audit }) {
        const { write } = await audit.prepare({ subject: 'signing keys', details: { revoke } });
        await keys.rotate(revoke, write);
        return respondData((await keys.list()).map(toSigningKey));
      },
    }),
  ];
}

function toSigningKey({ kid, createdAt, rotatedAt, expiresAt }: StoredSigningKey): Static<typeof SigningKeyResponse> {
  return {
    kid,
    state: rotatedAt === null ? 'signing' : 'verifying',
    createdAt: formatTime(createdAt),
    rotatedAt: formatTime(rotatedAt),
    expiresAt: formatTime(expiresAt),
  };
}
