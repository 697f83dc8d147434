// Creates many records, or finds them by a key: one statement for all of them, or an error of our own that rolls it
// back.
import type { Field } from '../model/entity.ts';
import { type BulkUpsertPlan, listOperands, PROVIDED } from '../plan/bulk.ts';
import { listOperand } from '../plan/operand.ts';
import {
  changedValue,
  createdValue,
  drawIds,
  ID,
  listedRows,
  R,
  RECORDS,
  ROW,
  recordRows,
  renderReferencesExist,
  S,
  setUpdatedAt,
  W,
} from './bulk.ts';
import { bind, makeAliases, renderActor, renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, sql } from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { makeSizeLimit } from './size-limit.ts';
import { insertRows, nodeForms } from './statement-forms.ts';
import { renderSequence, renderTarget } from './table.ts';
import { asStored, conflictTarget, setExcludedUpdatedAt } from './upsert.ts';

const AT = ident('$at');
const CREATED = ident('$created');
const INSERTED = ident('$made');

/**
 * Renders an upsert with `data`, the JSON array of the records in the order of the lists, and `inserted`, the number of
 * created ones:
 *
 *     with s as materialized (select nextval(…) as "$id", u.* from unnest($1::text[], …) with ordinality as u (…)),
 *     w as (insert into people as r (id, …) select … from s order by email, "$row"
 *       on conflict (email) do update set … where <row filter> returning r.*, r.xmax = 0 as "$created")
 *     select … from s join w on … having is_whole(count(*), cardinality($1))
 *
 * An error of our own when a record is missing among them: a reference points at a record that the principal cannot see,
 * or the record with the key is one, or it is left as it is and came after the statement began to look. In the order of
 * their keys, two requests for the same records wait for each other in one direction.
 */
export function upsertRecords(plan: BulkUpsertPlan, maxBytes: number): Fragment {
  const { scan, key } = plan;
  const sizeLimit = makeSizeLimit(scan, maxBytes);
  const [first] = key.fields as readonly [Field];
  const isById = first.role === 'id';
  const id = isById
    ? sql`${internalRef(sizeLimit.schema, 'reached_id')}(${renderSequence(scan)}, u.${ident(first.name)})`
    : sql`nextval(${renderSequence(scan)})`;
  const otherColumns = plan.columns.filter(({ role }) => role !== 'id');
  const keys = key.fields.map((field) => asStored(sql`${S}.${ident(field.name)}`, field));
  const { table, condition } = renderScan(scan, R);
  const same = (row: Fragment): Fragment =>
    join(
      key.fields.map((field, index) => sql`${row}.${ident(field.column)} = ${keys[index] as Fragment}`),
      ' and ',
    );
  // A record that is left as it is brings no references.
  const isNew =
    plan.changes.length === 0 ? sql`not exists (select from ${table}${where(same(R), condition)})` : undefined;
  const areThere = renderReferencesExist(plan.references, makeAliases(), isNew);
  const rows = drawIds(id, listedRows(listOperands(plan), plan), areThere);
  const { before, columns, source } = insertRows(scan, {
    assigned: [
      ['id', sql`${S}.${ID}`],
      ...otherColumns.map((field) => [field.column, createdValue(plan, field)] as const),
    ],
    from: S,
    order: sql`${join(keys)}, ${S}.${ROW}`,
    name: '$new',
  });
  const insert = sql`insert into ${renderTarget(scan)} as ${R} ${columns}
  ${source} on conflict ${conflictTarget(key)}`;
  const insertedRows = sql`select ${S}.${ROW} as ${AT}, ${W}.* from ${S} join ${W} on ${W}."id" = ${S}.${ID}`;
  const renderResult = (records: Fragment, count: Fragment): Fragment => {
    const from = sql`${S} join (${records}) ${W} on ${W}.${AT} = ${S}.${ROW}`;
    const expectedCount = sql`cardinality(${bind(listOperand(first))})::int8`;
    return sql`select ${RECORDS} as data, (select count(*) from ${W} where ${W}.${CREATED})::text as inserted${renderActor(scan)}
from (${recordRows(plan.projection, from, sizeLimit)}) q having ${internalRef(sizeLimit.schema, 'is_whole')}(${count}, ${expectedCount})`;
  };
  const hasDuplicates = sql`exists (select from ${S}${where(...keys.map((value) => sql`${value} is not null`))} group by ${join(keys)} having count(*) > 1)`;
  const uniqueCount = sql`case when ${hasDuplicates} then -1 else count(*) end`;
  if (plan.changes.length === 0) {
    const existingRows = sql`select ${S}.${ROW}, ${R}.*, false from ${S}, ${table}${where(same(R), condition, sql`not exists (select from ${W} where ${W}."id" = ${S}.${ID})`)}`;
    return sql`with ${rows},${before}
${W} as (${insert} do nothing returning ${R}.*, true as ${CREATED})
${renderResult(sql`${insertedRows} union all ${existingRows}`, uniqueCount)}`;
  }
  const changed = sql`select ${S}.${ROW}, ${W}.* from ${S} join ${W} on ${same(W)} where not ${W}.${CREATED}`;
  const all = isById ? insertedRows : sql`${insertedRows} union all ${changed}`;
  if (plan.isSparse && nodeForms(scan.entity) !== undefined) {
    // A subquery on other rows must not decide what an update of an insert sets. The coordinator runs the parts one
    // after the other, so the update would see the records of the insert.
    const sets = plan.changes.map((field) => sql`${ident(field.column)} = ${changedValue(plan, field)}`);
    const update = sql`update ${table} set ${join([...sets, ...setUpdatedAt(scan)])} from ${S}
  ${where(same(R), condition, sql`not exists (select from ${INSERTED} where ${INSERTED}."id" = ${S}.${ID})`)} returning ${R}.*`;
    return sql`with ${rows},${before}
${INSERTED} as (${insert} do nothing returning ${R}.*),
"$changed" as (${update}),
${W} as (select *, true as ${CREATED} from ${INSERTED} union all select *, false from "$changed")
${renderResult(all, uniqueCount)}`;
  }
  const sets = plan.changes.map((field) => sql`${ident(field.column)} = ${renderOverwriteValue(plan, field)}`);
  const bits = plan.isSparse
    ? sql`
"$bits" as materialized (select jsonb_object_agg(${S}.${ID}::text, ${S}.${ident(PROVIDED)}) as of from ${S}),`
    : empty;
  return sql`with ${rows},${bits}${before}
${W} as (${insert} do update set ${join([...sets, ...setExcludedUpdatedAt(scan)])}${where(condition)} returning ${R}.*, (${R}.xmax = 0) as ${CREATED})
${renderResult(all, keyword('count(*)'))}`;
}

/** Renders the value that an existing record takes over: the one in the request, or else its own. */
function renderOverwriteValue({ columns, isSparse }: BulkUpsertPlan, field: Field): Fragment {
  const value = sql`excluded.${ident(field.column)}`;
  if (!isSparse) return value;
  // One look-up in a value that is built once: searching the rows for each record would take a second for a thousand.
  const isProvided = sql`substr((select of from "$bits") ->> excluded."id"::text, ${integerLiteral(columns.indexOf(field) + 1)}, 1) = '1'`;
  return sql`case when ${isProvided} then ${value} else ${R}.${ident(field.column)} end`;
}
