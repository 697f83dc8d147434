// Selects the changes of a feed: positions in their order, and for each entity what the principal sees of the record before
// and after. install/changes has the tables.
import type { Field } from '../model/entity.ts';
import { type FeedCountPlan, type FeedPlan, type FeedView, type HistoryPlan, MAX_LOOKED_AT } from '../plan/feed.ts';
import type { Scan } from '../plan/scan.ts';
import {
  bind,
  dateTimeText,
  IMAGE,
  makeAliases,
  outputColumn,
  RECORD,
  renderColumn,
  renderFilter,
  renderPredicate,
} from './expression.ts';
import {
  empty,
  type Fragment,
  ident,
  integerLiteral,
  join,
  keyword,
  literal,
  type Query,
  sql,
  toQuery,
} from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { renderRowType, renderTableName } from './table.ts';

const C = ident('c');
const O = ident('o');
const N = ident('n');

/**
 * Renders the feed: one row for each event, and a last one with what was looked at. See FeedRow for the columns. A page
 * ends before it would have more than `maxBytes`; its first event always comes, without its images if it alone has more.
 */
export const selectFeed = (plan: FeedPlan, maxBytes: number): Fragment =>
  selectPage(plan, selectLookedAt(plan), plan.looks, maxBytes);

/** Renders the changes after the position, `looks` of them at most. */
function selectLookedAt({ databaseSchema: schema, after, seen, looks }: FeedPlan | FeedCountPlan): Fragment {
  const isNew =
    seen === undefined
      ? empty
      : sql` and (p.pos > ${bind(seen.until)} or not pg_visible_in_snapshot(p.xid, ${bind(seen.snapshot)}::pg_snapshot))`;
  return sql`select p.pos, c.*, ${renderMark(schema)} as version from ${internalRef(schema, 'change_position')} p join ${internalRef(schema, 'change')} c on c.seq = p.seq
  where p.pos > ${bind(after)}${isNew} order by p.pos limit ${integerLiteral(looks)}`;
}

/** Renders the number of events, the time of the first one, the last position that was looked at, and whether there may be more. */
export function countFeed(plan: FeedCountPlan): Fragment {
  const isCounted = plan.countsSchema ? empty : sql` where "$v".kind <> 's'`;
  return sql`with "$c" as materialized (${selectLookedAt(plan)}),
"$v" as (${renderViews(plan)})
select v.events::text, ${dateTimeText(sql`v.at`)}, l.pos::text, l.n >= ${integerLiteral(plan.looks)} from
  (select count(*) as events, (array_agg("$v".at order by "$v".pos))[1] as at from "$v"${isCounted}) v,
  (select max(pos) as pos, count(*) as n from "$c") l`;
}

/**
 * Renders the mark of the record as a change has left it: the transaction or savepoint that wrote the record wrote its
 * change, too. Null for changes that were restored.
 */
function renderMark(schema: string): Fragment {
  const last = sql`(select case when place = ${internalRef(schema, 'locate_changes')}() then restored else ${keyword('9223372036854775807')} end from ${internalRef(schema, 'change_progress')})`;
  return sql`case when c.seq > ${last} then c.xmin end`;
}

/** Renders the history of a record, as the feed, the last change first and with the number of a change as its position. */
export function selectHistory(plan: HistoryPlan, maxBytes: number): Fragment {
  const { databaseSchema: schema, views, id, change, isOne, looks } = plan;
  const place =
    change === undefined ? empty : isOne ? sql` and c.seq = ${bind(change)}` : sql` and c.seq < ${bind(change)}`;
  const looked = sql`select c.seq as pos, c.*, ${renderMark(schema)} as version from ${internalRef(schema, 'change')} c
  where c.entity = ${renderNumber(schema, views[0].scan)} and c.id = ${bind(id)} and c.kind in ('i', 'u', 'd')${place} order by c.seq desc limit ${integerLiteral(looks)}`;
  return selectPage(plan, looked, looks, maxBytes, keyword(' desc'));
}

