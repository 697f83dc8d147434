// ListPlan -> the rows of a list: all that match, the ids of a page, one record for each value, and their number.
import type { Field } from '../model/entity.ts';
import type { Ordering, OrderKey } from '../plan/ordering.ts';
import type { ListPlan } from '../plan/plan.ts';
import { hasSearch, splitSearch, toEstimated } from '../plan/predicate.ts';
import type { Scan } from '../plan/scan.ts';
import { renderFirstMatches, selectMatchingIds } from './common-search.ts';
import {
  type Aliases,
  bind,
  joinSortKeys,
  makeAliases,
  renderAfter,
  renderOrdering,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { clauses, empty, type Fragment, ident, integerLiteral, join, keyword, sql } from './fragment.ts';
import { inOneProcess, ONE_PROCESS } from './search.ts';
import { getTableNames, renderTotalTable } from './table.ts';

// Above this offset, the nearer end is worth the time to plan the statement on each run (0.5 ms).
const FAR_OFFSET = 5000;

const isEstimated = ({ predicate }: ListPlan): boolean =>
  predicate !== undefined && splitSearch(predicate).searches.some(({ search }) => search.isPlanned);

export const isSearched = ({ predicate }: ListPlan): boolean => predicate !== undefined && hasSearch(predicate);

/** Renders the name of a sort key among the columns of a page: its column, or one of its own for that of a related record. */
export const sortColumn = ({ links, field }: OrderKey, index: number): Fragment =>
  ident(links.length === 0 ? field.column : `$sort${index}`);

/**
 * Renders the ids of a page, in its order: for a deep one an index may supply them without reading the skipped records, from
 * the nearer end of the list where its total is stored.
 */
export function orderedIds(plan: ListPlan, aliases: Aliases, rowLimit: number): Fragment {
  const { start, ordering } = plan;
  const after = (columns: readonly Fragment[]): Fragment =>
    start.kind === 'after' ? renderAfter(ordering, start.keys, columns) : empty;
  const select = (order: Ordering, condition = empty): Fragment => {
    const row = aliases.next('d');
    const { rows, columns } = sortableRows(plan, order, row, aliases, (keys) => [condition, after(keys)]);
    return sql`select ${row}."id" from ${rows} order by ${renderOrdering(order, row, aliases, columns)}`;
  };
  const limit = integerLiteral(rowLimit);
  if (start.kind !== 'page' || start.page === 0) {
    const afterRow = (row: Fragment): Fragment => after(joinSortKeys(ordering, row, aliases).columns);
    const first = isSearched(plan) ? renderFirstMatches(plan, aliases, rowLimit, afterRow) : undefined;
    if (first === undefined) return sql`${select(ordering)} limit ${limit}`;
    return selectMatchingIds(first, (condition) => sql`${select(ordering, condition)} limit ${limit}`);
  }
  const offset = bind(start.offset);
  const isFar = start.page * plan.size >= FAR_OFFSET;
  if (!isFar || plan.count !== 'exact' || !isWholeTable(plan))
    return sql`${select(ordering)} limit ${limit} offset ${offset}`;
  // A part with `limit 0` is not run. The last limit is for the planner, which knows only of a constant that few rows come: a
  // million records from their last page took 1,000 ms without it, 0.5 with it, and 150 from the first page on.
  const part = (isNearer: Fragment, count: Fragment, skipped: Fragment): Fragment =>
    sql`limit case when ${isNearer} then ${count} else 0 end offset case when ${isNearer} then ${skipped} else 0 end`;
  const forward = part(sql`not total.backward`, limit, offset);
  const rest = sql`total.n - ${offset}`;
  const backward = part(
    sql`total.backward`,
    sql`greatest(least(${limit}, ${rest}), 0)`,
    sql`greatest(${rest} - ${limit}, 0)`,
  );
  return clauses(
    sql`select near."id"`,
    sql`from (select t.n, coalesce(${offset} > t.n - ${offset}, false) as backward from (${selectStoredTotal(plan)}) t offset 0) total,`,
    sql`lateral ((${select(ordering)} ${forward}) union all (${select(reverse(ordering))} ${backward})) near limit ${limit}`,
  );
}

/** Returns the ordering from the other end. */
const reverse = (ordering: Ordering): Ordering => ({
  ...ordering,
  keys: ordering.keys.map((key) => ({ ...key, direction: key.direction === 'asc' ? 'desc' : 'asc' })),
});

/** Renders the ids of the first record of each value, in no order. */
export function distinctIds(plan: ListPlan, field: Field, aliases: Aliases): Fragment {
  const row = aliases.next('d');
  const column = sql`${row}.${ident(field.column)}`;
  const first = sql`select distinct on (${column}) ${row}."id" from`;
  const { rows, columns } = sortableRows(plan, plan.ordering, row, aliases);
  return sql`${first} ${rows} order by ${column}, ${renderOrdering(plan.ordering, row, aliases, columns)}`;
}

/** Renders `from` for the rows of a list without page and order, and the values of their sort keys. */
function sortableRows(
  plan: ListPlan,
  ordering: Ordering,
  row: Fragment,
  aliases: Aliases,
  conditions: (columns: readonly Fragment[]) => readonly Fragment[] = () => [],
): { readonly rows: Fragment; readonly columns: readonly Fragment[] } {
  const { joins, columns } = joinSortKeys(ordering, row, aliases);
  const related = ordering.keys.flatMap((key, index) =>
    key.links.length === 0 ? [] : [sql`${columns[index] as Fragment} as ${sortColumn(key, index)}`],
  );
  const select = join([sql`${row}.*`, ...related]);
  const rows = matchingRows({ ...plan, joins }, row, aliases, select, ...conditions(columns));
  const isOutside = isSearched(plan) && !isEstimated(plan);
  return {
    rows,
    columns: isOutside ? ordering.keys.map((key, index) => sql`${row}.${sortColumn(key, index)}`) : columns,
  };
}

/**
 * Renders `from` for the rows of a list without page and order. For a search, with the columns of `select`: `offset 0`
 * keeps PostgreSQL from walking the table in an order and parsing the words of each row until it has found enough.
 */
function matchingRows(
  plan: ListPlan & { readonly joins?: Fragment },
  row: Fragment,
  aliases: Aliases,
  select: Fragment,
  ...more: readonly Fragment[]
): Fragment {
  const { table, condition } = renderScan(plan.scan, row);
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, row, aliases);
  const rows = sql`${table}${plan.joins ?? empty}`;
  if (!isSearched(plan) || isEstimated(plan)) return sql`${rows}${where(condition, predicate, ...more)}`;
  return inOneProcess(sql`select ${select} from ${rows}${where(condition, predicate, ...more, ONE_PROCESS)}`, row);
}

