// Indexes and unique constraints that are added to, or dropped from, an entity that exists.
import type { Index, IndexMethod, Table } from '../../document/tables.ts';
import { NO_LANGUAGE } from '../../model/entity.ts';
import { type Fragment, ident, join, sql, tableRef } from '../../sql/fragment.ts';
import {
  addUnique,
  attachUnique,
  createIndex,
  createIndexConcurrently,
  dropConstraint,
  dropIndex,
  readyFor,
} from '../ddl.ts';
import { concurrently, exclusive, type Operation, operation, shared, together } from '../operation.ts';
import type { ChangedTable } from './field.ts';

/** `columnsExist` is false when a column comes with the same change. */
export function addIndex(
  { table, isEmpty, atOnce, extensions }: ChangedTable,
  index: Index,
  columnsExist: boolean,
): Operation {
  const parts = {
    kind: index.unique ? 'addUnique' : 'addIndex',
    entity: table.entity,
    path: pathOf(table, index),
    description: index.unique
      ? `make ${listed(index)} of ${table.entity} unique`
      : `add ${wordsFor(index)} on ${listed(index)} of ${table.entity}${ADDED[index.method.kind]}`,
    obstacle: index.unique
      ? {
          field: listed(index),
          reason: `they have the same ${listed(index)} as another record`,
          query: duplicates(table, index),
          known: columnsExist,
        }
      : null,
  } as const;
  const ready = readyFor(table, index);
  if (atOnce) {
    const statement = index.unique ? addUnique(table, index) : createIndex(table, index, extensions);
    return operation({
      ...parts,
      work: isEmpty ? 'none' : 'index',
      statements: [...ready.map((each) => together('create', each)), together('attach', statement)],
      // `create index` lets others read, but not write.
      locks: [index.unique ? exclusive(table.name) : shared(table.name)],
    });
  }
  return operation({
    ...parts,
    work: 'index',
    statements: [
      ...ready.map((each) => together('create', each)),
      concurrently('build', createIndexConcurrently(table, index, extensions)),
      ...(index.unique ? [together('attach', attachUnique(table, index.name))] : []),
    ],
    ahead: true,
    makes: [
      { kind: 'index', table: table.name, index: index.name },
      ...(index.method.kind === 'words' ? [{ kind: 'words', table: table.name } as const] : []),
    ],
    locks: index.unique ? [exclusive(table.name)] : [],
  });
}

export function removeIndex(table: Table, index: Index): Operation {
  return operation({
    kind: index.unique ? 'dropUnique' : 'dropIndex',
    entity: table.entity,
    path: pathOf(table, index),
    description: index.unique
      ? `let ${listed(index)} of ${table.entity} repeat`
      : `drop the ${KINDS[index.method.kind]} on ${listed(index)} of ${table.entity}`,
    statements: [together('detach', index.unique ? dropConstraint(table, index.name) : dropIndex(table, index.name))],
    locks: [exclusive(table.name)],
  });
}

const KINDS: Readonly<Record<IndexMethod['kind'], string>> = {
  values: 'index',
  words: 'search index',
  parts: 'index of parts of texts',
};

/** What an index costs that others do not. 49 µs of the database for an insert become 95. */
const ADDED: Readonly<Record<IndexMethod['kind'], string>> = {
  values: '',
  words: ', which doubles the time of an insert',
  parts: ', which doubles the time of an insert',
};

function wordsFor({ method }: Index): string {
  const language = method.kind === 'words' && method.language !== NO_LANGUAGE ? ` in ${method.language}` : '';
  return `${method.kind === 'words' ? 'a' : 'an'} ${KINDS[method.kind]}${language}`;
}

const listed = (index: Index): string => index.fields.map((field) => field.name).join(', ');

function pathOf(table: Table, index: Index): string {
  const field = index.fields.length === 1 ? index.fields[0] : undefined;
  if (field?.role === 'data') return `entities.${table.entity}.fields.${field.name}`;
  if (field?.relation !== undefined) return `entities.${table.entity}.relations.${field.relation}`;
  return `entities.${table.entity}.indexes`;
}

/** Records that share their values with another one; null is never the same as null. */
function duplicates(table: Table, index: Index): Fragment {
  const columns = join(index.fields.map((field) => ident(field.column)));
  return sql`with standing as (
  select id from ${tableRef(table)} where (${columns}) in (
    select ${columns} from ${tableRef(table)} group by ${columns} having count(*) > 1
  )
)
select (select count(*) from standing) as count, array(select id from standing order by id limit 10) as ids`;
}
