// Workspaces in the control tables. Their making and their end, which create and drop tables, are in migrate/.
import type { Database, Session } from '../db/pool.ts';
import type { SchemaDocument } from '../document/format.ts';
import { conflict } from '../errors.ts';
import type { MigrationGate } from '../model/entity.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { controlError, taken, violates } from './control-error.ts';
import { parseDocument, type WorkspaceRow } from './load-workspace.ts';
import { loadPage, type PageOf } from './pages.ts';

export interface WorkspaceSummary {
  readonly id: string;
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly databaseSchema: string;
  readonly createdAt: Date;
}

const COLUMNS: Fragment = sql`w.id, o.slug as organization, w.slug, w.name, w.database_schema as "databaseSchema", w.created_at as "createdAt"`;
const SOURCE: Fragment = sql`wda.workspace w join wda.organization o on o.id = w.organization_id`;

export async function findWorkspace(
  db: Database,
  organization: string,
  slug: string,
): Promise<WorkspaceSummary | undefined> {
  const rows = await db.query<WorkspaceSummary>(
    toQuery(sql`select ${COLUMNS} from ${SOURCE} where o.slug = ${organization} and w.slug = ${slug}`),
  );
  return rows[0];
}

/** The workspaces of an organization that exists. */
export function loadWorkspaces(
  db: Database,
  organizationId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<WorkspaceSummary>> {
  return loadPage(db, sql`select ${COLUMNS} from ${SOURCE} where o.id = ${organizationId}`, page);
}

// Slugs that a workspace of an owner may have had: each stays reserved for it.
const MAX_SLUGS = 20;

/**
 * Changes what is given; 409 when the slug is taken, undefined when the workspace is gone. Only the operator may give a
 * workspace the slug that another one had: clients that still call it would send their bodies to somebody else.
 */
export async function updateWorkspace(
  db: Database,
  id: string,
  change: { readonly slug?: string | undefined; readonly name?: string | undefined },
  isOperator: boolean,
): Promise<WorkspaceSummary | undefined> {
  const { slug = null } = change;
  const rows = await db
    .query<WorkspaceSummary>(
      toQuery(sql`with changed as (
  update wda.workspace as w
  set slug = coalesce(${slug}, w.slug), name = coalesce(${change.name ?? null}, w.name)
  where w.id = ${id} and (${isOperator}::bool or ${slug}::text is null or coalesce(
    (select s.workspace_id = w.id from wda.slug_holder s where s.organization_id = w.organization_id and s.slug = ${slug}),
    (select count(*) < ${MAX_SLUGS}::int8 from wda.slug_holder s where s.workspace_id = w.id)))
  returning w.*
)
select ${COLUMNS} from changed w join wda.organization o on o.id = w.organization_id`),
    )
    .catch((error) => {
      throw workspaceRefusal(error, slug ?? '');
    });
  if (rows[0] === undefined && slug !== null && (await loadDocumentText(db, id)) !== undefined) {
    throw conflict(
      `The slug ${slug} is or was another workspace's, or this one has had ${MAX_SLUGS} slugs: only the instance administrator may make this change`,
      [{ field: 'slug', code: 'NOT_UNIQUE', message: 'must be unique: another workspace has or had this value' }],
    );
  }
  return rows[0];
}

export function workspaceRefusal(error: unknown, slug: string): Error {
  return violates(error, 'workspace_slug') ? taken(`Workspace ${slug}`, 'slug', error) : controlError(error);
}

/** Since when a name is nothing any more. */
export interface Freed {
  /** The version of the workspace that first has it so. */
  readonly version: string;
  /** Milliseconds by the clock of the database. */
  readonly at: number;
}

/** Names of tables and columns that were something else lately. */
export interface FreedNames {
  /** By `orders` or `orders.total`. */
  readonly names: Readonly<Record<string, Freed>>;
  /** The last change of any name. */
  readonly changedAt: number;
  readonly now: number;
}

export interface StoredWorkspace extends WorkspaceRow {
  readonly freed: FreedNames;
}

/** The row with its document, as a statement of a session; undefined when the workspace is gone. */
export async function loadWorkspaceRow(
  session: Pick<Session, 'query'>,
  id: string,
): Promise<StoredWorkspace | undefined> {
  const rows = await session.query<
    Omit<WorkspaceRow, 'document'> & { document: string; freed: Readonly<Record<string, Freed>>; now: number }
  >(
    toQuery(sql`select w.id, o.slug as organization, w.slug, w.version, w.database_schema as "databaseSchema", w.document::text as document, w.names, w.gates,
  w.freed, ${NOW} as now
from ${SOURCE} where w.id = ${id}`),
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { [LAST_CHANGE]: last, ...names } = row.freed;
  return { ...row, document: parseDocument(row.document), freed: { names, changedAt: last?.at ?? 0, now: row.now } };
}

const NOW: Fragment = sql`(extract(epoch from clock_timestamp()) * 1000)::float8`;
// Beside the names, and no name itself.
const LAST_CHANGE = '';
// Longer than the longest of requests.
const FREED_KEPT_MS = 86_400_000;

/** `freed` with further names, without those that everybody has forgotten. The next version is at least one higher. */
const freedWith = (keys: readonly string[]): Fragment => sql`(select jsonb_object_agg(f.key, f.since) from (
    select e.key, e.value as since from jsonb_each(freed) e
    where (e.value ->> 'at')::float8 > ${NOW} - ${FREED_KEPT_MS}::float8 and e.key <> all(${[...keys, LAST_CHANGE]}::text[])
    union all select k, jsonb_build_object('version', (version + 1)::text, 'at', ${NOW}) from unnest(${[...keys, LAST_CHANGE]}::text[]) k
  ) f)`;

/** Puts another document in force; a statement of the transaction that makes it true. `freed`: names that nothing has now. */
export function storeDocument(
  id: string,
  document: SchemaDocument,
  names: PhysicalNames,
  freed: readonly string[],
): Fragment {
  return sql`update wda.workspace set document = ${JSON.stringify(document)}::json, names = ${JSON.stringify(names)}::jsonb,
  freed = ${freedWith(freed)}, gates = '{}' where id = ${id}`;
}

/** The same document under other names in PostgreSQL. */
export function storeNames(id: string, names: PhysicalNames, freed: readonly string[]): Fragment {
  return sql`update wda.workspace set names = ${JSON.stringify(names)}::jsonb, freed = ${freedWith(freed)}
where id = ${id}`;
}

/** Some of the workspaces whose names in PostgreSQL are not those of their documents. */
export async function loadUnsettledWorkspaces(db: Database, limit: number): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    toQuery(
      sql`select id from wda.workspace where names <> '{"tables": {}, "columns": {}}' order by random() limit ${limit}`,
    ),
  );
  return rows.map(({ id }) => id);
}

/** Opens and closes the gates of entities; none: all are open. */
export function storeGates(id: string, gates: Readonly<Record<string, MigrationGate>>): Fragment {
  return sql`update wda.workspace set gates = ${JSON.stringify(gates)}::jsonb
where id = ${id} and gates <> ${JSON.stringify(gates)}::jsonb`;
}

/** The document in force as JSON text, as it was stored, and the names in PostgreSQL that are not its own. */
export async function loadDocumentText(
  db: Database,
  id: string,
): Promise<{ readonly document: string; readonly names: PhysicalNames } | undefined> {
  const rows = await db.query<{ document: string; names: PhysicalNames }>(
    toQuery(sql`select document::text as document, names from wda.workspace where id = ${id}`),
  );
  return rows[0];
}
