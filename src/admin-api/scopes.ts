// Scopes of keys and clients, as names of entities.

import { listNames } from '../errors.ts';
import { isStorableJson } from '../model/exact-json.ts';
import type { KeyGrants, KeyPermissions, Scope } from '../model/principal.ts';
import { MAX_ENTITIES, MAX_ROLES } from '../schema/format.ts';
import { hint, type Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import { readGrants } from '../store/credentials.ts';
import type { Databases } from '../store/databases.ts';
import { loadEntityIds, loadRoles } from '../store/documents.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { NOT_STORABLE } from './body.ts';
import { DisplayName, KeyPermissions as KeyPermissionsShape } from './names.ts';
import { arrayShape, nullableShape } from './response.ts';

/** Shape of names of entities in bodies. */
export const EntityNames = Type.Unsafe<readonly string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: MAX_ENTITIES,
  uniqueItems: true,
  description: 'Names of the only entities that it reaches. null or left out: all.',
});

/** Shape of names of entities in responses, without deleted entities. */
export const ReachedNames = nullableShape(arrayShape(Type.String()));

/** Shape of the roles and claims of a key with the permissions GRANTS, in bodies and responses. */
export const GRANT_MEMBERS = {
  roles: Type.Optional(
    Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_ROLES,
      uniqueItems: true,
      description: 'With GRANTS: roles of the schema document that it holds.',
    }),
  ),
  claims: Type.Optional(
    Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'With GRANTS: claims that row rules and grants compare, at most 4 KiB of JSON.',
    }),
  ),
};

/** Members of the body of a new key or client. */
export const CREDENTIAL_MEMBERS = {
  name: DisplayName,
  permissions: Type.Optional(KeyPermissionsShape),
  entities: Type.Optional(EntityNames),
  ...GRANT_MEMBERS,
};

const MAX_CLAIMS_BYTES = 4096;

/** Formats the roles and claims for a response; none without the permissions GRANTS. */
export const showGrants = (grants: string | null): Partial<KeyGrants> => readGrants(grants) ?? {};

/** Names that the body of a new key refers to. */
export interface KeyTargets {
  readonly ids: ReadonlyMap<string, string>;
  readonly roles: readonly string[];
}

/** Returns a function that loads the entities and roles that a key may name. */
export const findKeyTargets =
  (databases: Databases) =>
  async ({ workspace }: { readonly workspace: WorkspaceSummary }): Promise<KeyTargets> => {
    const database = databases.forWorkspace(workspace);
    const [ids, roles] = await Promise.all([loadEntityIds(database, workspace.id), loadRoles(database, workspace.id)]);
    return { ids, roles };
  };

/** Returns a function that loads the ids of a workspace's entities by their names. */
export const findEntityIds =
  (databases: Databases) =>
  ({ workspace }: { readonly workspace: WorkspaceSummary }): Promise<ReadonlyMap<string, string>> =>
    loadEntityIds(databases.forWorkspace(workspace), workspace.id);

interface CredentialInput {
  readonly name: string;
  readonly permissions?: KeyPermissions;
  readonly entities?: readonly string[] | null;
  readonly roles?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Members with which a new key or client is stored. */
interface NewCredential {
  readonly name: string;
  readonly permissions: KeyPermissions;
  readonly grants: KeyGrants | null;
  readonly scope: Scope;
}

/**
 * Parses the members that keys and clients share; reports unknown names, and permissions that do not go with the others.
 * Takes the claims from the `raw` body, in which numbers keep their digits.
 */
export function parseCredential(
  { claims, ...input }: CredentialInput,
  report: Report,
  raw: unknown,
  { ids, roles }: KeyTargets,
): NewCredential {
  const { permissions = 'OWNER' } = input;
  const exactClaims = claims === undefined ? {} : { claims: (raw as { readonly claims: typeof claims }).claims };
  return {
    name: input.name,
    permissions,
    grants: parseKeyGrants({ ...input, ...exactClaims }, permissions, report, roles),
    scope: parseScope(input.entities, permissions, report, ids),
  };
}

/** Parses the roles and claims of a body; reports unknown roles, and members that need the permissions GRANTS. */
function parseKeyGrants(
  { roles, claims }: CredentialInput,
  permissions: KeyPermissions,
  report: Report,
  declaredRoles: readonly string[],
): KeyGrants | null {
  if (permissions !== 'GRANTS') {
    for (const [name, value] of Object.entries({ roles, claims }))
      if (value !== undefined) report([name], 'INVALID', 'means nothing without the permissions GRANTS');
    return null;
  }
  roles?.forEach((role: string | undefined, index) => {
    if (role === undefined || declaredRoles.includes(role)) return;
    const message = `must be a role of the schema document.${hint(report.suggest(role, declaredRoles))} Known: ${listNames(declaredRoles)}`;
    report(['roles', index], 'REFERENCE_NOT_FOUND', message);
  });
  if (claims !== undefined && Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIMS_BYTES)
    report(['claims'], 'TOO_LONG', `must have at most ${MAX_CLAIMS_BYTES} bytes of JSON`);
  if (!isStorableJson(claims)) report(['claims'], 'INVALID', NOT_STORABLE);
  return { roles: roles ?? [], claims: claims ?? {} };
}

/** Parses the scope of a body; reports unknown names, and permissions that a scope cannot have. */
function parseScope(
  entities: readonly string[] | null | undefined,
  permissions: KeyPermissions,
  report: Report,
  ids: ReadonlyMap<string, string>,
): Scope {
  if (!Array.isArray(entities)) return null;
  if (permissions === 'OWNER') {
    report(
      ['permissions'],
      'INVALID',
      'must be READ_WRITE, READ_ONLY or GRANTS together with entities: an OWNER could give itself the others',
    );
  }
  return resolveEntityIds(entities, report, ids);
}

/** Returns the ids of the entities that a body names; reports unknown names. */
export function resolveEntityIds(
  entities: readonly unknown[],
  report: Report,
  ids: ReadonlyMap<string, string>,
): readonly string[] {
  return entities.flatMap((name: unknown, index) => {
    if (typeof name !== 'string') return [];
    const id = ids.get(name);
    if (id !== undefined) return [id];
    report(['entities', index], 'REFERENCE_NOT_FOUND', notAnEntity(name, [...ids.keys()], report));
    return [];
  });
}

/** Reports a name that no entity of the workspace has. */
export const notAnEntity = (name: string, candidates: readonly string[], report: Report): string =>
  `must be an entity of the workspace.${hint(report.suggest(name, candidates))} Known: ${listNames([...candidates].sort())}`;
