// Many records, one statement: bound lists, a column each, are the rows that are written. All of them are, or none is:
// what could stand in the way is asked before the first is written, and when it does no row comes back.

import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
import {
  type BulkCreatePlan,
  type BulkDeletePlan,
  type BulkUpdatePlan,
  type DanglingPlan,
  type FindPlan,
  GIVEN,
  ID_LIST,
  type Listed,
  listOperands,
  type ReferredPlan,
  type TakenPlan,
  VERSION_LIST,
} from '../plan/bulk.ts';
import type { Operand } from '../plan/operand.ts';
import { valueOperand } from '../plan/operand.ts';
import type { Projection } from '../plan/projection.ts';
import type { Reference } from '../plan/references.ts';
import type { Scan } from '../plan/scan.ts';
import { type Bound, boundOf, runningBound } from './bounds.ts';
import { type Aliases, bind, makeAliases, outputColumn, RECORD, renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, join, keyword, literal, sql, wholeNumber } from './fragment.ts';
import { insertRows } from './statement-forms.ts';
import { markOf, sequenceOf, targetOf, versionOf } from './table.ts';

export const S = ident('s');
export const R = ident('r');
export const W = ident('w');
export const ID = ident('$id');
export const ROW = ident('$row');
const VERSION = ident('$version');
const HELD = ident('$held');

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
  const rows = sql`select nextval(${sequenceOf(plan.scan)}) as ${ID}, u.* from ${listedRows(listOperands(plan), plan)}`;
  const clear = clearance(nothingDangles(plan.references, aliases));
  const { before, columns, source } = insertRows(plan.scan, {
    assigned: [
      ['id', sql`${S}.${ID}`],
      ...plan.columns.map((field) => [field.column, createdValue(plan, field)] as const),
    ],
    from: sql`${S}${clear.beside}`,
    order: sql`${S}.${ROW}`,
    name: '$new',
  });
  const insert = sql`insert into ${targetOf(plan.scan)} as ${R} ${columns}
  ${source} returning ${R}.*`;
  return sql`with ${S} as materialized (${rows}),${clear.before}${before}
${W} as (${insert})
${recordsOf(plan.projection, sql`${S} join ${W} on ${W}."id" = ${S}.${ID}`, boundOf(plan.scan, maxBytes))}`;
}

/**
 * As insertRecords(), and `versions` in the same order, if they are told. No row when a record is not there, has another version, or a reference that changes points at a
 * record that the principal cannot see. The records are locked in the order of their ids before anything is asked.
 */
export function updateRecords(plan: BulkUpdatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const { table, condition } = renderScan(plan.scan, R, true);
  const rows = sql`select u.* from ${listedRows([ID_LIST, VERSION_LIST, ...listOperands(plan)], plan, [ID, VERSION])}`;
  const kept = plan.references.map(({ field }) => sql`${R}.${ident(field.column)} as ${ident(field.name)}`);
  const held = sql`select ${join([sql`${R}."id" as ${ID}`, sql`${versionOf(plan.scan, R)} as ${VERSION}`, ...kept])} from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition)} order by ${R}."id" for no key update of ${R}`;
  const isWhole = where(
    sql`(select count(*) from ${HELD}) = cardinality(${bind(ID_LIST)})`,
    plan.guarded ? everyVersion() : empty,
    unchangedOrVisible(plan, aliases),
  );
  const sets = plan.columns.map((field) => sql`${ident(field.column)} = ${changedValue(plan, field)}`);
  // What a statement gives of a record, and what is told of it.
  const row = plan.versions ? sql`${R}.*, ${markOf(plan.scan, R)} as ${VERSION}` : sql`${R}.*`;
  const version = plan.versions ? versionOf(plan.scan, W, VERSION) : undefined;
  const result = (from: Fragment): Fragment => recordsOf(plan.projection, from, boundOf(plan.scan, maxBytes), version);
  const listed = sql`with ${S} as materialized (${rows}),
${HELD} as materialized (${held}),
"$whole" as materialized (select true as "is"${isWhole})`;
  const mine = [sql`${R}."id" = ${S}.${ID}`, condition, sql`exists (select from "$whole")`];
  // Records that are sent without a change are answered, and not written.
  if (sets.length === 0)
    return sql`${listed}
${result(sql`${S} join (select ${row} from ${S}, ${table}${where(...mine)}) ${W} on ${W}."id" = ${S}.${ID}`)}`;
  sets.push(...noted(plan.scan));
  const isChanged = plan.isSparse ? sql`strpos(${S}.${ident(GIVEN)}, '1') > 0` : empty;
  const update = sql`update ${table} set ${join(sets)} from ${S}${where(...mine, isChanged)} returning ${row}`;
  const same = sql`select ${row} from ${S}, ${table}${where(...mine, sql`strpos(${S}.${ident(GIVEN)}, '1') = 0`)}`;
  const written = plan.isSparse ? sql`(select * from "$changed" union all ${same})` : keyword('"$changed"');
  return sql`${listed},
"$changed" as (${update})
${result(sql`${S} join ${written} ${W} on ${W}."id" = ${S}.${ID}`)}`;
}

