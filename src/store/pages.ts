// Loads one page of a list of the control tables, with the total, in one statement.
import type { Database } from '../database/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

export interface PageOf<T> {
  readonly rows: readonly T[];
  readonly total: number;
}

/**
 * Loads a page. `rows` selects the list with a column `id` that orders it: newest last or, with `newestFirst`, first.
 */
export async function loadPage<T>(
  db: Pick<Database, 'query'>,
  rows: Fragment,
  { page, size }: { readonly page: number; readonly size: number },
  newestFirst = false,
): Promise<PageOf<T>> {
  const direction = newestFirst ? sql`desc` : sql`asc`;
  const pageRows = await db.query<T & { total: string; id: string | null }>(
    toQuery(sql`with listed as (${rows})
select counted.total, paged.*
from (select count(*) as total from listed) counted
left join lateral (select * from listed order by id ${direction} limit ${size} offset ${page * size}) paged on true`),
  );
  const total = Number(pageRows[0]?.total ?? 0);
  return { total, rows: pageRows.filter((row) => row.id !== null) };
}
