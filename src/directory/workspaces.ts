// Which workspaces there are: whose, under which slugs, and where their tables lie. What they hold is in catalog/; their
// making and their end, which create and drop tables, are in migrate/.
import type { Database } from '../db/pool.ts';
import { conflict } from '../errors.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { controlError, taken, violates } from './control-error.ts';
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

/** The workspaces of an organization that exists. */
export function loadWorkspaces(
  db: Database,
  organizationId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<WorkspaceSummary>> {
  return loadPage(db, sql`select ${COLUMNS} from ${WORKSPACES} where o.id = ${organizationId}`, page);
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
  if (rows[0] === undefined && slug !== null && (await exists(db, id))) {
    throw conflict(
      `The slug ${slug} is or was another workspace's, or this one has had ${MAX_SLUGS} slugs: only the instance administrator may make this change`,
      [{ field: 'slug', code: 'NOT_UNIQUE', message: 'must be unique: another workspace has or had this value' }],
    );
  }
  return rows[0];
}

async function exists(db: Database, id: string): Promise<boolean> {
  return (await db.query(toQuery(sql`select from wda.workspace where id = ${id}`))).length > 0;
}

export function workspaceRefusal(error: unknown, slug: string): Error {
  return violates(error, 'workspace_slug') ? taken(`Workspace ${slug}`, 'slug', error) : controlError(error);
}
