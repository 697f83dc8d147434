// Looks up the origins that a workspace allows, for requests without a credential: as little is read for a workspace that
// does not exist as for one that does, so that the time of an answer does not tell.
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { ProcessRegistry } from './process-registry.ts';
import { WORKSPACES } from './workspaces.ts';

/** Origins of a workspace; null: those of the server, as for a workspace that does not exist. */
export type FindCorsOrigins = (organization: string, slug: string) => Promise<readonly string[] | null>;

export interface CorsOriginsOptions {
  readonly load: FindCorsOrigins;
  readonly validFrom: ProcessRegistry['validFrom'];
  /** Monotonic milliseconds, on the clock of the registry. */
  readonly now: () => number;
}

// Workspaces and origins in memory, which have some 100 bytes each.
const MAX_ENTRIES = 20_000;

/** Makes the lookup, which keeps what it has read for as long as the registry allows. */
export function makeFindCorsOrigins({ load, validFrom, now }: CorsOriginsOptions): FindCorsOrigins {
  const entries = new LRUCache<string, { readonly origins: readonly string[] | null; readonly asOf: number }>({
    maxSize: MAX_ENTRIES,
    sizeCalculation: ({ origins }) => (origins?.length ?? 0) + 1,
  });
  return async (organization, slug) => {
    const asOf = now();
    const key = `${organization}/${slug}`;
    const entry = entries.get(key);
    if (entry !== undefined && entry.asOf >= validFrom(asOf)) return entry.origins;
    const origins = await load(organization, slug);
    entries.set(key, { origins, asOf });
    return origins;
  };
}

export async function loadCorsOrigins(db: Database, organization: string, slug: string) {
  const [row] = await db.query<{ origins: readonly string[] | null }>(
    toQuery(
      sql`select w.cors_origins as origins from ${WORKSPACES} left join wda.slug_holder h
  on h.organization_id = o.id and h.slug = ${slug} and h.workspace_id = w.id and h.redirect_until > now()
where o.slug = ${organization} and (w.slug = ${slug} or h.slug is not null) order by w.slug = ${slug} desc limit 1`,
      'load-cors-origins',
    ),
  );
  return row?.origins ?? null;
}
