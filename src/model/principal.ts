// The sender of a request, once authenticated. Values only; auth/ makes them.

export type Permissions = 'OWNER' | 'READ_WRITE' | 'READ_ONLY';

/**
 * The ids of the entities that a principal reaches (Workspace.entityIds); null: all. As an id never names another entity,
 * nothing that happens to a schema makes a scope wider.
 */
export type Scope = readonly string[] | null;

/** API key or internal token of a workspace: sees all data of the entities in its scope. `permissions` below OWNER have no admin API. */
export interface Owner {
  readonly kind: 'owner';
  readonly permissions: Permissions;
  readonly workspaceId: string;
  readonly scope: Scope;
  /** Stable id of the credential, for rate limits and logs; never the credential. */
  readonly credentialId: string;
  /** When the credential ends by itself, milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The id of the session of the console by which the request came. */
  readonly sessionId?: string;
}

/** The instance administrator. */
export interface Operator {
  readonly kind: 'operator';
  readonly scope: Scope;
  readonly credentialId: string;
  /** When the credential ends by itself, milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The id of the session of the console by which the request came. */
  readonly sessionId?: string;
}

/**
 * A user of the workspace's identity provider; claims of a verified token (RFC 7519), numbers with all of their digits
 * (see exact-json.ts).
 */
export interface External {
  readonly kind: 'external';
  readonly permissions: 'READ_WRITE' | 'READ_ONLY';
  readonly workspaceId: string;
  readonly scope: Scope;
  readonly credentialId: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export type Principal = Owner | Operator | External;

/** How credential ids of API keys and of OAuth clients begin; their own ids follow. */
export const KEY_ID = 'key:';
export const CLIENT_ID = 'client:';

export function mayWrite(principal: Principal): boolean {
  return principal.kind === 'operator' || principal.permissions !== 'READ_ONLY';
}

/**
 * The rule of tenancy: a credential is valid in the workspace that it was made for, or whose provider has made it, and
 * in no other; the operator's in all.
 */
export function belongsTo(principal: Principal, workspaceId: string): boolean {
  return principal.kind === 'operator' || principal.workspaceId === workspaceId;
}

/** True for whom some part of the admin API is: never for a scope, as whoever makes keys could make one without. */
export function isAdministrator(principal: Principal): principal is Operator | Owner {
  if (principal.scope !== null) return false;
  return principal.kind === 'operator' || (principal.kind === 'owner' && principal.permissions === 'OWNER');
}

/** True when the principal may use the admin API of this workspace. */
export function mayAdminister(principal: Principal, workspaceId: string): boolean {
  return isAdministrator(principal) && belongsTo(principal, workspaceId);
}

/** The same principal, reaching no more than the entities of these ids. */
export function narrowed<P extends Principal>(principal: P, ids: readonly string[]): P {
  const { scope } = principal;
  return { ...principal, scope: scope === null ? ids : scope.filter((id) => ids.includes(id)) };
}
