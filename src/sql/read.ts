// Scan + Projection -> one select. PostgreSQL builds the JSON text of the whole response (measured against shaping in
// Node: 0.36 to 0.78 of the throughput), expansions are lateral joins, page and total are one statement.
import type { Field } from '../model/entity.ts';
import type { Link } from '../plan/link.ts';
import { ID_OPERAND } from '../plan/operand.ts';
import type { Ordering, OrderKey } from '../plan/ordering.ts';
import { type ExportPlan, getNextPageCheck, type ListPlan, type ReadPlan, type ReferencesPlan } from '../plan/plan.ts';
import { hasSearch, readsColumn, splitSearch, toEstimated } from '../plan/predicate.ts';
import type { Output, Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import { renderFirstMatches, selectMatchingIds } from './common-search.ts';
import {
  type Aliases,
  bind,
  cursorText,
  isUnchanged,
  isVisible,
  joinSortKeys,
  linkCondition,
  makeAliases,
  outputColumn,
  RECORD,
  renderAfter,
  renderOrdering,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { renderMoment } from './feed.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, literal, sql } from './fragment.ts';
import { previewColumn, renderCuts } from './preview.ts';
import { MATCH_COUNT, renderMatches, selectRankedIds } from './rank.ts';
import { inOneProcess, ONE_PROCESS } from './search.ts';
import { guardedResult, isMeasurable, limitRunningSize, makeSizeLimit, recordBytes, shortText } from './size-limit.ts';
import { getTableNames, renderTotalTable, renderVersion } from './table.ts';

/**
 * Selects one record: columns `data` (JSON text), `version` (the row's version, for ETag). With expansions `data` is
 * null when it would be longer than `maxBytes`. Without them that is an error of our own; where `data` is null, the
 * bounded text decides. `isBounded`: builds nothing beyond the limit (Query).
 */
export function selectRecord(plan: ReadPlan, maxBytes: number, isBounded = false): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root, true);
  const { joins, columns } = renderProjection(plan.projection, root, aliases, isBounded ? maxBytes : undefined);
  const from = sql`from ${table}${joins} cross join lateral (select ${columns}) ${RECORD}${where(sql`${root}."id" = ${bind(ID_OPERAND)}`, condition)}`;
  if (joins.text === '') {
    const text = sql`row_to_json(${RECORD})::text`;
    const data =
      !isBounded && isMeasurable(plan.projection)
        ? shortText(text, plan.projection, root, maxBytes)
        : guardedResult(text, plan.projection, makeSizeLimit(plan.scan, maxBytes));
    return sql`select ${data} as data, ${renderVersion(plan.scan, root)} as version ${from}`;
  }
  // `offset 0` keeps PostgreSQL from building the JSON once for the length and once for the text.
  return sql`select case when octet_length(q.data) <= ${integerLiteral(maxBytes)} then q.data end as data, q.version from (select row_to_json(${RECORD})::text as data, ${renderVersion(plan.scan, root)} as version ${from} offset 0) q`;
}

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

/** Renders the name of a sort key among the columns of a page: its column, or one of its own for that of a related record. */
const sortColumn = ({ links, field }: OrderKey, index: number): Fragment =>
  ident(links.length === 0 ? field.column : `$sort${index}`);

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

/** Joins clauses with spaces. */
const clauses = (...parts: readonly Fragment[]): Fragment => join(parts, ' ');

// Above this offset, skipping whole records costs more than fetching those of the page by their ids.
const DEEP_OFFSET = 1000;
// Above this offset, the nearer end is worth the time to plan the statement on each run (0.5 ms).
const FAR_OFFSET = 5000;

function isDeep({ start, size }: ListPlan): boolean {
  return start.kind === 'page' && start.page * size >= DEEP_OFFSET;
}

// Columns of a record from which a sort takes less time with the ids alone, whose records are fetched afterwards: measured with
// 300 fields 78.6 ms, with 10 of them 3.8.
const WIDE = 40;

/** Returns whether a page of so many columns may have to be sorted. */
const isWide = (plan: ListPlan, columns: number): boolean => columns >= WIDE && !isById(plan);

const isEstimated = ({ predicate }: ListPlan): boolean =>
  predicate !== undefined && splitSearch(predicate).searches.some(({ search }) => search.isPlanned);

const isSearched = ({ predicate }: ListPlan): boolean => predicate !== undefined && hasSearch(predicate);

/**
 * Renders the ids of a page, in its order: for a deep one an index may supply them without reading the skipped records, from
 * the nearer end of the list where its total is stored.
 */
