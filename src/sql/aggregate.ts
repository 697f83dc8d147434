// AggregatePlan -> one select: joins and groups records, filters and sorts the groups, and returns one page of them as
// JSON text, and their number.

import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import {
  type Aggregated,
  type AggregatePlan,
  averageDigits,
  type GroupKey,
  isTotal,
  MAX_DIGITS,
  MORE_DIGITS,
  type Source,
} from '../plan/aggregate.ts';
import {
  bind,
  dateTimeText,
  makeAliases,
  RECORD,
  renderLeftJoin,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, literal, sql } from './fragment.ts';
import { selectStoredTotal } from './list-rows.ts';
import { limitRunningSize, makeSizeLimit } from './size-limit.ts';

/**
 * Returns one row: columns `data` (JSON array text, null when longer than `maxBytes`), `total` (number of groups),
 * `counted` (number of all records when they were counted for a total that might be stored, else null).
 */
export function selectAggregate(plan: AggregatePlan, maxBytes: number): Fragment {
  const groupedRows = isTotal(plan) ? selectTotal(plan) : selectGroups(plan);
  const filteredGroups =
    plan.having === undefined
      ? groupedRows
      : sql`select h.* from (${groupedRows}) h${where(renderPredicate(plan.having, ident('h'), makeAliases()))}`;
  const body = renderBody(plan, filteredGroups, maxBytes);
  return sql`select case when octet_length(q.data) <= ${integerLiteral(maxBytes)} then q.data end as data, q.total, q.counted from (${body}) q`;
}

const DATA = sql`coalesce(json_agg(x.${RECORD}), '[]')::text as data`;
const NO_COUNT = keyword('null::int8 as counted');
const IN_ALL = ident('$groups');

/** Renders a page of the filtered groups, and their number. */
function renderBody(plan: AggregatePlan, filteredGroups: Fragment, maxBytes: number): Fragment {
  const groups = ident('g');
  if (plan.groups.length === 0) {
    const extraColumns = isTotal(plan) ? keyword(', p."a0", p."$counted"') : empty;
    const recordCount = isTotal(plan) ? keyword('max(x."a0") filter (where x."$counted") as counted') : NO_COUNT;
    const data = plan.page === 0 ? DATA : sql`${literal('[]')} as data`;
    return sql`select ${data}, count(*) as total, ${recordCount} from (${objects(plan, filteredGroups, extraColumns, maxBytes)}) x`;
  }
  const order = join(plan.order.map((key) => sql`${groups}.${ident(key.field.column)} ${keyword(key.direction)}`));
  const bounds = sql`order by ${order} limit ${integerLiteral(plan.size)}`;
  if (plan.page === 0) {
    // A first page is empty only without groups; an empty later one needs a second select for their number.
    const page = sql`select ${groups}.*, count(*) over () as ${IN_ALL} from (${filteredGroups}) ${groups} ${bounds}`;
    const rows = objects(plan, page, sql`, p.${IN_ALL}`, maxBytes);
    return sql`select ${DATA}, coalesce(max(x.${IN_ALL}), 0) as total, ${NO_COUNT} from (${rows}) x`;
  }
  const page = sql`select ${groups}.* from ${groups} ${bounds} offset ${bind(plan.offset)}`;
  return sql`with ${groups} as materialized (${filteredGroups}) select ${DATA}, (select count(*) from ${groups}) as total, ${NO_COUNT} from (${objects(plan, page, empty, maxBytes)}) x`;
}

/** Renders the groups of a page as JSON objects, with additional columns; builds no more than a response may hold. */
function objects(
  { scan, groups, functions }: AggregatePlan,
  page: Fragment,
  extraColumns: Fragment,
  maxBytes: number,
): Fragment {
  const row = keyword('p');
  // json_build_object() and not row_to_json(): a name of PostgreSQL ends after 63 bytes.
  const members = [...groups, ...functions].map(
    ({ field }) => sql`${literal(field.name)}, ${jsonValue(field, sql`${row}.${ident(field.column)}`)}`,
  );
  const objectColumns = sql`json_build_object(${join(members)}) as ${RECORD}${extraColumns}`;
  const sizes = [...groups.filter(({ part }) => part === undefined), ...functions.filter(isValue)]
    .filter(({ source }) => source !== undefined && fieldType(source.field.type).size(source.field) !== 'fixed')
    .map(({ field }) => sql`coalesce(octet_length((${row}.${ident(field.column)})::text), 0)::int8`);
  if (sizes.length === 0) return sql`select ${objectColumns} from (${page}) ${row}`;
  return limitRunningSize(
    sql`select ${objectColumns}, ${join(sizes, ' + ')} as "$size" from (${page}) ${row}`,
    makeSizeLimit(scan, maxBytes),
  );
}

/** Returns whether the result is as long as a value of the field, and no number of records. */
const isValue = ({ function: word }: Aggregated): boolean => word !== 'count' && word !== 'countDistinct';

function jsonValue(field: Field, column: Fragment): Fragment {
  const { output } = fieldType(field.type);
  switch (output) {
    case 'plain':
      return column;
    case 'datetime':
      return dateTimeText(column);
    default:
      return output satisfies never;
  }
}

