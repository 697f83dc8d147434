// A search for words that most records have. The index of words returns most of the table for them, while the first records
// of the list without the search have enough matches: of 1,000,000 orders, three words in two thirds of them took 300 ms by the
// index and take 70, and 4 in the order of their ids.
import type { ListPlan } from '../plan/plan.ts';
import { splitSearch } from '../plan/predicate.ts';
import { hidesRows } from '../plan/scan.ts';
import { type Aliases, bind, renderOrdering, renderPredicate, renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, sql } from './fragment.ts';
import { renderWordsInAnyOrder } from './search.ts';
import { nodeForms } from './statement-forms.ts';
import { renderNodeGuard } from './table.ts';

// Rows that are read at most for each match that is needed.
const ROWS_PER_MATCH = 4;
// From so many rows on the first of them are a sample, in which one of eight must match: words may be common and seldom in the
// same records.
const MIN_SAMPLED = 512;
const SAMPLE_ROWS = 64;
const ROWS_PER_SAMPLE_MATCH = 8;

const COMMON = ident('common');
const ROWS = ident('rows');
const PROMISING = ident('promising');
const FIRST = ident('first');

/** The matches among the first records of a list. */
export interface FirstMatches {
  /** Parts of a `with`. */
  readonly parts: Fragment;
  /** Condition that the page needs no other matches. */
  readonly isEnough: Fragment;
}

/**
 * Renders the first `needed` matches after those that `after` excludes. Returns undefined where no index may have the order of
 * the list, and for a table with hidden records: the time would tell which words are common in them.
 */
export function renderFirstMatches(
  plan: ListPlan,
  aliases: Aliases,
  needed: number,
  after: (row: Fragment) => Fragment,
): FirstMatches | undefined {
  const { scan, predicate, ordering } = plan;
  if (predicate === undefined || plan.count === 'exact' || hidesRows(scan) || !mayBeIndexed(plan)) return undefined;
  if (nodeForms(scan.entity) !== undefined || renderNodeGuard(scan) !== empty) return undefined;
  const { searches, rest } = splitSearch(predicate);
  if (searches.length === 0) return undefined;
  const row = aliases.next('w');
  const [first, sample] = [aliases.next('w'), aliases.next('w')];
  const order = (alias: Fragment): Fragment => sql`order by ${renderOrdering(ordering, alias, aliases)}`;
  const matches = (alias: Fragment): Fragment =>
    sql`(${renderPredicate({ kind: 'and', members: searches }, alias, aliases)})`;
  const limit = needed * ROWS_PER_MATCH;
  const { table, condition } = renderScan(scan, row);
  const words = sql`array_to_tsvector(${bind({ kind: 'commonWords', rows: limit, type: 'text[]' })})`;
  const areCommon = searches.map(({ search }) => sql`${words} @@ (select ${renderWordsInAnyOrder(search)})`);
  const isCommon = sql`(select ${COMMON}."is" from ${COMMON})`;
  const firstRows = sql`select ${row}.* from ${table}${where(condition, renderPredicate(rest, row, aliases), after(row))} ${order(row)} limit ${integerLiteral(limit)}`;
  // Outside of the limit, where PostgreSQL looks at it before it starts further processes for the rows.
  const rows = sql`select * from (${firstRows}) ${row}${where(isCommon)}`;
  const isSample = sql`select count(*) < ${integerLiteral(SAMPLE_ROWS)} or ${integerLiteral(ROWS_PER_SAMPLE_MATCH)} * count(*) filter (where ${matches(sample)}) >= count(*) from (select * from ${ROWS} limit ${integerLiteral(SAMPLE_ROWS)}) ${sample}`;
  const promise = limit > MIN_SAMPLED ? isSample : sql`select true`;
  const isPromising = sql`(select ${PROMISING}."is" from ${PROMISING})`;
  const matching = sql`select ${first}."id" from ${ROWS} ${first}${where(matches(first), isPromising)} ${order(first)} limit ${integerLiteral(needed)}`;
  const isAll = sql`(select count(*) < ${integerLiteral(limit)} from ${ROWS})`;
  return {
    parts: sql`${COMMON} as materialized (select ${join(areCommon, ' and ')} as "is"), ${ROWS} as materialized (${rows}), ${PROMISING} ("is") as materialized (${promise}), ${FIRST} as materialized (${matching})`,
    isEnough: sql`case when ${isCommon} and ${isPromising} then (select count(*) >= ${integerLiteral(needed)} from ${FIRST}) or ${isAll} else false end`,
  };
}

/** Returns whether the first key is one that has an index, so that the first records are read alone. */
function mayBeIndexed({ ordering: { keys } }: ListPlan): boolean {
  const [key] = keys;
  if (key === undefined || keys.some(({ links }) => links.length > 0)) return false;
  const { role, indexed, unique } = key.field;
  return role === 'id' || role === 'reference' || indexed || unique;
}

/** Renders the ids of matches: the first ones where they are enough, and else those of `select`, by the index of words. */
export function selectMatchingIds(
  { parts, isEnough }: FirstMatches,
  select: (condition: Fragment) => Fragment,
): Fragment {
  return sql`with ${parts} (select "id" from ${FIRST} where ${isEnough}) union all (${select(sql`not (${isEnough})`)})`;
}
