// /session: principal and permissions of the credential, which a page or a program loads first.
import type { Static } from 'typebox';
import type { Database } from '../database/pool.ts';
import { invalidCredential } from '../errors.ts';
import type { Operator, Owner, Permissions } from '../model/principal.ts';
import { Type } from '../schema/type.ts';
import { findCredentialOwner } from '../store/credentials.ts';
import { KeyPermissions, Slug } from './names.ts';
import { arrayShape, data, enumShape, formatTime, nullableShape, objectShape, respondData, Time } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker } from './route.ts';
import { ReachedNames } from './scopes.ts';

const SessionWorkspace = objectShape(
  {
    organization: { ...Slug, description: 'Slug of its organization.' },
    slug: Slug,
    name: Type.String({ description: 'Its name for people.' }),
    permissions: KeyPermissions,
  },
  { title: 'SessionWorkspace' },
);

const SessionResponse = objectShape(
  {
    kind: enumShape('operator', 'owner'),
    name: Type.String({ description: 'What the key or the OAuth client is called; `operator` for the operator.' }),
    permissions: Type.Unsafe<Permissions | null>({
      type: ['string', 'null'],
      enum: ['OWNER', 'READ_WRITE', 'READ_ONLY', null],
      description: 'null for the operator, who may do everything.',
    }),
    entities: ReachedNames,
    workspaces: arrayShape(SessionWorkspace),
    expiresAt: nullableShape(Time),
  },
  { title: 'Session', description: 'A credential: whose it is, and where it is good for what.' },
);

export function sessionRoutes(services: AdminServices): AdminRoute[] {
  const { directory } = services.databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'session.read',
      method: 'GET',
      path: '/session',
      access: 'credential',
      summary: 'Whose credential this is',
      description:
        'For keys of all permissions. `workspaces` is empty for the operator, who has all of them: they are in the lists of organizations and workspaces.',
      errors: {},
      responses: { 200: data(SessionResponse) },
      handle: async ({ principal }) => respondData(await loadSession(directory, principal)),
    }),
  ];
}

async function loadSession(directory: Database, principal: Operator | Owner): Promise<Static<typeof SessionResponse>> {
  const { kind, credentialId, expiresAt } = principal;
  const endsAt = expiresAt === undefined ? null : formatTime(new Date(expiresAt));
  if (kind === 'operator') {
    return { kind, name: 'operator', permissions: null, entities: null, workspaces: [], expiresAt: endsAt };
  }
  const credential = await findCredentialOwner(directory, credentialId);
  // The credential was revoked after authentication.
  if (credential === undefined) throw invalidCredential();
  const { permissions } = principal;
  const { name, entities, organization, slug, workspaceName } = credential;
  const workspaces = [{ organization, slug, name: workspaceName, permissions }];
  return { kind, name, permissions, entities, workspaces, expiresAt: endsAt };
}
