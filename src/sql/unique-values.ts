// Finds records of a write by the values of a unique index: those that would have the values of another record, and
// those that must give up values first. What counts is what the records have after the write.
import type { Entity, Field } from '../model/entity.ts';
import { type HeldValuesPlan, ID_LIST, listOperands, type UniqueConflictsPlan } from '../plan/bulk.ts';
import {
  changedValue,
  createdValue,
  ID,
  isProvided,
  listedRows,
  MAX_MISTAKES,
  R,
  ROW,
  renderDefault,
  S,
  W,
} from './bulk.ts';
import { renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, type Query, sql, toQuery } from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { renderVersion } from './table.ts';
import { asStored } from './upsert.ts';

/**
 * Selects `index` (from 0) of records with a unique conflict in the fields, at most 100; `other`: the index of another
 * record of this request with the same values, else null; `isThere`: whether a record has them that the write does not
 * change.
 */
export function selectUniqueConflicts(plan: UniqueConflictsPlan): Fragment {
  const names = plan.fields.map(({ name }) => ident(name));
  const { table, condition } = renderScan(plan.all, R);
  const same = plan.fields.map((field) => sql`${R}.${ident(field.column)} = ${W}.${ident(field.name)}`);
  const isChanged = sql`exists (select from ${W} o where o.${ID} = ${R}."id")`;
  const isThere = sql`exists (select from ${table}${where(...same, sql`not ${isChanged}`, condition)})`;
  const other = sql`coalesce(nullif(min(${W}.${ROW}) over same, ${W}.${ROW}), lead(${W}.${ROW}) over (same order by ${W}.${ROW}))`;
  return sql`with ${uniqueValues(plan)}
select * from (
  select (${W}.${ROW} - 1)::text as index, (${other} - 1)::text as other, ${isThere} as "isThere", ${W}.${IS_PROVIDED}
  from ${W}${where(...names.map((name) => sql`${W}.${name} is not null`))} window same as (partition by ${join(names.map((name) => sql`${W}.${name}`))})
) d where d.${IS_PROVIDED} and (d.other is not null or d."isThere") order by d.index::int8 limit ${integerLiteral(MAX_MISTAKES)}`;
}

/** Selects `index` (from 0), `id`, `version` and `changed` of records whose values another record of the request takes over. */
export function selectHeldValues(plan: HeldValuesPlan): Fragment {
  const changed = plan.fields.map(
    (field, index) => sql`(${W}.${held(index)} is distinct from ${W}.${ident(field.name)})::int4::text`,
  );
  const sameAsHeld = plan.fields.map((field, index) => sql`o.${ident(field.name)} = ${W}.${held(index)}`);
  return sql`with ${uniqueValues(plan)}
select * from (
  select (${W}.${ROW} - 1)::text as index, ${W}.${ID}::text as id, ${W}.${VERSION} as version, ${join(changed, ' || ')} as changed
  from ${W}${where(sql`${W}.${ID} is not null`, sql`exists (select from ${W} o${where(...sameAsHeld, sql`o.${ROW} <> ${W}.${ROW}`)})`)}
) d where strpos(d.changed, '1') > 0`;
}

// Checks references at the end of the transaction, and then those that were not checked at once.
export const DEFER_CONSTRAINTS = toQuery(sql`set constraints all deferred`);
export const CHECK_CONSTRAINTS = toQuery(sql`set constraints all immediate`);

const VERSION = ident('$version');
const IS_PROVIDED = ident('$isProvided');

const held = (index: number): Fragment => ident(`$held${index}`);

/**
 * Renders the parts of a `with` that end in `w`: a row for each record of the request that is written, with the id of
 * the record that it changes or null, its values of the fields after the write, those before it, and whether it gives any of them.
 */
function uniqueValues(plan: UniqueConflictsPlan | HeldValuesPlan): Fragment {
  const { scope, fields } = plan;
  const isUpdate = scope.kind === 'update';
  const { table, condition } = renderScan(plan.scan, R);
  const rows = sql`select u.* from ${listedRows([...(isUpdate ? [ID_LIST] : []), ...listOperands(plan)], plan, isUpdate ? [ID] : [])}`;
  const id = sql`${R}."id"`;
  const providedConditions = fields
    .filter((field) => plan.columns.includes(field))
    .map((field) => isProvided(plan, field));
  // A record that is created gives all values, if only by their defaults.
  const isAnyProvided =
    plan.isSparse && scope.kind !== 'create'
      ? sql`(${join([sql`${id} is null`, ...providedConditions], ' or ')})`
      : keyword('true');
  const created = (field: Field): Fragment =>
    plan.columns.includes(field) ? createdValue(plan, field) : (renderDefault(field) ?? keyword('null'));
  const changed = (field: Field): Fragment =>
    plan.columns.includes(field) ? changedValue(plan, field) : sql`${R}.${ident(field.column)}`;
  const select = (
    idOrNull: Fragment,
    after: (field: Field) => Fragment,
    before: (field: Field) => Fragment,
  ): Fragment => {
    const values = fields.flatMap((field, index) => [
      sql`${asStored(after(field), field)} as ${ident(field.name)}`,
      sql`${before(field)} as ${held(index)}`,
    ]);
    const version = plan.kind === 'heldValue' ? sql`${renderVersion(plan.scan, R)} as ${VERSION}, ` : empty;
    return sql`select ${S}.${ROW}, ${idOrNull} as ${ID}, ${version}${isAnyProvided} as ${IS_PROVIDED}, ${join(values)}`;
  };
  const stored = (field: Field): Fragment => sql`${R}.${ident(field.column)}`;
  const part = (body: Fragment): Fragment => sql`${S} as materialized (${rows}),
${W} as materialized (${body})`;
  switch (scope.kind) {
    case 'create':
      return part(sql`${select(keyword('null::int8'), created, () => keyword('null'))} from ${S}`);
    case 'update':
      return part(sql`${select(id, changed, stored)} from ${S}, ${table}${where(sql`${id} = ${S}.${ID}`, condition)}`);
    case 'upsert': {
      const { key } = scope;
      const same = key.fields.map(
        (field) => sql`${stored(field)} = ${asStored(sql`${S}.${ident(field.name)}`, field)}`,
      );
      const after = (field: Field): Fragment =>
        sql`case when ${id} is null then ${created(field)} else ${changed(field)} end`;
      // Records that are left as they are take no values; two with one key are refused all the same.
      const isKey = fields.length === key.fields.length && fields.every((field) => key.fields.includes(field));
      const isWritten = key.mode === 'skip' && !isKey ? where(sql`${id} is null`) : empty;
      const on = condition.text === '' ? same : [...same, condition];
      return part(sql`${select(id, after, stored)} from ${S} left join ${table} on ${join(on, ' and ')}${isWritten}`);
    }
    default:
      return scope satisfies never;
  }
}

/** Makes one change of the updates of each record by the transaction, where spare values were in between. */
export const mergeChanges = ({ table }: Pick<Entity, 'table'>): Query =>
  toQuery(sql`select from ${internalRef(table.schema, 'merge_changes')}()`);
