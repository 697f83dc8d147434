// The sender of a request, once authenticated. Values only; auth/ makes them.

export type Permissions = 'OWNER' | 'READ_WRITE' | 'READ_ONLY';

/** API key or internal token of a workspace: sees all data. `permissions` below OWNER have no admin API. */
export interface Owner {
  readonly kind: 'owner';
  readonly permissions: Permissions;
  readonly workspaceId: string;
  /** Stable id of the credential, for rate limits and logs; never the credential. */
  readonly credentialId: string;
}

/** The instance administrator. */
export interface Operator {
  readonly kind: 'operator';
  readonly credentialId: string;
}

/**
 * A user of the workspace's identity provider; claims of a verified token (RFC 7519), numbers with all of their digits
 * (see exact-json.ts).
 */
export interface External {
  readonly kind: 'external';
  readonly permissions: 'READ_WRITE' | 'READ_ONLY';
  readonly workspaceId: string;
  readonly credentialId: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export type Principal = Owner | Operator | External;

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

/** True when the principal may use the admin API of this workspace. */
export function mayAdminister(principal: Principal, workspaceId: string): boolean {
  switch (principal.kind) {
    case 'operator':
      return true;
    case 'owner':
      return principal.permissions === 'OWNER' && belongsTo(principal, workspaceId);
    case 'external':
      return false;
    default:
      return principal satisfies never;
  }
}
