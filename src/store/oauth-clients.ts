// OAuth clients of a workspace in the control tables: create, list, delete, and look up for tokens.
import type { Database, Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { KeyGrants, KeyPermissions, Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { readGrants } from './credentials.ts';
import { loadPage, type PageOf } from './pages.ts';
import { readScope, scopeNames, scopeText } from './scopes.ts';

export interface OAuthClient {
  readonly clientId: string;
  readonly name: string;
  readonly permissions: KeyPermissions;
  /** JSON of the roles and claims, with the permissions GRANTS; numbers keep their digits. */
  readonly grants: string | null;
  /** Names of the entities that the client may access; null for all. */
  readonly entities: readonly string[] | null;
  readonly createdAt: Date;
}

export interface OAuthClientToStore {
  readonly workspaceId: string;
  readonly clientId: string;
  readonly name: string;
  readonly permissions: KeyPermissions;
  /** Roles and claims, with the permissions GRANTS. */
  readonly grants: KeyGrants | null;
  readonly scope: Scope;
  /** SHA-256 of the secret. */
  readonly secretHash: Buffer;
}

const COLUMNS: Fragment = sql`c.id, c.client_id as "clientId", c.name, c.permissions, c.grants::text as grants, ${scopeNames(sql`c`)}, c.created_at as "createdAt"`;

// Limit for each workspace.
const MAX_CLIENTS = 1000;

/** Creates a client; undefined if the workspace does not exist; 409 when it has the maximum number of clients. */
export async function createOAuthClient(
  db: Pick<Session, 'query'>,
  client: OAuthClientToStore,
): Promise<OAuthClient | undefined> {
  const rows = await db.query<OAuthClient>(
    toQuery(sql`with held as (
  select id from wda.workspace where id = ${client.workspaceId} for key share
)
insert into wda.oauth_client as c (workspace_id, client_id, name, permissions, grants, entities, secret_hash)
select held.id, ${client.clientId}, ${client.name}, ${client.permissions}, ${client.grants === null ? null : JSON.stringify(client.grants)}::json, ${client.scope}::bigint[], ${client.secretHash} from held
where (select count(*) from wda.oauth_client o where o.workspace_id = held.id) < ${MAX_CLIENTS}::int8
returning ${COLUMNS}`),
  );
  if (rows[0] === undefined && (await loadOAuthClients(db, client.workspaceId, { page: 0, size: 1 })).total > 0) {
    throw conflict('TOO_MANY_CREDENTIALS', `A workspace has at most ${MAX_CLIENTS} OAuth clients: delete one first`);
  }
  return rows[0];
}

export function loadOAuthClients(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<OAuthClient>> {
  return loadPage(db, sql`select ${COLUMNS} from wda.oauth_client c where c.workspace_id = ${workspaceId}`, page);
}

/**
 * Deletes a client and returns its name, or undefined if there is none. The workspace's new version invalidates every
 * cached decision on its tokens.
 */
export async function deleteOAuthClient(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  clientId: string,
): Promise<string | undefined> {
  const rows = await db.query<{ name: string }>(
    toQuery(
      sql`delete from wda.oauth_client where client_id = ${clientId} and workspace_id = ${workspaceId} returning name`,
    ),
  );
  return rows[0]?.name;
}

/** A client that requests a token. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly workspaceId: string;
  /** Slugs of organization and workspace. */
  readonly organization: string;
  readonly workspace: string;
  /** SHA-256 of the secret, hex. */
  readonly secretHash: string;
}

export async function findOAuthClient(db: Database, clientId: string): Promise<RegisteredClient | undefined> {
  const rows = await db.run(
    toQuery(
      sql`select c.client_id, c.workspace_id, o.slug, w.slug, encode(c.secret_hash, 'hex') from wda.oauth_client c
join wda.workspace w on w.id = c.workspace_id join wda.organization o on o.id = w.organization_id
where c.client_id = ${clientId}`,
      'find-oauth-client',
    ),
    'read',
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const [id, workspaceId, organization, workspace, secretHash] = row as [string, string, string, string, string];
  return { clientId: id, workspaceId, organization, workspace, secretHash };
}

/** A client that uses a token. */
export interface TokenClient {
  readonly workspaceId: string;
  readonly permissions: KeyPermissions;
  /** Roles and claims, with the permissions GRANTS. */
  readonly grants: KeyGrants | null;
  readonly scope: Scope;
  /** Version of the workspace when the client was read; with a later version it must be read again. */
  readonly workspaceVersion: number;
}

/** Returns the client of a token, as long as it and the key that signed the token exist. */
export const findTokenClient = (db: Database, clientId: string, kid: string): Promise<TokenClient | undefined> =>
  findClientWhere(
    db,
    sql`c.client_id = ${clientId} and exists (select from wda.signing_key k where k.kid = ${kid})`,
    'find-token-client',
  );

/** Returns the client with this id, without a token. */
export const findClientById = (db: Database, clientId: string): Promise<TokenClient | undefined> =>
  findClientWhere(db, sql`c.client_id = ${clientId}`, 'find-client-by-id');

async function findClientWhere(db: Database, condition: Fragment, name: string): Promise<TokenClient | undefined> {
  const rows = await db.run(
    toQuery(
      sql`select c.workspace_id, w.version, c.permissions, c.grants::text, ${scopeText(sql`c`)} from wda.oauth_client c join wda.workspace w on w.id = c.workspace_id
where ${condition}`,
      name,
    ),
    'read',
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const [workspaceId, version, permissions, grants, scope] = row as [
    string,
    string,
    KeyPermissions,
    string | null,
    string | null,
  ];
  return {
    workspaceId,
    workspaceVersion: Number(version),
    permissions,
    grants: readGrants(grants),
    scope: readScope(scope),
  };
}
