// Create, update and delete -> one statement each, which returns the whole written record.
import type { Field } from '../model/entity.ts';
import { bodyOperand, ID_OPERAND, type Operand } from '../plan/operand.ts';
import type { CreatePlan, DeletePlan, UpdatePlan } from '../plan/plan.ts';
import type { Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import {
  type Aliases,
  bind,
  isUnchanged,
  isVisible,
  makeAliases,
  outputColumn,
  RECORD,
  renderActor,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { guardedResult, makeSizeLimit } from './size-limit.ts';
import { insertRows } from './statement-forms.ts';
import { getSchema, renderRowMark, renderSequence, renderTarget, renderVersion } from './table.ts';

const VERSION = ident('$version');

/**
 * Renders an insert with `data`, `version`, `id`; no row when a reference points to a record that the principal cannot
 * see. Columns without a value take their default, or null:
 *
 *     with "$r" as (insert into tags as r0 (name) values ($1) returning "id", "name", xmin as "$version"),
 *     "$w" as (select <the record as JSON> as data, … from "$r" r0) select * from "$w"
 *
 * The JSON is made of what the insert gives, not by it: where tables are distributed `returning` takes neither subqueries
 * nor functions that are not immutable. It costs nothing (PostgreSQL 15: 1.05 of the inserts a second).
 */
export function insertRecord(plan: CreatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { before, columns, source } = insertedRow(plan, [...plan.values.keys()], aliases);
  const insert = sql`insert into ${renderTarget(plan.scan)} as ${root} ${columns}${source} returning ${renderInsertedColumns(plan, root)}`;
  return sql`with ${before}"$r" as (${insert}), ${renderResult(plan, root, maxBytes)}`;
}

/** Renders the columns that an insert returns: those of the response, `id`, and `"$version"`. */
export function renderInsertedColumns({ scan, projection }: WritePlan, root: Fragment): Fragment {
  const columns = new Set(['id', ...getProjectedFields(projection).map(({ column }) => column)]);
  return sql`${join([...columns].map((column) => sql`${root}.${ident(column)}`))}, ${renderRowMark(scan, root)} as ${VERSION}`;
}

/** Renders `"$w"`, the response from the row of `"$r"`, and the rest. The idempotency key goes between. */
function renderResult(plan: WritePlan, root: Fragment, maxBytes: number): Fragment {
  return sql`"$w" as (select ${resultColumns(plan, root, maxBytes, VERSION)}${renderActor(plan.scan)} from "$r" ${root}) select * from "$w"`;
}

/** Parts of an insert of one row. */
export interface InsertedRow {
  /** Part before the insert in its `with`. */
  readonly before: Fragment;
  readonly columns: Fragment;
  /** Source of the row: no row when a reference points to a record that the principal cannot see. */
  readonly source: Fragment;
}

/** Returns the columns of an insert with their values. */
export function insertedRow(
  plan: Pick<CreatePlan, 'scan' | 'references'>,
  names: readonly string[],
  aliases: Aliases,
): InsertedRow {
  if (names.length === 0) return { before: empty, columns: empty, source: keyword('default values') };
  const fields = names.map((field) => getField(plan.scan, field));
  const idField = fields.find(({ role }) => role === 'id');
  const otherFields = fields.filter((field) => field !== idField);
  const visibleCondition = where(...plan.references.map((check) => isVisible(check, aliases)));
  const assigned = otherFields.map((field) => [field.column, bind(bodyOperand(field))] as const);
  if (idField === undefined && plan.references.length === 0) {
    const columns = join(assigned.map(([column]) => ident(column)));
    return {
      before: empty,
      columns: sql`(${columns})`,
      source: sql` values (${join(assigned.map(([, value]) => value))})`,
    };
  }
  // The id is drawn before: where tables are distributed, the node that reads and inserts has no sequence.
  const sequence = renderSequence(plan.scan);
  const id =
    idField === undefined
      ? sql`nextval(${sequence})`
      : sql`${internalRef(getSchema(plan.scan.entity), 'reached_id')}(${sequence}, ${bind(bodyOperand(idField))})`;
  // One statement, so that nothing can happen between the check and the write; and the insert itself reads no table:
  // where tables are distributed some such inserts fail.
  const visibleRow =
    visibleCondition.text === '' ? empty : sql`"$seen" as materialized (select true as "is"${visibleCondition}), `;
  const fromVisible = visibleCondition.text === '' ? empty : keyword(' from "$seen"');
  const rows = insertRows(plan.scan, {
    assigned: [['id', sql`"$s"."id"`], ...assigned],
    from: sql`"$s"`,
    name: '$new',
  });
  return {
    before: sql`${visibleRow}"$s" as materialized (select ${id} as "id"${fromVisible}),${rows.before} `,
    columns: rows.columns,
    source: sql` ${rows.source}`,
  };
}

/**
 * Renders update … returning `data`, `version`, `id`; no row when the record does not exist (or not in that version),
 * or when a reference that changes points to a record that the principal cannot see.
 */
export function updateRecord(plan: UpdatePlan, maxBytes: number): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root, true);
  const entity = plan.scan.entity;
  const conditions = where(
    sql`${root}."id" = ${bind(ID_OPERAND)}`,
    condition,
    plan.guarded ? hasVersion(plan.scan, root) : empty,
    ...plan.references.map((check) => sql`(${isUnchanged(check, root)} or ${isVisible(check, aliases)})`),
  );
  const names = [...plan.values.keys()];
  // A body that changes nothing returns the record, without locking and rewriting the row.
  if (names.length === 0) {
    return sql`select ${resultColumns(plan, root, maxBytes)} from ${table}${conditions}`;
  }
  const sets = names.map((name) => {
    const field = getField(plan.scan, name);
    return sql`${ident(field.column)} = ${bind(bodyOperand(field))}`;
  });
  if (entity.timestamps) sets.push(sql`${ident(getField(plan.scan, 'updatedAt').column)} = now()`);
  return sql`update ${table} set ${join(sets)}${conditions} returning ${resultColumns(plan, root, maxBytes)}${renderActor(plan.scan)}`;
}