/** `count`, how many were deleted: all, or none when one is not there or has another version. */
export function deleteRecords(plan: BulkDeletePlan): Fragment {
  const { table, condition } = renderScan(plan.scan, R, true);
  const own = sql`${R}."id" = any(${bind(ID_LIST)})`;
  const rows = sql`select * from unnest(${bind(ID_LIST)}, ${bind(VERSION_LIST)}) as u (${ID}, ${VERSION})`;
  const isWhole = where(
    sql`(select count(*) from ${HELD}) = cardinality(${bind(ID_LIST)})`,
    plan.guarded ? everyVersion() : empty,
  );
  return sql`with ${S} as materialized (${rows}),
${HELD} as materialized (select ${R}."id" as ${ID}, ${versionOf(plan.scan, R)} as ${VERSION} from ${table}${where(own, condition)} order by ${R}."id" for update of ${R}),
"$whole" as materialized (select true as "is"${isWhole}),
${W} as (delete from ${table}${where(own, condition, sql`exists (select from "$whole")`)} returning 1)
select count(*)::text as count from ${W}`;
}

/** `id` and `version` of those of the listed records that the principal can see. */
export function findRecords({ scan }: FindPlan): Fragment {
  const { table, condition } = renderScan(scan, R, true);
  return sql`select ${R}."id"::text as id, ${versionOf(scan, R)} as version from ${table}${where(sql`${R}."id" = any(${bind(ID_LIST)})`, condition)}`;
}

// Mistakes that one request is told.
const MOST = 100;

/** `index` (from 0) and `field` of references that lead to nothing that the principal can see, at most 100, in order. */
export function selectDangling(plan: DanglingPlan): Fragment {
  const aliases = makeAliases();
  const extra = plan.record === null ? [] : [ID_LIST];
  const rows = sql`select u.* from ${listedRows([...extra, ...listOperands(plan)], plan, plan.record === null ? [] : [ID])}`;
  const found = plan.references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    const stays = plan.record === null ? empty : sql`not ${isKept(plan.record, field, aliases)}`;
    const condition = where(sql`${value} is not null`, sql`not ${isThere(scan, value, aliases)}`, stays);
    return sql`select (${S}.${ROW} - 1)::text as index, ${literal(field.name)} as field from ${S}${condition}`;
  });
  return sql`with ${S} as materialized (${rows})
select * from (${join(found, ' union all ')}) d order by d.index::int8, d.field limit ${wholeNumber(MOST)}`;
}

/** `index` (from 0) of the listed ids to which a record refers that is not listed itself, at most 100. */
export function selectReferred({ by: { field, scan }, entity }: ReferredPlan): Fragment {
  const { table, condition } = renderScan(scan, R);
  const refers = sql`${R}.${ident(field.column)} = ${S}.${ID}`;
  const stays = scan.entity === entity ? sql`${R}."id" <> all(${bind(ID_LIST)})` : empty;
  return sql`with ${S} as materialized (select * from unnest(${bind(ID_LIST)}) with ordinality as u (${ID}, ${ROW}))
select (${S}.${ROW} - 1)::text as index from ${S}${where(sql`exists (select from ${table}${where(refers, stays, condition)})`)} order by ${S}.${ROW} limit ${wholeNumber(MOST)}`;
}

