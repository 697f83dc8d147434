// Requests for API keys and OAuth clients of a workspace (docs/reference/admin-api.md, oauth.md, scopes.md), and their
// texts.

import { queryOptions } from '@tanstack/react-query';
import { Digits, stringifyExact } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import type { Permissions } from '../api/session.ts';
import type { ApiKey, OAuthClient } from '../api/types.ts';
import { parseClaims } from '../api/view-as.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';
import { formatLocal, type TimeZone } from '../format/datetime.ts';
import type { JsonObject } from '../schema/json-value.ts';
import { quoteShell } from '../snippets/snippets.ts';

/** Rights of a new credential. */
export interface Rights {
  readonly permissions: Permissions;
  /** null: all. */
  readonly entities: readonly string[] | null;
  /** With GRANTS. */
  readonly roles: readonly string[];
  /** With GRANTS: claims as JSON, as they were typed. */
  readonly claims: string;
}

export const READ_ONLY: Rights = { permissions: 'READ_ONLY', entities: null, roles: [], claims: '' };

/** Returns the members of the body. Claims that are no JSON object stay as they were typed, which the server refuses. */
export function toBody({ permissions, entities, roles, claims }: Rights) {
  if (permissions !== 'GRANTS') return { permissions, entities };
  return { permissions, entities, roles, claims: claims.trim() === '' ? {} : (parseClaims(claims) ?? claims) };
}

// Largest page of the API, which is also the limit of a workspace.
const ALL = 'size=1000';

export const credentialQuery = <T>(workspace: WorkspaceRef, noun: 'api-keys' | 'oauth-clients') =>
  queryOptions({
    queryKey: [noun, workspace.org, workspace.ws],
    queryFn: async ({ signal }): Promise<readonly T[]> => {
      const path = adminPath(workspace, `/${noun}?${ALL}`);
      const { data } = await requestExact<readonly JsonObject[]>({ path, signal });
      // Claims keep their digits; the id is the only other number.
      return data.map((one) => ({ ...one, ...(one.id instanceof Digits && { id: Number(one.id.text) }) }) as T);
    },
  });

export const apiKeysQuery = (workspace: WorkspaceRef) => credentialQuery<ApiKey>(workspace, 'api-keys');
export const oauthClientsQuery = (workspace: WorkspaceRef) => credentialQuery<OAuthClient>(workspace, 'oauth-clients');

export const PERMISSIONS: readonly { readonly value: Permissions; readonly label: string }[] = [
  { value: 'READ_ONLY', label: 'Read only: records' },
  { value: 'READ_WRITE', label: 'Read and write: records' },
  { value: 'OWNER', label: 'Owner: records, schema, access' },
  { value: 'GRANTS', label: 'Grants: what the grants of its roles allow' },
];

/** Formats names as `orders, items`; beyond three it counts the rest. */
export function formatEntities({ entities, permissions }: Pick<ApiKey, 'entities' | 'permissions'>): string {
  if (permissions === 'GRANTS') return 'by its grants';
  if (entities === null) return 'all';
  if (entities.length === 0) return 'none any more';
  const names = entities.slice(0, 3).join(', ');
  return entities.length > 3 ? `${names} and ${entities.length - 3} more` : names;
}

/** Formats the permissions of a credential, with the roles and claims of GRANTS: `GRANTS: public, {"tenant":7}`. */
export function formatPermissions({
  permissions,
  roles = [],
  claims = {},
}: Pick<ApiKey, 'permissions' | 'roles' | 'claims'>): string {
  if (permissions !== 'GRANTS') return permissions;
  const named = roles.length === 0 ? 'no role' : roles.join(', ');
  return `GRANTS: ${named}${Object.keys(claims).length === 0 ? '' : `, ${stringifyExact(claims)}`}`;
}

const STOPS: Readonly<Record<Permissions, string>> = {
  OWNER: 'Programs that read and write records, change the schema or manage access with it stop working',
  READ_WRITE: 'Programs that read and write records with it stop working',
  READ_ONLY: 'Programs that read records with it stop working',
  GRANTS: 'Programs that act as its roles with it stop working',
};

/** Lifetimes to choose from; without days the key does not expire. */
export const EXPIRIES: readonly { readonly label: string; readonly days?: number }[] = [
  { label: '30 days', days: 30 },
  { label: '90 days', days: 90 },
  { label: '1 year', days: 365 },
  { label: 'Never' },
];

/** Formats an expiry to the minute for its input, `2031-12-31 18:00`; empty for none. */
export const formatExpiry = (instant: string | null, zone: TimeZone): string =>
  instant === null ? '' : formatLocal(instant, zone).slice(0, 16);

export const isExpired = ({ expiresAt }: ApiKey, now: number): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now;

/** Returns the consequences of revoking a key, one sentence each. `lastUsed` is formatted. */
export function describeRevocation(key: ApiKey, now: number, lastUsed: string): readonly string[] {
  if (isExpired(key, now)) return ['The key has already expired: nothing stops working.'];
  return [
    `${STOPS[key.permissions]}: their next request is refused with 401.`,
    'Console sessions started with it end.',
    key.lastUsedAt === null ? 'It has never been used.' : `It was last used ${lastUsed}.`,
    'A revoked key cannot be restored; create another one.',
  ];
}

/** Returns the consequences of deleting a client. */
export const describeClientDeletion = ({ permissions }: OAuthClient): readonly string[] => [
  `${STOPS[permissions]}: it gets no more tokens, and those that it has are refused with 401 from now on.`,
  'A deleted client cannot be restored; a new one has another ID and secret.',
];

/**
 * Prints the commands that get a token by client id and secret, and records by the token. The secret is a placeholder.
 */
export function printTokenCommands(
  origin: string,
  { org, ws }: WorkspaceRef,
  clientId: string,
  entity: string | undefined,
): string {
  const path = entity === undefined ? '' : `/${encodeURIComponent(entity)}`;
  return [
    `curl -s -u ${quoteShell(clientId)}:"$CLIENT_SECRET" -d grant_type=client_credentials ${quoteShell(`${origin}/oauth/token`)}`,
    `curl -s -H "Authorization: Bearer $TOKEN" ${quoteShell(`${origin}/api/v1/${org}/${ws}${path}`)}`,
  ].join('\n');
}
