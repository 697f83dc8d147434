// Forms of statements that Citus supports. For an insert of rows from a CTE Citus copies the rows of earlier CTEs to
// all workers, which must all be available, unless the insert reads a table: then all of it goes to the node of that
// table alone. Such an insert must not call a function of the current time, as Citus (13.2) replaces the call by a
// malformed value: each value is computed in an earlier CTE, defaults included.
import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
import type { Scan } from '../plan/scan.ts';
import { where } from '../sql/expression.ts';
import { empty, type Fragment, ident, join, keyword, sql } from '../sql/fragment.ts';
import type { Assigned, Rows, RowsOfInsert, StatementForms } from '../sql/statement-forms.ts';
import { renderTarget } from '../sql/table.ts';

/** Renders the rows as a separate CTE. */
function insertRows(scan: Scan, { assigned, from, order = empty, name }: Rows): RowsOfInsert {
  const all = [...assigned, ...generatedValues(scan, assigned)];
  const part = ident(name);
  const isOrdered = order.text !== '';
  const rank = isOrdered ? sql`, row_number() over (order by ${order}) as "$at"` : empty;
  const values = join(all.map(([column, value]) => sql`${value} as ${ident(column)}`));
  const columns = join(all.map(([column]) => sql`${part}.${ident(column)}`));
  return {
    before: sql`
${part} as materialized (select ${values}${rank} from ${from}),`,
    columns: sql`(${join(all.map(([column]) => ident(column)))})`,
    source: sql`select ${columns} from ${part}${where(buildTrueCondition(scan))}${isOrdered ? sql` order by ${part}."$at"` : empty}`,
  };
}

/** Builds a condition that is always true and reads no rows. */
const buildTrueCondition = (scan: Scan): Fragment => sql`not exists (select from ${renderTarget(scan)} limit 0)`;

/** Lists the values of other columns whose default is a function. */
function generatedValues({ entity }: Scan, assigned: readonly Assigned[]): readonly Assigned[] {
  const columns = new Set(assigned.map(([column]) => column));
  return [...entity.fields.values()].flatMap((field: Field): readonly Assigned[] => {
    const stored = columns.has(field.column) || field.role === 'id' ? undefined : columnDefault(field);
    return stored?.kind === 'expression' ? [[field.column, keyword(stored.expression)]] : [];
  });
}

/**
 * Takes locks of tables on the coordinator only, through which all other sessions come, and not on every node, one of
 * which may be unavailable. The settings that follow also apply on the node with the records: Citus sends it whole
 * messages, so each of these has its own.
 */
const importSettings = sql`set local citus.enable_ddl_propagation = off; set local citus.propagate_set_commands = 'local'; `;

export const STATEMENT_FORMS: StatementForms = { insertRows, importSettings };
