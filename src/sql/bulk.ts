// Writes many records in one statement: bound lists, one for each column, are the rows. It writes all or none: it
// checks all conditions before the first write, and returns no row when one fails.

import type { Field } from '../model/entity.ts';
import { columnDefault, fieldType } from '../model/field-types.ts';
import {
  type BulkCreatePlan,
  type BulkDeletePlan,
  type BulkReferencesPlan,
  type BulkUpdatePlan,
  type FindPlan,
  ID_LIST,
  type ListColumns,
  type LockPlan,
  listOperands,
  type MatchBatchesPlan,
  type MatchPlan,
  PROVIDED,
  type ReferredPlan,
  VERSION_LIST,
} from '../plan/bulk.ts';
import type { Link } from '../plan/link.ts';
import type { Operand } from '../plan/operand.ts';
import { valueOperand } from '../plan/operand.ts';
import type { Projection } from '../plan/projection.ts';
import type { Reference } from '../plan/references.ts';
import type { Scan } from '../plan/scan.ts';
import {
  type Aliases,
  bind,
  dateTimeText,
  linkCondition,
  makeAliases,
  outputColumn,
  RECORD,
  renderActor,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, literal, sql } from './fragment.ts';
import { limitRunningSize, makeSizeLimit, type SizeLimit } from './size-limit.ts';
import { insertRows } from './statement-forms.ts';
import { renderRowMark, renderSequence, renderTarget, renderVersion } from './table.ts';

export const S = ident('s');
export const R = ident('r');
export const W = ident('w');
export const ID = ident('$id');
export const ROW = ident('$row');
const VERSION = ident('$version');
const LOCKED = ident('$held');
const LISTED = ident('$listed');

/**
 * Renders an insert with `data`, the JSON array of the written records in the order of the lists; no row when a
 * reference points to a record that the principal cannot see:
 *
 *     with s as materialized (select nextval(…) as "$id", u.* from unnest($1::text[], …) with ordinality as u (…)),
 *     w as (insert into orders as r (id, …) select … from s order by "$row" returning r.*)
 *     select … from s join w on w.id = s."$id"
 */
export function insertRecords(plan: BulkCreatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const rows = drawIds(
    sql`nextval(${renderSequence(plan.scan)})`,
    listedRows(listOperands(plan), plan),
    renderReferencesExist(plan.references, aliases),
  );
  const { before, columns, source } = insertRows(plan.scan, {
    assigned: [
      ['id', sql`${S}.${ID}`],
      ...plan.columns.map((field) => [field.column, createdValue(plan, field)] as const),
    ],
    from: S,
    order: sql`${S}.${ROW}`,
    name: '$new',
  });
  const insert = sql`insert into ${renderTarget(plan.scan)} as ${R} ${columns}
  ${source} returning ${R}.*`;
  return sql`with ${rows},${before}
${W} as (${insert})
${selectRecords(plan, sql`${S} join ${W} on ${W}."id" = ${S}.${ID}`, maxBytes)}`;
}

/**
 * Renders an update as insertRecords(), with `versions` in the same order if requested. No row when a record is
 * missing, has another version, or a reference that changes points to a record that the principal cannot see. Locks the
 * records in the order of their ids before checking anything.
 */
