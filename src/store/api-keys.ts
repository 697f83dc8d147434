// API keys of a workspace for its administrators: create, list, change, revoke. credentials.ts looks up a key.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { KeyGrants, KeyPermissions, Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { loadPage, type PageOf } from './pages.ts';
import { scopeNames } from './scopes.ts';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly permissions: KeyPermissions;
  /** JSON of the roles and claims, with the permissions GRANTS; numbers keep their digits. */
  readonly grants: string | null;
  /** Names of the entities that the key may access; null for all. */
  readonly entities: readonly string[] | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  /** Author of the key; null for a key that the first start of the server created. */
  readonly createdBy: Actor | null;
}

export interface ApiKeyToStore {
  readonly workspaceId: string;
  readonly name: string;
  readonly prefix: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  readonly permissions: KeyPermissions;
  readonly grants: KeyGrants | null;
  readonly scope: Scope;
  readonly expiresAt: Date | null;
  readonly createdBy: Actor | null;
}

const COLUMNS: Fragment = sql`k.id, k.name, k.prefix, k.permissions, k.grants::text as grants, ${scopeNames(sql`k`)}, k.created_at as "createdAt", k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt", k.created_by as "createdBy"`;

// Limit for each workspace; keys that have expired count until they are deleted.
const MAX_KEYS = 1000;

/** Creates a key; undefined if the workspace does not exist; 409 when it has the maximum number of keys. */
export async function createApiKey(db: Pick<Session, 'query'>, key: ApiKeyToStore): Promise<ApiKey | undefined> {
  const rows = await db.query<ApiKey>(
    toQuery(sql`with held as (
  select id from wda.workspace where id = ${key.workspaceId}
  and (select count(*) from wda.api_key o where o.workspace_id = ${key.workspaceId}) < ${MAX_KEYS}::int8 for no key update
)
insert into wda.api_key as k (workspace_id, name, prefix, hash, permissions, grants, entities, expires_at, created_by)
select held.id, ${key.name}, ${key.prefix}, ${key.hash}, ${key.permissions}, ${key.grants === null ? null : JSON.stringify(key.grants)}::json, ${key.scope}::bigint[], ${key.expiresAt?.toISOString() ?? null}::timestamptz,
  ${key.createdBy === null ? null : JSON.stringify(key.createdBy)}::jsonb
from held
returning ${COLUMNS}`),
  );
  if (rows[0] === undefined && (await loadApiKeys(db, key.workspaceId, { page: 0, size: 1 })).total > 0) {
    throw conflict('TOO_MANY_CREDENTIALS', `A workspace has at most ${MAX_KEYS} API keys: delete one first`);
  }
  return rows[0];
}

export function loadApiKeys(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<ApiKey>> {
  return loadPage(db, sql`select ${COLUMNS} from wda.api_key k where k.workspace_id = ${workspaceId}`, page);
}

/** Changes of a key. Missing members stay; a null expiry is removed. */
export interface ApiKeyChange {
  readonly name?: string | undefined;
  readonly expiresAt?: Date | null | undefined;
}

/**
 * Changes a key; undefined if the workspace has no such key. 409 for a new expiry of a key that has expired: clients
 * may rely on its end.
 */
export async function updateApiKey(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  id: string,
  { name, expiresAt }: ApiKeyChange,
): Promise<ApiKey | undefined> {
  const rows = await db.query<ApiKey & { isLate: boolean }>(
    toQuery(sql`with held as (
  select id, ${expiresAt !== undefined}::bool and coalesce(expires_at <= now(), false) as late from wda.api_key
  where id = ${id} and workspace_id = ${workspaceId} for no key update
)
update wda.api_key k set
  name = case when held.late then k.name else coalesce(${name ?? null}, k.name) end,
  expires_at = case when ${expiresAt !== undefined}::bool and not held.late
    then ${expiresAt?.toISOString() ?? null}::timestamptz else k.expires_at end
from held where k.id = held.id
returning ${COLUMNS}, held.late as "isLate"`),
  );
  if (rows[0] === undefined) return undefined;
  const { isLate, ...key } = rows[0];
  if (isLate) throw conflict('API_KEY_EXPIRED', `API key ${id} has expired, and stays so: make a new one`);
  return key;
}

/** Revokes a key and returns its name, or undefined if the workspace has no such key. */
export async function deleteApiKey(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  id: string,
): Promise<string | undefined> {
  const rows = await db.query<{ name: string }>(
    toQuery(sql`delete from wda.api_key where id = ${id} and workspace_id = ${workspaceId} returning name`),
  );
  return rows[0]?.name;
}