/** Removes the values of a record from its changes; returns how many had some, and whether it has any changes. */
export function redactHistory(schema: string, scan: Scan, id: string): Query {
  const change = internalRef(schema, 'change');
  const own = sql`c.entity = ${renderNumber(schema, scan)} and c.id = ${id}::int8 and c.kind in ('i', 'u', 'd')`;
  return toQuery(sql`with r as (
  update ${change} c set old = null, new = null where ${own} and (c.old is not null or c.new is not null) returning 1
) select (select count(*) from r)::text, exists (select from ${change} c where ${own})`);
}

/** Selects the time from which on all changes of the entity are there. */
export const selectHistoryStart = (schema: string, scan: Scan, days: number): Query =>
  toQuery(
    sql`select ${dateTimeText(sql`greatest(e.since, now() - make_interval(days => coalesce(e.history_days, ${String(days)}::int4)))`)} from ${internalRef(schema, 'changed_entity')} e where e.relation = ${renderTableName(scan)}`,
  );

/** Renders a page of the changes in `looked`, which has at most `looks`. */
function selectPage(
  plan: FeedPlan | HistoryPlan,
  looked: Fragment,
  looks: number,
  maxBytes: number,
  direction: Fragment = empty,
): Fragment {
  const { databaseSchema: schema, size } = plan;
  const visible = sql`select * from (${renderViews(plan)}) v order by v.pos${direction} limit ${integerLiteral(size + 1)}`;
  const next = sql`coalesce(octet_length(v."new"), 0) + coalesce(octet_length(v.previous), 0)`;
  const old = sql`coalesce(octet_length(v."old"), 0)`;
  // An update shows no record of before; as it is stored it is there to be compared, and takes memory.
  const own = sql`${next} + case when v.before and v.after then 0 else ${old} end`;
  const sized = sql`select v.*, ${own} as "$own", sum(${next} + ${old} + 400) over w as "$bytes", row_number() over w as "$at" from (${visible}) v window w as (order by v.pos${direction} rows unbounded preceding)`;
  const fits = sql`(s."$at" = 1 or s."$bytes" < ${integerLiteral(maxBytes)})`;
  const last = direction === empty ? keyword('max') : keyword('min');
  const whole = (name: string): Fragment =>
    sql`case when s."$own" < ${integerLiteral(maxBytes)} then s.${ident(name)} end`;
  return sql`with "$c" as materialized (${looked}),
"$sized" as materialized (${sized})
(select s.pos::text, s.kind::text, s.view, s.id::text, ${dateTimeText(sql`s.at`)}, s.xid::text, s.seq::text, s.actor, s.before, s.after, ${whole('old')}, ${whole('new')}, s.changed, ${whole('previous')}, s.version::text, s.unknown, s.columns, false from "$sized" s where s."$at" <= ${integerLiteral(size)} and ${fits} order by s.pos${direction})
union all select ${last}(pos)::text, null, (select count(*) from "$sized"), (select expired from ${internalRef(schema, 'change_progress')})::text, null, null, null, null, null, null, null, null, null, null, null, null, null, count(*) >= ${integerLiteral(looks)} from "$c"`;
}

/** Renders the last position that is visible to the statement. */
export const renderLastPosition = (schema: string): Fragment =>
  sql`greatest((select max(pos) from ${internalRef(schema, 'change_position')}), (select expired from ${internalRef(schema, 'change_progress')}))::text`;

/** Selects the last position. */
export const selectLastPosition = (schema: string): Query =>
  toQuery(sql`select ${renderLastPosition(schema)}`, `feed.last.${schema}`);

/** Renders the snapshot of the statement, or of its transaction, and the last position that is visible in it. */
export const renderMoment = (schema: string): Fragment =>
  sql`pg_current_snapshot()::text, ${renderLastPosition(schema)}`;

export const selectMoment = (schema: string): Query => toQuery(sql`select ${renderMoment(schema)}`);

/**
 * Selects where a feed goes on after a snapshot, in which every change up to `position` is visible and perhaps some later
 * ones: the position before the first change that is not visible, the position of the last one that is, the end of the
 * snapshot, and the transactions before it that are not visible and have changes between these positions.
 */
