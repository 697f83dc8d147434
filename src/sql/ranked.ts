// The ids of a page whose best matches come first. Of a search that finds very many only the first by their ids are
// ranked, and the others follow by their ids: the order is the same for every page of a list, whatever is added meanwhile.
import type { Operand } from '../plan/operand.ts';
import type { ListPlan } from '../plan/plan.ts';
import type { Search } from '../plan/search.ts';
import { type Aliases, bind, renderPredicate, renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, sql, wholeNumber } from './fragment.ts';
import { inOneProcess, ONE_PROCESS, queryOf, rankOf } from './search.ts';

/** Records that are ranked. It takes PostgreSQL 20 µs to make the words of a short text. */
export const MAX_RANKED = 1000;

/** Characters of the texts of a record that are ranked: the words of whole texts of 9 KB took 1 to 5 ms a record. */
export const RANKED_CHARACTERS = 500;

const FOUND = ident('found');

/**
 * `with found …`: the ids of all that the list finds, which stands before the statement. Looked for once, as the page and its
 * total both ask for them.
 */
export function withFound(plan: ListPlan, aliases: Aliases): Fragment {
  const row = aliases.next('n');
  const { table, condition } = renderScan(plan.scan, row);
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, row, aliases);
  const rows = sql`select ${row}."id" from ${table}${where(condition, predicate, ONE_PROCESS)}`;
  return sql`with ${FOUND} as materialized (select ${row}."id" from ${inOneProcess(rows, row)})`;
}

/** How many that is. */
export const countFound = sql`(select count(*) from ${FOUND})`;

/**
 * Columns `id` and `$rank` of at most `limit` records, null for one that is not ranked; in the order `$rank desc nulls last,
 * id` once they are sorted by it. Needs withFound().
 */
export function rankedIds(plan: ListPlan, search: Search, aliases: Aliases, limit: number): Fragment {
  const { start } = plan;
  const rest = (condition: Fragment, bounds: Fragment): Fragment =>
    sql`select "id", null::float4 as "$rank" from ${FOUND}${where(condition)} order by "id" ${bounds}`;
  const best = (condition: Fragment, bounds: Fragment): Fragment =>
    sql`select "id", "$rank" from (${rankedRows(plan, search, aliases)}) ranked${where(condition)} order by "$rank" desc, "id" ${bounds}`;
  const most = wholeNumber(limit);
  if (start.kind === 'page') {
    const first = start.page * plan.size;
    const offset = start.page === 0 ? empty : sql` offset ${bind(start.offset)}`;
    const bounds = sql`limit ${most}${offset}`;
    const room = MAX_RANKED - first;
    if (limit <= room) return best(empty, bounds);
    if (room <= 0) return rest(empty, bounds);
    const left = sql`limit ${wholeNumber(limit - room)} offset ${wholeNumber(MAX_RANKED)}`;
    return sql`(${best(empty, sql`limit ${wholeNumber(room)}${offset}`)}) union all (${rest(empty, left)})`;
  }
  const [rank = null, id = null] = start.keys;
  // The door to a cursor without an id is closed (planCursor).
  const last = bind(id as Operand);
  if (rank === null) return rest(sql`"id" > ${last}`, sql`limit ${most}`);
  const value = bind(rank);
  const after = sql`("$rank" < ${value} or ("$rank" = ${value} and "id" > ${last}))`;
  // With a limit of 0 the others are not looked for.
  const left = sql`limit (select greatest(0, ${most} - count(*)) from best) offset ${wholeNumber(MAX_RANKED)}`;
  return sql`with best as materialized (${best(after, sql`limit ${most}`)}) select * from best union all (${rest(empty, left)})`;
}

/** The records that are ranked, with their ranks. */
function rankedRows(plan: ListPlan, search: Search, aliases: Aliases): Fragment {
  const row = aliases.next('n');
  const { table, condition } = renderScan(plan.scan, row);
  const first = sql`select "id" from ${FOUND} order by "id" limit ${wholeNumber(MAX_RANKED)}`;
  const query = ident('query');
  // Each record is read by its id: PostgreSQL does not know how few were found, and might read the table instead. `offset 0`:
  // the query is made once, not for each row, and each row is ranked once, not for each time that the rank is asked for.
  const ranked = sql`select ${rankOf(search, row, sql`${query}.q`, RANKED_CHARACTERS)} as "$rank" from ${table}${where(sql`${row}."id" = first."id"`, condition)} offset 0`;
  return sql`select first."id", ${row}."$rank" from (${first}) first, (select ${queryOf(search)} as q offset 0) ${query}, lateral (${ranked}) ${row} offset 0`;
}
