// Fields and belongsTo relations that come and go on an entity that is there already, and their defaults.
import type { Field } from '../../model/entity.ts';
import { isGenerated } from '../../model/schema-fields.ts';
import type { Reference, Table } from '../../model/schema-tables.ts';
import { sql } from '../../sql/fragment.ts';
import { addColumn, dropColumn, setDefault, tableRef, validateConstraint } from '../ddl.ts';
import { alone, exclusive, inTransaction, type Operation, operation, shared, type TableLock } from '../operation.ts';

export interface Place {
  readonly table: Table;
  /** No records when the change was planned; what holds up nobody then is done at once. */
  readonly isEmpty: boolean;
}

export function addField({ table, isEmpty }: Place, field: Field): Operation {
  const checks = table.checks.filter((check) => check.field.name === field.name);
  const needsRecordsGone = field.required && field.default === undefined;
  // Only a value of its own for each record makes PostgreSQL write the table anew; any other default is a note in the
  // catalog, whatever the number of records.
  const rewrites = !isEmpty && field.type === 'uuid' && isGenerated(field.type, field.default);
  const later = !isEmpty && !needsRecordsGone && checks.length > 0;
  return operation({
    ...(field.role === 'data'
      ? { path: `entities.${table.name}.fields.${field.name}` }
      : { path: `entities.${table.name}.timestamps` }),
    kind: 'addField',
    entity: table.name,
    description: `add field ${field.name} to ${table.name}${filling(field)}`,
    blocksReads: rewrites,
    blocksWrites: rewrites,
    work: rewrites ? 'rewrite' : later ? 'scan' : 'none',
    statements: [
      inTransaction('column', addColumn(table, field, checks, undefined, !later)),
      ...(later ? checks.map((check) => alone('build', validateConstraint(table, check.name))) : []),
    ],
    ahead: !isEmpty,
    makes: [{ kind: 'column', table: table.name, column: field.name }],
    locks: [exclusive(table.name)],
    obstacle: needsRecordsGone ? recordsWithout(table, field.name) : null,
  });
}

function filling(field: Field): string {
  if (field.role !== 'data') return ', the present time in existing records';
  if (field.default === undefined) return field.required ? ', which must have no records' : '';
  return isGenerated(field.type, field.default)
    ? ', a generated value in existing records'
    : ', its default in existing records';
}

/** The column of a belongsTo relation with its foreign key. New columns are null, so nothing has to be looked at. */
export function addRelation(
  { table, isEmpty }: Place,
  field: Field,
  reference: Reference,
  targetIsNew: boolean,
): Operation {
  const { relation } = reference;
  return operation({
    kind: 'addRelation',
    entity: table.name,
    path: `entities.${table.name}.relations.${relation.name}`,
    description: `add relation ${relation.name} to ${table.name}, stored in ${field.name}`,
    statements: [inTransaction('column', addColumn(table, field, [], reference))],
    ahead: !isEmpty,
    makes: [{ kind: 'column', table: table.name, column: field.name }],
    locks: [exclusive(table.name), ...(targetIsNew ? [] : target(table, reference, shared))],
    obstacle: field.required ? recordsWithout(table, field.name) : null,
  });
}

export function dropField(table: Table, field: Field): Operation {
  return operation({
    kind: 'dropField',
    entity: table.name,
    path: field.role === 'data' ? `entities.${table.name}.fields.${field.name}` : `entities.${table.name}.timestamps`,
    description: `drop field ${field.name} of ${table.name} and its values`,
    destructive: true,
    statements: [inTransaction('detach', dropColumn(table, field.name))],
    locks: [exclusive(table.name)],
  });
}

export function dropRelation(table: Table, field: Field, reference: Reference): Operation {
  return operation({
    kind: 'dropRelation',
    entity: table.name,
    path: `entities.${table.name}.relations.${reference.relation.name}`,
    description: `drop relation ${reference.relation.name} of ${table.name} and its field ${field.name} with its values`,
    destructive: true,
    statements: [inTransaction('detach', dropColumn(table, field.name))],
    locks: [exclusive(table.name), ...target(table, reference, exclusive)],
  });
}

function target(table: Table, { relation }: Reference, lock: (table: string) => TableLock): readonly TableLock[] {
  return relation.entity === table.name ? [] : [lock(relation.entity)];
}

export function changeDefault(table: Table, field: Field): Operation {
  return operation({
    kind: 'setDefault',
    entity: table.name,
    path: `entities.${table.name}.fields.${field.name}.default`,
    description:
      field.default === undefined
        ? `drop the default of field ${field.name} of ${table.name}`
        : `change the default of field ${field.name} of ${table.name} for new records`,
    statements: [inTransaction('attach', setDefault(table, field))],
    locks: [exclusive(table.name)],
  });
}

function recordsWithout(table: Table, field: string): Operation['obstacle'] {
  return {
    field,
    reason: `${field} is required and has no default, so they would be without a value`,
    query: sql`select count(*) as count, array(select id from ${tableRef(table)} order by id limit 10) as ids from ${tableRef(table)}`,
    known: true,
  };
}