export function selectContinuation(schema: string, snapshot: string, position: number): Query {
  const at = sql`${snapshot}::pg_snapshot`;
  const changes = sql`select pos, xid, pg_visible_in_snapshot(xid, ${at}) as is_seen from ${internalRef(schema, 'change_position')} where pos > ${String(position)}::int8`;
  const bounds = sql`select coalesce(min(pos) filter (where not is_seen) - 1, max(pos), ${String(position)}::int8) as start, coalesce(max(pos) filter (where is_seen), 0) as until from p`;
  const running = sql`select string_agg(distinct p.xid::text, ',') from p where not p.is_seen and p.pos < b.until and p.xid < pg_snapshot_xmax(${at})`;
  return toQuery(
    sql`with p as materialized (${changes}), b as (${bounds}) select b.start::text, b.until::text, pg_snapshot_xmax(${at})::text, (${running}) from b`,
  );
}

/** Selects the position up to which changes may be gone, and the time of the oldest one that is kept, or null. */
export function selectOldest(schema: string): Query {
  const at = sql`(select c.at from ${internalRef(schema, 'change_position')} o join ${internalRef(schema, 'change')} c on c.seq = o.seq where o.pos > p.expired order by o.pos limit 1)`;
  const query = sql`select p.expired::text, ${dateTimeText(at)} from ${internalRef(schema, 'change_progress')} p`;
  return toQuery(query, `feed.oldest.${schema}`);
}

/**
 * Selects the ends of these entities, or of their changes, after the position and up to another one, among the last changes of
 * these.
 */
export function selectEndings(
  schema: string,
  scans: readonly Scan[],
  position: number,
  until = Number.MAX_SAFE_INTEGER,
): Query {
  const ended = join(scans.map((scan, view) => sql`(${integerLiteral(view)}, ${renderTableName(scan)})`));
  return toQuery(
    sql`select p.pos::text, c.seq::text, ${dateTimeText(sql`c.at`)}, v.view::text, c.new::text
from (select * from ${internalRef(schema, 'change_position')} where pos > ${String(position)}::int8 and pos <= ${String(until)}::int8 order by pos desc limit ${integerLiteral(MAX_LOOKED_AT)}) p
join ${internalRef(schema, 'change')} c on c.seq = p.seq join (values ${ended}) v(view, relation) on v.relation = c.old ->> 'relation'
where c.kind = 'x' order by p.pos`,
  );
}

/** Selects the position before the first change at or after the time, or null. */
export const selectSince = (schema: string, time: string): Query =>
  toQuery(
    sql`select (min(p.pos) - 1)::text from ${internalRef(schema, 'change')} c join ${internalRef(schema, 'change_position')} p on p.seq = c.seq where c.at >= ${time}::timestamptz and p.pos > (select expired from ${internalRef(schema, 'change_progress')})`,
  );

/** Renders the number of the entity with the table. */
const renderNumber = (schema: string, scan: Scan): Fragment =>
  sql`(select number from ${internalRef(schema, 'changed_entity')} where relation = ${renderTableName(scan)})`;

type ViewsPlan = FeedPlan | FeedCountPlan | HistoryPlan;

/** Renders the events of all views, from the changes in "$c". */
const renderViews = (plan: ViewsPlan): Fragment =>
  join(
    plan.views.map((view, index) => renderView(plan, view, index, renderNumber(plan.databaseSchema, view.scan))),
    '\nunion all ',
  );

function renderView(plan: ViewsPlan, view: FeedView, index: number, number: Fragment): Fragment {
  const render = view.isAsStored ? renderStored : renderRecords;
  return sql`${render(plan, view, index, number)}
union all select ${C}.pos, ${C}.kind, ${integerLiteral(index)}, null, ${C}.at, ${C}.xid, ${C}.seq, null, false, false, null, ${C}.new::text, null, null, null, null, null
from "$c" ${C} where ${C}.entity = ${number} and ${C}.kind in ('t', 'b', 's', 'g', 'x')`;
}

