// ListPlan -> one select of a page and its total, with the facts about records outside the page.

import { getNextPageCheck, type ListPlan } from '../plan/plan.ts';
import { readsColumn } from '../plan/predicate.ts';
import {
  type Aliases,
  bind,
  cursorText,
  joinSortKeys,
  makeAliases,
  RECORD,
  renderAfter,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { renderMoment } from './feed.ts';
import { clauses, empty, type Fragment, ident, integerLiteral, join, keyword, sql } from './fragment.ts';
import {
  distinctIds,
  isSearched,
  isWholeTable,
  orderedIds,
  selectMatching,
  selectStoredTotal,
  sortColumn,
} from './list-rows.ts';
import { renderCuts } from './preview.ts';
import { neededColumns, renderProjection } from './projection.ts';
import { MATCH_COUNT, renderMatches, selectRankedIds } from './rank.ts';
import { limitRunningSize, makeSizeLimit } from './size-limit.ts';
import { renderVersion } from './table.ts';

/**
 * Selects a page: columns `data` (JSON array text, null when longer than `maxBytes`), `total` (null unless counted),
 * `last` (sort keys of the page's last record as JSON text, null on an empty page), `more` (is there a record after the
 * page? null when the total answers that), `counted` (were all records counted for a total that might be stored?). With
 * look-ahead `extra` the array holds that record too. `isBounded`: as for one record.
 *
 * Of tags by their name, each with its orders, the statement is, with the places of aliases and of the kept total left out:
 *
 *     select
 *       case when octet_length(answer.data) <= 10000000 then answer.data end as data,
 *       coalesce(total.n, (select count(*) from tags)) as total,
 *       answer.last,
 *       answer.more,
 *       total.n is null as counted
 *     from (
 *       select
 *         coalesce(json_agg(records."$"), '[]')::text as data,
 *         (array_agg(records."$key"))[count(*)] as last,
 *         null::bool as more
 *       from (
 *         select "$", json_build_array("page".name::text, "page".id::text)::text as "$key"
 *         from (
 *           select numbered.*, row_number() over () as "$row"
 *           from (
 *             select r0.id, r0.name
 *             from tags r0
 *             order by r0.name asc, r0.id asc
 *             limit 20
 *           ) numbered
 *         ) "page"
 *         left join lateral (select coalesce(json_agg("$"), '[]') as j from (…) "$") e1 on true
 *         cross join lateral (select "page".id, "page".name, e1.j as orders) "$"
 *         order by "page"."$row"
 *       ) records
 *     ) answer, (…) total
 */
export function selectPage(plan: ListPlan, maxBytes: number, isBounded = false): Fragment {
  const aliases = makeAliases();
  const page = pageRows(plan, aliases);
  const records = pageRecords(plan, page, aliases, isBounded ? maxBytes : undefined);
  const result = renderPageResult(plan, records, maxBytes);
  return plan.ordering.rankBy === undefined ? result : clauses(renderMatches(plan, aliases), result);
}

/** Returns whether the order is by id alone, which is unique. */
const isById = ({ ordering }: ListPlan): boolean => ordering.keys.length === 1 && ordering.rankBy === undefined;

// Above this offset, skipping whole records costs more than fetching those of the page by their ids.
const DEEP_OFFSET = 1000;

function isDeep({ start, size }: ListPlan): boolean {
  return start.kind === 'page' && start.page * size >= DEEP_OFFSET;
}

// Columns of a record from which a sort takes less time with the ids alone, whose records are fetched afterwards: measured with
// 300 fields 78.6 ms, with 10 of them 3.8.
const WIDE = 40;

/** Returns whether a page of so many columns may have to be sorted. */
const isWide = (plan: ListPlan, columns: number): boolean => columns >= WIDE && !isById(plan);

/** Renders the page itself, with the columns that the outer query needs; `$…` is a name that no field can have. */
function pageRows(plan: ListPlan, aliases: Aliases): Fragment {
  const { start, ordering } = plan;
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root, plan.versions);
  const rowLimit = getNextPageCheck(plan) === 'none' ? plan.size : plan.size + 1;
  const names = neededColumns(plan.projection);
  // Sort keys as they are: the JSON of a cursor is built of the rows of the page alone. Built here, PostgreSQL made that of each
  // of a million rows that it sorted to keep 20: 849 ms, without it 131.
  const { joins, columns: sortKeys } = joinSortKeys(ordering, root, aliases);
  const related = ordering.keys.flatMap((key, index) => {
    if (key.links.length > 0) return [sql`${sortKeys[index] as Fragment} as ${sortColumn(key, index)}`];
    names.add(key.field.column);
    return [];
  });
  const needed = [...names].map((name) => sql`${root}.${ident(name)}`);
  if (plan.versions) needed.push(sql`${renderVersion(plan.scan, root)} as "$version"`);
  if (ordering.rankBy !== undefined) {
    const byId = where(sql`${root}."id" = chosen."id"`, condition);
    return clauses(
      sql`select ${root}.*, json_build_array(chosen."$rank"::text, chosen."id"::text)::text as "$keys"`,
      sql`from (${selectRankedIds(plan, ordering.rankBy, aliases, rowLimit)}) chosen,`,
      sql`lateral (select ${join(needed)} from ${table}${byId} offset 0) ${root}`,
      sql`order by chosen."$rank" desc nulls last, chosen."id"`,
    );
  }
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, root, aliases);
  const after = start.kind === 'after' ? renderAfter(ordering, start.keys, sortKeys) : empty;
  const columns = join([...needed, ...related]);
  const offset = start.kind === 'page' && start.page > 0 ? sql` offset ${bind(start.offset)}` : empty;
  const limit = sql`limit ${integerLiteral(rowLimit)}${offset}`;
  const order = sql`order by ${join(
    ordering.keys.map((key, index) => {
      const column = key.links.length === 0 ? sql`${root}.${ident(key.field.column)}` : sortColumn(key, index);
      return sql`${column} ${keyword(key.direction)}`;
    }),
  )}`;
  if (plan.distinct !== undefined) {
    // The cursor filters the records of the list, so it must not hide the first record of a value.
    return clauses(
      sql`select ${columns}`,
      sql`from (${distinctIds(plan, plan.distinct, aliases)}) chosen`,
      sql`join ${table} on ${root}."id" = chosen."id"${joins}${where(condition, after)}`,
      order,
      limit,
    );
  }
  const pageIds =
    isSearched(plan) || isDeep(plan) || isWide(plan, needed.length) ? orderedIds(plan, aliases, rowLimit) : undefined;
  if (pageIds === undefined && readsShownColumns(plan)) {
    // In a list of 400 records of which 20 are shown, to decide of 16 fields for all took a third of the time.
    const page = { conditions: [predicate, after], end: clauses(order, limit) };
    return clauses(sql`select ${columns}`, sql`from ${renderScan(plan.scan, root, plan.versions, page).table}`, order);
  }
  if (pageIds === undefined) {
    return clauses(
      sql`select ${columns}`,
      sql`from ${table}${joins}${where(condition, predicate, after)}`,
      order,
      limit,
    );
  }
  return clauses(
    sql`select ${columns}`,
    sql`from (${pageIds}) chosen`,
    sql`join ${table} on ${root}."id" = chosen."id"${joins}${where(condition)}`,
    order,
  );
}

