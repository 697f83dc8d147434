// Constraints of existing fields and relations: required, length, range, list of values, reference. Adding one blocks
// no request: it first applies to new writes, then existing records are checked.

import type { Field } from '../../model/entity.ts';
import { derivedName } from '../../model/physical-name.ts';
import type { Check, Reference } from '../../schema/tables.ts';
import { type Fragment, ident, sql, tableRef } from '../../sql/fragment.ts';
import {
  addCheck,
  addReference,
  checkCondition,
  dropConstraint,
  dropNotNull,
  setNotNull,
  validateConstraint,
} from '../ddl.ts';
import {
  buildOperation,
  inOwnTransaction,
  inSharedTransaction,
  lockExclusive,
  lockShared,
  type Operation,
} from '../operation.ts';
import { type ChangedTable, getTargetLocks, pathOfField, requireColumn } from './field.ts';

/** Builds the conflict query for the records that satisfy a condition; `records` has their ids. */
export function buildConflictQuery(records: Fragment, condition: Fragment): Fragment {
  const from = sql`${records} where ${condition}`;
  // Ids are selected only when there are conflicts: usually one scan of the records is enough.
  return sql`select c.count, case when c.count > 0 then array(select id from ${from} order by id limit 10) else '{}' end as ids from (select count(*) as count from ${from}) c`;
}

export function requireField({ table, isEmpty, isBlocking }: ChangedTable, field: Field): Operation {
  const check = derivedName(table.name, [field.column], 'ck_null');
  return buildOperation({
    kind: 'setRequired',
    entity: table.entity,
    path: `${pathOfField(table, field)}.required`,
    description: `require ${field.name} of ${table.entity}`,
    work: isEmpty ? 'none' : 'scan',
    statements: isBlocking
      ? [inSharedTransaction('attach', setNotNull(table, field.column))]
      : requireColumn(table, field.column, 'link'),
    runsBeforeSwitch: !isBlocking,
    temporaryObjects: isBlocking ? [] : [{ kind: 'constraint', table: table.name, constraint: check }],
    locks: [lockExclusive(table.name)],
    conflictCheck: {
      field: field.name,
      reason: `${field.name} is null`,
      query: buildConflictQuery(tableRef(table), sql`${ident(field.column)} is null`),
      canRun: true,
    },
  });
}

export function liftRequired({ table }: ChangedTable, field: Field): Operation {
  return buildOperation({
    kind: 'liftRequired',
    entity: table.entity,
    path: `${pathOfField(table, field)}.required`,
    description: `let ${field.name} of ${table.entity} be null`,
    statements: [inSharedTransaction('attach', dropNotNull(table, field.column))],
    locks: [lockExclusive(table.name)],
  });
}

/** Adds a constraint to existing columns; `previous`: name of the one that it replaces. */
function replaceConstraint(
  { table, isBlocking }: ChangedTable,
  add: (valid: boolean) => Fragment,
  constraint: string,
  previous: string | undefined,
): Pick<Operation, 'statements' | 'runsBeforeSwitch' | 'temporaryObjects'> {
  const drop = previous === undefined ? [] : [inSharedTransaction('detach', dropConstraint(table, previous))];
  if (isBlocking) {
    const statements = [...drop, inSharedTransaction('attach', add(true))];
    return { statements, runsBeforeSwitch: false, temporaryObjects: [] };
  }
  const validate = inOwnTransaction('build', validateConstraint(table, constraint));
  return {
    statements: [inSharedTransaction('link', add(false)), validate, ...drop],
    runsBeforeSwitch: true,
    temporaryObjects: [{ kind: 'constraint', table: table.name, constraint }],
  };
}

const LABELS = { length: 'maxLength', range: 'the bounds', enum: 'the values' } as const;
const MEMBERS = { length: 'maxLength', range: 'min', enum: 'values' } as const;

