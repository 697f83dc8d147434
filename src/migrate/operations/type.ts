// A field that changes its type: at once by writing the table anew, or online by a second column. Triggers keep that equal
// to the first while existing values are converted; in the end it takes the place of the first.

import { createSync, dropSync, forgetConflicts, notedRecords, syncNames } from '../../beside/sync.ts';
import type { Reference, Table } from '../../document/tables.ts';
import type { Field } from '../../model/entity.ts';
import { fieldType } from '../../model/field-types.ts';
import { derivedName } from '../../model/physical-name.ts';
import { type Fragment, ident, join, sql, tableRef } from '../../sql/fragment.ts';
import { type Cast, castOf, columnType } from '../cast.ts';
import {
  addCheck,
  addNotNullCheck,
  addPlainColumn,
  addReference,
  checkCondition,
  dropColumn,
  dropConstraint,
  dropDefault,
  dropIndex,
  dropNotNull,
  fillStripe,
  nextRecords,
  renameColumn,
  rewriteColumn,
  setDefault,
  setNotNull,
  typed,
  validateConstraint,
  widenColumn,
} from '../ddl.ts';
import {
  alone,
  batches,
  exclusive,
  type Operation,
  operation,
  type Statement,
  shared,
  together,
} from '../operation.ts';
import { standing } from './constraint.ts';
import { type ChangedTable, pathOfField, targetOf } from './field.ts';

export interface TypeChange {
  readonly changed: ChangedTable;
  readonly old: Table;
  readonly was: Field;
  readonly now: Field;
  /** Foreign keys of the column. */
  readonly reference: Reference | undefined;
  readonly targetIsNew: boolean;
}

/** Undefined when there are records and no value of the old type means anything in the new one. */
export function changeType(change: TypeChange): Operation | undefined {
  const { changed, was, now } = change;
  const cast = castOf(was, now);
  if (cast.kind === 'never' && !changed.isEmpty) return undefined;
  const parts = {
    kind: 'changeType',
    entity: changed.table.entity,
    path: `${pathOfField(changed.table, now)}.type`,
    description: `change field ${now.name} of ${changed.table.entity} from ${wordsFor(was)} to ${wordsFor(now)}`,
  } as const;
  switch (cast.kind) {
    case 'none':
      return operation(parts);
    case 'widen':
      return operation({
        ...parts,
        statements: [together('attach', widenColumn(changed.table, now))],
        locks: [exclusive(changed.table.name)],
      });
    case 'convert':
    case 'never':
      return operation({ ...parts, ...(changed.atOnce ? rewrite(change, cast) : convert(change, cast)) });
    default:
      return cast satisfies never;
  }
}

function wordsFor(field: Field): string {
  if (field.relation !== undefined) return `relation ${field.relation}`;
  if (field.type !== 'decimal' || field.precision === undefined) return field.type;
  return `decimal(${field.precision}, ${field.scale ?? 0})`;
}

type Parts = Partial<Operation>;

const converterOf =
  (cast: Cast, now: Field, { schema }: Table) =>
  (column: Fragment): Fragment =>
    cast.kind === 'convert' ? cast.value(column, schema) : sql`null::${columnType(now)}`;

/** Under one lock: all that depends on the column is dropped before and made again after. */
function rewrite(change: TypeChange, cast: Cast): Parts {
  const { changed, old, was, now, reference, targetIsNew } = change;
  const { table } = changed;
  const value = converterOf(cast, now, table);
  const obstacle = refused(change, value);
  const indexes = [...old.indexes.values()].filter((index) => index.fields.includes(was));
  const keys = old.references.filter((one) => one.field === was);
  const take = [
    ...indexes.map(({ unique, name }) => (unique ? dropConstraint(table, name) : dropIndex(table, name))),
    ...old.checks.filter((check) => check.field === was).map(({ name }) => dropConstraint(table, name)),
    ...keys.map(({ name }) => dropConstraint(table, name)),
    dropDefault(table, was.column),
    rewriteColumn(table, was.column, now, value(ident(was.column))),
    renameColumn(table, was.column, now.column),
  ];
  const put = [
    ...(was.required === now.required
      ? []
      : [now.required ? setNotNull(table, now.column) : dropNotNull(table, now.column)]),
    ...(now.default === undefined ? [] : [setDefault(table, now)]),
    ...table.checks.filter((check) => check.field === now).map((check) => addCheck(table, check)),
    ...(reference === undefined ? [] : [addReference(table, reference)]),
  ];
  return {
    work: changed.isEmpty ? 'none' : 'rewrite',
    statements: [
      ...take.map((statement) => together('detach', statement)),
      ...put.map((statement) => together('attach', statement)),
    ],
    locks: [
      exclusive(table.name),
      ...keys.flatMap((key) => targetOf(table, key, exclusive)),
      ...(reference === undefined || targetIsNew ? [] : targetOf(table, reference, shared)),
    ],
    obstacle,
    late: obstacle,
  };
}