/** Renders the cursor of the row of a page, as JSON text. */
function renderCursor({ ordering }: ListPlan, row: Fragment): Fragment {
  if (ordering.rankBy !== undefined) return sql`${row}."$keys"`;
  const keys = ordering.keys.map((key, index) => cursorText(key.field, sql`${row}.${sortColumn(key, index)}`));
  return sql`json_build_array(${join(keys)})::text`;
}

/** Returns whether some columns depend on the record, and neither the filter nor the order reads one of them. */
function readsShownColumns({ scan: { columns }, ordering, predicate }: ListPlan): boolean {
  if (columns === undefined) return false;
  const isShown = ordering.keys.every(({ links, field }) => links.length === 0 && !columns.has(field.column));
  return isShown && (predicate === undefined || !readsColumn(predicate, columns));
}

/**
 * Renders the records of the page as JSON `"$"`, in its order, each with `"$key"`, the cursor of a page that ends with
 * it, and with `"$seen"`, the number of rows read, when the record after the page is only counted. `maxBytes`: size
 * beyond which it builds no more records; unlimited if undefined.
 */
function pageRecords(plan: ListPlan, page: Fragment, aliases: Aliases, maxBytes: number | undefined): Fragment {
  const outer = ident('page');
  const byId = isById(plan);
  const isWindow = getNextPageCheck(plan) === 'window';
  const { joins, columns, size } = renderProjection(plan.projection, outer, aliases, maxBytes, plan.preview);
  const expands = joins.text !== '';
  // PostgreSQL may run joins in any order; a page with expansions is sorted again. By id it knows that the rows are
  // sorted and adds no sort.
  const isNumbered = expands && !byId;
  const numbers = [
    ...(isNumbered ? [keyword('row_number() over () as "$row"')] : []),
    ...(isWindow ? [keyword('row_number() over () as "$at", count(*) over () as "$seen"')] : []),
  ];
  const numbered = numbers.length === 0 ? page : sql`select numbered.*, ${join(numbers)} from (${page}) numbered`;
  const visibleRows = isWindow
    ? sql`select * from (${numbered}) numbered where "$at" <= ${integerLiteral(plan.size)}`
    : numbered;
  const direction = keyword(plan.ordering.keys[0]?.direction ?? 'asc');
  const inOrder = (row: Fragment, key: Fragment) =>
    expands ? sql` order by ${row}.${byId ? sql`${key} ${direction}` : ident('$row')}` : empty;
  const extraColumns = [
    sql`${byId ? sql`${outer}."id"` : renderCursor(plan, outer)} as "$key"`,
    ...(isWindow ? [sql`${outer}."$seen"`] : []),
    ...(plan.versions ? [sql`${outer}."$version"`] : []),
    ...(plan.preview === undefined ? [] : [sql`${renderCuts(plan.projection, outer, plan.preview)} as "$cuts"`]),
  ];
  const fromClause = sql`from (${visibleRows}) ${outer}${joins} cross join lateral (select ${columns}) ${RECORD}`;
  if (maxBytes === undefined)
    return sql`select ${RECORD}, ${join(extraColumns)} ${fromClause}${inOrder(outer, ident('id'))}`;
  const placed = isNumbered ? [...extraColumns, sql`${outer}."$row"`] : extraColumns;
  const measured = sql`select ${RECORD}, ${join(placed)}, ${size} as "$size" ${fromClause}`;
  return limitRunningSize(measured, makeSizeLimit(plan.scan, maxBytes), inOrder(ident('w'), ident('$key')));
}

