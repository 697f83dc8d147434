// A field that changes its type: in one step by rewriting the table, or online by a second column. Triggers synchronize
// that column with the first while existing values are converted; in the end it replaces the first.

import type { Field } from '../../model/entity.ts';
import { fieldType } from '../../model/field-types.ts';
import type { Reference, Table } from '../../schema/tables.ts';
import { type Fragment, ident, join, sql, tableRef } from '../../sql/fragment.ts';
import { type KeptChanges, keepChanges } from '../../workspace-schema/record-changes.ts';
import {
  buildSyncNames,
  createSync,
  deleteConflicts,
  dropSync,
  selectConflictRecords,
} from '../../workspace-schema/sync.ts';
import { type Cast, columnType, findCast } from '../cast.ts';
import {
  addCheck,
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
  toTypedLiteral,
  validateConstraint,
  widenColumn,
} from '../ddl.ts';
import {
  buildOperation,
  inBatches,
  inOwnTransaction,
  inSharedTransaction,
  lockExclusive,
  lockShared,
  type Operation,
  type Statement,
} from '../operation.ts';
import { buildConflictQuery } from './constraint.ts';
import { type ChangedTable, getTargetLocks, pathOfField, requireColumn } from './field.ts';

export interface TypeChange {
  readonly changedTable: ChangedTable;
  readonly old: Table;
  readonly previous: Field;
  readonly next: Field;
  /** Foreign key of the column. */
  readonly reference: Reference | undefined;
  readonly targetIsNew: boolean;
  /** Settings of the stored changes of the table, or null without any. */
  readonly keptChanges: KeptChanges | null;
}

/**
 * Changes the type; returns undefined if there are records and no value of the old type has an equivalent in the new
 * one.
 */
export function changeType(change: TypeChange): Operation | undefined {
  const { changedTable, previous, next } = change;
  const cast = findCast(previous, next);
  if (cast.kind === 'never' && !changedTable.isEmpty) return undefined;
  const parts = {
    kind: 'changeType',
    entity: changedTable.table.entity,
    path: `${pathOfField(changedTable.table, next)}.type`,
    description: `change field ${next.name} of ${changedTable.table.entity} from ${describeType(previous)} to ${describeType(next)}`,
  } as const;
  switch (cast.kind) {
    case 'none':
      return buildOperation(parts);
    case 'widen':
      return buildOperation({
        ...parts,
        statements: [inSharedTransaction('attach', widenColumn(changedTable.table, next))],
        locks: [lockExclusive(changedTable.table.name)],
      });
    case 'convert':
    case 'never':
      return buildOperation({
        ...parts,
        ...(changedTable.isBlocking ? rewrite(change, cast) : convert(change, cast)),
        changeNotes: [
          { kind: 'retypeColumn', table: changedTable.table.name, column: previous.column, name: next.column },
        ],
      });
    default:
      return cast satisfies never;
  }
}

function describeType(field: Field): string {
  if (field.relation !== undefined) return `relation ${field.relation}`;
  if (field.type !== 'decimal' || field.precision === undefined) return field.type;
  return `decimal(${field.precision}, ${field.scale ?? 0})`;
}

type Parts = Partial<Operation>;

const makeConverter =
  (cast: Cast, next: Field, { schema }: Table) =>
  (column: Fragment): Fragment =>
    cast.kind === 'convert' ? cast.value(column, schema) : sql`null::${columnType(next)}`;

function getLocks({ changedTable: { table }, old, previous, reference, targetIsNew }: TypeChange): Operation['locks'] {
  return [
    lockExclusive(table.name),
    ...old.references
      .filter((one) => one.field === previous)
      .flatMap((one) => getTargetLocks(table, one, lockExclusive)),
    ...getTargetLocks(table, targetIsNew ? undefined : reference, lockShared),
  ];
}

/** Rewrites the table under one lock: objects that depend on the column are dropped before and created again after. */
function rewrite(change: TypeChange, cast: Cast): Parts {
  const { changedTable, old, previous, next, reference } = change;
  const { table } = changedTable;
  const value = makeConverter(cast, next, table);
  const conflictCheck = buildConflictCheck(change, value);
  const indexes = [...old.indexes.values()].filter((index) => index.fields.includes(previous));
  const ownConstraints = [...old.checks, ...old.references].filter((one) => one.field === previous);
  const removals = [
    ...indexes.map(({ unique, name }) => (unique ? dropConstraint(table, name) : dropIndex(table, name))),
    ...ownConstraints.map(({ name }) => dropConstraint(table, name)),
    dropDefault(table, previous.column),
    rewriteColumn(table, previous.column, next, value(ident(previous.column))),
    renameColumn(table, previous.column, next.column),
  ];
  const additions = [
    ...(previous.required === next.required
      ? []
      : [next.required ? setNotNull(table, next.column) : dropNotNull(table, next.column)]),
    ...(next.default === undefined ? [] : [setDefault(table, next)]),
    ...table.checks.filter((check) => check.field === next).map((check) => addCheck(table, check)),
    ...(reference === undefined ? [] : [addReference(table, reference)]),
  ];
  return {
    work: changedTable.isEmpty ? 'none' : 'rewrite',
    statements: [
      ...removals.map((statement) => inSharedTransaction('detach', statement)),
      ...additions.map((statement) => inSharedTransaction('attach', statement)),
    ],
    locks: getLocks(change),
    conflictCheck,
    lateConflictCheck: conflictCheck,
  };
}

