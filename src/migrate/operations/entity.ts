// Entities that are added and dropped.
import { hasWords, type Table } from '../../document/tables.ts';
import { createTable, dropConstraint, dropTable, type Extensions, finishTable } from '../ddl.ts';
import { exclusive, type Operation, operation, shared, together } from '../operation.ts';

/** `isNew`: whether the same change creates the table of an entity, so that nobody can hold a lock on it. */
export function createEntity(table: Table, isNew: (entity: string) => boolean, extensions: Extensions): Operation {
  return operation({
    kind: 'createEntity',
    entity: table.entity,
    path: `entities.${table.entity}`,
    description: `create entity ${table.entity}`,
    statements: [
      together('create', createTable(table)),
      ...finishTable(table, extensions).map((statement) => together('link', statement)),
    ],
    ahead: true,
    makes: [
      { kind: 'table', table: table.name },
      ...(hasWords(table) ? [{ kind: 'words', table: table.name } as const] : []),
    ],
    locks: table.references.filter(({ relation }) => !isNew(relation.entity)).map(({ target }) => shared(target)),
  });
}

export function dropEntity(table: Table): Operation {
  return operation({
    kind: 'dropEntity',
    entity: table.entity,
    path: `entities.${table.entity}`,
    description: `drop entity ${table.entity} and all of its records`,
    destructive: true,
    statements: [
      // Foreign keys go first, as tables that refer to each other could not be dropped one by one.
      ...table.references.map(({ name }) => together('detach', dropConstraint(table, name))),
      together('drop', dropTable(table)),
    ],
    locks: [exclusive(table.name), ...table.references.map(({ target }) => exclusive(target))],
  });
}
