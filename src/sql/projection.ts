// Projection -> the columns of a record and the lateral joins of its related records, whose JSON PostgreSQL builds.
import type { Link } from '../plan/link.ts';
import type { Output, Projection } from '../plan/projection.ts';
import {
  type Aliases,
  linkCondition,
  outputColumn,
  RECORD,
  renderOrdering,
  renderPredicate,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, sql } from './fragment.ts';
import { previewColumn } from './preview.ts';
import { limitRunningSize, makeSizeLimit, recordBytes } from './size-limit.ts';

/**
 * Renders the joins for the expanded relations, the select list of the JSON object's members, and their size in bytes.
 * `maxBytes`: size beyond which no list is built; unlimited if undefined. `preview`: characters to which long values are
 * cut.
 */
export function renderProjection(
  projection: Projection,
  parent: Fragment,
  aliases: Aliases,
  maxBytes: number | undefined,
  preview?: number,
): { readonly joins: Fragment; readonly columns: Fragment; readonly size: Fragment } {
  const joins: Fragment[] = [];
  const values: Fragment[] = [];
  const columns = projection.outputs.map((output): Fragment => {
    if (output.kind === 'column') {
      return preview === undefined ? outputColumn(output.field, parent) : previewColumn(output.field, parent, preview);
    }
    const joined = aliases.next('e');
    joins.push(sql` left join lateral (${renderExpansion(output, parent, aliases, maxBytes)}) ${joined} on true`);
    values.push(sql`${joined}.j`);
    return sql`${joined}.j as ${ident(output.name)}`;
  });
  const size = maxBytes === undefined ? empty : recordBytes(projection, parent, values, preview);
  return { joins: join(joins, ''), columns: join(columns), size };
}

/** Renders related records as one value `j`: an object or null, an array that may be empty. */
export function renderExpansion(
  output: Exclude<Output, { kind: 'column' }>,
  parent: Fragment,
  aliases: Aliases,
  maxBytes: number | undefined,
): Fragment {
  const related = aliases.next('r');
  const { table, condition } = renderScan(output.link.scan, related);
  const link = linkCondition(output.link, related, parent, aliases);
  const { joins, columns, size } = renderProjection(output.projection, related, aliases, maxBytes);
  if (output.kind === 'toOne') {
    return sql`select row_to_json(${RECORD}) as j from (select ${columns} from ${table}${joins}${where(link, condition)}) ${RECORD}`;
  }
  const predicate = output.predicate === undefined ? empty : renderPredicate(output.predicate, related, aliases);
  const limit = output.size === undefined ? empty : sql` limit ${integerLiteral(output.size)}`;
  const ordering = renderOrdering(output.ordering, related, aliases);
  const selection = sql`${where(link, condition, predicate)} order by ${ordering}${limit}`;
  if (maxBytes !== undefined) {
    // Sorts them before any join: sorting later would hold the JSON of all.
    const placed = sql`select ${related}.*, row_number() over () as "$row" from (select ${related}.* from ${table}${selection}) ${related}`;
    const measuredRows = sql`select ${RECORD}, ${related}."$row", ${size} as "$size" from (${placed}) ${related}${joins} cross join lateral (select ${columns}) ${RECORD}`;
    return sql`select coalesce(json_agg(x.${RECORD}), '[]') as j from (${limitRunningSize(measuredRows, makeSizeLimit(output.link.scan, maxBytes), sql` order by w."$row"`)}) x`;
  }
  const rows = sql`select ${columns} from ${table}${joins}${selection}`;
  return sql`select coalesce(json_agg(${RECORD}), '[]') as j from (${rows}) ${RECORD}`;
}

/** Returns columns of the root that its projection, its links and its cursor read. */
export function neededColumns(projection: Projection): Set<string> {
  const names = new Set<string>(['id']);
  for (const output of projection.outputs) {
    if (output.kind === 'column') names.add(output.field.column);
    else names.add(getParentColumn(output.link));
  }
  return names;
}

function getParentColumn(link: Link): string {
  return link.kind === 'key' ? link.parentColumn : 'id';
}
