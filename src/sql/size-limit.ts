// Limits the size of responses, so that PostgreSQL does not build a longer one: computes the size of a record from its
// columns, and guards it before or while its JSON is built. Only a record with columns without a limit of their own is
// guarded.
import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { Projection } from '../plan/projection.ts';
import type { Scan } from '../plan/scan.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, sql } from './fragment.ts';
import { internalRef } from './internal-names.ts';
import { previewText } from './preview.ts';
import { getSchema } from './table.ts';

// Bytes of a member besides its name: quotes, colon, comma and a digit.
const LEAST_MEMBER = 5;
// A control character takes six characters in JSON.
const ESCAPED = 6;

/** Most bytes of a response, and the PostgreSQL schema whose functions refuse more. */
export interface SizeLimit {
  readonly schema: string;
  readonly bytes: number;
}

export const makeSizeLimit = ({ entity }: Scan, bytes: number): SizeLimit => ({ schema: getSchema(entity), bytes });

const getSizeKind = (field: Field): 'fixed' | 'text' | 'printed' => fieldType(field.type).size(field);

function getColumnFields(projection: Projection): Field[] {
  return projection.outputs.flatMap((output) => (output.kind === 'column' ? [output.field] : []));
}

/** Returns whether a column can make a record larger than a response may be. */
export function isUnbounded(projection: Projection): boolean {
  return getColumnFields(projection).some((field) => getSizeKind(field) !== 'fixed');
}

/** Returns whether texts are the only such columns. */
function isTextual(projection: Projection): boolean {
  return getColumnFields(projection).every((field) => getSizeKind(field) !== 'printed');
}

/** Renders the condition that the row's unlimited texts exceed `maxTextBytes`; PostgreSQL does not read them. */
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

/** Returns whether the lengths of its texts alone show that a record is not large. */
export function isMeasurable(projection: Projection): boolean {
  return isUnbounded(projection) && isTextual(projection);
}

/**
 * Renders the JSON text of the record of a row, or null when its texts are so long that it might be longer than
 * `maxBytes`: then guardedResult() decides. This costs 5 % of a read by id, guardedResult() 20.
 */
export function shortText(text: Fragment, projection: Projection, row: Fragment, maxBytes: number): Fragment {
  const maxTextBytes = integerLiteral(Math.floor(maxBytes / ESCAPED));
  return sql`case when ${isLarge(projection, row, maxTextBytes)} then null else ${text} end`;
}

/** Renders the JSON text of a record; fails with an error of our own when it is longer than the bound. */
export function guardedResult(text: Fragment, projection: Projection, { schema, bytes }: SizeLimit): Fragment {
  if (!isUnbounded(projection)) return text;
  const limit = integerLiteral(bytes);
  // `offset 0` keeps PostgreSQL from building the text once for its length and once for itself. The function is for
  // long texts alone: calling it costs 10 µs.
  return sql`(select case when octet_length(q.t) <= ${limit} then q.t else ${internalRef(schema, 'bounded_text')}(q.t, ${limit}) end from (select ${text} as t offset 0) q)`;
}

/**
 * Renders the least number of bytes of a record as JSON: `expansions` are the values of related records. `preview`:
 * characters to which long values are cut.
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
 * Renders the rows, which have a column `"$size"`, until their sum exceeds the bound: then it fails with an error of
 * our own, and builds no further row.
 */
export function limitRunningSize(rows: Fragment, { schema, bytes }: SizeLimit, order: Fragment = empty): Fragment {
  const running = sql`select s.*, sum(s."$size") over (rows unbounded preceding) as "$sum" from (${rows}) s`;
  const limit = integerLiteral(bytes);
  return sql`select w.* from (${running}) w where case when w."$sum" <= ${limit} then ${keyword('true')} else ${internalRef(schema, 'goes_on')}(w."$sum", ${limit}) end${order}`;
}
