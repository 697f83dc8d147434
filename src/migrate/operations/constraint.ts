// Demands of fields and relations that stay: a value at all, a length, a range, a list of values, a record that they refer
// to. Nobody waits when a demand is added: it first holds for new writes, then existing records are checked.

import type { Check, Reference } from '../../document/tables.ts';
import type { Field } from '../../model/entity.ts';
import { derivedName } from '../../model/physical-name.ts';
import { type Fragment, ident, sql, tableRef } from '../../sql/fragment.ts';
import {
  addCheck,
  addNotNullCheck,
  addReference,
  checkCondition,
  dropConstraint,
  dropNotNull,
  setNotNull,
  validateConstraint,
} from '../ddl.ts';
import { alone, exclusive, type Operation, operation, shared, together } from '../operation.ts';
import { type ChangedTable, pathOfField, targetOf } from './field.ts';

/** The records that a condition holds for, as an obstacle's query; `records` has their ids. */
export function standing(records: Fragment, condition: Fragment): Fragment {
  const from = sql`${records} where ${condition}`;
  // Ids are looked for only when there are any: usually one look at the records is enough.
  return sql`select c.count, case when c.count > 0 then array(select id from ${from} order by id limit 10) else '{}' end as ids from (select count(*) as count from ${from}) c`;
}

export function requireField({ table, isEmpty, atOnce }: ChangedTable, field: Field): Operation {
  const column = ident(field.column);
  const check = derivedName(table.name, [field.column], 'ck_null');
  return operation({
    kind: 'setRequired',
    entity: table.entity,
    path: `${pathOfField(table, field)}.required`,
    description: `require ${field.name} of ${table.entity}`,
    work: isEmpty ? 'none' : 'scan',
    statements: atOnce
      ? [together('attach', setNotNull(table, field.column))]
      : [
          together('link', addNotNullCheck(table, check, field.column)),
          alone('build', validateConstraint(table, check)),
          together('attach', setNotNull(table, field.column)),
          together('attach', dropConstraint(table, check)),
        ],
    ahead: !atOnce,
    makes: atOnce ? [] : [{ kind: 'constraint', table: table.name, constraint: check }],
    locks: [exclusive(table.name)],
    obstacle: {
      field: field.name,
      reason: `${field.name} is null`,
      query: standing(tableRef(table), sql`${column} is null`),
      known: true,
    },
  });
}

export function liftRequired({ table }: ChangedTable, field: Field): Operation {
  return operation({
    kind: 'liftRequired',
    entity: table.entity,
    path: `${pathOfField(table, field)}.required`,
    description: `let ${field.name} of ${table.entity} be null`,
    statements: [together('attach', dropNotNull(table, field.column))],
    locks: [exclusive(table.name)],
  });
}

const WORDS = { length: 'maxLength', range: 'the bounds', enum: 'the values' } as const;
const MEMBERS = { length: 'maxLength', range: 'min', enum: 'values' } as const;

/** A check on a column that stays as it is; `was`: the one of its kind that it has now, under another name. */
export function changeCheck(
  { table, isEmpty, atOnce }: ChangedTable,
  check: Check,
  was: Pick<Check, 'name'> | undefined,
): Operation {
  const { field, kind, name } = check;
  const replaces = was !== undefined;
  const drop = replaces ? [together('detach', dropConstraint(table, was.name))] : [];
  return operation({
    kind: replaces ? 'changeCheck' : 'addCheck',
    entity: table.entity,
    path: `${pathOfField(table, field)}.${MEMBERS[kind]}`,
    description: `${replaces ? 'change' : 'set'} ${WORDS[kind]} of field ${field.name} of ${table.entity}`,
    work: isEmpty ? 'none' : 'scan',
    statements: atOnce
      ? [...drop, together('attach', addCheck(table, check))]
      : [together('link', addCheck(table, check, false)), alone('build', validateConstraint(table, name)), ...drop],
    ahead: !atOnce,
    makes: atOnce ? [] : [{ kind: 'constraint', table: table.name, constraint: name }],
    locks: [exclusive(table.name)],
    obstacle: {
      field: field.name,
      reason: `${field.name} is ${kind === 'length' ? `longer than ${field.maxLength}` : kind === 'range' ? 'outside the bounds' : 'none of the values'}`,
      query: standing(tableRef(table), sql`not (${checkCondition(check)})`),
      known: true,
    },
  });
}

export function dropCheck({ table }: ChangedTable, check: Check, field: Field): Operation {
  return operation({
    kind: 'dropCheck',
    entity: table.entity,
    path: `${pathOfField(table, field)}.${MEMBERS[check.kind]}`,
    description: `lift ${WORDS[check.kind]} of field ${field.name} of ${table.entity}`,
    statements: [together('detach', dropConstraint(table, check.name))],
    locks: [exclusive(table.name)],
  });
}

/** The foreign key of a column that stays; `was`: the one that it has now. */
export function changeReference(
  { table, isEmpty, atOnce }: ChangedTable,
  reference: Reference,
  was: Reference | undefined,
  targetIsNew: boolean,
): Operation {
  const { name, field, relation } = reference;
  const column = ident(field.column);
  const drop = was === undefined ? [] : [together('detach', dropConstraint(table, was.name))];
  const target = tableRef({ schema: table.schema, name: reference.target });
  const orphans = sql`${column} is not null and not exists (select from ${target} t where t.id = ${tableRef(table)}.${column})`;
  return operation({
    kind: was === undefined ? 'addRelation' : 'changeRelation',
    entity: table.entity,
    path: `entities.${table.entity}.relations.${relation.name}`,
    description:
      was === undefined
        ? `make field ${field.name} of ${table.entity} the relation ${relation.name} to ${relation.entity}`
        : was.target === reference.target
          ? `change what deleting a record of ${relation.entity} does to ${relation.name} of ${table.entity}`
          : `lead relation ${relation.name} of ${table.entity} to ${relation.entity}`,
    work: isEmpty ? 'none' : 'scan',
    statements: atOnce
      ? [...drop, together('attach', addReference(table, reference))]
      : [
          together('link', addReference(table, reference, false)),
          alone('build', validateConstraint(table, name)),
          ...drop,
        ],
    ahead: !atOnce,
    makes: atOnce ? [] : [{ kind: 'constraint', table: table.name, constraint: name }],
    locks: [
      exclusive(table.name),
      ...(targetIsNew ? [] : targetOf(table, reference, shared)),
      ...(was === undefined ? [] : targetOf(table, was, exclusive)),
    ],
    obstacle: {
      field: field.name,
      reason: `${field.name} refers to no record of ${relation.entity}`,
      query: standing(tableRef(table), orphans),
      known: !targetIsNew,
    },
  });
}

/** The column stays as a field of its own. */
export function loosenReference({ table }: ChangedTable, field: Field, was: Reference): Operation {
  return operation({
    kind: 'dropRelation',
    entity: table.entity,
    path: `entities.${table.entity}.relations.${was.relation.name}`,
    description: `drop relation ${was.relation.name} of ${table.entity}; its values stay in field ${field.name}`,
    destructive: true,
    statements: [together('detach', dropConstraint(table, was.name))],
    locks: [exclusive(table.name), ...targetOf(table, was, exclusive)],
  });
}
