// Names of tables where no row filter is possible: targets of inserts, locks, functions that take a name. With
// renderScan(), which reads by the filter, the only place that knows the location of the records of an entity.
import type { Entity } from '../model/entity.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, literal, sql, tableRef } from './fragment.ts';
import { getTotalKey, totalRef } from './internal-names.ts';

/**
 * Renders the table of a scan without its filter: to insert into, or to lock. Of all statements that read, only writes
 * under grants use it (granted.ts), with renderFilter() for the records that they lock, and for their conditions.
 */
export const renderTarget = ({ entity }: Scan): Fragment => tableRef(entity.table);

/** Returns the table's name for functions and stored totals: `quoted` as in SQL, `total` as in rows of totals. */
export const getTableNames = ({ entity }: Scan): { readonly quoted: Fragment; readonly totalKey: Fragment } => ({
  quoted: literal(tableRef(entity.table).text),
  totalKey: literal(getTotalKey(entity.table)),
});

/**
 * Renders the version of a record, under the alias of its table, or of a query with its mark as another column: the
 * mark of the row with the epoch of its workspace (install/data) and the number of its moves, if any. Clients send it
 * back unchanged.
 */
export function renderVersion(scan: Scan, alias: Fragment, column?: Fragment): Fragment {
  const { epoch = '', moves = 0 } = scan.entity;
  const own = column === undefined ? renderRowMark(scan, alias) : sql`${alias}.${column}`;
  const rest = `${epoch === '' && moves === 0 ? '' : `-${epoch}`}${moves === 0 ? '' : `-${moves}`}`;
  return rest === '' ? sql`${own}::text` : sql`${own}::text || ${literal(rest)}`;
}

/**
 * Renders the mark that differs between versions of a record: the number of the transaction that wrote the row. Two
 * nodes of a cluster use the same numbers, so while the workspace moves from one to the other (src/citus/relocate.ts)
 * the table itself is part of it.
 */
export const renderRowMark = ({ entity: { moves = 0 } }: Scan, alias: Fragment): Fragment =>
  moves % 2 === 0 ? sql`${alias}.xmin` : sql`(${alias}.xmin::text || ':' || ${alias}.tableoid::text)`;

/** Renders the table of stored totals of the entity's workspace. */
export const renderTotalTable = ({ entity: { table } }: Scan): Fragment => totalRef(table, 'total');

/**
 * Renders the condition that the table lies on this node of the cluster; otherwise the statement fails (22012), as a
 * table that was moved away leaves outdated rows. Evaluated once for each statement, in the snapshot of the records: 5
 * % of a read by id. Empty for a table that cannot move.
 */
export function renderNodeGuard({ entity: { table } }: Scan): Fragment {
  return (table.node?.guard as Fragment | undefined) ?? empty;
}

/** Returns the PostgreSQL schema of the entity's workspace, which holds its functions. */
export const getSchema = (entity: Entity): string => entity.table.schema;

/** Renders the sequence of a table's ids. Looked up once for each statement, as an uncorrelated subquery is. */
export function renderSequence({ entity }: Scan): Fragment {
  return sql`(select pg_get_serial_sequence(${literal(tableRef(entity.table).text)}, 'id')::regclass)`;
}

/** Renders no row of the table, whose type `json_populate_record` takes for images of stored changes. */
export const renderRowType = ({ entity }: Scan): Fragment => sql`null::${tableRef(entity.table)}`;

/** Renders the name of the table as text, as stored changes have it. */
export const renderTableName = ({ entity }: Scan): Fragment => literal(entity.table.name);