function orderedIds(plan: ListPlan, aliases: Aliases, rowLimit: number): Fragment {
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
function distinctIds(plan: ListPlan, field: Field, aliases: Aliases): Fragment {
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
function isWholeTable({ scan, predicate, distinct }: ListPlan): boolean {
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
function selectMatching(plan: ListPlan, output: Fragment): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('c');
  if (plan.distinct === undefined)
    return sql`select ${output} from ${matchingRows(plan, root, aliases, sql`${root}."id"`)}`;
  const value = sql`${root}.${ident(plan.distinct.column)}`;
  const values = sql`select distinct ${value} from ${matchingRows(plan, root, aliases, value)}`;
  return sql`select ${output} from (${values}) ${aliases.next('v')}`;
}

/**
 * Selects every record of an export: one column each, as JSON-ready text, in the order of the projection. The fields of a
 * label are a JSON object, or null: of a subselect, as PostgreSQL would hash a joined table and sort the whole export. With
 * labels of 300,000 records the first one came after 1.8 s instead of 0.03.
 */
export function selectExport(plan: ExportPlan): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root);
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, root, aliases);
  const columns = plan.projection.outputs.map((output) =>
    output.kind === 'column'
      ? outputColumn(output.field, root)
      : sql`(${renderExpansion(output, root, aliases, undefined)}) as ${ident(output.name)}`,
  );
  const { joins, columns: sortKeys } = joinSortKeys(plan.ordering, root, aliases);
  const order = sql`order by ${renderOrdering(plan.ordering, root, aliases, sortKeys)}`;
  return sql`select ${RECORD}.* from ${table}${joins} cross join lateral (select ${join(columns)}) ${RECORD}${where(condition, predicate)} ${order}`;
}

/** Selects names of the fields whose referenced record does not exist, or is hidden from the principal. */
export function selectMissingReferences({ checks, record }: ReferencesPlan): Fragment {
  const aliases = makeAliases();
  const selects = checks.map((check) => {
    const conditions = [sql`not ${isVisible(check, aliases)}`];
    if (record !== null) {
      const root = aliases.next('r');
      const { table, condition } = renderScan(record, root);
      const own = sql`${root}."id" = ${bind(ID_OPERAND)}`;
      conditions.push(sql`not exists (select from ${table}${where(own, condition, isUnchanged(check, root))})`);
    }
    return sql`select ${literal(check.field.name)}${where(...conditions)}`;
  });
  return join(selects, ' union all ');
}

/**
 * Renders the joins for the expanded relations, the select list of the JSON object's members, and their size in bytes.
 * `maxBytes`: size beyond which no list is built; unlimited if undefined. `preview`: characters to which long values are
 * cut.
 */
function renderProjection(
  projection: Projection,
  parent: Fragment,
  aliases: Aliases,
  maxBytes: number | undefined,
  preview?: number,
): { readonly joins: Fragment; readonly columns: Fragment; readonly size: Fragment } {
  const joins: Fragment[] = [];
  const values: Fragment[] = [];
  const columns = projection.outputs.map((output): Fragment => {
    if (output.kind === 'column') {
      return preview === undefined ? outputColumn(output.field, parent) : previewColumn(output.field, parent, preview);
    }
    const joined = aliases.next('e');
    joins.push(sql` left join lateral (${renderExpansion(output, parent, aliases, maxBytes)}) ${joined} on true`);
    values.push(sql`${joined}.j`);
    return sql`${joined}.j as ${ident(output.name)}`;
  });
  const size = maxBytes === undefined ? empty : recordBytes(projection, parent, values, preview);
  return { joins: join(joins, ''), columns: join(columns), size };
}

/** Renders related records as one value `j`: an object or null, an array that may be empty. */
function renderExpansion(
  output: Exclude<Output, { kind: 'column' }>,
  parent: Fragment,
  aliases: Aliases,
  maxBytes: number | undefined,
): Fragment {
  const related = aliases.next('r');
  const { table, condition } = renderScan(output.link.scan, related);
  const link = linkCondition(output.link, related, parent, aliases);
  const { joins, columns, size } = renderProjection(output.projection, related, aliases, maxBytes);
  if (output.kind === 'toOne') {
    return sql`select row_to_json(${RECORD}) as j from (select ${columns} from ${table}${joins}${where(link, condition)}) ${RECORD}`;
  }
  const predicate = output.predicate === undefined ? empty : renderPredicate(output.predicate, related, aliases);
  const limit = output.size === undefined ? empty : sql` limit ${integerLiteral(output.size)}`;
  const ordering = renderOrdering(output.ordering, related, aliases);
  const selection = sql`${where(link, condition, predicate)} order by ${ordering}${limit}`;
  if (maxBytes !== undefined) {
    // Sorts them before any join: sorting later would hold the JSON of all.
    const placed = sql`select ${related}.*, row_number() over () as "$row" from (select ${related}.* from ${table}${selection}) ${related}`;
    const measuredRows = sql`select ${RECORD}, ${related}."$row", ${size} as "$size" from (${placed}) ${related}${joins} cross join lateral (select ${columns}) ${RECORD}`;
    return sql`select coalesce(json_agg(x.${RECORD}), '[]') as j from (${limitRunningSize(measuredRows, makeSizeLimit(output.link.scan, maxBytes), sql` order by w."$row"`)}) x`;
  }
  const rows = sql`select ${columns} from ${table}${joins}${selection}`;
  return sql`select coalesce(json_agg(${RECORD}), '[]') as j from (${rows}) ${RECORD}`;
}

/** Returns columns of the root that its projection, its links and its cursor read. */
function neededColumns(projection: Projection): Set<string> {
  const names = new Set<string>(['id']);
  for (const output of projection.outputs) {
    if (output.kind === 'column') names.add(output.field.column);
    else names.add(getParentColumn(output.link));
  }
  return names;
}

function getParentColumn(link: Link): string {
  return link.kind === 'key' ? link.parentColumn : 'id';
}
