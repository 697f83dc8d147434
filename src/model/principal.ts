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
}

/** The administrator of the whole instance, who has the operator key. */
export interface Operator {
  readonly kind: 'operator';
  readonly scope: Scope;
  readonly credentialId: string;
  /** Expiry of the credential, milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Id of the session of the console that sent the request. */
  readonly sessionId?: string;
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

/** Prefixes of credential ids of API keys and of OAuth clients, before their own ids. */
export const KEY_ID = 'key:';
export const CLIENT_ID = 'client:';

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
export function isAdministrator(principal: Principal): principal is Operator | Owner {
  if (principal.scope !== null) return false;
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