/** Selects the stored number of records of the whole table; `"$counted"`: whether they had to be counted. */
function selectTotal(plan: AggregatePlan): Fragment {
  const { table, condition } = renderScan(plan.scan, ident('r0'));
  const columns = plan.functions.map(({ field }) => sql`t.n as ${ident(field.column)}`);
  const total = sql`select coalesce(k.n, (select count(*) from ${table}${where(condition)})) as n, k.n is null as "$counted" from (${selectStoredTotal(plan)}) k`;
  return sql`select ${join(columns)}, t."$counted" from (${total}) t`;
}

/** Selects one row for each group, or one row in all without groups. */
function selectGroups(plan: AggregatePlan): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root);
  const joinAliases: Fragment[] = [];
  const joins = plan.joins.map(({ from, link }) => {
    const related = aliases.next('j');
    joinAliases.push(related);
    const parent = from === null ? root : (joinAliases[from] as Fragment);
    return renderLeftJoin(link, related, parent, aliases, from !== null);
  });
  const renderColumn = ({ join: at, field }: Source): Fragment =>
    sql`${at === null ? root : (joinAliases[at] as Fragment)}.${ident(field.column)}`;
  const keys = plan.groups.map(
    (key) => sql`${renderKey(key, renderColumn(key.source), plan)} as ${ident(key.field.column)}`,
  );
  const results = plan.functions.map(
    (one) => sql`${renderFunction(one, one.source && renderColumn(one.source))} as ${ident(one.field.column)}`,
  );
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, root, aliases);
  // Positions, as a bound value in a key would make it another expression each time that it is written.
  const positions = plan.groups.map((_, index) => integerLiteral(index + 1));
  const by = positions.length === 0 ? empty : sql` group by ${join(positions)}`;
  return sql`select ${join([...keys, ...results])} from ${table}${join(joins, '')}${where(condition, predicate)}${by}`;
}

/** Renders the value that records of one group share. */
function renderKey({ source, part }: GroupKey, column: Fragment, { zone }: AggregatePlan): Fragment {
  if (part === undefined) return column;
  if (source.field.type === 'date') return sql`date_trunc(${literal(part)}, ${column}::timestamp)::date`;
  // An hour stays a timestamp: where summer time ends, two hours have one name. The first hour of all may begin before
  // the first timestamp.
  if (part === 'hour') {
    const hour = sql`date_trunc(${literal(part)}, ${column}, ${bind(zone)})`;
    return sql`case when ${column} < ${SECOND_DAY} then greatest(${hour}, ${FIRST_MOMENT}) else ${hour} end`;
  }
  // Near the ends of the range a zone has days that no date of the API has; their records count for the first or last
  // day.
  const local = sql`${column} at time zone ${bind(zone)}`;
  const bounded = sql`least(greatest(${local}, ${literal('0001-01-01')}::timestamp), ${literal('9999-12-31')}::timestamp)`;
  const isAtEnd = sql`${column} < ${SECOND_DAY} or ${column} >= ${LAST_DAY}`;
  return sql`date_trunc(${literal(part)}, case when ${isAtEnd} then ${bounded} else ${local} end)::date`;
}

const FIRST_MOMENT = sql`${literal('0001-01-01T00:00Z')}::timestamptz`;
const SECOND_DAY = sql`${literal('0001-01-02T00:00Z')}::timestamptz`;
// Last day in UTC: no zone is more than a day away from it.
const LAST_DAY = sql`${literal('9999-12-31T00:00Z')}::timestamptz`;

function renderFunction({ function: word, source }: Aggregated, column: Fragment | undefined): Fragment {
  if (source === undefined || column === undefined) return keyword('count(*)');
  const { field } = source;
  const { extremesByText } = fieldType(field.type);
  switch (word) {
    case 'count':
      return sql`count(${column})`;
    case 'countDistinct':
      return sql`count(distinct ${column})`;
    case 'sum':
      return sql`sum(${addend(field, column)})`;
    case 'avg':
      return renderAverage(field, column);
    case 'min':
      return extremesByText ? asValue(field, sql`min(${column}::text collate "C")`) : sql`min(${column})`;
    case 'max':
      return extremesByText ? asValue(field, sql`max(${column}::text collate "C")`) : sql`max(${column})`;
    default:
      return word satisfies never;
  }
}

/** Casts text back to a value of the field. */
const asValue = (field: Field, text: Fragment): Fragment => sql`${text}::${keyword(fieldType(field.type).bindType)}`;

/** Renders a number whose sum loses no digit. */
function addend(field: Field, column: Fragment): Fragment {
  return fieldType(field.type).summing?.by === 'text' ? sql`${column}::text::numeric` : column;
}

/**
 * Renders the average, rounded once, halves away from zero. PostgreSQL's division returns some 16 digits in all, and
 * for large numbers none after the point; div() of whole numbers is exact. Runs once for each group.
 */
function renderAverage(field: Field, column: Fragment): Fragment {
  const sum = sql`sum(${addend(field, column)})::numeric`;
  const count = sql`count(${column})`;
  const digits = averageDigits(field);
  const [up, down] =
    digits === undefined
      ? // The sum has as many digits after the point as the longest of the values.
        ['1e', '1e-'].map(
          (power) =>
            sql`(${literal(power)} || least(${integerLiteral(MAX_DIGITS)}, scale(${sum}) + ${integerLiteral(MORE_DIGITS)}))::numeric`,
        )
      : [`1e${digits}`, `1e-${digits}`].map((power) => sql`${literal(power)}::numeric`);
  return sql`div(2 * ${sum} * ${up as Fragment} + sign(${sum}) * ${count}, 2 * ${count}) * ${down as Fragment}`;
}
