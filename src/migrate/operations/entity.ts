// Entities that come and go.
import type { Table } from '../../model/schema-tables.ts';
import { createTable, dropConstraint, dropTable, finishTable } from '../ddl.ts';
import { exclusive, inTransaction, type Operation, operation, shared } from '../operation.ts';

/** `isNew` tells whether a table is created by the same change, so that nobody can hold a lock on it. */
export function createEntity(table: Table, isNew: (entity: string) => boolean): Operation {
  return operation({
    kind: 'createEntity',
    entity: table.name,
    path: `entities.${table.name}`,
    description: `create entity ${table.name}`,
    statements: [
      inTransaction('create', createTable(table)),
      ...finishTable(table).map((statement) => inTransaction('link', statement)),
    ],
    ahead: true,
    makes: [{ kind: 'table', table: table.name }],
    locks: table.references
      .map(({ relation }) => relation.entity)
      .filter((entity) => !isNew(entity))
      .map(shared),
  });
}

export function dropEntity(table: Table): Operation {
  return operation({
    kind: 'dropEntity',
    entity: table.name,
    path: `entities.${table.name}`,
    description: `drop entity ${table.name} and all of its records`,
    destructive: true,
    statements: [
      // Tables that refer to each other can only go one by one without these.
      ...table.references.map(({ name }) => inTransaction('detach', dropConstraint(table, name))),
      inTransaction('drop', dropTable(table)),
    ],
    locks: [exclusive(table.name), ...table.references.map(({ relation }) => exclusive(relation.entity))],
  });
}
