// Workspaces in the directory: their organizations, slugs, the place of their tables, and their settings for agents.
// documents.ts has their documents; migrations/workspace.ts creates and deletes them, together with their tables.

import type { NodeStatus } from '../database/executor.ts';
import type { Database, Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import { type AgentSettings, DEFAULT_AGENT_SETTINGS } from '../model/agent-settings.ts';
import { closest } from '../model/closest.ts';
import type { LimitName, StoredLimits } from '../model/limits.ts';
import { databaseSchemaName } from '../model/physical-name.ts';
import type { WorkspaceState } from '../model/workspace.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { ChangedWorkspace, LoadChangedWorkspaces } from '../workspace-schema/change-retention.ts';
import { isViolation, makeNameConflict, toOperatorError } from './control-error.ts';
import type { Databases } from './databases.ts';
import { loadPage, type PageOf } from './pages.ts';

export interface WorkspaceSummary {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly databaseSchema: string;
  readonly createdAt: Date;
  readonly state: WorkspaceState;
  /** Limits of its own. */
  readonly limits: StoredLimits;
  /** Origins whose pages may use it, or null for those of the server. */
  readonly corsOrigins: readonly string[] | null;
  /** The shared schema that it follows, or null if its document is its own. */
  readonly follows: Follows | null;
}

/** The version of a shared schema that a workspace has. */
export interface Follows {
  readonly schemaId: string;
  /** Name of the shared schema. */
  readonly schema: string;
  readonly version: number;
}

/** Selects `follows` of the workspace `w`. */
export const FOLLOWS: Fragment = sql`(select json_build_object('schemaId', s.id::text, 'schema', s.name, 'version', w.shared_schema_version)
  from wda.shared_schema s where s.id = w.shared_schema_id) as follows`;

const COLUMNS: Fragment = sql`w.id, o.id as "organizationId", o.slug as organization, w.slug, w.name, w.database_schema as "databaseSchema", w.created_at as "createdAt", w.state, w.cors_origins as "corsOrigins", w.limits, ${FOLLOWS}`;
/** The directory's rows of workspaces, with those of their organizations: `w` and `o`. */
export const WORKSPACES: Fragment = sql`wda.workspace w join wda.organization o on o.id = w.organization_id`;

export async function findWorkspace(
  db: Database,
  organization: string,
  slug: string,
): Promise<WorkspaceSummary | undefined> {
  const rows = await db.query<WorkspaceSummary>(
    toQuery(sql`select ${COLUMNS} from ${WORKSPACES} where o.slug = ${organization} and w.slug = ${slug}`),
  );
  return rows[0];
}

/** Changes of limits: what is missing keeps its value, null removes it. */
export type LimitChange = Partial<Readonly<Record<LimitName, number | null>>>;

const MAX_NAMES = 1000;

/**
 * Returns the name (`acme/shop`) of the workspace that was probably meant, or null: one of the organization with a similar
 * slug, or one with this slug in an organization with a similar one. Compares 1,000 workspaces at most.
 */
export async function suggestWorkspace(db: Database, organization: string, slug: string): Promise<string | null> {
  const rows = await db.query<{ organization: string; slug: string }>(
    toQuery(sql`select o.slug as organization, w.slug from ${WORKSPACES}
where o.slug = ${organization} or w.slug = ${slug} order by w.id limit ${MAX_NAMES}`),
  );
  const slugs = rows.flatMap((row) => (row.organization === organization ? [row.slug] : []));
  const similar = closest(slug, slugs);
  if (similar !== null) return `${organization}/${similar}`;
  const organizations = rows.flatMap((row) => (row.slug === slug ? [row.organization] : []));
  const other = closest(organization, organizations);
  return other === null ? null : `${other}/${slug}`;
}

/** Returns a workspace by its id. */
export async function findWorkspaceById(db: Database, id: string): Promise<WorkspaceSummary | undefined> {
  const rows = await db.query<WorkspaceSummary>(toQuery(sql`select ${COLUMNS} from ${WORKSPACES} where w.id = ${id}`));
  return rows[0];
}

/** Loads the workspaces of an existing organization; with `follows`, those that follow the shared schema of this name. */
export function loadWorkspaces(
  db: Database,
  organizationId: string,
  follows: string | undefined,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<WorkspaceSummary>> {
  const condition =
    follows === undefined
      ? sql`true`
      : sql`w.shared_schema_id = (select id from wda.shared_schema where organization_id = ${organizationId} and name = ${follows})`;
  return loadPage(db, sql`select ${COLUMNS} from ${WORKSPACES} where o.id = ${organizationId} and ${condition}`, page);
}

/** Loads the workspaces of all organizations; with `search`, those that have it in `organization/slug` or their name. */
export function searchWorkspaces(
  db: Database,
  search: string | undefined,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<WorkspaceSummary>> {
  const condition =
    search === undefined
      ? sql`true`
      : sql`strpos(lower(o.slug || '/' || w.slug), lower(${search}::text)) > 0 or strpos(lower(w.name), lower(${search}::text)) > 0`;
  return loadPage(db, sql`select ${COLUMNS} from ${WORKSPACES} where ${condition}`, page);
}

/**
 * Inserts the row of a new workspace with its document, as JSON text, and the name of its PostgreSQL schema; undefined
 * if the organization does not exist. For a transaction that creates the tables.
 */
export async function insertWorkspace(
  session: Pick<Session, 'query'>,
  organization: string,
  workspace: {
    readonly slug: string;
    readonly name: string;
    readonly document: string;
    readonly limits?: LimitChange | undefined;
    readonly follows?: Follows | null;
  },
): Promise<WorkspaceSummary | undefined> {
  const { slug, name, document, limits = {}, follows = null } = workspace;
  const [next] = await session.query<{ id: string }>(
    toQuery(sql`select nextval(pg_get_serial_sequence('wda.workspace', 'id')) as id`),
  );
  const { id } = next as { id: string };
  const databaseSchema = databaseSchemaName(id, slug);
  const [row] = await session.query<{ createdAt: Date; organizationId: string; limits: StoredLimits }>(
    toQuery(sql`insert into wda.workspace (id, organization_id, slug, name, database_schema, document, limits, entity_ids, shared_schema_id, shared_schema_version)
overriding system value
select ${id}::bigint, o.id, ${slug}, ${name}, ${databaseSchema}, ${document}::json,
  jsonb_strip_nulls(${JSON.stringify(limits)}::jsonb),
  wda.entity_ids('{}', e.names, e.names), ${follows?.schemaId ?? null}::bigint, ${follows?.version ?? null}::int4
from (select array(select json_object_keys(${document}::json -> 'entities')) as names) e, wda.organization o where o.slug = ${organization}
returning created_at as "createdAt", organization_id as "organizationId", limits`),
  );
  return (
    row && {
      ...row,
      id,
      organization,
      slug,
      name,
      databaseSchema,
      state: 'active',
      corsOrigins: null,
      follows,
    }
  );
}

/** Deletes the row with all rows that reference it, for a transaction that drops the tables. */
export async function deleteWorkspaceRow(session: Pick<Session, 'query'>, id: string): Promise<void> {
  await session.query(
    toQuery(sql`with gone as (delete from wda.workspace where id = ${id} returning database_schema)
delete from wda.installed where schema in (select database_schema from gone)`),
  );
}

// Limit of the slugs of a workspace, former ones included: each stays reserved for it.
const MAX_SLUGS = 20;

/**
 * Changes the given members; 409 when the slug is in use, undefined if the workspace does not exist. Only the operator
 * may give a workspace the former slug of another one: clients that still use it would send their bodies to the wrong
 * workspace.
 */
export async function updateWorkspace(
  db: Pick<Session, 'query'>,
  id: string,
  change: {
    readonly slug?: string | undefined;
    readonly name?: string | undefined;
    readonly corsOrigins?: readonly string[] | null | undefined;
    readonly state?: WorkspaceState | undefined;
    /** Null: that of the organization. */
    readonly limits?: LimitChange | undefined;
  },
  isOperator: boolean,
): Promise<WorkspaceSummary | undefined> {
  const { slug = null, corsOrigins } = change;
  const origins = corsOrigins === undefined || corsOrigins === null ? null : JSON.stringify(corsOrigins);
  const rows = await db
    .query<WorkspaceSummary>(
      toQuery(sql`with changed as (
  update wda.workspace as w
  set slug = coalesce(${slug}, w.slug), name = coalesce(${change.name ?? null}, w.name),
    cors_origins = case when ${corsOrigins === undefined}::bool then w.cors_origins else ${origins}::json end,
    state = coalesce(${change.state ?? null}, w.state),
    limits = jsonb_strip_nulls(w.limits || ${JSON.stringify(change.limits ?? {})}::jsonb)
  where w.id = ${id} and (${isOperator}::bool or ${slug}::text is null or coalesce(
    (select s.workspace_id = w.id from wda.slug_holder s where s.organization_id = w.organization_id and s.slug = ${slug}),
    (select count(*) < ${MAX_SLUGS}::int8 from wda.slug_holder s where s.workspace_id = w.id)))
  returning w.*
)
select ${COLUMNS} from changed w join wda.organization o on o.id = w.organization_id`),
    )
    .catch((error) => {
      throw toWorkspaceError(error, slug ?? '');
    });
  if (rows[0] === undefined && slug !== null && (await exists(db, id))) {
    throw conflict(
      'SLUG_RESERVED',
      `The slug ${slug} is or was another workspace's, or this one has had ${MAX_SLUGS} slugs: only the operator may make this change`,
      [{ field: 'slug', code: 'NOT_UNIQUE', message: 'must be unique: another workspace has or had this value' }],
    );
  }
  return rows[0];
}

async function exists(db: Pick<Session, 'query'>, id: string): Promise<boolean> {
  return (await db.query(toQuery(sql`select from wda.workspace where id = ${id}`))).length > 0;
}

export function toWorkspaceError(error: unknown, slug: string): Error {
  return isViolation(error, 'workspace_slug')
    ? makeNameConflict(`Workspace ${slug}`, 'slug', error)
    : toOperatorError(error);
}

/**
 * Returns the node, or undefined for a workspace in the database itself and for one that does not exist. Sends nothing
 * to a node.
 */
export async function findNode(databases: Databases, id: string): Promise<NodeStatus | undefined> {
  const [row] = await databases
    .forWorkspace({ id })
    .query<{ schema: string }>(
      toQuery(sql`select database_schema as schema from wda.workspace where id = ${id}::bigint`),
    );
  const placement = row === undefined ? undefined : await databases.topology.locate(row.schema);
  return databases.topology.getNode({ placement: placement ?? null });
}

/** Loads the settings in force: the defaults where no row is stored. */
export async function loadAgentSettings(db: Database, workspaceId: string): Promise<AgentSettings> {
  const rows = await db.query<AgentSettings>(
    toQuery(sql`select enabled, writes, entities from wda.agent_settings where workspace_id = ${workspaceId}`),
  );
  return rows[0] ?? DEFAULT_AGENT_SETTINGS;
}

/** Stores the settings; returns false if the workspace does not exist. */
export async function putAgentSettings(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  { enabled, writes, entities }: AgentSettings,
): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`insert into wda.agent_settings (workspace_id, enabled, writes, entities)
select w.id, ${enabled}::boolean, ${writes}, ${entities}::bigint[] from wda.workspace w where w.id = ${workspaceId} for key share
on conflict (workspace_id) do update set enabled = excluded.enabled, writes = excluded.writes, entities = excluded.entities
returning workspace_id`),
  );
  return rows.length > 0;
}

/** Loads the workspaces that keep changes of records, or have kept some, in the order of their ids. */
export const makeLoadChangedWorkspaces =
  (db: Database): LoadChangedWorkspaces =>
  (after, limit) =>
    db.query<ChangedWorkspace>(
      toQuery(sql`select w.id::text, w.database_schema as schema from wda.workspace w
where w.id > ${after}::int8 and exists (select from wda.installed i where i.schema = w.database_schema and i.folder = 'changes')
order by w.id limit ${String(limit)}::int8`),
    );
