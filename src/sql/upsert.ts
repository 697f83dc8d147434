// Creates a record, or finds one with the same key: one statement that creates, changes or reads.

import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { ConflictKey } from '../plan/conflict-key.ts';
import { bodyOperand } from '../plan/operand.ts';
import type { UpsertPlan } from '../plan/plan.ts';
import type { Scan } from '../plan/scan.ts';
import { bind, makeAliases, maybeNull, renderActor, renderScan, where } from './expression.ts';
import { type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { renderTarget } from './table.ts';
import { insertedRow, renderInsertedColumns, resultColumns } from './write.ts';

/**
 * Renders an upsert with `data`, `version`, `id` and `created`; no row when a reference points to a record that the
 * principal cannot see, when the record with the key is one, or when it is left as it is and was created after the
 * statement began to read:
 *
 *     with "$r" as (insert into tags as r0 (name, note) values ($1, $2)
 *     on conflict (name) do update set note = excluded.note where <row filter> returning …, r0.xmax = 0 as "$created"),
 *     "$w" as (select … from "$r" r0) select * from "$w"
 *
 * A row that was inserted has no xmax; one that was locked to be changed has.
 */
export function upsertRecord(plan: UpsertPlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { condition } = renderScan(plan.scan, root);
  const { before, columns, source } = insertedRow(plan, [...plan.values.keys()], aliases);
  const target = sql`insert into ${renderTarget(plan.scan)} as ${root} ${columns}${source} on conflict ${conflictTarget(plan.key)}`;
  const insertedColumns = renderInsertedColumns(plan, root);
  const result = sql`${resultColumns(plan, root, maxBytes, keyword('"$version"'))}`;
  if (plan.changes.length > 0) {
    const sets = plan.changes.map(({ column }) => sql`${ident(column)} = excluded.${ident(column)}`);
    return sql`with ${before}"$r" as (${target} do update set ${join([...sets, ...setExcludedUpdatedAt(plan.scan)])}${where(condition)} returning ${insertedColumns}, (${root}.xmax = 0) as "$created"),
"$w" as (select ${result}, ${root}."$created"::text as created${renderActor(plan.scan)} from "$r" ${root}) select * from "$w"`;
  }
  const existing = aliases.next('r');
  const existingScan = renderScan(plan.scan, existing, true);
  const same = plan.key.fields.map(
    (field) => sql`${existing}.${ident(field.column)} = ${maybeNull(asStored(bind(bodyOperand(field)), field))}`,
  );
  return sql`with ${before}"$r" as (${target} do nothing returning ${insertedColumns}),
"$w" as (select ${result}, 'true' as created${renderActor(plan.scan)} from "$r" ${root}
union all select ${resultColumns(plan, existing, maxBytes)}, 'false' as created${renderActor(plan.scan)} from ${existingScan.table}${where(...same, existingScan.condition, keyword('not exists (select from "$r")'))}) select * from "$w"`;
}

export function conflictTarget({ fields }: ConflictKey): Fragment {
  return sql`(${join(fields.map(({ column }) => ident(column)))})`;
}

/**
 * Sets updatedAt to the default of the row that was to be inserted, as only immutable functions are allowed there where
 * tables are distributed.
 */
export function setExcludedUpdatedAt({ entity }: Scan): readonly Fragment[] {
  const updatedAt = entity.timestamps ? entity.fields.get('updatedAt') : undefined;
  if (updatedAt === undefined) return [];
  const column = ident(updatedAt.column);
  return [sql`${column} = excluded.${column}`];
}

/** Casts a value to what its column would return: datetimes have milliseconds there. */
export function asStored(value: Fragment, field: Field): Fragment {
  return sql`${value}::${keyword(fieldType(field.type).columnType(field))}`;
}
