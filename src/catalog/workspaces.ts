// Workspaces in the control tables. Their making and their end, which create and drop tables, are in migrate/.
import type { Database, Session } from '../db/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import type { SchemaDocument } from '../model/schema-format.ts';
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

/** Changes what is given; 409 when the slug is taken, undefined when the workspace is gone. */
export async function updateWorkspace(
  db: Database,
  id: string,
  change: { readonly slug?: string | undefined; readonly name?: string | undefined },
): Promise<WorkspaceSummary | undefined> {
  const rows = await db
    .query<WorkspaceSummary>(
      toQuery(sql`with changed as (
  update wda.workspace as w
  set slug = coalesce(${change.slug ?? null}, w.slug), name = coalesce(${change.name ?? null}, w.name), version = w.version + 1
  where w.id = ${id} returning w.*
)
select ${COLUMNS} from changed w join wda.organization o on o.id = w.organization_id`),
    )
    .catch((error) => {
      throw workspaceRefusal(error, change.slug ?? '');
    });
  return rows[0];
}

export function workspaceRefusal(error: unknown, slug: string): Error {
  return violates(error, 'workspace_slug') ? taken(`Workspace ${slug}`, 'slug', error) : controlError(error);
}

/** The row with its document, as a statement of a session; undefined when the workspace is gone. */
export async function loadWorkspaceRow(session: Pick<Session, 'query'>, id: string): Promise<WorkspaceRow | undefined> {
  const rows = await session.query<Omit<WorkspaceRow, 'document'> & { document: string }>(
    toQuery(sql`select w.id, o.slug as organization, w.slug, w.version, w.database_schema as "databaseSchema", w.document::text as document, w.names, w.gates
from ${SOURCE} where w.id = ${id}`),
  );
  const row = rows[0];
  return row === undefined ? undefined : { ...row, document: parseDocument(row.document) };
}

/** Puts another document in force; a statement of the transaction that makes it true. */
export function storeDocument(id: string, document: SchemaDocument, names: PhysicalNames): Fragment {
  return sql`update wda.workspace set document = ${JSON.stringify(document)}::json, names = ${JSON.stringify(names)}::jsonb,
  gates = '{}', version = version + 1 where id = ${id}`;
}

/** Opens and closes the gates of entities; none: all are open. */
export function storeGates(id: string, gates: Readonly<Record<string, MigrationGate>>): Fragment {
  return sql`update wda.workspace set gates = ${JSON.stringify(gates)}::jsonb, version = version + 1
where id = ${id} and gates <> ${JSON.stringify(gates)}::jsonb`;
}

/** The document in force as JSON text, as it was stored; undefined when the workspace is gone. */
export async function loadDocumentText(db: Database, id: string): Promise<string | undefined> {
  const rows = await db.query<{ document: string }>(
    toQuery(sql`select document::text as document from wda.workspace where id = ${id}`),
  );
  return rows[0]?.document;
}
