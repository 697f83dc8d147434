// No answer is longer than it may be, and PostgreSQL does not build one that is: what a record takes is told from its
// columns and guarded before or while its JSON is made. A record of columns without a limit of their own alone is guarded.
import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, sql } from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { previewText } from './preview.ts';
import { getSchema } from './table.ts';

// Of a member besides its name: quotes, colon, comma and a digit.
const LEAST_MEMBER = 5;
// A control character takes six characters in JSON.
const ESCAPED = 6;

/** Most bytes of an answer, and the PostgreSQL schema whose functions refuse more. */
export interface SizeLimit {
  readonly schema: string;
  readonly bytes: number;
}

export const makeSizeLimit = ({ entity }: Scan, bytes: number): SizeLimit => ({ schema: getSchema(entity), bytes });

const getSizeKind = (field: Field): 'fixed' | 'text' | 'printed' => fieldType(field.type).size(field);

function getColumnFields(projection: Projection): Field[] {
  return projection.outputs.flatMap((output) => (output.kind === 'column' ? [output.field] : []));
}

/** True when a column can make a record larger than an answer may be. */
export function isUnbounded(projection: Projection): boolean {
  return getColumnFields(projection).some((field) => getSizeKind(field) !== 'fixed');
}

/** True when texts are the only such columns. */
function isTextual(projection: Projection): boolean {
  return getColumnFields(projection).every((field) => getSizeKind(field) !== 'printed');
}

/** True when the row's texts without limits have more than `few` bytes together. PostgreSQL tells that without reading them. */
function isLarge(projection: Projection, row: Fragment, maxTextBytes: Fragment): Fragment {
  const lengths = getColumnFields(projection)
    .filter((field) => getSizeKind(field) === 'text')
    .map((field) => sql`octet_length(${row}.${ident(field.column)})`);
  const [only] = lengths;
  if (lengths.length === 1 && only !== undefined) return sql`${only} > ${maxTextBytes}`;
  return sql`${join(
    lengths.map((length) => sql`coalesce(${length}, 0)::int8`),
    ' + ',
  )} > ${maxTextBytes}`;
}

/** True when the lengths of its texts alone show that a record is not large. */
export function isMeasurable(projection: Projection): boolean {
  return isUnbounded(projection) && isTextual(projection);
}

/**
 * The JSON text of the record of a row, null when its texts are so long that it might be longer than `maxBytes`: then
 * guardedResult() tells. Of the time of a read by id this is 5 %, that 20.
 */
export function shortText(text: Fragment, projection: Projection, row: Fragment, maxBytes: number): Fragment {
  const maxTextBytes = integerLiteral(Math.floor(maxBytes / ESCAPED));
  return sql`case when ${isLarge(projection, row, maxTextBytes)} then null else ${text} end`;
}

/** The JSON text of a record; an error of our own when it is longer than the bound. */
export function guardedResult(text: Fragment, projection: Projection, { schema, bytes }: SizeLimit): Fragment {
  if (!isUnbounded(projection)) return text;
  const limit = integerLiteral(bytes);
  // `offset 0` keeps PostgreSQL from building the text once for its length and once for itself. The function is for the
  // long ones alone: calling it costs 10 µs.
  return sql`(select case when octet_length(q.t) <= ${limit} then q.t else ${internalRef(schema, 'bounded_text')}(q.t, ${limit}) end from (select ${text} as t offset 0) q)`;
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
  const columns = getColumnFields(projection);
  const names = projection.outputs.reduce((sum, output) => sum + getOutputName(output).length + LEAST_MEMBER, 0);
  const sizes = columns
    .filter((field) => getSizeKind(field) !== 'fixed')
    .map((field) => {
      const cut = preview === undefined ? undefined : previewText(field, row, preview);
      if (cut !== undefined) return cut;
      const column = sql`${row}.${ident(field.column)}`;
      return getSizeKind(field) === 'text' ? column : sql`(${column})::text`;
    });
  const measured = [...sizes, ...expansions.map((value) => sql`${value}::text`)];
  return join([integerLiteral(names), ...measured.map((text) => sql`coalesce(octet_length(${text}), 0)::int8`)], ' + ');
}

function getOutputName(output: Projection['outputs'][number]): string {
  return output.kind === 'column' ? output.field.name : output.name;
}

/**
 * The rows, which tell their `"$size"`, until they come to more than the bound together: then an error of our own, and
 * no further row is made.
 */
export function limitRunningSize(rows: Fragment, { schema, bytes }: SizeLimit, order: Fragment = empty): Fragment {
  const running = sql`select s.*, sum(s."$size") over (rows unbounded preceding) as "$sum" from (${rows}) s`;
  const limit = integerLiteral(bytes);
  return sql`select w.* from (${running}) w where case when w."$sum" <= ${limit} then ${keyword('true')} else ${internalRef(schema, 'goes_on')}(w."$sum", ${limit}) end${order}`;
}
