// Indexes and unique constraints that are added to, or dropped from, an existing entity.

import { NO_LANGUAGE } from '../../model/entity.ts';
import type { Index, IndexMethod, Table } from '../../schema/tables.ts';
import { type Fragment, ident, join, sql, tableRef } from '../../sql/fragment.ts';
import {
  addUnique,
  attachUnique,
  createIndex,
  createIndexConcurrently,
  dropConstraint,
  dropIndex,
  prepareIndex,
} from '../ddl.ts';
import {
  buildOperation,
  inSharedTransaction,
  lockExclusive,
  lockShared,
  type Operation,
  outsideTransaction,
} from '../operation.ts';
import type { ChangedTable } from './field.ts';

/** Adds an index. `columnsExist` is false when the same change adds a column of it. */
export function addIndex(
  { table, isEmpty, isBlocking, extensions }: ChangedTable,
  index: Index,
  columnsExist: boolean,
): Operation {
  const parts = {
    kind: index.unique ? 'addUnique' : 'addIndex',
    entity: table.entity,
    path: getPath(table, index),
    description: index.unique
      ? `make ${listFields(index)} of ${table.entity} unique`
      : `add ${describeIndex(index)} on ${listFields(index)} of ${table.entity}${COST_NOTES[index.method.kind]}`,
    conflictCheck: index.unique
      ? {
          field: listFields(index),
          reason: `they have the same ${listFields(index)} as another record`,
          query: duplicates(table, index),
          canRun: columnsExist,
        }
      : null,
  } as const;
  const preparations = prepareIndex(table, index).map((each) => inSharedTransaction('create', each));
  if (isBlocking) {
    const statement = index.unique ? addUnique(table, index) : createIndex(table, index, extensions);
    return buildOperation({
      ...parts,
      work: isEmpty ? 'none' : 'index',
      statements: [...preparations, inSharedTransaction('attach', statement)],
      // `create index` allows other sessions to read, but not to write.
      locks: [index.unique ? lockExclusive(table.name) : lockShared(table.name)],
    });
  }
  return buildOperation({
    ...parts,
    work: 'index',
    statements: [
      ...preparations,
      outsideTransaction('build', createIndexConcurrently(table, index, extensions)),
      ...(index.unique ? [inSharedTransaction('attach', attachUnique(table, index.name))] : []),
    ],
    runsBeforeSwitch: true,
    temporaryObjects: [
      { kind: 'index', table: table.name, index: index.name },
      ...(index.method.kind === 'words' ? [{ kind: 'words', table: table.name } as const] : []),
    ],
    locks: index.unique ? [lockExclusive(table.name)] : [],
  });
}

export function removeIndex(table: Table, index: Index): Operation {
  return buildOperation({
    kind: index.unique ? 'dropUnique' : 'dropIndex',
    entity: table.entity,
    path: getPath(table, index),
    description: index.unique
      ? `let ${listFields(index)} of ${table.entity} repeat`
      : `drop the ${KINDS[index.method.kind]} on ${listFields(index)} of ${table.entity}`,
    statements: [
      inSharedTransaction('detach', index.unique ? dropConstraint(table, index.name) : dropIndex(table, index.name)),
    ],
    locks: [lockExclusive(table.name)],
  });
}

const KINDS: Readonly<Record<IndexMethod['kind'], string>> = {
  values: 'index',
  words: 'search index',
  parts: 'index of parts of texts',
};

/** Notes on the cost of special indexes: an insert with a search index takes the database 95 instead of 49 µs. */
const COST_NOTES: Readonly<Record<IndexMethod['kind'], string>> = {
  values: '',
  words: ', which doubles the time of an insert',
  parts: ', which doubles the time of an insert',
};

function describeIndex({ method }: Index): string {
  const language = method.kind === 'words' && method.language !== NO_LANGUAGE ? ` in ${method.language}` : '';
  return `${method.kind === 'words' ? 'a' : 'an'} ${KINDS[method.kind]}${language}`;
}

const listFields = (index: Index): string => index.fields.map((field) => field.name).join(', ');

function getPath(table: Table, index: Index): string {
  const field = index.fields.length === 1 ? index.fields[0] : undefined;
  if (field?.role === 'data') return `entities.${table.entity}.fields.${field.name}`;
  if (field?.relation !== undefined) return `entities.${table.entity}.relations.${field.relation}`;
  return `entities.${table.entity}.indexes`;
}

/** Selects records that share their values with another record; null never equals null. */
function duplicates(table: Table, index: Index): Fragment {
  const columns = join(index.fields.map((field) => ident(field.column)));
  return sql`with standing as (
  select id from ${tableRef(table)} where (${columns}) in (
    select ${columns} from ${tableRef(table)} group by ${columns} having count(*) > 1
  )
)
select (select count(*) from standing) as count, array(select id from standing order by id limit 10) as ids`;
}
