// API keys and the operator's key in the control tables, looked up by hash.
import type { Database } from '../database/pool.ts';
import { CLIENT_ID, KEY_ID, type Permissions, type Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { loadFact } from './instance.ts';
import { readScope, scopeNames, scopeText } from './scopes.ts';
import { WORKSPACES } from './workspaces.ts';

export interface StoredKey {
  readonly id: string;
  readonly workspaceId: string;
  /** Version of the workspace when the key was found: a later one means that it must be looked up again. */
  readonly workspaceVersion: number;
  readonly permissions: Permissions;
  readonly scope: Scope;
  /** Milliseconds since 1970, or null. */
  readonly expiresAt: number | null;
}

/** The key with this hash, expired or not; undefined when there is none. */
export async function findApiKey(db: Database, hash: Buffer): Promise<StoredKey | undefined> {
  const rows = await db.run(
    toQuery(
      sql`select k.id, k.workspace_id, w.version, k.permissions, ${scopeText(sql`k`)}, (extract(epoch from k.expires_at) * 1000)::int8
          from wda.api_key k join wda.workspace w on w.id = k.workspace_id where k.hash = ${hash}`,
      'find-api-key',
    ),
    'read',
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const [id, workspaceId, version, permissions, scope, expiresAt] = row as [
    string,
    string,
    string,
    Permissions,
    string | null,
    string | null,
  ];
  return {
    id,
    workspaceId,
    workspaceVersion: Number(version),
    permissions,
    scope: readScope(scope),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
  };
}

/** What a key or an OAuth client is called, and where it belongs. */
export interface CredentialOwner {
  readonly name: string;
  /** Names of the entities that it reaches; null: all. */
  readonly entities: readonly string[] | null;
  readonly organization: string;
  /** Slug and name of its workspace. */
  readonly slug: string;
  readonly workspaceName: string;
}

/** Whose credential this is; undefined when the key or the client is gone. */
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

/** Notes that keys were used; one statement for all of them. */
export async function touchApiKeys(db: Database, ids: readonly string[]): Promise<void> {
  await db.run(
    toQuery(sql`update wda.api_key set last_used_at = now() where id = any(${ids}::int8[])`, 'touch-api-keys'),
    'write',
  );
}

const OPERATOR_FACT = 'operator_key_hash';

/** SHA-256 (hex) of the operator's key that the first start generated; undefined before that. */
export function loadOperatorHash(db: Database): Promise<string | undefined> {
  return loadFact(db, OPERATOR_FACT);
}

/** Makes the generated key invalid for ever. */
export async function deleteOperatorHash(db: Database): Promise<void> {
  await db.query(toQuery(sql`delete from wda.instance where name = ${OPERATOR_FACT}`));
}

/** Stores the hash unless another process was first; gives the one that is in force. */
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