/**
 * `index` (from 0) of records whose values of the fields are taken, and `other`: the index of the record of this request
 * that has them, too, else null.
 */
export function selectTaken(plan: TakenPlan): Fragment {
  const { whose } = plan;
  const isUpdate = whose.kind === 'update';
  const lists = isUpdate ? [ID_LIST, ...listOperands(plan)] : listOperands(plan);
  const rows = sql`select u.* from ${listedRows(lists, plan, isUpdate ? [ID] : [])}`;
  const { table, condition } = renderScan(plan.scan, R);
  const names = plan.fields.map(({ name }) => ident(name));
  const V = isUpdate ? W : S;
  const isGivenHere = names.map((name) => sql`${V}.${name} is not null`);
  const o = ident('o');
  const equal = names.map((name) => sql`${o}.${name} = ${V}.${name}`);
  const others = sql`(select min(${o}.${ROW}) - 1 from ${V} ${o}${where(...equal, sql`${o}.${ROW} <> ${V}.${ROW}`)})`;
  const same = (fields: readonly Field[]) =>
    fields.map((field) => sql`${R}.${ident(field.column)} = ${V}.${ident(field.name)}`);
  const another =
    whose.kind === 'upsert'
      ? sql`(${join(same(whose.key), ' and ')}) is not true`
      : isUpdate
        ? sql`${R}."id" <> ${V}.${ID}`
        : empty;
  const isThere =
    whose.kind === 'request'
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
  select (${V}.${ROW} - 1)::text as index, ${others}::text as other, ${isThere} as "isThere"
  from ${V}${where(...isGivenHere)}
) d where d.other is not null or d."isThere" order by d.index::int8 limit ${wholeNumber(MOST)}`;
}

/** The lists as rows `u` in their order, `"$row"` from 1 on. */
export function listedRows(operands: readonly Operand[], plan: Listed, before: readonly Fragment[] = []): Fragment {
  const names = [
    ...before,
    ...plan.columns.map(({ name }) => ident(name)),
    ...(plan.isSparse ? [ident(GIVEN)] : []),
    ROW,
  ];
  return sql`unnest(${join(operands.map(bind))}) with ordinality as u (${join(names)})`;
}

/** `data`: the records of `w` as a JSON array, in the order of the rows; an error of our own beyond the bound. No row without records. */
function recordsOf(projection: Projection, from: Fragment, bound: Bound, version?: Fragment): Fragment {
  const versions = version === undefined ? empty : sql`, ${VERSIONS} as versions`;
  return sql`select ${RECORDS} as data${versions} from (${recordRows(projection, from, bound, version)}) q having count(*) > 0`;
}

const VERSIONS = sql`'[' || string_agg(to_json(q.${VERSION})::text, ',' order by q.${ROW}) || ']'`;

/** Of recordRows() `q`. */
export const RECORDS = sql`'[' || string_agg(q."$text", ',' order by q.${ROW}) || ']'`;

/** The records of `w` as JSON, with their `version` if that is asked for; an error of our own beyond the bound. */
export function recordRows(projection: Projection, from: Fragment, bound: Bound, version?: Fragment): Fragment {
  const columns = projection.outputs.map((output) => {
    if (output.kind !== 'column') throw new TypeError('a write answers with columns alone');
    return outputColumn(output.field, W);
  });
  const told = version === undefined ? empty : sql`, ${version} as ${VERSION}`;
  const texts = sql`select (select row_to_json(${RECORD}) from (select ${join(columns)}) ${RECORD})::text as "$text", ${S}.${ROW}${told} from ${from} order by ${S}.${ROW}`;
  const sized = sql`select t.*, octet_length(t."$text") + 1 as "$size" from (${texts}) t`;
  return runningBound(sized, bound);
}

/** What a create stores: what the record gives, else its default. */
export function createdValue(plan: Listed, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  const stored = plan.isSparse ? columnDefault(field) : undefined;
  if (stored === undefined) return value;
  const fallback = stored.kind === 'expression' ? keyword(stored.expression) : bind(valueOperand(field, stored.text));
  return sql`case when ${isGiven(plan, field)} then ${value} else ${fallback} end`;
}

/** What an update stores: what the record gives, else what is there. */
export function changedValue(plan: Listed, field: Field): Fragment {
  const value = sql`${S}.${ident(field.name)}`;
  return plan.isSparse
    ? sql`case when ${isGiven(plan, field)} then ${value} else ${R}.${ident(field.column)} end`
    : value;
}

/** That a record was changed, where its entity tells when. */
export function noted(scan: Scan): readonly Fragment[] {
  return scan.entity.timestamps ? [sql`${ident(fieldNamed(scan, 'updatedAt').column)} = now()`] : [];
}

function isGiven({ columns }: Listed, field: Field): Fragment {
  return sql`substr(${S}.${ident(GIVEN)}, ${wholeNumber(columns.indexOf(field) + 1)}, 1) = '1'`;
}

/** No record refers to one that the principal cannot see; empty when that cannot be. */
export function nothingDangles(references: readonly Reference[], aliases: Aliases, only: Fragment = empty): Fragment {
  if (references.length === 0) return empty;
  const dangling = references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    return sql`(${value} is not null and not ${isThere(scan, value, aliases)})`;
  });
  return sql`not exists (select from ${S}${where(sql`(${join(dangling, ' or ')})`, only)})`;
}

/** What stands before an insert and beside its rows when it depends on a condition: on a cluster some fail that look at tables. */
export function clearance(condition: Fragment): { readonly before: Fragment; readonly beside: Fragment } {
  if (condition.text === '') return { before: empty, beside: empty };
  return {
    before: sql`