export function updateRecords(plan: BulkUpdatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const { table, condition } = renderScan(plan.scan, R, true);
  const rows = sql`select u.* from ${listedRows([ID_LIST, VERSION_LIST, ...listOperands(plan)], plan, [ID, VERSION])}`;
  const currentReferences = plan.references.map(
    ({ field }) => sql`${R}.${ident(field.column)} as ${ident(field.name)}`,
  );
  const lockedRows = sql`select ${join([sql`${R}."id" as ${ID}`, sql`${renderVersion(plan.scan, R)} as ${VERSION}`, ...currentReferences])} from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition)} order by ${R}."id" for no key update of ${R}`;
  const completeCondition = where(
    sql`(select count(*) from ${LOCKED}) = cardinality(${bind(ID_LIST)})`,
    plan.guarded ? renderVersionsMatch() : empty,
    unchangedOrVisible(plan, aliases),
  );
  const sets = plan.columns.map((field) => sql`${ident(field.column)} = ${changedValue(plan, field)}`);
  // Columns of a record and its version.
  const row = plan.versions ? sql`${R}.*, ${renderRowMark(plan.scan, R)} as ${VERSION}` : sql`${R}.*`;
  const version = plan.versions ? renderVersion(plan.scan, W, VERSION) : undefined;
  const result = (from: Fragment): Fragment => selectRecords(plan, from, maxBytes, version);
  const withClause = sql`with ${S} as materialized (${rows}),
${LOCKED} as materialized (${lockedRows}),
"$whole" as materialized (select true as "is"${completeCondition})`;
  const conditions = [sql`${R}."id" = ${S}.${ID}`, condition, sql`exists (select from "$whole")`];
  // Records without a change are returned, and not written.
  if (sets.length === 0)
    return sql`${withClause}
${result(sql`${S} join (select ${row} from ${S}, ${table}${where(...conditions)}) ${W} on ${W}."id" = ${S}.${ID}`)}`;
  sets.push(...setUpdatedAt(plan.scan));
  const isChanged = plan.isSparse ? sql`strpos(${S}.${ident(PROVIDED)}, '1') > 0` : empty;
  const update = sql`update ${table} set ${join(sets)} from ${S}${where(...conditions, isChanged)} returning ${row}`;
  const same = sql`select ${row} from ${S}, ${table}${where(...conditions, sql`strpos(${S}.${ident(PROVIDED)}, '1') = 0`)}`;
  const updatedRows = plan.isSparse ? sql`(select * from "$changed" union all ${same})` : keyword('"$changed"');
  return sql`${withClause},
"$changed" as (${update})
${result(sql`${S} join ${updatedRows} ${W} on ${W}."id" = ${S}.${ID}`)}`;
}

/** Renders a delete with `count`: all records, or none when one is missing or has another version. */
export function deleteRecords(plan: BulkDeletePlan): Fragment {
  const { table, condition } = renderScan(plan.scan, R, true);
  const own = sql`${R}."id" = any(${bind(ID_LIST)})`;
  const rows = sql`select * from unnest(${bind(ID_LIST)}, ${bind(VERSION_LIST)}) as u (${ID}, ${VERSION})`;
  const completeCondition = where(
    sql`(select count(*) from ${LOCKED}) = cardinality(${bind(ID_LIST)})`,
    plan.guarded ? renderVersionsMatch() : empty,
  );
  return sql`with ${S} as materialized (${rows}),
${LOCKED} as materialized (select ${R}."id" as ${ID}, ${renderVersion(plan.scan, R)} as ${VERSION} from ${table}${where(own, condition)} order by ${R}."id" for update of ${R}),
"$whole" as materialized (select true as "is"${completeCondition}),
${W} as (delete from ${table}${where(own, condition, sql`exists (select from "$whole")`)} returning 1)
select count(*)::text as count${renderActor(plan.scan)} from ${W}`;
}

/** Selects `id` and `version` of the listed records that the principal can see. */
export function findRecords({ scan }: FindPlan): Fragment {
  const { table, condition } = renderScan(scan, R, true);
  return sql`select ${R}."id"::text as id, ${renderVersion(scan, R)} as version from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition)}`;
}

/** Selects `id` of the records that match, at most one more than `max`; with more, `total` is the number of all. */
export function selectMatches({ scan, predicate, max }: MatchPlan): Fragment {
  const aliases = makeAliases();
  const { table, condition } = renderScan(scan, R);
  const rows = sql`from ${table}${where(condition, predicate === undefined ? empty : renderPredicate(predicate, R, aliases))}`;
  const most = integerLiteral(max);
  return sql`with "$match" as materialized (select ${R}."id" ${rows} order by ${R}."id" limit ${most} + 1)
select m."id"::text as id, case when (select count(*) from "$match") > ${most} then (select count(*) ${rows})::text end as total from "$match" m order by m."id"`;
}