function convert(change: TypeChange, cast: Cast): Parts {
  const { changed, old, was, now, reference, targetIsNew } = change;
  const { table } = changed;
  const value = converterOf(cast, now, table);
  const [from, to] = [ident(was.column), ident(now.column)];
  const sync = syncNames(table, now.column);
  const notNull = derivedName(table.name, [now.column], 'ck_null');
  const checks = table.checks.filter((check) => check.field === now);
  const obstacle = refused(change, value);
  const placeholder = now.required ? typed(now, now.min ?? now.max ?? fieldType(now.type).placeholder) : null;
  const validate = (name: string): Statement => alone('build', validateConstraint(table, name));
  const keys = old.references.filter((one) => one.field === was);
  return {
    work: 'rewrite',
    statements: [
      together('column', addPlainColumn(table, now)),
      ...createSync(table, { ...sync, from: was.column, field: now, value, placeholder }).map((statement) =>
        together('column', statement),
      ),
      batches({
        next: (after, size) => nextRecords(table, after, size),
        fill: (stripe) =>
          fillStripe(
            table,
            { column: now.column, value: value(from), pending: sql`${from} is not null and ${to} is null` },
            stripe,
          ),
      }),
      ...(now.required ? [together('build', addNotNullCheck(table, notNull, now.column)), validate(notNull)] : []),
      ...checks.flatMap((check) => [together('build', addCheck(table, check, false)), validate(check.name)]),
      ...(reference === undefined
        ? []
        : [together('build', addReference(table, reference, false)), validate(reference.name)]),
      together('detach', dropSync(table, sync.name)),
      together('detach', forgetConflicts(table.schema, sync.subject)),
      together('detach', dropColumn(table, was.column)),
      ...(now.required
        ? [together('attach', setNotNull(table, now.column)), together('attach', dropConstraint(table, notNull))]
        : []),
      ...(now.default === undefined ? [] : [together('attach', setDefault(table, now))]),
    ],
    ahead: true,
    makes: [
      { kind: 'sync', table: table.name, ...sync },
      { kind: 'column', table: table.name, column: now.column },
    ],
    locks: [
      exclusive(table.name),
      ...keys.flatMap((key) => targetOf(table, key, exclusive)),
      ...(reference === undefined || targetIsNew ? [] : targetOf(table, reference, shared)),
    ],
    obstacle,
    late: {
      ...obstacle,
      query: standing(
        tableRef(table),
        sql`id in (${notedRecords(table.schema, sync.subject)}) and ${from} is not null and ${value(from)} is null`,
      ),
    },
  };
}

/**
 * Values that the new type cannot hold, or that break what the new document demands of the field; null, too, when the field
 * becomes required by the same change.
 */
function refused(
  { changed, was, now, reference, targetIsNew }: TypeChange,
  value: (column: Fragment) => Fragment,
): NonNullable<Operation['obstacle']> {
  const { table } = changed;
  const [before, after] = [ident('$before'), ident(now.column)];
  const alsoNull = now.required && !was.required;
  const checks = table.checks.filter((check) => check.field === now);
  const converted = sql`(select "id", ${ident(was.column)} as ${before}, ${value(ident(was.column))} as ${after} from ${tableRef(table)}) c`;
  const conditions = [
    alsoNull ? sql`${after} is null` : sql`(${before} is not null and ${after} is null)`,
    ...checks.map((check) => sql`not (${checkCondition(check)})`),
    ...(reference === undefined ? [] : [orphaned(table, reference, after, targetIsNew)]),
  ];
  const reasons = [
    ...(alsoNull ? ['is null'] : []),
    `holds what ${wordsFor(now)} cannot hold exactly`,
    ...(checks.length === 0 ? [] : ['holds what its bounds, length or values do not allow']),
    ...(reference === undefined ? [] : [`refers to no record of ${reference.relation.entity}`]),
  ];
  return {
    field: now.name,
    reason: `${was.name} ${reasons.join(' or ')}`,
    query: standing(converted, join(conditions, ' or ')),
    known: true,
  };
}

/** A condition: the value refers to no record. A table that comes with the same change has none. */
function orphaned(table: Table, { target }: Reference, value: Fragment, targetIsNew: boolean): Fragment {
  if (targetIsNew) return sql`${value} is not null`;
  const other = tableRef({ schema: table.schema, name: target });
  return sql`(${value} is not null and not exists (select from ${other} t where t.id = c.${value}))`;
}