/** Renders the changes of all records with their images as they are stored, by the names that columns have now. */
function renderStored(
  { databaseSchema: schema, types }: ViewsPlan,
  _view: FeedView,
  index: number,
  number: Fragment,
): Fragment {
  const [old, next] = [ident('old'), ident('new')].map((column) => renderCurrent(schema, number, column));
  const unknown = sql`case when ${hasNotes(schema, number)} then (coalesce(${next}, ${old}) -> '$unknown')::text end`;
  return sql`select ${C}.pos, ${C}.kind, ${integerLiteral(index)} as view, ${C}.id, ${C}.at, ${C}.xid, ${C}.seq, ${C}.actor, ${C}.old is not null as before, ${C}.new is not null as after,
  (${old})::text as "old", (${next})::text as "new", null as changed, null as previous, ${C}.version, ${unknown} as unknown, null as columns
from "$c" ${C} where ${C}.entity = ${number} and ${isKind(types)}`;
}

/** Renders the condition that a change of a record is of one of the types, for who sees all records. */
function isKind(types: ViewsPlan['types']): Fragment {
  if (types?.length === 0) return keyword('false');
  const kinds = { created: sql`'i'`, updated: sql`'u'`, removed: sql`'d'` };
  return sql`${C}.kind in (${join(types?.map((type) => kinds[type]) ?? Object.values(kinds))})`;
}

function renderRecords(plan: ViewsPlan, view: FeedView, index: number, number: Fragment): Fragment {
  const { databaseSchema: schema, types } = plan;
  const isChanged = join(
    view.fields.map(
      (field) =>
        sql`case when ${O}.${ident(field.column)} is distinct from ${N}.${ident(field.column)} then ${literal(JSON.stringify(field.name))} end`,
    ),
  );
  const changed = view.fields.length === 0 ? keyword("''") : sql`array_to_string(array[${isChanged}], ',')`;
  const previous = plan.previous ? renderPrevious(view.fields) : keyword('null');
  const image = sql`coalesce(${N}.${IMAGE}, ${O}.${IMAGE})`;
  const unknown = sql`case when ${hasNotes(schema, number)} then (${image} -> '$unknown')::text end`;
  const isEntry = plan.kind === 'history' && plan.isOne;
  const columns = isEntry ? sql`(select json_agg(k) from json_object_keys(${image}) k)::text` : keyword('null');
  const isThere = (row: Fragment): Fragment => sql`${row}."$is" is not null`;
  const conditions: Fragment[] = [sql`(${isThere(O)} or ${isThere(N)})`];
  if (types !== undefined) {
    const kinds = {
      created: sql`(${O}."$is" is null and ${isThere(N)})`,
      updated: sql`(${isThere(O)} and ${isThere(N)})`,
      removed: sql`(${isThere(O)} and ${N}."$is" is null)`,
    };
    const isListed = types.map((type) => kinds[type]);
    conditions.push(isListed.length === 0 ? keyword('false') : sql`(${join(isListed, ' or ')})`);
  }
  if (view.isSelected) conditions.push(sql`(${O}."$is" is null or ${N}."$is" is null or ${changed} <> '')`);
  const both = sql`${isThere(O)} and ${isThere(N)}`;
  return sql`select ${C}.pos, ${C}.kind, ${integerLiteral(index)} as view, ${C}.id, ${C}.at, ${C}.xid, ${C}.seq, ${C}.actor, ${isThere(O)} as before, ${isThere(N)} as after,
  ${plan.previous ? sql`case when not (${both}) then ${O}."$text" end` : keyword('null')} as "old", ${N}."$text" as "new", case when ${both} then ${changed} end as changed, case when ${both} then ${previous} end as previous, ${C}.version, ${unknown} as unknown, ${columns} as columns
from "$c" ${C}
left join lateral (${renderImage(view, schema, number, ident('old'))}) ${O} on true
left join lateral (${renderImage(view, schema, number, ident('new'))}) ${N} on true
where ${C}.entity = ${number} and ${C}.kind in ('i', 'u', 'd') and ${join(conditions, ' and ')}${renderRedacted(plan, view, index, number)}`;
}

/** Renders whether columns of the entity were ever dropped or renamed. Evaluated once for each statement. */
const hasNotes = (schema: string, number: Fragment): Fragment =>
  sql`(select exists (select from ${internalRef(schema, 'changed_column')} where entity = ${number}))`;

