// No answer is longer than it may be, and PostgreSQL does not build one that is: what a record takes is told from its
// columns and guarded before or while its JSON is made. A record of columns without a limit of their own alone is guarded.
import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import { beside } from './beside-names.ts';
import { empty, type Fragment, ident, join, keyword, sql, wholeNumber } from './fragment.ts';
import { previewText } from './preview.ts';
import { schemaOf } from './table.ts';

// Of a member besides its name: quotes, colon, comma and a digit.
const LEAST_MEMBER = 5;
// A control character takes six characters in JSON.
const ESCAPED = 6;

/** Most bytes of an answer, and the PostgreSQL schema whose functions refuse more. */
export interface Bound {
  readonly schema: string;
  readonly bytes: number;
}

export const boundOf = ({ entity }: Scan, bytes: number): Bound => ({ schema: schemaOf(entity), bytes });

const sizeOf = (field: Field): 'fixed' | 'text' | 'printed' => fieldType(field.type).size(field);

function columnsOf(projection: Projection): Field[] {
  return projection.outputs.flatMap((output) => (output.kind === 'column' ? [output.field] : []));
}

/** True when a column can make a record larger than an answer may be. */
export function isUnbounded(projection: Projection): boolean {
  return columnsOf(projection).some((field) => sizeOf(field) !== 'fixed');
}

/** True when texts are the only such columns. */
function isTextual(projection: Projection): boolean {
  return columnsOf(projection).every((field) => sizeOf(field) !== 'printed');
}

/** True when the row's texts without limits have more than `few` bytes together. PostgreSQL tells that without reading them. */
function isLarge(projection: Projection, row: Fragment, few: Fragment): Fragment {
  const lengths = columnsOf(projection)
    .filter((field) => sizeOf(field) === 'text')
    .map((field) => sql`octet_length(${row}.${ident(field.column)})`);
  const [only] = lengths;
  if (lengths.length === 1 && only !== undefined) return sql`${only} > ${few}`;
  return sql`${join(
    lengths.map((length) => sql`coalesce(${length}, 0)::int8`),
    ' + ',
  )} > ${few}`;
}

/** True when the lengths of its texts alone show that a record is not large. */
export function isTold(projection: Projection): boolean {
  return isUnbounded(projection) && isTextual(projection);
}

/**
 * The JSON text of the record of a row, null when its texts are so long that it might be longer than `maxBytes`: then
 * guardedResult() tells. Of the time of a read by id this is 5 %, that 20.
 */
export function shortText(text: Fragment, projection: Projection, row: Fragment, maxBytes: number): Fragment {
  const few = wholeNumber(Math.floor(maxBytes / ESCAPED));
  return sql`case when ${isLarge(projection, row, few)} then null else ${text} end`;
}

/** The JSON text of a record; an error of our own when it is longer than the bound. */
export function guardedResult(text: Fragment, projection: Projection, { schema, bytes }: Bound): Fragment {
  if (!isUnbounded(projection)) return text;
  const limit = wholeNumber(bytes);
  // `offset 0` keeps PostgreSQL from building the text once for its length and once for itself. The function is for the
  // long ones alone: calling it costs 10 µs.
  return sql`(select case when octet_length(q.t) <= ${limit} then q.t else ${beside(schema, 'bounded_text')}(q.t, ${limit}) end from (select ${text} as t offset 0) q)`;
}

/**
 * Bytes that a record has as JSON at least: `expansions` are what was made of related records. `preview`: characters that
 * long values are cut to.
 */
export function recordBytes(
  projection: Projection,
  row: Fragment,
  expansions: readonly Fragment[],
  preview?: number,
): Fragment {
  const columns = columnsOf(projection);
  const names = projection.outputs.reduce((sum, output) => sum + nameOf(output).length + LEAST_MEMBER, 0);
  const sizes = columns
    .filter((field) => sizeOf(field) !== 'fixed')
    .map((field) => {
      const cut = preview === undefined ? undefined : previewText(field, row, preview);
      if (cut !== undefined) return cut;
      const column = sql`${row}.${ident(field.column)}`;
      return sizeOf(field) === 'text' ? column : sql`(${column})::text`;
    });
  const measured = [...sizes, ...expansions.map((value) => sql`${value}::text`)];
  return join([wholeNumber(names), ...measured.map((text) => sql`coalesce(octet_length(${text}), 0)::int8`)], ' + ');
}

function nameOf(output: Projection['outputs'][number]): string {
  return output.kind === 'column' ? output.field.name : output.name;
}

/**
 * The rows, which tell their `"$size"`, until they come to more than the bound together: then an error of our own, and
 * no further row is made.
 */
export function runningBound(rows: Fragment, { schema, bytes }: Bound, order: Fragment = empty): Fragment {
  const running = sql`select s.*, sum(s."$size") over (rows unbounded preceding) as "$sum" from (${rows}) s`;
  const limit = wholeNumber(bytes);
  return sql`select w.* from (${running}) w where case when w."$sum" <= ${limit} then ${keyword('true')} else ${beside(schema, 'goes_on')}(w."$sum", ${limit}) end${order}`;
}
