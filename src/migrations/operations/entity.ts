// Entities that are added and dropped.
import { hasTextIndex, type Table } from '../../schema/tables.ts';
import { createTable, dropConstraint, dropTable, type Extensions, finishTable } from '../ddl.ts';
import { buildOperation, inSharedTransaction, lockExclusive, lockShared, type Operation } from '../operation.ts';

/**
 * Creates an entity. `isNew`: whether the same change creates the table of an entity, so that no session can hold a
 * lock on it.
 */
export function createEntity(table: Table, isNew: (entity: string) => boolean, extensions: Extensions): Operation {
  return buildOperation({
    kind: 'createEntity',
    entity: table.entity,
    path: `entities.${table.entity}`,
    description: `create entity ${table.entity}`,
    statements: [
      inSharedTransaction('create', createTable(table)),
      ...finishTable(table, extensions).map((statement) => inSharedTransaction('link', statement)),
    ],
    runsBeforeSwitch: true,
    temporaryObjects: [
      { kind: 'table', table: table.name },
      ...(hasTextIndex(table) ? [{ kind: 'words', table: table.name } as const] : []),
    ],
    locks: table.references.filter(({ relation }) => !isNew(relation.entity)).map(({ target }) => lockShared(target)),
  });
}

export function dropEntity(table: Table): Operation {
  return buildOperation({
    kind: 'dropEntity',
    entity: table.entity,
    path: `entities.${table.entity}`,
    description: `drop entity ${table.entity} and all of its records`,
    destructive: true,
    statements: [
      // Foreign keys are dropped first, as tables that reference each other could not be dropped one by one.
      ...table.references.map(({ name }) => inSharedTransaction('detach', dropConstraint(table, name))),
      inSharedTransaction('drop', dropTable(table)),
    ],
    changeNotes: [{ kind: 'dropTable', table: table.name }],
    locks: [lockExclusive(table.name), ...table.references.map(({ target }) => lockExclusive(target))],
  });
}