/** Renders the changes whose values were removed, for who sees all records. */
function renderRedacted(
  { types }: ViewsPlan,
  { isWhole, predicate }: FeedView,
  index: number,
  number: Fragment,
): Fragment {
  if (!isWhole || predicate !== undefined) return empty;
  return sql`
union all select ${C}.pos, ${C}.kind, ${integerLiteral(index)}, ${C}.id, ${C}.at, ${C}.xid, ${C}.seq, ${C}.actor, false, false, null, null, null, null, null, null, null
from "$c" ${C} where ${C}.entity = ${number} and ${isKind(types)} and ${C}.old is null and ${C}.new is null`;
}

/** Renders the image in the column by the names that columns have now. */
function renderCurrent(schema: string, number: Fragment, column: Fragment): Fragment {
  const image = sql`${C}.${column}`;
  return sql`case when ${hasNotes(schema, number)} then ${internalRef(schema, 'rename_image')}(${C}.entity, ${C}.seq, ${image}) else ${image} end`;
}

/** Renders the record of an image that is in the view, with `"$is"` and `"$text"`, the JSON of its fields; else no row. */
function renderImage(
  { scan, predicate, fields }: FeedView,
  schema: string,
  number: Fragment,
  column: Fragment,
): Fragment {
  const row = ident('r');
  const current = renderCurrent(schema, number, column);
  const columns = join(fields.map((field) => outputColumn(field, row)));
  const text =
    fields.length === 0
      ? keyword("'{}'")
      : sql`(select row_to_json(${RECORD}) from (select ${columns}) ${RECORD})::text`;
  const conditions = predicate === undefined ? empty : sql` and ${renderPredicate(predicate, row, makeAliases())}`;
  return sql`select true as "$is", ${text} as "$text", ${row}.* from (${selectImage(scan, current)}) ${row} where ${C}.${column} is not null${conditions}`;
}

/** Renders the record of an image with the row filter, in place of the table, and the image. */
function selectImage(scan: Scan, image: Fragment): Fragment {
  if (scan.isImage !== true) throw new TypeError('an image is read by the scan of images alone');
  const inner = ident('i');
  const columns = [...scan.entity.fields.values()].map((field) => {
    const value = renderColumn(scan, field, inner);
    return value === undefined ? sql`${inner}.${ident(field.column)}` : sql`${value} as ${ident(field.column)}`;
  });
  const filter = renderFilter(scan, inner);
  const where = filter.length === 0 ? empty : sql` where ${join(filter, ' and ')}`;
  // A function in `from` would store its row first, which takes 1 us; `offset 0` keeps it from running for each column.
  const record = sql`json_populate_record(${renderRowType(scan)}, "$j".${IMAGE})`;
  const rows = sql`select "$p".${IMAGE}, ("$p"."$row").* from (select "$j".${IMAGE}, ${record} as "$row" from (select ${image} as ${IMAGE} offset 0) "$j" offset 0) "$p"`;
  return sql`select ${inner}.${IMAGE}, ${join(columns)} from (${rows}) ${inner}${where}`;
}

/** Renders the JSON of the fields that differ, as they were before. */
function renderPrevious(fields: readonly Field[]): Fragment {
  if (fields.length === 0) return keyword("'{}'");
  const members = fields.map((field) => {
    const column = ident(field.column);
    const value = sql`(select to_json("$v".${ident(field.name)}) from (select ${outputColumn(field, O)}) "$v")::text`;
    return sql`case when ${O}.${column} is distinct from ${N}.${column} then ${literal(`${JSON.stringify(field.name)}:`)} || coalesce(${value}, 'null') end`;
  });
  return sql`'{' || array_to_string(array[${join(members)}], ',') || '}'`;
}

/** Selects how many changes come after the position, 10,000 at most, and the age of the first one in seconds. */
export const measureLag = (schema: string, position: string): Query =>
  toQuery(
    sql`select (select count(*) from (select from ${internalRef(schema, 'change_position')} where pos > ${position}::int8 limit 10000) p)::text,
  (select extract(epoch from clock_timestamp() - c.at) from ${internalRef(schema, 'change_position')} p join ${internalRef(schema, 'change')} c on c.seq = p.seq
  where p.pos > ${position}::int8 order by p.pos limit 1)::text`,
  );
