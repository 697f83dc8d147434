// The history of entities in a backup: its changes as lines of JSON, and how they become those of another workspace. They
// are not in its feed, which begins with the restore.
import { type Fragment, join, literal, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';

/** A column by its names in the backup and in the restored table. */
export interface CopiedColumn {
  readonly from: string;
  readonly to: string;
}

/** Renders the time from which on the history of a table is complete, `since`, if it keeps one. */
export const selectCopiedSince = ({ schema, name }: TableName): Fragment =>
  sql`select since from ${internalRef(schema, 'changed_entity')} where relation = ${literal(name)} and is_kept and is_history`;

/** Renders the changes of records of a table as lines, with the names that columns have now. */
export function selectHistoryLines(table: TableName): Fragment {
  const { schema } = table;
  const number = selectNumber(table);
  return sql`select json_build_object('seq', c.seq, 'xid', c.xid::text, 'at', c.at, 'kind', c.kind, 'id', c.id, 'actor', c.actor,
  'old', ${renderImage(schema, number, sql`c.old`)}, 'new', ${renderImage(schema, number, sql`c.new`)})::text
from ${internalRef(schema, 'change')} c where c.entity = ${number} and c.kind in ('i', 'u', 'd') order by c.seq`;
}

const selectNumber = ({ schema, name }: TableName): Fragment =>
  sql`(select number from ${internalRef(schema, 'changed_entity')} where relation = ${literal(name)})`;

/** Renders an image by the names that columns have now. Few entities have notes, by which it takes 10 us. */
function renderImage(schema: string, number: Fragment, image: Fragment): Fragment {
  const hasNotes = sql`(select exists (select from ${internalRef(schema, 'changed_column')} where entity = ${number}))`;
  return sql`case when ${hasNotes} then ${internalRef(schema, 'rename_image')}(c.entity, c.seq, ${image}) else ${image} end`;
}

// Transactions of a restored change are numbers that no server reaches, so that numbering takes them for none of its own.
export const NO_TRANSACTION = sql`9223372036854775808::numeric`;

/**
 * Renders statements that add lines, in the column `line` of a table, to the changes of a restored table. The last one
 * selects `fits`: whether all of them are changes of its records; one with a value of another type fails (class 22).
 */
export function insertHistory(
  table: TableName,
  lines: TableName,
  since: string,
  columns: readonly CopiedColumn[],
): readonly Fragment[] {
  const { schema, name } = table;
  const changes = internalRef(schema, 'change');
  const entities = internalRef(schema, 'changed_entity');
  const number = selectNumber(table);
  const last = sql`(select max(seq) from ${changes} where entity = ${number})`;
  // Renamed all at once, as the name of one column may be the new name of another one.
  const renamed = columns.filter(({ from, to }) => from !== to);
  const notes = [
    ...renamed.map(({ from }, index) => [from, `$${index}`] as const),
    ...renamed.map(({ to }, index) => [`$${index}`, to] as const),
  ].map(([from, to]) => sql`select ${number}, ${last}, ${literal(from)}, ${literal(to)}, false`);
  // Images with values of another type are read with the notes of their columns, of which there must be one.
  const unknown = sql`select ${number}, ${last}, '', null, false
where exists (select from ${changes} where entity = ${number} and (old -> '$unknown' is not null or new -> '$unknown' is not null))`;
  const isObject = (column: Fragment): Fragment => sql`coalesce(json_typeof(${column}), 'object') = 'object'`;
  const isRead = (column: Fragment): Fragment =>
    sql`coalesce(json_populate_record(null::${tableRef(table)}, ${renderImage(schema, number, column)})::text <> '', true)`;
  return [
    sql`insert into ${changes} (seq, xid, at, entity, kind, id, actor, old, new)
select r.seq, (r.xid::numeric % ${NO_TRANSACTION} + ${NO_TRANSACTION})::text::xid8, r.at, ${number}, r.kind, r.id, r.actor, r.old, r.new
from ${tableRef(lines)} l cross join json_to_record(l.line::json) r (seq int8, xid text, at timestamptz, kind "char", id int8, actor text, old json, new json)`,
    sql`insert into ${internalRef(schema, 'changed_column')} (entity, seq, name, renamed, is_retyped)
select * from (${join([...notes, unknown], '\nunion all ')}) n (entity, seq, name, renamed, is_retyped) where n.seq is not null`,
    sql`update ${entities} set since = ${literal(since)}::timestamptz where relation = ${literal(name)}`,
    sql`select coalesce(bool_and(c.kind in ('i', 'u', 'd') and c.seq > 0 and c.id is not null
  and c.at >= '0001-01-01Z' and c.at < '10000-01-01Z' and (c.actor is null or json_typeof(c.actor::json -> 'kind') = 'string')
  and ${isObject(sql`c.old`)} and ${isObject(sql`c.new`)} and ${isRead(sql`c.old`)} and ${isRead(sql`c.new`)}), true) as fits
from ${changes} c where c.entity = ${number}`,
  ];
}

/** Renders statements after all lines: later changes have greater numbers, and the feed begins after these. */
export function finishHistory(schema: string): readonly Fragment[] {
  const changes = internalRef(schema, 'change');
  const positions = internalRef(schema, 'change_position');
  const last = sql`(select coalesce(max(seq), 0) from ${changes})`;
  return [
    sql`insert into ${positions} (xid, seq) select xid, seq from ${changes} order by seq`,
    sql`select setval(${literal(internalRef(schema, 'change_seq').text)}::regclass, greatest(${last}, 1))`,
    sql`update ${internalRef(schema, 'change_progress')} set restored = ${last}, drawn = ${last}, base = ${last}, next_base = ${last},
  expired = (select coalesce(max(pos), 0) from ${positions})`,
  ];
}
