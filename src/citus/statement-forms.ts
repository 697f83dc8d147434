// Forms of statements that Citus takes. Of an insert of rows that no table gives it copies what the parts before gave to all
// workers, and none may be away, unless the insert looks at a table: then all of it goes to the node of that table alone. Such an
// insert calls no function that tells the time, as Citus (13.2) writes it wrongly where it puts in what the function gave: each
// value is made in the part before, defaults among them.
import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
import type { Scan } from '../plan/scan.ts';
import { where } from '../sql/expression.ts';
import { empty, type Fragment, ident, join, keyword, sql } from '../sql/fragment.ts';
import type { Assigned, Rows, RowsOfInsert, StatementForms } from '../sql/statement-forms.ts';
import { renderTarget } from '../sql/table.ts';

/** The rows as a part of their own. */
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

/** True, and read from nothing. */
const buildTrueCondition = (scan: Scan): Fragment => sql`not exists (select from ${renderTarget(scan)} limit 0)`;

/** What the database would put into the other columns by a function. */
function generatedValues({ entity }: Scan, assigned: readonly Assigned[]): readonly Assigned[] {
  const columns = new Set(assigned.map(([column]) => column));
  return [...entity.fields.values()].flatMap((field: Field): readonly Assigned[] => {
    const stored = columns.has(field.column) || field.role === 'id' ? undefined : columnDefault(field);
    return stored?.kind === 'expression' ? [[field.column, keyword(stored.expression)]] : [];
  });
}

/**
 * Locks of tables are taken on the coordinator, through which all others come, and not on every node, one of which may be away.
 * And the node with the records has the settings that follow: Citus sends it whole texts, so nothing else may stand in theirs.
 */
const importSettings = sql`set local citus.enable_ddl_propagation = off; set local citus.propagate_set_commands = 'local'; `;

export const STATEMENT_FORMS: StatementForms = { insertRows, importSettings };