/** Returns whether the list is every record of the table. */
export function isWholeTable({ scan, predicate, distinct }: ListPlan): boolean {
  return scan.filter.kind === 'unrestricted' && predicate === undefined && distinct === undefined;
}

/**
 * Selects the number of records that the triggers maintain, in the snapshot of the statement; null while there is none.
 * Adds the newest base and the changes that it lacks, as install/workspace explains: three look-ups in one index.
 * `offset 0` keeps PostgreSQL from doing them twice, as `n` is used twice.
 */
export function selectStoredTotal({ scan }: { readonly scan: Scan }): Fragment {
  const { quoted, totalKey } = getTableNames(scan);
  const total = renderTotalTable(scan);
  const added = (isNew: Fragment): Fragment =>
    sql`(select coalesce(sum(t.n), 0)::int8 from ${total} t where t.relid = b.relid and t.slot ${isNew})`;
  return sql`select (select case when b.pending is not null and b.relation = ${totalKey} then b.n + ${added(sql`>= -b.slot`)} + ${added(sql`= any(b.pending)`)} end from ${total} b where b.relid = ${quoted}::regclass and b.slot < 0 order by b.slot limit 1) as n offset 0`;
}

/** Selects the rows of the list without page and order, for the planner's estimate. */
export const selectEstimated = (plan: ListPlan): Fragment =>
  selectMatching({ ...plan, predicate: plan.predicate && toEstimated(plan.predicate) }, keyword('1'));

/** Selects the rows of the list without page and order. */
export function selectMatching(plan: ListPlan, output: Fragment): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('c');
  if (plan.distinct === undefined)
    return sql`select ${output} from ${matchingRows(plan, root, aliases, sql`${root}."id"`)}`;
  const value = sql`${root}.${ident(plan.distinct.column)}`;
  const values = sql`select distinct ${value} from ${matchingRows(plan, root, aliases, value)}`;
  return sql`select ${output} from (${values}) ${aliases.next('v')}`;
}