/** Renders the one row of the statement: the records as one text, and the facts about records outside the page. */
function renderPageResult(plan: ListPlan, records: Fragment, maxBytes: number): Fragment {
  const nextPageCheck = getNextPageCheck(plan);
  const size = integerLiteral(plan.size);
  const at = nextPageCheck === 'extra' ? sql`least(count(*), ${size})` : keyword('count(*)');
  const key = sql`(array_agg(records."$key"))[${at}]`;
  const last = isById(plan) ? sql`json_build_array(${key}::text)::text` : key;
  const more = {
    none: () => keyword('null::bool'),
    extra: () => sql`count(*) > ${size}`,
    window: () => sql`max(records."$seen") > ${size}`,
  }[nextPageCheck]();
  const result = clauses(
    sql`select coalesce(json_agg(records.${RECORD}), '[]')::text as data, ${last} as last, ${more} as more${hasMeta(plan) ? renderMetaColumns(plan) : empty}`,
    sql`from (${records}) records`,
  );
  const data = sql`case when octet_length(answer.data) <= ${integerLiteral(maxBytes)} then answer.data end as data`;
  const select = (total: Fragment): Fragment => sql`select ${data}, ${total} as total, answer.last, answer.more`;
  const includesMeta = hasMeta(plan);
  // The snapshot is that of the records, as all of it is one statement.
  const moment = plan.changesIn === undefined ? empty : sql`, ${renderMoment(plan.changesIn)}`;
  const metaColumns = includesMeta ? sql`, answer.versions, answer.cuts${moment}` : empty;
  const uncounted = includesMeta ? sql`, false as counted${metaColumns}` : empty;
  if (plan.count !== 'exact') return sql`${select(keyword('null::int8'))}${uncounted} from (${result}) answer`;
  const count = plan.ordering.rankBy === undefined ? sql`(${selectMatching(plan, keyword('count(*)'))})` : MATCH_COUNT;
  if (!isWholeTable(plan)) return sql`${select(count)}${uncounted} from (${result}) answer`;
  // coalesce counts the records only when no total is stored.
  return clauses(
    sql`${select(sql`coalesce(total.n, ${count})`)}, total.n is null as counted${metaColumns}`,
    sql`from (${result}) answer, (${selectStoredTotal(plan)}) total`,
  );
}

/** Returns whether the statement has columns of metadata. */
const hasMeta = ({ versions, preview, changesIn }: ListPlan): boolean =>
  versions || preview !== undefined || changesIn !== undefined;

/** Renders the requested metadata of the records, in their order: JSON arrays `versions` and `cuts`, or null. */
function renderMetaColumns({ versions, preview, size }: ListPlan): Fragment {
  const array = (column: string): Fragment =>
    sql`coalesce(to_json((array_agg(records.${ident(column)}))[1:${integerLiteral(size)}]), '[]')::text`;
  return sql`, ${versions ? array('$version') : keyword('null::text')} as versions, ${preview === undefined ? keyword('null::text') : array('$cuts')} as cuts`;
}
