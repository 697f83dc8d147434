// /session: principal and permissions of the credential, which a page or a program loads first.
import type { Static } from 'typebox';
import type { Database } from '../database/pool.ts';
import { invalidCredential } from '../errors.ts';
import { MEMBER_ROLES, type Operator, type Owner, type Permissions, type Person } from '../model/principal.ts';
import { Type } from '../schema/type.ts';
import { findCredentialOwner } from '../store/credentials.ts';
import { loadOwnPlaces } from '../store/people.ts';
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

const SessionOrganization = objectShape(
  { slug: Slug, name: Type.String({ description: 'Its name for people.' }), role: enumShape(...MEMBER_ROLES) },
  { title: 'SessionOrganization' },
);

const SessionResponse = objectShape(
  {
    kind: enumShape('operator', 'owner', 'person'),
    name: Type.String({
      description: 'What the person, the key or the OAuth client is called; `operator` for the operator key.',
    }),
    permissions: Type.Unsafe<Permissions | null>({
      type: ['string', 'null'],
      enum: ['OWNER', 'READ_WRITE', 'READ_ONLY', null],
      description:
        'null for the operator, who may do everything, and for a person, whose permissions are those of `workspaces`.',
    }),
    entities: ReachedNames,
    workspaces: arrayShape(SessionWorkspace),
    organizations: Type.Optional(
      Type.Unsafe<readonly Static<typeof SessionOrganization>[]>({
        ...arrayShape(SessionOrganization),
        description: 'Of a person alone: organizations in all of whose workspaces it has a role.',
      }),
    ),
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
        'For keys of all permissions, and people. `workspaces` has 1,000 entries at most, and none for the operator, who has all of them: they are in the lists of organizations and workspaces.',
      errors: {},
      responses: { 200: data(SessionResponse) },
      handle: async ({ principal }) => respondData(await loadSession(directory, principal)),
    }),
  ];
}

async function loadSession(
  directory: Database,
  principal: Operator | Owner | Person,
): Promise<Static<typeof SessionResponse>> {
  const { kind, credentialId, expiresAt } = principal;
  const endsAt = expiresAt === undefined ? null : formatTime(new Date(expiresAt));
  if (kind === 'operator') {
    const name = principal.person?.name ?? 'operator';
    return { kind, name, permissions: null, entities: null, workspaces: [], expiresAt: endsAt };
  }
  if (kind === 'person') {
    const { workspaces, organizations } = await loadOwnPlaces(directory, principal.person.id);
    const { name } = principal.person;
    return { kind, name, permissions: null, entities: null, workspaces, organizations, expiresAt: endsAt };
  }
  const credential = await findCredentialOwner(directory, credentialId);
  // The credential was revoked after authentication.
  if (credential === undefined) throw invalidCredential();
  const { permissions } = principal;
  const { name, entities, organization, slug, workspaceName } = credential;
  const workspaces = [{ organization, slug, name: workspaceName, permissions }];
  return { kind, name, permissions, entities, workspaces, expiresAt: endsAt };
}
