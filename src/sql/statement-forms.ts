// Forms of statements that depend on the location of the tables. The snapshot supplies the forms of nodes
// (src/topology/); this file has the plain ones, and is the only reader of the others.
import type { Entity } from '../model/entity.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, ident, join, sql } from './fragment.ts';

/** A column of an insert with its value. */
export type Assigned = readonly [column: string, value: Fragment];

/** Rows that are built from previous parts of the statement. */
export interface Rows {
  /** Columns with their values, `id` among them. */
  readonly assigned: readonly Assigned[];
  /** Content of `from`. */
  readonly from: Fragment;
  /** Content of `order by`; missing for one row. */
  readonly order?: Fragment;
  /** Name of the part that builds the rows, if they need one. */
  readonly name: string;
}

/** The form of an insert: the part before it in its `with`, its column list, its rows. */
export interface RowsOfInsert {
  readonly before: Fragment;
  readonly columns: Fragment;
  readonly source: Fragment;
}

/** Forms for tables on nodes. Statements write to one table, and no read of other rows decides what an update sets. */
export interface StatementForms {
  readonly insertRows: (scan: Scan, rows: Rows) => RowsOfInsert;
  /** Settings that a transaction makes before an import into the tables. */
  readonly importSettings: Fragment;
}

/** Returns the forms, or undefined for tables in the database itself. */
export const nodeForms = ({ statementForms }: Pick<Entity, 'statementForms'>): StatementForms | undefined =>
  statementForms as StatementForms | undefined;

/** Returns the rows of an insert into the table of the scan. */
export const insertRows = (scan: Scan, rows: Rows): RowsOfInsert =>
  nodeForms(scan.entity)?.insertRows(scan, rows) ?? plainRows(rows);

/** Returns the rows with nothing before them, for an insert from no other part. */
export function plainRows({ assigned, from, order = empty }: Omit<Rows, 'name'>): RowsOfInsert {
  const values = join(assigned.map(([, value]) => value));
  const ordered = order.text === '' ? empty : sql` order by ${order}`;
  const columns = sql`(${join(assigned.map(([column]) => ident(column)))})`;
  return { before: empty, columns, source: sql`select ${values} from ${from}${ordered}` };
}
