// Cuts long values of a list to their beginning: the column, its length in bytes, and the list of cut values.
import type { Field } from '../model/entity.ts';
import type { Projection } from '../plan/projection.ts';
import { outputColumn } from './expression.ts';
import { type Fragment, ident, integerLiteral, join, keyword, literal, sql } from './fragment.ts';

/** Returns how the values of a field can be cut, or undefined if none of them is longer than `maxCharacters`. */
function getPreviewKind(field: Field, maxCharacters: number): 'text' | 'json' | undefined {
  if (field.type === 'json') return 'json';
  if (field.type !== 'string' && field.type !== 'text') return undefined;
  return field.maxLength !== undefined && field.maxLength <= maxCharacters ? undefined : 'text';
}

/** Renders the column for records: the first `maxCharacters` of a text, or of the text of a long json, as a string. */
export function previewColumn(field: Field, row: Fragment, maxCharacters: number): Fragment {
  const column = sql`${row}.${ident(field.column)}`;
  const kind = getPreviewKind(field, maxCharacters);
  if (kind === undefined) return outputColumn(field, row);
  const limit = integerLiteral(maxCharacters);
  const start = kind === 'text' ? column : sql`${column}::text`;
  const value =
    kind === 'text'
      ? sql`left(${start}, ${limit})`
      : sql`case when char_length(${start}) > ${limit} then to_jsonb(left(${start}, ${limit})) else ${column} end`;
  return sql`${value} as ${ident(field.name)}`;
}

/** Renders the rest of the column's text, for its length in bytes, or returns undefined if nothing is cut off. */
export function previewText(field: Field, row: Fragment, maxCharacters: number): Fragment | undefined {
  const kind = getPreviewKind(field, maxCharacters);
  if (kind === undefined) return undefined;
  const column = sql`${row}.${ident(field.column)}`;
  return sql`left(${kind === 'json' ? sql`${column}::text` : column}, ${integerLiteral(maxCharacters)})`;
}

/** Renders `[[field, length], …]` of the cut values of a row, as json; null when none was cut. */
export function renderCuts({ outputs }: Projection, row: Fragment, maxCharacters: number): Fragment {
  const lengths = outputs.flatMap((output) => {
    const kind = output.kind === 'column' ? getPreviewKind(output.field, maxCharacters) : undefined;
    if (output.kind !== 'column' || kind === undefined) return [];
    const column = sql`${row}.${ident(output.field.column)}`;
    const text = kind === 'json' ? sql`${column}::text` : column;
    return [sql`(${literal(output.field.name)}, char_length(${text}))`];
  });
  if (lengths.length === 0) return keyword('null::json');
  return sql`(select json_agg(json_build_array(v.f, v.n)) from (values ${join(lengths)}) v (f, n) where v.n > ${integerLiteral(maxCharacters)})`;
}