/** Selects `ids` of the records that match, lists of as many as a batch has, in their order. */
export function selectMatchBatches({ scan, predicate, max, size }: MatchBatchesPlan): Fragment {
  const aliases = makeAliases();
  const { table, condition } = renderScan(scan, R);
  const rows = sql`from ${table}${where(condition, predicate === undefined ? empty : renderPredicate(predicate, R, aliases))}`;
  const ids = sql`select ${R}."id" ${rows} order by ${R}."id" limit ${integerLiteral(max)}`;
  const numbered = sql`select m."id", (row_number() over (order by m."id") - 1) / ${integerLiteral(size)} as "batch" from (${ids}) m`;
  return sql`select array_agg(n."id" order by n."id")::text as ids from (${numbered}) n group by n."batch" order by n."batch"`;
}

/**
 * Selects `id`, `data` and `now` of the listed records that the principal can see and that match, and locks them in the
 * order of their ids; fails with an error of our own when the data are larger than a response may be.
 */
export function lockRecords({ scan, fields, copies, predicate, strength }: LockPlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const { table, condition } = renderScan(scan, R, true);
  const columns = [
    ...fields.map((field) => outputColumn(field, R)),
    ...copies.map(
      ({ links, source }, index) => sql`${copiedValue(links, source, R, aliases)} as ${ident(`$${index}`)}`,
    ),
  ];
  const data = sql`(select row_to_json(${RECORD}) from (select ${join(columns)}) ${RECORD})::text`;
  const matches = predicate === undefined ? empty : renderPredicate(predicate, R, aliases);
  const lock = keyword(strength === 'update' ? 'for no key update' : 'for update');
  const locked = sql`select ${R}."id"::text as id, ${data} as data from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition, matches)} order by ${R}."id" ${lock} of ${R}`;
  const sized = sql`select t.*, octet_length(t.data) as "$size" from ${LOCKED} t`;
  return sql`with ${LOCKED} as materialized (${locked})
select q.id, q.data, ${dateTimeText(keyword('now()::timestamptz(3)'))} as now from (${limitRunningSize(sized, makeSizeLimit(scan, maxBytes))}) q`;
}

/** Renders the value of a field across to-one relations, null where a record on the way is missing or hidden. */
function copiedValue([link, ...rest]: readonly Link[], source: Field, row: Fragment, aliases: Aliases): Fragment {
  if (link === undefined) {
    const isDateTime = fieldType(source.type).output === 'datetime';
    const column = sql`${row}.${ident(source.column)}`;
    return isDateTime ? dateTimeText(column) : column;
  }
  const related = aliases.next('c');
  const { table, condition } = renderScan(link.scan, related);
  const value = copiedValue(rest, source, related, aliases);
  return sql`(select ${value} from ${table}${where(linkCondition(link, related, row, aliases), condition)} limit 1)`;
}

// Most mistakes in one response.
export const MAX_MISTAKES = 100;

/** Selects `index` (from 0) and `field` of references to no visible record, at most 100, in order. */
export function selectMissingBulkReferences(plan: BulkReferencesPlan): Fragment {
  const aliases = makeAliases();
  const extra = plan.record === null ? [] : [ID_LIST];
  const rows = sql`select u.* from ${listedRows([...extra, ...listOperands(plan)], plan, plan.record === null ? [] : [ID])}`;
  const selects = plan.references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    const stays = plan.record === null ? empty : sql`not ${isReferenceUnchanged(plan.record, field, aliases)}`;
    const condition = where(sql`${value} is not null`, sql`not ${isThere(scan, value, aliases)}`, stays);
    return sql`select (${S}.${ROW} - 1)::text as index, ${literal(field.name)} as field from ${S}${condition}`;
  });
  return sql`with ${S} as materialized (${rows})
select * from (${join(selects, ' union all ')}) d order by d.index::int8, d.field limit ${integerLiteral(MAX_MISTAKES)}`;
}

