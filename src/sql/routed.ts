// Inserts of rows that no table gives. Citus copies what the parts before such an insert gave to all workers, and none may be
// away, unless the insert looks at a table: then all of it goes to the node of that table alone. Such an insert calls no
// function that tells the time, as Citus (13.2) writes it wrongly where it puts in what the function gave: each value is made
// in the part before, defaults among them.
import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
import type { Scan } from '../plan/scan.ts';
import { where } from './expression.ts';
import { empty, type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { targetOf } from './table.ts';

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
  /** The name of the part that makes them on a cluster. */
  readonly name: string;
}

/** The form of an insert: what stands before it in its `with`, its columns in their brackets, its rows. */
export interface RowsOfInsert {
  readonly before: Fragment;
  readonly columns: Fragment;
  readonly source: Fragment;
}

/** The rows as they are inserted into the table of the scan; on a cluster as a part of their own. */
export function insertedRows(scan: Scan, { assigned, from, order = empty, name }: Rows): RowsOfInsert {
  if (scan.entity.isDistributed !== true) return plainRows({ assigned, from, order });
  const all = [...assigned, ...generated(scan, assigned)];
  const part = ident(name);
  const at = sql`${part}."$at"`;
  const rank = order.text === '' ? empty : sql`, row_number() over (order by ${order}) as "$at"`;
  const made = join(all.map(([column, value]) => sql`${value} as ${ident(column)}`));
  const taken = join(all.map(([column]) => sql`${part}.${ident(column)}`));
  return {
    before: sql`
${part} as materialized (select ${made}${rank} from ${from}),`,
    columns: sql`(${names(all)})`,
    source: sql`select ${taken} from ${part}${where(look(scan))}${ordered(order.text === '' ? empty : at)}`,
  };
}

/** The same with nothing before it: on a cluster for rows that are made of no part. */
export function plainRows({ assigned, from, order = empty }: Omit<Rows, 'name'>): RowsOfInsert {
  const values = join(assigned.map(([, value]) => value));
  const source = sql`select ${values} from ${from}${ordered(order)}`;
  return { before: empty, columns: sql`(${names(assigned)})`, source };
}

const names = (of: readonly Assigned[]): Fragment => join(of.map(([column]) => ident(column)));

const ordered = (by: Fragment): Fragment => (by.text === '' ? empty : sql` order by ${by}`);

/** True, and read from nothing. */
const look = (scan: Scan): Fragment => sql`not exists (select from ${targetOf(scan)} limit 0)`;

/** What the database would put into the other columns by a function. */
function generated({ entity }: Scan, assigned: readonly Assigned[]): readonly Assigned[] {
  const given = new Set(assigned.map(([column]) => column));
  return [...entity.fields.values()].flatMap((field: Field): readonly Assigned[] => {
    const stored = given.has(field.column) || field.role === 'id' ? undefined : columnDefault(field);
    return stored?.kind === 'expression' ? [[field.column, keyword(stored.expression)]] : [];
  });
}
