// Many records, one statement: bound lists, a column each, are the rows that are written. All of them are, or none is:
// what could stand in the way is asked before the first is written, and when it does no row comes back.

import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
import {
  type BulkCreatePlan,
  type BulkDeletePlan,
  type BulkReferencesPlan,
  type BulkUpdatePlan,
  type FindPlan,
  ID_LIST,
  type ListColumns,
  listOperands,
  PROVIDED,
  type ReferredPlan,
  type UniqueConflictsPlan,
  VERSION_LIST,
} from '../plan/bulk.ts';
import type { Operand } from '../plan/operand.ts';
import { valueOperand } from '../plan/operand.ts';
import type { Projection } from '../plan/projection.ts';
import type { Reference } from '../plan/references.ts';
import type { Scan } from '../plan/scan.ts';
import { type Aliases, bind, makeAliases, outputColumn, RECORD, renderScan, where } from './expression.ts';
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

/**
 * `data`, the JSON array of what was written in the order of the lists; no row when a reference points at a record that
 * the principal cannot see:
 *
 *     with s as materialized (select nextval(…) as "$id", u.* from unnest($1::text[], …) with ordinality as u (…)),
 *     w as (insert into orders as r (id, …) select … from s where <nothing is in the way> order by "$row" returning r.*)
 *     select … from s join w on w.id = s."$id"
 */
export function insertRecords(plan: BulkCreatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const rows = sql`select nextval(${renderSequence(plan.scan)}) as ${ID}, u.* from ${listedRows(listOperands(plan), plan)}`;
  const guard = makeGuard(renderReferencesExist(plan.references, aliases));
  const { before, columns, source } = insertRows(plan.scan, {
    assigned: [
      ['id', sql`${S}.${ID}`],
      ...plan.columns.map((field) => [field.column, createdValue(plan, field)] as const),
    ],
    from: sql`${S}${guard.fromItem}`,
    order: sql`${S}.${ROW}`,
    name: '$new',
  });
  const insert = sql`insert into ${renderTarget(plan.scan)} as ${R} ${columns}
  ${source} returning ${R}.*`;
  return sql`with ${S} as materialized (${rows}),${guard.before}${before}
${W} as (${insert})
${selectRecords(plan.projection, sql`${S} join ${W} on ${W}."id" = ${S}.${ID}`, makeSizeLimit(plan.scan, maxBytes))}`;
}

/**
 * As insertRecords(), and `versions` in the same order, if they are told. No row when a record is not there, has another version, or a reference that changes points at a
 * record that the principal cannot see. The records are locked in the order of their ids before anything is asked.
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
  // What a statement gives of a record, and what is told of it.
  const row = plan.versions ? sql`${R}.*, ${renderRowMark(plan.scan, R)} as ${VERSION}` : sql`${R}.*`;
  const version = plan.versions ? renderVersion(plan.scan, W, VERSION) : undefined;
  const result = (from: Fragment): Fragment =>
    selectRecords(plan.projection, from, makeSizeLimit(plan.scan, maxBytes), version);
  const withClause = sql`with ${S} as materialized (${rows}),
${LOCKED} as materialized (${lockedRows}),
"$whole" as materialized (select true as "is"${completeCondition})`;
  const conditions = [sql`${R}."id" = ${S}.${ID}`, condition, sql`exists (select from "$whole")`];
  // Records that are sent without a change are answered, and not written.
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

/** `count`, how many were deleted: all, or none when one is not there or has another version. */
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
select count(*)::text as count from ${W}`;
}

/** `id` and `version` of those of the listed records that the principal can see. */
export function findRecords({ scan }: FindPlan): Fragment {
  const { table, condition } = renderScan(scan, R, true);
  return sql`select ${R}."id"::text as id, ${renderVersion(scan, R)} as version from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition)}`;
}

// Mistakes that one request is told.
const MAX_MISTAKES = 100;

/** `index` (from 0) and `field` of references that lead to nothing that the principal can see, at most 100, in order. */
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

/** `index` (from 0) of the listed ids to which a record refers that is not listed itself, at most 100. */
export function selectReferred({ by: { field, scan }, entity }: ReferredPlan): Fragment {
  const { table, condition } = renderScan(scan, R);
  const refers = sql`${R}.${ident(field.column)} = ${S}.${ID}`;
  const stays = scan.entity === entity ? sql`${R}."id" <> all(${bind(ID_LIST)})` : empty;
  return sql`with ${S} as materialized (select * from unnest(${bind(ID_LIST)}) with ordinality as u (${ID}, ${ROW}))
