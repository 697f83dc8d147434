// Indexes and unique constraints that come and go on an entity that is there already.
import type { Index, Table } from '../../model/schema-tables.ts';
import { type Fragment, ident, join, sql } from '../../sql/fragment.ts';
import {
  addUnique,
  attachUnique,
  createIndex,
  createIndexConcurrently,
  dropConstraint,
  dropIndex,
  tableRef,
} from '../ddl.ts';
import { concurrently, exclusive, inTransaction, type Operation, operation } from '../operation.ts';
import type { Place } from './field.ts';

/** `columnsExist` is false when a column comes with the same change. */
export function addIndex({ table, isEmpty }: Place, index: Index, columnsExist: boolean): Operation {
  const shared = {
    kind: index.unique ? 'addUnique' : 'addIndex',
    entity: table.name,
    path: pathOf(table, index),
    description: index.unique
      ? `make ${listed(index)} of ${table.name} unique`
      : `add an index on ${listed(index)} of ${table.name}`,
    obstacle: index.unique
      ? {
          field: index.columns.join(', '),
          reason: `they have the same ${listed(index)} as another record`,
          query: duplicates(table, index),
          known: columnsExist,
        }
      : null,
  } as const;
  const makes = [{ kind: 'index', table: table.name, index: index.name }] as const;
  if (isEmpty) {
    const statement = index.unique ? addUnique(table, index) : createIndex(table, index);
    return operation({
      ...shared,
      statements: [inTransaction('build', statement)],
      makes,
      locks: [exclusive(table.name)],
    });
  }
  return operation({
    ...shared,
    work: 'index',
    statements: [
      concurrently('build', createIndexConcurrently(table, index)),
      ...(index.unique ? [inTransaction('attach', attachUnique(table, index.name))] : []),
    ],
    ahead: true,
    makes,
    locks: index.unique ? [exclusive(table.name)] : [],
  });
}

export function removeIndex(table: Table, index: Index): Operation {
  return operation({
    kind: index.unique ? 'dropUnique' : 'dropIndex',
    entity: table.name,
    path: pathOf(table, index),
    description: index.unique
      ? `let ${listed(index)} of ${table.name} repeat`
      : `drop the index on ${listed(index)} of ${table.name}`,
    statements: [
      inTransaction('detach', index.unique ? dropConstraint(table, index.name) : dropIndex(table, index.name)),
    ],
    locks: [exclusive(table.name)],
  });
}

const listed = (index: Index): string => index.columns.join(', ');

function pathOf(table: Table, index: Index): string {
  const [first] = index.columns;
  const field = index.columns.length === 1 && first !== undefined ? table.columns.get(first) : undefined;
  if (field?.role === 'data') return `entities.${table.name}.fields.${field.name}`;
  if (field?.relation !== undefined) return `entities.${table.name}.relations.${field.relation}`;
  return `entities.${table.name}.indexes`;
}

/** Records that share their values with another one; null is never the same as null. */
function duplicates(table: Table, index: Index): Fragment {
  const columns = join(index.columns.map(ident));
  return sql`with standing as (
  select id from ${tableRef(table)} where (${columns}) in (
    select ${columns} from ${tableRef(table)} group by ${columns} having count(*) > 1
  )
)
select (select count(*) from standing) as count, array(select id from standing order by id limit 10) as ids`;
}
