// Forms of statements that depend on where the tables lie. The snapshot brings those of nodes (src/topology/); this file has the
// plain ones, and alone looks into what it brings.
import type { Entity } from '../model/entity.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, ident, join, sql } from './fragment.ts';

/** A column of an insert with its value. */
export type Assigned = readonly [column: string, value: Fragment];

/** Rows that are made of what the parts before have. */
export interface Rows {
  /** `id` among them. */
  readonly assigned: readonly Assigned[];
  /** What stands after `from`. */
  readonly from: Fragment;
  /** What stands after `order by`; missing: one row. */
  readonly order?: Fragment;
  /** The name of the part that makes them where they need one. */
  readonly name: string;
}

/** The form of an insert: what stands before it in its `with`, its columns in their brackets, its rows. */
export interface RowsOfInsert {
  readonly before: Fragment;
  readonly columns: Fragment;
  readonly source: Fragment;
}

/** Forms for tables on nodes. Statements about them write to one table, and no look at other rows decides what an update sets. */
export interface StatementForms {
  readonly insertRows: (scan: Scan, rows: Rows) => RowsOfInsert;
  /** What a transaction sets that imports into the tables, before anything else. */
  readonly importSettings: Fragment;
}

/** Undefined for tables that lie in the database itself. */
export const nodeForms = ({ statementForms }: Pick<Entity, 'statementForms'>): StatementForms | undefined =>
  statementForms as StatementForms | undefined;

/** The rows as they are inserted into the table of the scan. */
export const insertRows = (scan: Scan, rows: Rows): RowsOfInsert =>
  nodeForms(scan.entity)?.insertRows(scan, rows) ?? plainRows(rows);

/** The same with nothing before it, for rows that are made of no part. */
export function plainRows({ assigned, from, order = empty }: Omit<Rows, 'name'>): RowsOfInsert {
  const values = join(assigned.map(([, value]) => value));
  const ordered = order.text === '' ? empty : sql` order by ${order}`;
  const columns = sql`(${join(assigned.map(([column]) => ident(column)))})`;
  return { before: empty, columns, source: sql`select ${values} from ${from}${ordered}` };
}
