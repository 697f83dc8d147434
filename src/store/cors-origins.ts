// Looks up the origins that a workspace allows, for requests without a credential: as little is read for a workspace that
// does not exist as for one that does, so that the time of an answer does not tell.
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { SlugLookup } from './slug-lookup.ts';
import { WORKSPACES } from './workspaces.ts';

/** Origins of a workspace; null: those of the server, as for a workspace that does not exist. */
export type FindCorsOrigins = SlugLookup<readonly string[] | null>;

/** Loads the origins by the slug, present or former: the table of slugs has both, so no other workspace is read. */
export async function loadCorsOrigins(db: Database, organization: string, slug: string) {
  const [row] = await db.query<{ origins: readonly string[] | null }>(
    toQuery(
      sql`select w.cors_origins as origins from ${WORKSPACES} join wda.slug_holder h on h.organization_id = o.id and h.workspace_id = w.id
where o.slug = ${organization} and h.slug = ${slug} and (w.slug = h.slug or h.redirect_until > now())`,
      'load-cors-origins',
    ),
  );
  return row?.origins ?? null;
}
