// Fields and belongsTo relations that are added to and dropped from an existing entity, and their defaults.

import type { Field } from '../../model/entity.ts';
import { type Generated, generatedBy, isGenerated } from '../../model/field-types.ts';
import { derivedName } from '../../model/physical-name.ts';
import type { Reference, Table } from '../../schema/tables.ts';
import { type Fragment, ident, keyword, sql, tableRef } from '../../sql/fragment.ts';
import { internalRef } from '../../sql/internal-names.ts';
import {
  addCheck,
  addColumn,
  addNotNullCheck,
  addPlainColumn,
  dropColumn,
  dropConstraint,
  type Extensions,
  fillStripe,
  nextRecords,
  setDefault,
  setNotNull,
  validateConstraint,
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
  type TableLock,
} from '../operation.ts';

export interface ChangedTable {
  readonly table: Table;
  /** Whether the table had no records when the change was planned; then each operation is quick and runs at once. */
  readonly isEmpty: boolean;
  /** Whether all statements run in one transaction, under locks: on an empty table, or with `blocking`. */
  readonly isBlocking: boolean;
  readonly extensions: Extensions;
}

export function pathOfField(table: Table, field: Field): string {
  if (field.relation !== undefined) return `entities.${table.entity}.relations.${field.relation}`;
  return field.role === 'data'
    ? `entities.${table.entity}.fields.${field.name}`
    : `entities.${table.entity}.timestamps`;
}

export function addField(changedTable: ChangedTable, field: Field): Operation {
  const { table, isEmpty, isBlocking } = changedTable;
  const checks = table.checks.filter((check) => check.field === field);
  const requiresNoRecords = field.required && field.default === undefined;
  // PostgreSQL rewrites the table only for a default that differs from record to record; any other default is stored in
  // its catalog, whatever the number of records.
  const generated = generatedBy(field.type, field.default);
  const rewrites = !isEmpty && generated?.varies === true;
  const fills = rewrites && !isBlocking;
  const validatesLater = !isBlocking && !fills && !requiresNoRecords && checks.length > 0;
  return buildOperation({
    path: pathOfField(table, field),
    kind: 'addField',
    entity: table.entity,
    description: `add field ${field.name} to ${table.entity}${describeFilling(field)}`,
    work: rewrites ? 'rewrite' : validatesLater ? 'scan' : 'none',
    statements: fills
      ? fillGenerated(table, field, generated)
      : [
          inSharedTransaction('column', addColumn(table, field)),
          ...checks.map((check) => inSharedTransaction('column', addCheck(table, check, !validatesLater))),
          ...(validatesLater
            ? checks.map((check) => inOwnTransaction('build', validateConstraint(table, check.name)))
            : []),
        ],
    runsBeforeSwitch: !isBlocking,
    temporaryObjects: isBlocking ? [] : [{ kind: 'column', table: table.name, column: field.column }],
    locks: [lockExclusive(table.name)],
    conflictCheck: requiresNoRecords && !isEmpty ? buildRecordsCheck(table, field.name) : null,
  });
}

/** Generates a value for each record: new ones get it by the default, the others in batches. */
function fillGenerated(table: Table, field: Field, generated: Generated): readonly Statement[] {
  const column = ident(field.column);
  const value = toFillValue(table, generated);
  return [
    inSharedTransaction('column', addPlainColumn(table, field)),
    inSharedTransaction('column', setDefault(table, field)),
    inBatches({
      next: (after, size) => nextRecords(table, after, size),
      fill: (stripe) => fillStripe(table, { column: field.column, value, pending: sql`${column} is null` }, stripe),
    }),
    ...(field.required ? requireColumn(table, field.column, 'build') : []),
  ];
}

/** Builds the value for an existing record. Citus accepts only functions marked immutable in an update. */
const toFillValue = ({ schema }: Table, generated: Generated): Fragment =>
  generated.word === 'uuid' ? sql`${internalRef(schema, 'uuid_for')}("id")` : keyword(generated.expression);

function describeFilling(field: Field): string {
  if (field.role !== 'data') return ', the present time in existing records';
  if (field.default === undefined) return field.required ? ', which must have no records' : '';
  return isGenerated(field.type, field.default)
    ? ', a generated value in existing records'
    : ', its default in existing records';
}

