// Finds the rights that a principal has now, for work that goes on after its request.
import { invalidCredential } from '../errors.ts';
import { type Claims, findLackingClaims, findRoles } from '../model/claim.ts';
import {
  actAs,
  CLIENT_ID,
  KEY_ID,
  PERSON_ID,
  type Principal,
  type Sender,
  toKeyPrincipal,
} from '../model/principal.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import type { StoredKey } from '../store/credentials.ts';
import type { TokenClient } from '../store/oauth-clients.ts';

/** Sender of a request that was authenticated before. */
export interface FormerSender {
  readonly credentialId: string;
  /** Claims of the token of a user; undefined for all others. */
  readonly claims?: Claims | undefined;
}

interface PrincipalWorkspace {
  readonly id: string;
  readonly organizationId: string;
  readonly identityProvider: IdentityProvider | null;
}

/**
 * Returns the principal with its rights of this moment. A key must exist and not have expired, a client must exist, and a
 * person be a member. The
 * claims of a user are those of the token; the provider must still be that of the workspace and accept them. Throws 401.
 */
export type FindCurrentPrincipal = (workspace: PrincipalWorkspace, sender: FormerSender) => Promise<Principal>;

export interface CurrentPrincipalOptions {
  readonly findKey: (id: string) => Promise<StoredKey | undefined>;
  readonly findClient: (clientId: string) => Promise<TokenClient | undefined>;
  /** Returns the person as sender, or undefined if it is a member nowhere any more. */
  readonly findPerson: (id: string) => Promise<Sender | undefined>;
  /** Returns whether there is an operator key. */
  readonly hasOperator: () => boolean;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

export function makeFindCurrentPrincipal(options: CurrentPrincipalOptions): FindCurrentPrincipal {
  const { findKey, findClient, findPerson, hasOperator, now } = options;
  return async (workspace, { credentialId, claims }) => {
    if (credentialId === 'operator' && hasOperator()) return { kind: 'operator', scope: null, credentialId };
    if (credentialId.startsWith(PERSON_ID)) {
      const sender = await findPerson(credentialId.slice(PERSON_ID.length));
      const principal = sender && actAs(sender, workspace);
      if (principal === undefined) throw invalidCredential();
      return principal;
    }
    if (credentialId.startsWith(KEY_ID)) {
      const key = await findKey(credentialId.slice(KEY_ID.length));
      if (key === undefined || (key.expiresAt ?? Number.POSITIVE_INFINITY) <= now()) throw invalidCredential();
      const { permissions, grants, workspaceId, scope } = key;
      return toKeyPrincipal({ permissions, grants, workspaceId, scope, credentialId });
    }
    if (credentialId.startsWith(CLIENT_ID)) {
      const client = await findClient(credentialId.slice(CLIENT_ID.length));
      if (client === undefined) throw invalidCredential();
      const { permissions, grants, workspaceId, scope } = client;
      return toKeyPrincipal({ permissions, grants, workspaceId, scope, credentialId });
    }
    const { identityProvider: provider } = workspace;
    const isAccepted =
      claims !== undefined &&
      provider?.enabled === true &&
      provider.issuerUrl === claims.iss &&
      findLackingClaims(claims, provider.requiredClaims ?? {}).length === 0;
    if (!isAccepted) throw invalidCredential();
    return {
      kind: 'external',
      permissions: provider.defaultPermissions,
      workspaceId: workspace.id,
      scope: null,
      roles: findRoles(claims, provider.roleClaim),
      onlyGrants: false,
      credentialId,
      claims,
    };
  };
}
