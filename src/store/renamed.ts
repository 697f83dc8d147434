// Looks up the workspaces that had a slug before they were renamed, for requests that are redirected.
import type { Database, Session } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { SlugLookup } from './slug-lookup.ts';
import { WORKSPACES } from './workspaces.ts';

export interface Renamed {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  /** Its present slug. */
  readonly slug: string;
}

/** Returns the workspace whose former slug redirects, or undefined if there is none. */
export type FindRenamed = SlugLookup<Renamed | undefined>;

/** Loads the workspace that had the slug, while it redirects. */
export async function loadRenamed(
  db: Pick<Database, 'query'>,
  organization: string,
  slug: string,
): Promise<Renamed | undefined> {
  const rows = await db.query<Renamed>(
    toQuery(
      sql`select w.id::text, o.id::text as "organizationId", o.slug as organization, w.slug from ${WORKSPACES} join wda.slug_holder h on h.workspace_id = w.id
where o.slug = ${organization} and h.organization_id = o.id and h.slug = ${slug} and h.redirect_until > now() and w.slug <> h.slug`,
      'load-renamed',
    ),
  );
  return rows[0];
}

/** Redirects the former slug of a workspace for some days, in the transaction that has given it another one. */
export async function redirectSlug(
  session: Pick<Session, 'query'>,
  workspaceId: string,
  slug: string,
  days: number,
): Promise<void> {
  await session.query(
    toQuery(sql`update wda.slug_holder set redirect_until = now() + make_interval(days => ${String(days)}::int4)
where workspace_id = ${workspaceId}::bigint and slug = ${slug}`),
  );
}
