// The names of tables, for what no row filter can stand beside: targets of inserts, locks, functions that take a name. With
// renderScan(), which reads by the filter, the only place that knows where the records of an entity lie.
import type { Entity } from '../model/entity.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, literal, sql, tableRef } from './fragment.ts';
import { getTotalKey, totalRef } from './internal-names.ts';

/** The table of a scan where no condition can stand: as the target of an insert, or to be locked. Nothing is read by it. */
export const renderTarget = ({ entity }: Scan): Fragment => tableRef(entity.table);

/** The table by its name, for functions and kept totals: `quoted` as SQL has it, `noted` as rows of totals do. */
export const getTableNames = ({ entity }: Scan): { readonly quoted: Fragment; readonly totalKey: Fragment } => ({
  quoted: literal(tableRef(entity.table).text),
  totalKey: literal(getTotalKey(entity.table)),
});

/**
 * The version of a record, under the alias of its table, or of what has its mark as another column: the mark of the row with
 * the epoch of its workspace (install/data) and the number of its moves, if there were any. Whoever got it
 * sends it back as it is.
 */
export function renderVersion(scan: Scan, alias: Fragment, column?: Fragment): Fragment {
  const { epoch = '', moves = 0 } = scan.entity;
  const own = column === undefined ? renderRowMark(scan, alias) : sql`${alias}.${column}`;
  const rest = `${epoch === '' && moves === 0 ? '' : `-${epoch}`}${moves === 0 ? '' : `-${moves}`}`;
  return rest === '' ? sql`${own}::text` : sql`${own}::text || ${literal(rest)}`;
}

/**
 * What tells the versions of a record apart: the number of the transaction that wrote the row. Two nodes of a cluster give
 * the same numbers, so while the workspace moves from one to the other (src/citus/relocate.ts) the table itself is part of it.
 */
export const renderRowMark = ({ entity: { moves = 0 } }: Scan, alias: Fragment): Fragment =>
  moves % 2 === 0 ? sql`${alias}.xmin` : sql`(${alias}.xmin::text || ':' || ${alias}.tableoid::text)`;

/** The table of kept totals of the entity's workspace. */
export const renderTotalTable = ({ entity: { table } }: Scan): Fragment => totalRef(table, 'total');

/**
 * True while the table lies on this node of the cluster; else the statement fails (22012), as what is left there of a
 * table that was moved away is of the past. Asked once a statement, of the same snapshot as the records: 5 % of a read by
 * id. Nothing for a table that lies nowhere else.
 */
export function renderNodeGuard({ entity: { table } }: Scan): Fragment {
  return (table.node?.guard as Fragment | undefined) ?? empty;
}

/** The PostgreSQL schema of the entity's workspace, where functions of it lie. */
export const getSchema = (entity: Entity): string => entity.table.schema;

/** What draws the ids of a table. Looked up once a statement, as an uncorrelated subquery is. */
export function renderSequence({ entity }: Scan): Fragment {
  return sql`(select pg_get_serial_sequence(${literal(tableRef(entity.table).text)}, 'id')::regclass)`;
}
