// Organizations in the control tables.
import type { Database, Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { StoredLimits } from '../model/limits.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { isViolation, makeNameConflict, toControlError } from './control-error.ts';
import { loadPage, type PageOf } from './pages.ts';
import type { LimitChange } from './workspaces.ts';

export interface Organization {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Limits of its workspaces that have none of their own. */
  readonly limits: StoredLimits;
  readonly createdAt: Date;
}

const COLUMNS: Fragment = sql`o.id, o.slug, o.name, o.limits, o.created_at as "createdAt"`;

/** Creates an organization; 409 when the slug is in use. */
export async function createOrganization(
  db: Pick<Session, 'query'>,
  {
    slug,
    name,
    limits = {},
  }: { readonly slug: string; readonly name: string; readonly limits?: LimitChange | undefined },
): Promise<Organization> {
  const rows = await db
    .query<Organization>(
      toQuery(sql`insert into wda.organization as o (slug, name, limits)
values (${slug}, ${name}, jsonb_strip_nulls(${JSON.stringify(limits)}::jsonb)) returning ${COLUMNS}`),
    )
    .catch((error) => {
      throw toOrganizationError(error, slug);
    });
  return rows[0] as Organization;
}

export async function findOrganization(db: Database, slug: string): Promise<Organization | undefined> {
  const rows = await db.query<Organization>(
    toQuery(sql`select ${COLUMNS} from wda.organization o where o.slug = ${slug}`),
  );
  return rows[0];
}

const MAX_NAMES = 1000;

/** Returns the slugs of at most 1,000 organizations, for suggestions. */
export async function loadOrganizationNames(db: Database): Promise<readonly string[]> {
  const rows = await db.query<{ slug: string }>(
    toQuery(sql`select o.slug from wda.organization o order by o.id limit ${MAX_NAMES}`),
  );
  return rows.map(({ slug }) => slug);
}

/** Returns the organization if it owns the workspace. */
export async function findOwningOrganization(
  db: Database,
  slug: string,
  workspaceId: string,
): Promise<Organization | undefined> {
  const rows = await db.query<Organization>(
    toQuery(sql`select ${COLUMNS} from wda.organization o
join wda.workspace w on w.organization_id = o.id where o.slug = ${slug} and w.id = ${workspaceId}`),
  );
  return rows[0];
}

export function loadOrganizations(
  db: Database,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Organization>> {
  return loadPage(db, sql`select ${COLUMNS} from wda.organization o`, page);
}

/**
 * Changes the given members; the snapshots of all its workspaces are then replaced. Undefined if the organization does
 * not exist.
 */
export async function updateOrganization(
  db: Pick<Session, 'query'>,
  slug: string,
  change: {
    readonly slug?: string | undefined;
    readonly name?: string | undefined;
    /** Null: no limit. */
    readonly limits?: LimitChange | undefined;
  },
): Promise<{ readonly organization: Organization; readonly workspaceIds: readonly string[] } | undefined> {
  const rows = await db
    .query<Organization & { workspaceIds: string[] }>(
      toQuery(sql`with changed as (
  update wda.organization as o set slug = coalesce(${change.slug ?? null}, o.slug), name = coalesce(${change.name ?? null}, o.name),
    limits = jsonb_strip_nulls(o.limits || ${JSON.stringify(change.limits ?? {})}::jsonb)
  where o.slug = ${slug} returning ${COLUMNS}
)
select changed.*, array(select w.id::text from wda.workspace w where w.organization_id = changed.id) as "workspaceIds"
from changed`),
    )
    .catch((error) => {
      throw toOrganizationError(error, change.slug ?? slug);
    });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { workspaceIds, ...organization } = row;
  return { organization, workspaceIds };
}

/** Deletes an organization; false if it does not exist; 409 while it has workspaces. */
export async function deleteOrganization(db: Pick<Session, 'query'>, slug: string): Promise<boolean> {
  const rows = await db
    .query(toQuery(sql`delete from wda.organization o where o.slug = ${slug} returning o.id`))
    .catch((error) => {
      throw toOrganizationError(error, slug);
    });
  return rows.length > 0;
}

function toOrganizationError(error: unknown, slug: string): Error {
  if (isViolation(error, 'organization_slug')) return makeNameConflict(`Organization ${slug}`, 'slug', error);
  if (isViolation(error, 'workspace_organization')) {
    return conflict(
      'ORGANIZATION_NOT_EMPTY',
      `Organization ${slug} still has workspaces: delete them first`,
      undefined,
      error,
    );
  }
  return toControlError(error);
}
