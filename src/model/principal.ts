// The authenticated sender of a request. Values only; auth/ makes them.

export type Permissions = 'OWNER' | 'READ_WRITE' | 'READ_ONLY';

/** Permissions of keys and clients; with GRANTS they are held to grants and row rules, as users are. */
export type KeyPermissions = Permissions | 'GRANTS';

/** Roles and claims of a key with the permissions GRANTS. */
export interface KeyGrants {
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Ids of the entities that a principal can access (Workspace.entityIds), or null for all. As an id never names another
 * entity, no change of a schema makes a scope wider.
 */
export type Scope = readonly string[] | null;

/** API key or internal token of a workspace, for the entities in its scope. Below OWNER there is no admin API. */
export interface Owner {
  readonly kind: 'owner';
  readonly permissions: Permissions;
  readonly workspaceId: string;
  readonly scope: Scope;
  /** Stable id of the credential, for rate limits and logs; never the credential. */
  readonly credentialId: string;
  /** Expiry of the credential, milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Id of the session of the console that sent the request. */
  readonly sessionId?: string;
  /** The person who has signed in, or undefined for a key or client. */
  readonly person?: PersonName;
}

/** The administrator of the whole instance, who has the operator key or is a person with the operator's role. */
export interface Operator {
  readonly kind: 'operator';
  readonly scope: Scope;
  readonly credentialId: string;
  /** Expiry of the credential, milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Id of the session of the console that sent the request. */
  readonly sessionId?: string;
  /** The person who has signed in, or undefined with the operator key. */
  readonly person?: PersonName;
}

/**
 * A user of the workspace's identity provider; claims of a verified token (RFC 7519), numbers with all of their digits
 * (see exact-json.ts). Or a key that is held to grants, with the roles and claims that it was made with.
 */
export interface External {
  readonly kind: 'external';
  readonly permissions: 'READ_WRITE' | 'READ_ONLY';
  readonly workspaceId: string;
  readonly scope: Scope;
  readonly credentialId: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Roles by the role claim of the provider; the grants of the document say which of them exist. */
  readonly roles: readonly string[];
  /** Whether it is a key, for which an entity without grants does not exist. */
  readonly onlyGrants: boolean;
  /** Expiry of a key, milliseconds since 1970. */
  readonly expiresAt?: number;
}

export type KeyPrincipal = Owner | External;

/** A key or client of a workspace. */
export interface KeyHolder {
  readonly permissions: KeyPermissions;
  /** Roles and claims; null for any other permissions than GRANTS. */
  readonly grants: KeyGrants | null;
  readonly workspaceId: string;
  readonly scope: Scope;
  readonly credentialId: string;
  readonly expiresAt?: number;
}

/** Returns the principal of a key: with GRANTS it is held to grants and row rules as a user is. */
export function toKeyPrincipal({ permissions, grants, ...rest }: KeyHolder): KeyPrincipal {
  if (permissions !== 'GRANTS') return { kind: 'owner', permissions, ...rest };
  const { roles, claims } = grants ?? { roles: [], claims: {} };
  return { kind: 'external', permissions: 'READ_WRITE', claims, roles, onlyGrants: true, ...rest };
}

export type Principal = Owner | Operator | External;

/** A person as activity and history name it. */
export interface PersonName {
  readonly id: string;
  readonly name: string;
  /** Subject at the provider (`sub`). */
  readonly subject: string;
}

export const MEMBER_ROLES = ['owner', 'editor', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** The role of a person in a workspace or, with `workspaceId` null, in an organization with all of its workspaces. */
export interface Membership {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly role: MemberRole;
}

/**
 * A person who is signed in to the console, in a request that names no workspace. In a workspace it acts with the rights
 * of its memberships, as an Owner (actAs()).
 */
export interface Person {
  readonly kind: 'person';
  readonly scope: null;
  readonly credentialId: string;
  readonly person: PersonName;
  readonly memberships: readonly Membership[];
  readonly expiresAt?: number;
  readonly sessionId?: string;
}

/** Sender of a request for which it is not decided yet in which workspace it acts. */
export type Sender = Principal | Person;

const ROLE_PERMISSIONS: Readonly<Record<MemberRole, Permissions>> = {
  owner: 'OWNER',
  editor: 'READ_WRITE',
  viewer: 'READ_ONLY',
};

/** Returns the principal that the person is in a workspace, by the highest of its roles there, or undefined without one. */
function actIn(sender: Person, workspace: { readonly id: string; readonly organizationId: string }): Owner | undefined {
  const { scope, credentialId, person, memberships, expiresAt, sessionId } = sender;
  const roles = memberships.flatMap(({ organizationId, workspaceId, role }) =>
    workspaceId === workspace.id || (workspaceId === null && organizationId === workspace.organizationId) ? [role] : [],
  );
  const role = MEMBER_ROLES.find((one) => roles.includes(one));
  if (role === undefined) return undefined;
  return {
    kind: 'owner',
    permissions: ROLE_PERMISSIONS[role],
    workspaceId: workspace.id,
    ...{ scope, credentialId, person },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}

/** Returns the principal that a sender is in a workspace, or undefined for a person who is no member there. */
export const actAs = (
  sender: Sender,
  workspace: { readonly id: string; readonly organizationId: string },
): Principal | undefined => (sender.kind === 'person' ? actIn(sender, workspace) : sender);

/** Returns whether the person owns the organization, or, with `orPart`, the organization or a workspace of it. */
export const ownsOrganization = ({ memberships }: Person, id: string, orPart: boolean): boolean =>
  memberships.some(
    ({ organizationId, workspaceId, role }) =>
      organizationId === id && role === 'owner' && (orPart || workspaceId === null),
  );

/** Prefixes of credential ids of API keys, of OAuth clients and of people, before their own ids. */
export const KEY_ID = 'key:';
export const CLIENT_ID = 'client:';
export const PERSON_ID = 'person:';

export function mayWrite(principal: Principal): boolean {
  return principal.kind === 'operator' || principal.permissions !== 'READ_ONLY';
}

/**
 * Returns whether the principal's credential is valid in the workspace. This is the rule of tenancy: a credential is valid in the
 * workspace that it was made for, or whose provider has made it, and in no other; the operator's in all.
 */
export function isValidIn(principal: Principal, workspaceId: string): boolean {
  return principal.kind === 'operator' || principal.workspaceId === workspaceId;
}

/** Returns whether the principal may use some of the admin API: never with a scope, as a new key could have none. */
export function isAdministrator(principal: Sender): principal is Operator | Owner | Person {
  if (principal.scope !== null) return false;
  if (principal.kind === 'person') return principal.memberships.some(({ role }) => role === 'owner');
  return principal.kind === 'operator' || (principal.kind === 'owner' && principal.permissions === 'OWNER');
}

/** Returns whether the principal may use the admin API of this workspace. */
export function mayAdminister(principal: Principal, workspaceId: string): boolean {
  return isAdministrator(principal) && isValidIn(principal, workspaceId);
}

/** Returns the principal with a scope of at most the entities of these ids. */
export function narrowScope<P extends Principal>(principal: P, ids: readonly string[]): P {
  const { scope } = principal;
  return { ...principal, scope: scope === null ? ids : scope.filter((id) => ids.includes(id)) };
}
