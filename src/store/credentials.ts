// Looks up API keys and the operator's key in the control tables, by hash.
import type { Database } from '../database/pool.ts';
import { parseExact } from '../model/exact-json.ts';
import { CLIENT_ID, KEY_ID, type KeyGrants, type KeyPermissions, PERSON_ID, type Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { loadFact } from './instance.ts';
import { readScope, scopeNames, scopeText } from './scopes.ts';
import { WORKSPACES } from './workspaces.ts';

export interface StoredKey {
  readonly id: string;
  readonly workspaceId: string;
  /** Version of the workspace when the key was read; with a later version the key must be read again. */
  readonly workspaceVersion: number;
  readonly permissions: KeyPermissions;
  /** Roles and claims of a key with the permissions GRANTS, else null. */
  readonly grants: KeyGrants | null;
  readonly scope: Scope;
  /** Milliseconds since 1970, or null. */
  readonly expiresAt: number | null;
}

/** Returns the key with this hash, expired or not, or undefined if there is none. */
export const findApiKey = (db: Database, hash: Buffer): Promise<StoredKey | undefined> =>
  findKey(db, sql`k.hash = ${hash}`, 'find-api-key');

/** Returns the key with this id, expired or not, or undefined if there is none. */
export const findApiKeyById = (db: Database, id: string): Promise<StoredKey | undefined> =>
  findKey(db, sql`k.id = ${id}::int8`, 'find-api-key-by-id');

async function findKey(db: Database, condition: Fragment, name: string): Promise<StoredKey | undefined> {
  const rows = await db.run(
    toQuery(
      sql`select k.id, k.workspace_id, w.version, k.permissions, k.grants::text, ${scopeText(sql`k`)}, (extract(epoch from k.expires_at) * 1000)::int8
          from wda.api_key k join wda.workspace w on w.id = k.workspace_id where ${condition}`,
      name,
    ),
    'read',
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const [id, workspaceId, version, permissions, grants, scope, expiresAt] = row as [
    string,
    string,
    string,
    KeyPermissions,
    string | null,
    string | null,
    string | null,
  ];
  return {
    id,
    workspaceId,
    workspaceVersion: Number(version),
    permissions,
    grants: readGrants(grants),
    scope: readScope(scope),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
  };
}

/** Parses the roles and claims of a row as text; numbers of claims keep their digits. */
export const readGrants = (text: string | null): KeyGrants | null =>
  text === null ? null : (parseExact(text) as KeyGrants);

/** Name of an API key or OAuth client, and its workspace. */
export interface CredentialOwner {
  readonly name: string;
  /** Names of the entities that it may access; null for all. */
  readonly entities: readonly string[] | null;
  readonly organization: string;
  /** Slug and name of its workspace. */
  readonly slug: string;
  readonly workspaceName: string;
}

/** Returns the owner of a credential, or undefined if the key or client is deleted. */
export async function findCredentialOwner(db: Database, credentialId: string): Promise<CredentialOwner | undefined> {
  const source = getCredentialSource(credentialId);
  if (source === undefined) return undefined;
  const rows = await db.query<CredentialOwner>(
    toQuery(sql`select h.name, ${scopeNames(sql`h`)}, o.slug as organization, w.slug, w.name as "workspaceName"
from ${WORKSPACES} join ${source.table} h on h.workspace_id = w.id where ${source.condition}`),
  );
  return rows[0];
}

function getCredentialSource(
  credentialId: string,
): { readonly table: Fragment; readonly condition: Fragment } | undefined {
  const id = credentialId.slice(credentialId.indexOf(':') + 1);
  if (credentialId.startsWith(KEY_ID)) return { table: sql`wda.api_key`, condition: sql`h.id = ${id}::bigint` };
  if (credentialId.startsWith(CLIENT_ID)) return { table: sql`wda.oauth_client`, condition: sql`h.client_id = ${id}` };
  return undefined;
}

/** Stores the time of use of keys, in one statement for all of them. */
export async function touchApiKeys(db: Database, ids: readonly string[]): Promise<void> {
  await db.run(
    toQuery(sql`update wda.api_key set last_used_at = now() where id = any(${ids}::int8[])`, 'touch-api-keys'),
    'write',
  );
}

const OPERATOR_FACT = 'operator_key_hash';

/** Returns the SHA-256 (hex) of the operator's key that the first start generated, or undefined before that. */
export function loadOperatorHash(db: Database): Promise<string | undefined> {
  return loadFact(db, OPERATOR_FACT);
}

/** Deletes the generated key; it is never valid again. */
export async function deleteOperatorHash(db: Database): Promise<void> {
  await db.query(toQuery(sql`delete from wda.instance where name = ${OPERATOR_FACT}`));
}

/** Stores the hash unless another process was first; returns the hash in force. */
export async function storeOperatorHash(db: Database, hash: string): Promise<string> {
  await db.query(
    toQuery(
      sql`insert into wda.instance (name, value) values (${OPERATOR_FACT}, ${hash}) on conflict (name) do nothing`,
    ),
  );
  const stored = await loadOperatorHash(db);
  if (stored === undefined) throw new Error('the operator key hash was not stored');
  return stored;
}

/** Returns the names of keys and clients of a workspace, and of people, that exist. `credentials`: `key:`, `client:` or `person:` and the id of each. */
export async function loadCredentialNames(
  db: Pick<Database, 'query'>,
  workspaceId: string,
  credentials: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ credential: string; name: string }>(
    toQuery(sql`select ${KEY_ID} || id as credential, name from wda.api_key where workspace_id = ${workspaceId} and ${KEY_ID} || id = any(${credentials}::text[])
union all select ${CLIENT_ID} || client_id, name from wda.oauth_client where workspace_id = ${workspaceId} and ${CLIENT_ID} || client_id = any(${credentials}::text[])
union all select ${PERSON_ID} || id, name from wda.person where id::text = any(${credentials.flatMap((one) => (one.startsWith(PERSON_ID) ? [one.slice(PERSON_ID.length)] : []))}::text[])`),
  );
  return new Map(rows.map(({ credential, name }) => [credential, name]));
}