/** Renders delete … returning the id; no row when the record does not exist (or not in that version). */
export function deleteRecord(plan: DeletePlan): Fragment {
  const root = makeAliases().next('r');
  const { table, condition } = renderScan(plan.scan, root, true);
  return sql`delete from ${table}${where(sql`${root}."id" = ${bind(ID_OPERAND)}`, condition, plan.guarded ? hasVersion(plan.scan, root) : empty)} returning ${root}."id"::text${renderActor(plan.scan)}`;
}

type WritePlan = Pick<CreatePlan, 'scan' | 'projection'>;

/** Returns the result columns; a record that is too large for responses fails the write. `version`: its column. */
export function resultColumns(
  { scan, projection }: WritePlan,
  root: Fragment,
  maxBytes: number,
  version?: Fragment,
): Fragment {
  const columns = getProjectedFields(projection).map((field) => outputColumn(field, root));
  const data = sql`(select row_to_json(${RECORD}) from (select ${join(columns)}) ${RECORD})::text`;
  return sql`${guardedResult(data, projection, makeSizeLimit(scan, maxBytes))} as data, ${renderVersion(scan, root, version)} as version, ${root}."id"::text as id`;
}

function getProjectedFields(projection: Projection): readonly Field[] {
  return projection.outputs.map((output) => {
    if (output.kind !== 'column') throw new TypeError('a write answers with columns alone');
    return output.field;
  });
}

function getField(scan: Scan, name: string): Field {
  const field = scan.entity.fields.get(name);
  if (field === undefined) throw new TypeError(`entity ${scan.entity.name} has no field ${name}`);
  return field;
}

function hasVersion(scan: Scan, root: Fragment): Fragment {
  const versions: Operand = { kind: 'versions', type: 'text[]' };
  return sql`${renderVersion(scan, root)} = any(${bind(versions)})`;
}