"$clear" as materialized (select true as "is" where ${condition}),`,
    beside: keyword(', "$clear"'),
  };
}

function unchangedOrVisible({ references }: BulkUpdatePlan, aliases: Aliases): Fragment {
  if (references.length === 0) return empty;
  const dangling = references.map(({ field, scan }) => {
    const value = sql`${S}.${ident(field.name)}`;
    const isNew = sql`${value} is distinct from ${HELD}.${ident(field.name)}`;
    return sql`(${value} is not null and ${isNew} and not ${isThere(scan, value, aliases)})`;
  });
  return sql`not exists (select from ${S} join ${HELD} on ${HELD}.${ID} = ${S}.${ID}${where(sql`(${join(dangling, ' or ')})`)})`;
}

/** Each record has the version that it must have, where one is named. */
function everyVersion(): Fragment {
  return sql`not exists (select from ${S} join ${HELD} on ${HELD}.${ID} = ${S}.${ID} where ${S}.${VERSION} <> ${HELD}.${VERSION})`;
}

/** The principal can see a record with this id. */
function isThere(scan: Scan, id: Fragment, aliases: Aliases): Fragment {
  const near = aliases.next('k');
  const { table, condition } = renderScan(scan, near);
  return sql`exists (select from ${table}${where(sql`${near}."id" = ${id}`, condition)})`;
}

/** The reference of the record is there already. */
function isKept(record: Scan, field: Field, aliases: Aliases): Fragment {
  const near = aliases.next('k');
  const { table, condition } = renderScan(record, near);
  const same = [sql`${near}."id" = ${S}.${ID}`, sql`${near}.${ident(field.column)} = ${S}.${ident(field.name)}`];
  return sql`exists (select from ${table}${where(...same, condition)})`;
}

function fieldNamed({ entity }: Scan, name: string): Field {
  const field = entity.fields.get(name);
  if (field === undefined) throw new TypeError(`entity ${entity.name} has no field ${name}`);
  return field;
}