/** Selects `index` (from 0) of the listed ids to which a record refers that is not listed itself, at most 100. */
export function selectReferred({ by: { field, scan }, entity }: ReferredPlan): Fragment {
  const { table, condition } = renderScan(scan, R);
  const refers = sql`${R}.${ident(field.column)} = ${S}.${ID}`;
  const stays = scan.entity === entity ? sql`${R}."id" <> all(${bind(ID_LIST)})` : empty;
  return sql`with ${S} as materialized (select * from unnest(${bind(ID_LIST)}) with ordinality as u (${ID}, ${ROW}))
select (${S}.${ROW} - 1)::text as index from ${S}${where(sql`exists (select from ${table}${where(refers, stays, condition)})`)} order by ${S}.${ROW} limit ${integerLiteral(MAX_MISTAKES)}`;
}

/** Renders the lists as rows `u` in their order, `"$row"` from 1 on. */
export function listedRows(
  operands: readonly Operand[],
  plan: ListColumns,
  before: readonly Fragment[] = [],
): Fragment {
  const names = [
    ...before,
    ...plan.columns.map(({ name }) => ident(name)),
    ...(plan.isSparse ? [ident(PROVIDED)] : []),
    ROW,
  ];
  return sql`unnest(${join(operands.map(bind))}) with ordinality as u (${join(names)})`;
}

/**
 * Selects `data`: the records of `w` as a JSON array, in the order of the rows; fails with an error of our own beyond
 * the size limit. No row without records.
 */
function selectRecords(
  { scan, projection }: Pick<BulkCreatePlan, 'scan' | 'projection'>,
  from: Fragment,
  maxBytes: number,
  version?: Fragment,
): Fragment {
  // The actor comes after the columns that are read by their position.
  const noVersions = scan.entity.namesActor ? keyword(', null::text as versions') : empty;
  const versions = version === undefined ? noVersions : sql`, ${VERSIONS} as versions`;
  const rows = recordRows(projection, from, makeSizeLimit(scan, maxBytes), version);
  return sql`select ${RECORDS} as data${versions}${renderActor(scan)} from (${rows}) q having count(*) > 0`;
}

const VERSIONS = sql`'[' || string_agg(to_json(q.${VERSION})::text, ',' order by q.${ROW}) || ']'`;

/** JSON array of the rows of recordRows(), under the alias `q`. */
export const RECORDS = sql`'[' || string_agg(q."$text", ',' order by q.${ROW}) || ']'`;

/** Renders the records of `w` as JSON, with `version` if requested; fails with an error of our own beyond the limit. */
export function recordRows(projection: Projection, from: Fragment, sizeLimit: SizeLimit, version?: Fragment): Fragment {
  const columns = projection.outputs.map((output) => {
    if (output.kind !== 'column') throw new TypeError('a write answers with columns alone');
    return outputColumn(output.field, W);
  });
  const versionColumn = version === undefined ? empty : sql`, ${version} as ${VERSION}`;
  const texts = sql`select (select row_to_json(${RECORD}) from (select ${join(columns)}) ${RECORD})::text as "$text", ${S}.${ROW}${versionColumn} from ${from} order by ${S}.${ROW}`;
  const sized = sql`select t.*, octet_length(t."$text") + 1 as "$size" from (${texts}) t`;
  return limitRunningSize(sized, sizeLimit);
}

/** Renders the value that a create stores: that of the record, or else the default. */
export function createdValue(plan: ListColumns, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  const fallback = plan.isSparse ? renderDefault(field) : undefined;
  return fallback === undefined ? value : sql`case when ${isProvided(plan, field)} then ${value} else ${fallback} end`;
}

