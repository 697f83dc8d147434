// Create, update and delete -> one statement each, answering with the whole record that they wrote.
import type { Field } from '../model/entity.ts';
import { bodyOperand, ID_OPERAND, type Operand } from '../plan/operand.ts';
import type { CreatePlan, DeletePlan, UpdatePlan } from '../plan/plan.ts';
import type { Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import { beside } from './beside-names.ts';
import { guardedResult } from './bounds.ts';
import {
  type Aliases,
  bind,
  isUnchanged,
  isVisible,
  makeAliases,
  outputColumn,
  RECORD,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { sequenceOf, targetOf } from './table.ts';

/**
 * insert … returning `data`, `version`, `id`; no row when a reference points at a record that the principal cannot see.
 * Columns that are not given take their default, or null.
 */
export function insertRecord(plan: CreatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const names = [...plan.values.keys()];
  const target = sql`${targetOf(plan.scan)} as ${root}`;
  return sql`insert into ${target} ${insertedValues(plan, names, aliases)} ${returning(plan.projection, root, maxBytes)}`;
}

/** The columns of an insert with their values: no row when a reference points at a record that the principal cannot see. */
export function insertedValues(
  plan: Pick<CreatePlan, 'scan' | 'references'>,
  names: readonly string[],
  aliases: Aliases,
): Fragment {
  if (names.length === 0) return keyword('default values');
  const fields = names.map((field) => fieldOf(plan.scan, field));
  const columns = join(fields.map((field) => ident(field.column)));
  const values = join(
    fields.map((field) => {
      const value = bind(bodyOperand(field));
      return field.role === 'id' ? sql`${beside('reached_id')}(${sequenceOf(plan.scan)}, ${value})` : value;
    }),
  );
  // One statement, so that nothing can come between the look and the write.
  return plan.references.length === 0
    ? sql`(${columns}) values (${values})`
    : sql`(${columns}) select ${values}${where(...plan.references.map((check) => isVisible(check, aliases)))}`;
}

/**
 * update … returning `data`, `version`, `id`; no row when the record is not there (or not of that version), or when a
 * reference that changes points at a record that the principal cannot see.
 */
export function updateRecord(plan: UpdatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root);
  const entity = plan.scan.entity;
  const condition_ = where(
    sql`${root}."id" = ${bind(ID_OPERAND)}`,
    condition,
    plan.guarded ? hasVersion(root) : empty,
    ...plan.references.map((check) => sql`(${isUnchanged(check, root)} or ${isVisible(check, aliases)})`),
  );
  const names = [...plan.values.keys()];
  // A body that changes nothing is answered with the record; locking and rewriting the row would be for nothing.
  if (names.length === 0) {
    return sql`select ${resultColumns(plan.projection, root, maxBytes)} from ${table}${condition_}`;
  }
  const sets = names.map((name) => {
    const field = fieldOf(plan.scan, name);
    return sql`${ident(field.column)} = ${bind(bodyOperand(field))}`;
  });
  if (entity.timestamps) sets.push(sql`${ident(fieldOf(plan.scan, 'updatedAt').column)} = now()`);
  return sql`update ${table} set ${join(sets)}${condition_} ${returning(plan.projection, root, maxBytes)}`;
}

/** delete … returning the id; no row when the record is not there (or not of that version). */
export function deleteRecord(plan: DeletePlan): Fragment {
  const root = makeAliases().next('r');
  const { table, condition } = renderScan(plan.scan, root);
  return sql`delete from ${table}${where(sql`${root}."id" = ${bind(ID_OPERAND)}`, condition, plan.guarded ? hasVersion(root) : empty)} returning ${root}."id"::text`;
}

function returning(projection: Projection, root: Fragment, maxBytes: number): Fragment {
  return sql`returning ${resultColumns(projection, root, maxBytes)}`;
}

/** A record that no answer could hold is an error, which undoes the write. */
export function resultColumns(projection: Projection, root: Fragment, maxBytes: number): Fragment {
  const columns = projection.outputs.map((output) => {
    if (output.kind !== 'column') throw new TypeError('a write answers with columns alone');
    return outputColumn(output.field, root);
  });
  const data = sql`(select row_to_json(${RECORD}) from (select ${join(columns)}) ${RECORD})::text`;
  return sql`${guardedResult(data, projection, maxBytes)} as data, ${root}.xmin::text as version, ${root}."id"::text as id`;
}

function fieldOf(scan: Scan, name: string): Field {
  const field = scan.entity.fields.get(name);
  if (field === undefined) throw new TypeError(`entity ${scan.entity.name} has no field ${name}`);
  return field;
}

function hasVersion(root: Fragment): Fragment {
  const versions: Operand = { kind: 'versions', type: 'text[]' };
  return sql`${root}.xmin::text = any(${bind(versions)})`;
}