select (${S}.${ROW} - 1)::text as index from ${S}${where(sql`exists (select from ${table}${where(refers, stays, condition)})`)} order by ${S}.${ROW} limit ${integerLiteral(MAX_MISTAKES)}`;
}

/**
 * `index` (from 0) of records whose values of the fields are taken, and `other`: the index of the record of this request
 * that has them, too, else null.
 */
export function selectUniqueConflicts(plan: UniqueConflictsPlan): Fragment {
  const { scope } = plan;
  const isUpdate = scope.kind === 'update';
  const lists = isUpdate ? [ID_LIST, ...listOperands(plan)] : listOperands(plan);
  const rows = sql`select u.* from ${listedRows(lists, plan, isUpdate ? [ID] : [])}`;
  const { table, condition } = renderScan(plan.scan, R);
  const names = plan.fields.map(({ name }) => ident(name));
  const V = isUpdate ? W : S;
  const providedConditions = names.map((name) => sql`${V}.${name} is not null`);
  const o = ident('o');
  const equal = names.map((name) => sql`${o}.${name} = ${V}.${name}`);
  const duplicateIndex = sql`(select min(${o}.${ROW}) - 1 from ${V} ${o}${where(...equal, sql`${o}.${ROW} <> ${V}.${ROW}`)})`;
  const same = (fields: readonly Field[]) =>
    fields.map((field) => sql`${R}.${ident(field.column)} = ${V}.${ident(field.name)}`);
  const another =
    scope.kind === 'upsert'
      ? sql`(${join(same(scope.key), ' and ')}) is not true`
      : isUpdate
        ? sql`${R}."id" <> ${V}.${ID}`
        : empty;
  const isThere =
    scope.kind === 'request'
      ? keyword('false')
      : sql`exists (select from ${table}${where(...same(plan.fields), another, condition)})`;
  // What the records have once they are changed: of fields that they do not give, what is there.
  const after = plan.fields.map((field) => {
    const value = plan.columns.includes(field) ? changedValue(plan, field) : sql`${R}.${ident(field.column)}`;
    return sql`${value} as ${ident(field.name)}`;
  });
  const changed = sql`,
${W} as materialized (select ${join([sql`${S}.${ID}`, sql`${S}.${ROW}`, ...after])} from ${S}, ${table}${where(sql`${R}."id" = ${S}.${ID}`, condition)})`;
  return sql`with ${S} as materialized (${rows})${isUpdate ? changed : empty}
select * from (
  select (${V}.${ROW} - 1)::text as index, ${duplicateIndex}::text as other, ${isThere} as "isThere"
  from ${V}${where(...providedConditions)}
) d where d.other is not null or d."isThere" order by d.index::int8 limit ${integerLiteral(MAX_MISTAKES)}`;
}

/** The lists as rows `u` in their order, `"$row"` from 1 on. */
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

/** `data`: the records of `w` as a JSON array, in the order of the rows; an error of our own beyond the bound. No row without records. */
function selectRecords(projection: Projection, from: Fragment, sizeLimit: SizeLimit, version?: Fragment): Fragment {
  const versions = version === undefined ? empty : sql`, ${VERSIONS} as versions`;
  return sql`select ${RECORDS} as data${versions} from (${recordRows(projection, from, sizeLimit, version)}) q having count(*) > 0`;
}

const VERSIONS = sql`'[' || string_agg(to_json(q.${VERSION})::text, ',' order by q.${ROW}) || ']'`;

/** Of recordRows() `q`. */
export const RECORDS = sql`'[' || string_agg(q."$text", ',' order by q.${ROW}) || ']'`;

/** The records of `w` as JSON, with their `version` if that is asked for; an error of our own beyond the bound. */
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

/** What a create stores: what the record gives, else its default. */
export function createdValue(plan: ListColumns, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  const stored = plan.isSparse ? columnDefault(field) : undefined;
  if (stored === undefined) return value;
  const fallback = stored.kind === 'expression' ? keyword(stored.expression) : bind(valueOperand(field, stored.text));
  return sql`case when ${isProvided(plan, field)} then ${value} else ${fallback} end`;
}

/** What an update stores: what the record gives, else what is there. */
export function changedValue(plan: ListColumns, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  return plan.isSparse
    ? sql`case when ${isProvided(plan, field)} then ${value} else ${R}.${ident(field.column)} end`
    : value;
}

/** That a record was changed, where its entity tells when. */
export function setUpdatedAt(scan: Scan): readonly Fragment[] {
  return scan.entity.timestamps ? [sql`${ident(getField(scan, 'updatedAt').column)} = now()`] : [];
}

function isProvided({ columns }: ListColumns, field: Field): Fragment {
  return sql`substr(${S}.${ident(PROVIDED)}, ${integerLiteral(columns.indexOf(field) + 1)}, 1) = '1'`;
}

/** No record refers to one that the principal cannot see; empty when that cannot be. */
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
  return sql`not exists (select from ${S}${where(sql`(${join(conditions, ' or ')})`, only)})`;
}

/** What stands before an insert and beside its rows when it depends on a condition: on a cluster some fail that look at tables. */
export function makeGuard(condition: Fragment): { readonly before: Fragment; readonly fromItem: Fragment } {
  if (condition.text === '') return { before: empty, fromItem: empty };
  return {
    before: sql`
"$clear" as materialized (select true as "is" where ${condition}),`,
    fromItem: keyword(', "$clear"'),
  };
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

/** Each record has the version that it must have, where one is named. */
function renderVersionsMatch(): Fragment {
  return sql`not exists (select from ${S} join ${LOCKED} on ${LOCKED}.${ID} = ${S}.${ID} where ${S}.${VERSION} <> ${LOCKED}.${VERSION})`;
}

/** The principal can see a record with this id. */
function isThere(scan: Scan, id: Fragment, aliases: Aliases): Fragment {
  const related = aliases.next('k');
  const { table, condition } = renderScan(scan, related);
  return sql`exists (select from ${table}${where(sql`${related}."id" = ${id}`, condition)})`;
}

/** The reference of the record is there already. */
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