/** Renders the default of a column, or returns undefined for null. */
export function renderDefault(field: Field): Fragment | undefined {
  const stored = columnDefault(field);
  if (stored === undefined) return undefined;
  return stored.kind === 'expression' ? keyword(stored.expression) : bind(valueOperand(field, stored.text));
}

/** Renders the value that an update stores: that of the record, or else the stored one. */
export function changedValue(plan: ListColumns, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  return plan.isSparse
    ? sql`case when ${isProvided(plan, field)} then ${value} else ${R}.${ident(field.column)} end`
    : value;
}

/** Assigns updatedAt if the entity has it. */
export function setUpdatedAt(scan: Scan): readonly Fragment[] {
  return scan.entity.timestamps ? [sql`${ident(getField(scan, 'updatedAt').column)} = now()`] : [];
}

export function isProvided({ columns }: ListColumns, field: Field): Fragment {
  return sql`substr(${S}.${ident(PROVIDED)}, ${integerLiteral(columns.indexOf(field) + 1)}, 1) = '1'`;
}

/** Renders the condition that no record refers to a hidden one, or nothing if that is impossible. */
export function renderReferencesExist(
  references: readonly Reference[],
  aliases: Aliases,
  only: Fragment = empty,
): Fragment {
  if (references.length === 0) return empty;
  const conditions = references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    return sql`(${value} is not null and not ${isThere(scan, value, aliases)})`;
  });
  return sql`not exists (select from ${LISTED} ${S}${where(sql`(${join(conditions, ' or ')})`, only)})`;
}

/**
 * Renders the parts of a `with` that end in the rows with their ids; no row, and no id is drawn, unless the condition is
 * met. It has a part of its own, as on a cluster some inserts fail that read tables.
 */
export function drawIds(id: Fragment, listed: Fragment, condition: Fragment): Fragment {
  if (condition.text === '') return sql`${S} as materialized (select ${id} as ${ID}, u.* from ${listed})`;
  return sql`${LISTED} as materialized (select u.* from ${listed}),
"$clear" as materialized (select true as "is" where ${condition}),
${S} as materialized (select ${id} as ${ID}, u.* from ${LISTED} u, "$clear")`;
}

function unchangedOrVisible({ references }: BulkUpdatePlan, aliases: Aliases): Fragment {
  if (references.length === 0) return empty;
  const conditions = references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    const isNew = sql`${value} is distinct from ${LOCKED}.${ident(field.name)}`;
    return sql`(${value} is not null and ${isNew} and not ${isThere(scan, value, aliases)})`;
  });
  return sql`not exists (select from ${S} join ${LOCKED} on ${LOCKED}.${ID} = ${S}.${ID}${where(sql`(${join(conditions, ' or ')})`)})`;
}

/** Renders the condition that each record has its required version, if any. */
function renderVersionsMatch(): Fragment {
  return sql`not exists (select from ${S} join ${LOCKED} on ${LOCKED}.${ID} = ${S}.${ID} where ${S}.${VERSION} <> ${LOCKED}.${VERSION})`;
}

/** Renders the condition that the principal can see a record with this id. */
function isThere(scan: Scan, id: Fragment, aliases: Aliases): Fragment {
  const related = aliases.next('k');
  const { table, condition } = renderScan(scan, related);
  return sql`exists (select from ${table}${where(sql`${related}."id" = ${id}`, condition)})`;
}

/** Renders the condition that the reference of the record stays the same. */
function isReferenceUnchanged(record: Scan, field: Field, aliases: Aliases): Fragment {
  const related = aliases.next('k');
  const { table, condition } = renderScan(record, related);
  const same = [sql`${related}."id" = ${S}.${ID}`, sql`${related}.${ident(field.column)} = ${S}.${ident(field.name)}`];
  return sql`exists (select from ${table}${where(...same, condition)})`;
}

function getField({ entity }: Scan, name: string): Field {
  const field = entity.fields.get(name);
  if (field === undefined) throw new TypeError(`entity ${entity.name} has no field ${name}`);
  return field;
}