/** Replaces a check on an unchanged column; `previous`: its current check of the same kind. */
export function changeCheck(
  changedTable: ChangedTable,
  check: Check,
  previous: Pick<Check, 'name'> | undefined,
): Operation {
  const { table, isEmpty } = changedTable;
  const { field, kind } = check;
  const replaces = previous !== undefined;
  return buildOperation({
    kind: replaces ? 'changeCheck' : 'addCheck',
    entity: table.entity,
    path: `${pathOfField(table, field)}.${MEMBERS[kind]}`,
    description: `${replaces ? 'change' : 'set'} ${LABELS[kind]} of field ${field.name} of ${table.entity}`,
    work: isEmpty ? 'none' : 'scan',
    ...replaceConstraint(changedTable, (valid) => addCheck(table, check, valid), check.name, previous?.name),
    locks: [lockExclusive(table.name)],
    conflictCheck: {
      field: field.name,
      reason: `${field.name} is ${kind === 'length' ? `longer than ${field.maxLength}` : kind === 'range' ? 'outside the bounds' : 'none of the values'}`,
      query: buildConflictQuery(tableRef(table), sql`not (${checkCondition(check)})`),
      canRun: true,
    },
  });
}

export function dropCheck({ table }: ChangedTable, check: Check, field: Field): Operation {
  return buildOperation({
    kind: 'dropCheck',
    entity: table.entity,
    path: `${pathOfField(table, field)}.${MEMBERS[check.kind]}`,
    description: `lift ${LABELS[check.kind]} of field ${field.name} of ${table.entity}`,
    statements: [inSharedTransaction('detach', dropConstraint(table, check.name))],
    locks: [lockExclusive(table.name)],
  });
}

/** Replaces the foreign key of an unchanged column; `previous`: its current foreign key. */
export function changeReference(
  changedTable: ChangedTable,
  reference: Reference,
  previous: Reference | undefined,
  targetIsNew: boolean,
): Operation {
  const { table, isEmpty } = changedTable;
  const { name, field, relation } = reference;
  const column = ident(field.column);
  const target = tableRef({ schema: table.schema, name: reference.target });
  const orphans = sql`${column} is not null and not exists (select from ${target} t where t.id = ${tableRef(table)}.${column})`;
  return buildOperation({
    kind: previous === undefined ? 'addRelation' : 'changeRelation',
    entity: table.entity,
    path: `entities.${table.entity}.relations.${relation.name}`,
    description:
      previous === undefined
        ? `make field ${field.name} of ${table.entity} the relation ${relation.name} to ${relation.entity}`
        : previous.target === reference.target
          ? `change what deleting a record of ${relation.entity} does to ${relation.name} of ${table.entity}`
          : `lead relation ${relation.name} of ${table.entity} to ${relation.entity}`,
    work: isEmpty ? 'none' : 'scan',
    ...replaceConstraint(changedTable, (valid) => addReference(table, reference, valid), name, previous?.name),
    locks: [
      lockExclusive(table.name),
      ...getTargetLocks(table, targetIsNew ? undefined : reference, lockShared),
      ...getTargetLocks(table, previous, lockExclusive),
    ],
    conflictCheck: {
      field: field.name,
      reason: `${field.name} refers to no record of ${relation.entity}`,
      query: buildConflictQuery(tableRef(table), orphans),
      canRun: !targetIsNew,
    },
  });
}

/** Drops the foreign key of a relation whose column stays as a field. */
export function loosenReference({ table }: ChangedTable, field: Field, previous: Reference): Operation {
  return buildOperation({
    kind: 'dropRelation',
    entity: table.entity,
    path: `entities.${table.entity}.relations.${previous.relation.name}`,
    description: `drop relation ${previous.relation.name} of ${table.entity}; its values stay in field ${field.name}`,
    destructive: true,
    statements: [inSharedTransaction('detach', dropConstraint(table, previous.name))],
    locks: [lockExclusive(table.name), ...getTargetLocks(table, previous, lockExclusive)],
  });
}
