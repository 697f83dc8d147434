// Identity provider of a workspace in the control tables: configuration, and search by issuer. Snapshots contain it
// (load-workspace.ts).
import type { Database, Session } from '../database/pool.ts';
import type { Claims } from '../model/claim.ts';
import { parseExact } from '../model/exact-json.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import { type Fragment, join, sql, toQuery } from '../sql/fragment.ts';

/** A workspace whose provider may have issued a token. */
export interface WorkspaceProvider {
  readonly id: string;
  readonly version: string;
  readonly identityProvider: IdentityProvider;
}

const COLUMNS: Fragment = sql`p.issuer_url as "issuerUrl", p.jwks_uri as "jwksUri", p.audience,
  p.default_permissions as "defaultPermissions", p.enabled, p.role_claim as "roleClaim",
  p.required_claims::text as "requiredClaims"`;

/** Row of COLUMNS. */
type ProviderRow = Omit<IdentityProvider, 'requiredClaims'> & { readonly requiredClaims: string | null };

const toProvider = ({ requiredClaims, ...members }: ProviderRow): IdentityProvider => ({
  ...members,
  requiredClaims: parseRequiredClaims(requiredClaims),
});

/** Parses the stored JSON text: numbers with all digits. */
export const parseRequiredClaims = (text: string | null | undefined): Claims | null =>
  text === null || text === undefined ? null : (parseExact(text) as Claims);

const formatRequiredClaims = (claims: Claims | null): string | null =>
  claims === null ? null : JSON.stringify(claims);

type Queryable = Pick<Session, 'query'>;

/** Locks the configuration until the end of the transaction, also when there is no row yet. */
export async function lockIdentityProvider(
  session: Queryable,
  workspaceId: string,
): Promise<IdentityProvider | undefined> {
  await session.query(toQuery(sql`select from wda.workspace where id = ${workspaceId} for no key update`));
  return findIdentityProvider(session, workspaceId);
}

export async function findIdentityProvider(db: Queryable, workspaceId: string): Promise<IdentityProvider | undefined> {
  const rows = await db.query<ProviderRow>(
    toQuery(sql`select ${COLUMNS} from wda.identity_provider p where p.workspace_id = ${workspaceId}`),
  );
  return rows.map(toProvider)[0];
}

/** Replaces the whole configuration; undefined if the workspace does not exist. */
export async function putIdentityProvider(
  db: Queryable,
  workspaceId: string,
  provider: IdentityProvider,
): Promise<IdentityProvider | undefined> {
  const { issuerUrl, jwksUri, audience, defaultPermissions, enabled, roleClaim, requiredClaims } = provider;
  const rows = await db.query<ProviderRow>(
    toQuery(sql`with held as (
  select id from wda.workspace where id = ${workspaceId} for no key update
)
insert into wda.identity_provider as p (workspace_id, issuer_url, jwks_uri, audience, default_permissions, enabled, role_claim, required_claims)
select held.id, ${issuerUrl}, ${jwksUri}, ${audience}, ${defaultPermissions}, ${enabled}, ${roleClaim}, ${formatRequiredClaims(requiredClaims)}::json from held
on conflict (workspace_id) do update set
  issuer_url = excluded.issuer_url, jwks_uri = excluded.jwks_uri, audience = excluded.audience,
  default_permissions = excluded.default_permissions, enabled = excluded.enabled,
  role_claim = excluded.role_claim, required_claims = excluded.required_claims, updated_at = now()
returning ${COLUMNS}`),
  );
  return rows.map(toProvider)[0];
}

/** Changes the given members of the configuration; undefined if there is none. */
export async function updateIdentityProvider(
  db: Queryable,
  workspaceId: string,
  change: Partial<Omit<IdentityProvider, 'issuerUrl'>>,
): Promise<IdentityProvider | undefined> {
  const { jwksUri, audience, defaultPermissions, enabled, roleClaim, requiredClaims } = change;
  const changes = [
    sql`updated_at = now()`,
    ...(jwksUri === undefined ? [] : [sql`jwks_uri = ${jwksUri}`]),
    ...(audience === undefined ? [] : [sql`audience = ${audience}`]),
    ...(defaultPermissions === undefined ? [] : [sql`default_permissions = ${defaultPermissions}`]),
    ...(enabled === undefined ? [] : [sql`enabled = ${enabled}`]),
    ...(roleClaim === undefined ? [] : [sql`role_claim = ${roleClaim}`]),
    ...(requiredClaims === undefined ? [] : [sql`required_claims = ${formatRequiredClaims(requiredClaims)}::json`]),
  ];
  const rows = await db.query<ProviderRow>(
    toQuery(sql`update wda.identity_provider as p set ${join(changes)} where workspace_id = ${workspaceId}
returning ${COLUMNS}`),
  );
  return rows.map(toProvider)[0];
}

/** Deletes the configuration; returns false if there is none. */
export async function deleteIdentityProvider(db: Queryable, workspaceId: string): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`delete from wda.identity_provider where workspace_id = ${workspaceId} returning workspace_id`),
  );
  return rows.length > 0;
}

// Limit of different configurations that a token is tried with. Workspaces that share an issuer mostly share all of it.
const MAX_CONFIGURATIONS = 20;

// Most names of a warning.
const MAX_NAMES = 10;

/**
 * Returns the names (`acme/shop`) of other workspaces, ten at most, whose users' tokens are valid in the workspace, and the
 * other way round: their enabled provider has its issuer and audience, and neither requires claims.
 */
export async function findTwins(db: Queryable, workspaceId: string): Promise<readonly string[]> {
  const rows = await db.query<{ name: string }>(
    toQuery(sql`select o.slug || '/' || w.slug as name
from wda.identity_provider own join wda.identity_provider p
  on p.issuer_url = own.issuer_url and p.audience is not distinct from own.audience and p.workspace_id <> own.workspace_id
join wda.workspace w on w.id = p.workspace_id join wda.organization o on o.id = w.organization_id
where own.workspace_id = ${workspaceId} and own.enabled and p.enabled
  and own.required_claims is null and p.required_claims is null
order by w.id limit ${MAX_NAMES}`),
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns the enabled providers with this issuer, one workspace for each configuration, without required claims: these
 * say which workspace a token is for, and the admin API refuses users of all of them.
 */
export async function findProvidersByIssuer(db: Database, issuerUrl: string): Promise<readonly WorkspaceProvider[]> {
  const rows = await db.run(
    toQuery(
      sql`select distinct on (p.jwks_uri, p.audience)
  w.id::text, w.version::text, p.issuer_url, p.jwks_uri, p.audience, p.default_permissions
from wda.identity_provider p join wda.workspace w on w.id = p.workspace_id
where p.enabled and p.issuer_url = ${issuerUrl}
order by p.jwks_uri, p.audience, w.id limit ${MAX_CONFIGURATIONS}`,
      'find-providers-by-issuer',
    ),
    'read',
  );
  return rows.map(([id, version, issuer, jwksUri, audience, defaultPermissions]) => ({
    id: id as string,
    version: version as string,
    identityProvider: {
      issuerUrl: issuer as string,
      jwksUri: jwksUri ?? null,
      audience: audience ?? null,
      defaultPermissions: defaultPermissions as IdentityProvider['defaultPermissions'],
      enabled: true,
      roleClaim: null,
      requiredClaims: null,
    },
  }));
}