function convert(change: TypeChange, cast: Cast): Parts {
  const { changedTable, previous, next, reference } = change;
  const { table } = changedTable;
  const value = makeConverter(cast, next, table);
  const [from, to] = [ident(previous.column), ident(next.column)];
  const sync = buildSyncNames(table, next.column);
  const checks = table.checks.filter((check) => check.field === next);
  const conflictCheck = buildConflictCheck(change, value);
  const placeholder = next.required
    ? toTypedLiteral(next, next.min ?? next.max ?? fieldType(next.type).placeholder)
    : null;
  const validate = (name: string): Statement => inOwnTransaction('build', validateConstraint(table, name));
  return {
    work: 'rewrite',
    statements: [
      ...omitCopy(change),
      inSharedTransaction('column', addPlainColumn(table, next)),
      ...createSync(table, { ...sync, from: previous.column, field: next, value, placeholder }).map((statement) =>
        inSharedTransaction('column', statement),
      ),
      inBatches({
        next: (after, size) => nextRecords(table, after, size),
        fill: (stripe) =>
          fillStripe(
            table,
            { column: next.column, value: value(from), pending: sql`${from} is not null and ${to} is null` },
            stripe,
          ),
      }),
      ...(next.required ? requireColumn(table, next.column, 'build') : []),
      ...checks.flatMap((check) => [inSharedTransaction('build', addCheck(table, check, false)), validate(check.name)]),
      ...(reference === undefined
        ? []
        : [inSharedTransaction('build', addReference(table, reference, false)), validate(reference.name)]),
      inSharedTransaction('detach', dropSync(table, sync.name)),
      inSharedTransaction('detach', deleteConflicts(table.schema, sync.subject)),
      inSharedTransaction('detach', dropColumn(table, previous.column)),
      ...(next.default === undefined ? [] : [inSharedTransaction('attach', setDefault(table, next))]),
    ],
    runsBeforeSwitch: true,
    temporaryObjects: [
      { kind: 'sync', table: table.name, ...sync },
      { kind: 'column', table: table.name, column: next.column },
    ],
    locks: getLocks(change),
    conflictCheck,
    lateConflictCheck: {
      ...conflictCheck,
      query: buildConflictQuery(
        tableRef(table),
        sql`id in (${selectConflictRecords(table.schema, sync.subject)}) and ${from} is not null and ${value(from)} is null`,
      ),
    },
  };
}

/** Leaves the new column out of stored changes, too, while it has copies of values that are never stored. */
function omitCopy({ changedTable: { table }, previous, next, keptChanges }: TypeChange): readonly Statement[] {
  if (keptChanges?.omitted.includes(previous.column) !== true) return [];
  const omitted = [...keptChanges.omitted, next.column];
  return [inSharedTransaction('column', keepChanges(table, { ...keptChanges, omitted }))];
}

/**
 * Finds values that the new type cannot hold, or that violate the new constraints of the field, including null when the
 * same change makes the field required.
 */
function buildConflictCheck(
  { changedTable, previous, next, reference, targetIsNew }: TypeChange,
  value: (column: Fragment) => Fragment,
): NonNullable<Operation['conflictCheck']> {
  const { table } = changedTable;
  const [before, after] = [ident('$before'), ident(next.column)];
  const alsoNull = next.required && !previous.required;
  const checks = table.checks.filter((check) => check.field === next);
  const converted = sql`(select "id", ${ident(previous.column)} as ${before}, ${value(ident(previous.column))} as ${after} from ${tableRef(table)}) c`;
  const conditions = [
    alsoNull ? sql`${after} is null` : sql`(${before} is not null and ${after} is null)`,
    ...checks.map((check) => sql`not (${checkCondition(check)})`),
    ...(reference === undefined ? [] : [buildOrphanCondition(table, reference, after, targetIsNew)]),
  ];
  const reasons = [
    ...(alsoNull ? ['is null'] : []),
    `has a value that ${describeType(next)} cannot store exactly`,
    ...(checks.length === 0 ? [] : ['has a value outside its bounds, length or values']),
    ...(reference === undefined ? [] : [`refers to no record of ${reference.relation.entity}`]),
  ];
  return {
    field: next.name,
    reason: `${previous.name} ${reasons.join(' or ')}`,
    query: buildConflictQuery(converted, join(conditions, ' or ')),
    canRun: true,
  };
}

/** Builds the condition that the value references no record. A table that the same change creates has no records. */
function buildOrphanCondition(table: Table, { target }: Reference, value: Fragment, targetIsNew: boolean): Fragment {
  if (targetIsNew) return sql`${value} is not null`;
  const other = tableRef({ schema: table.schema, name: target });
  return sql`(${value} is not null and not exists (select from ${other} t where t.id = c.${value}))`;
}
