// Scan + Projection -> one select of a record, of an export, or of references to missing records. PostgreSQL builds the JSON
// text of the whole response (measured against shaping in Node: 0.36 to 0.78 of the throughput).

import { ID_OPERAND } from '../plan/operand.ts';
import type { ExportPlan, ReadPlan, ReferencesPlan } from '../plan/plan.ts';
import {
  bind,
  isUnchanged,
  isVisible,
  joinSortKeys,
  makeAliases,
  outputColumn,
  RECORD,
  renderOrdering,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, literal, sql } from './fragment.ts';
import { renderExpansion, renderProjection } from './projection.ts';
import { guardedResult, isMeasurable, makeSizeLimit, shortText } from './size-limit.ts';
import { renderVersion } from './table.ts';

/**
 * Selects one record: columns `data` (JSON text), `version` (the row's version, for ETag). With expansions `data` is
 * null when it would be longer than `maxBytes`. Without them that is an error of our own; where `data` is null, the
 * bounded text decides. `isBounded`: builds nothing beyond the limit (Query).
 */
export function selectRecord(plan: ReadPlan, maxBytes: number, isBounded = false): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root, true);
  const { joins, columns } = renderProjection(plan.projection, root, aliases, isBounded ? maxBytes : undefined);
  const from = sql`from ${table}${joins} cross join lateral (select ${columns}) ${RECORD}${where(sql`${root}."id" = ${bind(ID_OPERAND)}`, condition)}`;
  if (joins.text === '') {
    const text = sql`row_to_json(${RECORD})::text`;
    const data =
      !isBounded && isMeasurable(plan.projection)
        ? shortText(text, plan.projection, root, maxBytes)
        : guardedResult(text, plan.projection, makeSizeLimit(plan.scan, maxBytes));
    return sql`select ${data} as data, ${renderVersion(plan.scan, root)} as version ${from}`;
  }
  // `offset 0` keeps PostgreSQL from building the JSON once for the length and once for the text.
  return sql`select case when octet_length(q.data) <= ${integerLiteral(maxBytes)} then q.data end as data, q.version from (select row_to_json(${RECORD})::text as data, ${renderVersion(plan.scan, root)} as version ${from} offset 0) q`;
}

/**
 * Selects every record of an export: one column each, as JSON-ready text, in the order of the projection. The fields of a
 * label are a JSON object, or null: of a subselect, as PostgreSQL would hash a joined table and sort the whole export. With
 * labels of 300,000 records the first one came after 1.8 s instead of 0.03.
 */
export function selectExport(plan: ExportPlan): Fragment {
  const aliases = makeAliases();
  const root = aliases.next('r');
  const { table, condition } = renderScan(plan.scan, root);
  const predicate = plan.predicate === undefined ? empty : renderPredicate(plan.predicate, root, aliases);
  const columns = plan.projection.outputs.map((output) =>
    output.kind === 'column'
      ? outputColumn(output.field, root)
      : sql`(${renderExpansion(output, root, aliases, undefined)}) as ${ident(output.name)}`,
  );
  const { joins, columns: sortKeys } = joinSortKeys(plan.ordering, root, aliases);
  const order = sql`order by ${renderOrdering(plan.ordering, root, aliases, sortKeys)}`;
  return sql`select ${RECORD}.* from ${table}${joins} cross join lateral (select ${join(columns)}) ${RECORD}${where(condition, predicate)} ${order}`;
}

/** Selects names of the fields whose referenced record does not exist, or is hidden from the principal. */
export function selectMissingReferences({ checks, record }: ReferencesPlan): Fragment {
  const aliases = makeAliases();
  const selects = checks.map((check) => {
    const conditions = [sql`not ${isVisible(check, aliases)}`];
    if (record !== null) {
      const root = aliases.next('r');
      const { table, condition } = renderScan(record, root);
      const own = sql`${root}."id" = ${bind(ID_OPERAND)}`;
      conditions.push(sql`not exists (select from ${table}${where(own, condition, isUnchanged(check, root))})`);
    }
    return sql`select ${literal(check.field.name)}${where(...conditions)}`;
  });
  return join(selects, ' union all ');
}