/** Adds the column of a belongsTo relation with its foreign key. New columns are null, so no record is validated. */
export function addRelation(
  changedTable: ChangedTable,
  field: Field,
  reference: Reference,
  targetIsNew: boolean,
): Operation {
  const { table, isEmpty, isBlocking } = changedTable;
  const { relation } = reference;
  return buildOperation({
    kind: 'addRelation',
    entity: table.entity,
    path: `entities.${table.entity}.relations.${relation.name}`,
    description: `add relation ${relation.name} to ${table.entity}, stored in ${field.name}`,
    statements: [inSharedTransaction('column', addColumn(table, field, reference))],
    runsBeforeSwitch: !isBlocking,
    temporaryObjects: isBlocking ? [] : [{ kind: 'column', table: table.name, column: field.column }],
    locks: [lockExclusive(table.name), ...getTargetLocks(table, targetIsNew ? undefined : reference, lockShared)],
    conflictCheck: field.required && !isEmpty ? buildRecordsCheck(table, field.name) : null,
  });
}

/** Drops a field, or a relation with its foreign key `reference`. */
export function dropField(table: Table, field: Field, reference: Reference | undefined): Operation {
  const relation = reference?.relation.name;
  return buildOperation({
    kind: relation === undefined ? 'dropField' : 'dropRelation',
    entity: table.entity,
    path: pathOfField(table, field),
    description:
      relation === undefined
        ? `drop field ${field.name} of ${table.entity} and its values`
        : `drop relation ${relation} of ${table.entity} and its field ${field.name} with its values`,
    destructive: true,
    statements: [inSharedTransaction('detach', dropColumn(table, field.column))],
    changeNotes: [{ kind: 'dropColumn', table: table.name, column: field.column }],
    locks: [lockExclusive(table.name), ...getTargetLocks(table, reference, lockExclusive)],
  });
}

/** Returns the lock on the other table of a foreign key, or none for a self reference and without a foreign key. */
export function getTargetLocks(
  table: Table,
  reference: Reference | undefined,
  lock: (table: string) => TableLock,
): readonly TableLock[] {
  return reference === undefined || reference.target === table.name ? [] : [lock(reference.target)];
}

/** Makes a column required. The check, once validated, lets `set not null` skip the scan of the table. */
export function requireColumn(table: Table, column: string, phase: 'link' | 'build'): readonly Statement[] {
  const check = derivedName(table.name, [column], 'ck_null');
  return [
    inSharedTransaction(phase, addNotNullCheck(table, check, column)),
    inOwnTransaction('build', validateConstraint(table, check)),
    inSharedTransaction('attach', setNotNull(table, column)),
    inSharedTransaction('attach', dropConstraint(table, check)),
  ];
}

/**
 * Changes a default. `early`: set before a constraint of the same change that the present default (or null) violates,
 * so that records which are created without the field satisfy the constraint from the start.
 */
export function changeDefault(
  { table, isBlocking }: ChangedTable,
  field: Field,
  previous: Field,
  isEarly: boolean,
): Operation {
  const runsBeforeSwitch = isEarly && !isBlocking;
  return buildOperation({
    kind: 'setDefault',
    entity: table.entity,
    path: `${pathOfField(table, field)}.default`,
    description:
      field.default === undefined
        ? `drop the default of field ${field.name} of ${table.entity}`
        : `change the default of field ${field.name} of ${table.entity} for new records`,
    statements: [inSharedTransaction(runsBeforeSwitch ? 'link' : 'attach', setDefault(table, field))],
    runsBeforeSwitch,
    temporaryObjects: runsBeforeSwitch
      ? [{ kind: 'default', table: table.name, undo: setDefault(table, previous).text }]
      : [],
    locks: [lockExclusive(table.name)],
  });
}

function buildRecordsCheck(table: Table, field: string): Operation['conflictCheck'] {
  return {
    field,
    reason: `${field} is required and has no default, so they would be without a value`,
    query: sql`select count(*) as count, array(select id from ${tableRef(table)} order by id limit 10) as ids from ${tableRef(table)}`,
    canRun: true,
  };
}
