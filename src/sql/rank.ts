// Ids of a page in order of relevance. Of a search with very many matches only the first by id are ranked, and the
// others follow by id: the order is the same for every page of a list, whatever is added meanwhile.
import type { Operand } from '../plan/operand.ts';
import type { ListPlan } from '../plan/plan.ts';
import type { Search } from '../plan/search.ts';
import { renderFirstMatches, selectMatchingIds } from './common-search.ts';
import { type Aliases, bind, renderPredicate, renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, sql } from './fragment.ts';
import { inOneProcess, ONE_PROCESS, renderRank, renderTsquery } from './search.ts';

/** Most ranked records. PostgreSQL takes 20 µs to parse the words of a short text. */
export const MAX_RANKED = 1000;

/** Ranked characters of the texts of a record: the words of whole texts of 9 KB took 1 to 5 ms a record. */
export const RANKED_CHARACTERS = 500;

const MATCHED_IDS = ident('found');

/**
 * Renders `with found …`: the ids of all matches of the list, before the statement. Evaluated once, as both the page
 * and its total use them.
 */
export function renderMatches(plan: ListPlan, aliases: Aliases): Fragment {
  const row = aliases.next('n');
  const { table, condition } = renderScan(plan.scan, row);
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, row, aliases);
  const select = (isAsked: Fragment): Fragment => {
    const rows = sql`select ${row}."id" from ${table}${where(condition, predicate, isAsked, ONE_PROCESS)}`;
    return sql`select ${row}."id" from ${inOneProcess(rows, row)}`;
  };
  const needed = getNeeded(plan);
  const first = needed && renderFirstMatches(plan, aliases, ...needed);
  const ids = first === undefined ? select(empty) : selectMatchingIds(first, select);
  return sql`with ${MATCHED_IDS} as materialized (${ids})`;
}

/** Returns how many of the first matches, after which id, a page needs; undefined for one that is not ranked. */
function getNeeded({ start, size }: ListPlan): [needed: number, after: (row: Fragment) => Fragment] | undefined {
  const limit = size + 1;
  if (start.kind === 'page') return start.page * size + limit > MAX_RANKED ? undefined : [MAX_RANKED, () => empty];
  const [rank = null, id = null] = start.keys;
  if (rank !== null) return [MAX_RANKED + limit, () => empty];
  return [limit, (row) => sql`${row}."id" > ${bind(id as Operand)}`];
}

/** Number of matches. */
export const MATCH_COUNT = sql`(select count(*) from ${MATCHED_IDS})`;

/**
 * Selects `id` and `$rank` of at most `limit` records, null for one that is not ranked; in the order `$rank desc nulls
 * last, id` after sorting. Needs renderMatches().
 */
export function selectRankedIds(plan: ListPlan, search: Search, aliases: Aliases, limit: number): Fragment {
  const { start } = plan;
  const selectUnranked = (condition: Fragment, bounds: Fragment): Fragment =>
    sql`select "id", null::float4 as "$rank" from ${MATCHED_IDS}${where(condition)} order by "id" ${bounds}`;
  const selectRanked = (condition: Fragment, bounds: Fragment): Fragment =>
    sql`select "id", "$rank" from (${selectRankedRows(plan, search, aliases)}) ranked${where(condition)} order by "$rank" desc, "id" ${bounds}`;
  const rowLimit = integerLiteral(limit);
  if (start.kind === 'page') {
    const first = start.page * plan.size;
    const offset = start.page === 0 ? empty : sql` offset ${bind(start.offset)}`;
    const bounds = sql`limit ${rowLimit}${offset}`;
    const remainingRanked = MAX_RANKED - first;
    if (limit <= remainingRanked) return selectRanked(empty, bounds);
    if (remainingRanked <= 0) return selectUnranked(empty, bounds);
    const unrankedBounds = sql`limit ${integerLiteral(limit - remainingRanked)} offset ${integerLiteral(MAX_RANKED)}`;
    return sql`(${selectRanked(empty, sql`limit ${integerLiteral(remainingRanked)}${offset}`)}) union all (${selectUnranked(empty, unrankedBounds)})`;
  }
  const [rank = null, id = null] = start.keys;
  // planCursor refuses a cursor without an id.
  const last = bind(id as Operand);
  if (rank === null) return selectUnranked(sql`"id" > ${last}`, sql`limit ${rowLimit}`);
  const value = bind(rank);
  const after = sql`("$rank" < ${value} or ("$rank" = ${value} and "id" > ${last}))`;
  // With a limit of 0 the others are not searched.
  const unrankedBounds = sql`limit (select greatest(0, ${rowLimit} - count(*)) from best) offset ${integerLiteral(MAX_RANKED)}`;
  return sql`with best as materialized (${selectRanked(after, sql`limit ${rowLimit}`)}) select * from best union all (${selectUnranked(empty, unrankedBounds)})`;
}

/** Selects the ranked records, with their ranks. */
function selectRankedRows(plan: ListPlan, search: Search, aliases: Aliases): Fragment {
  const row = aliases.next('n');
  const { table, condition } = renderScan(plan.scan, row);
  const first = sql`select "id" from ${MATCHED_IDS} order by "id" limit ${integerLiteral(MAX_RANKED)}`;
  const query = ident('query');
  // Reads each record by its id: PostgreSQL does not know how few matches there are, and might read the table instead.
  // `offset 0`: the tsquery is built once, not for each row, and each row is ranked once, not for each use of the rank.
  const rankedRow = sql`select ${renderRank(search, row, sql`${query}.q`, RANKED_CHARACTERS)} as "$rank" from ${table}${where(sql`${row}."id" = first."id"`, condition)} offset 0`;
  return sql`select first."id", ${row}."$rank" from (${first}) first, (select ${renderTsquery(search)} as q offset 0) ${query}, lateral (${rankedRow}) ${row} offset 0`;
}
