// Expressions over texts that an index holds: PostgreSQL uses it only for statements that write the same.
import { type Fragment, ident, integerLiteral, join, literal, sql } from './fragment.ts';

/**
 * Case-folds as Unicode does (full folding: ß and ẞ, σ and ς are alike). PostgreSQL has casefold() only since 18;
 * lower and then upper under ICU comes to the same but for the dotless ı.
 */
export function foldCase(text: Fragment): Fragment {
  return sql`upper(lower(${text} collate "und-x-icu"))`;
}

/**
 * A text without case, accents and signs, by the function that install/data makes in the schema of a
 * workspace.
 */
export function normalizeText(schema: string, text: Fragment): Fragment {
  return sql`${ident(schema)}."$words"(${text})`;
}

/** A configuration of PostgreSQL's text search. */
export const textConfiguration = (language: string): Fragment => sql`${literal(`"${language}"`)}::regconfig`;

/**
 * The words of columns with their places; null when a single column is. `most`: characters of the columns together, from
 * their beginning, whose words are made; with it no index is used.
 */
export function toTsvector(
  schema: string,
  language: string,
  columns: readonly Fragment[],
  maxCharacters?: number,
): Fragment {
  // Of each column no more is read than it can take.
  const parts =
    maxCharacters === undefined
      ? columns
      : columns.map((column) => sql`left(${column}, ${integerLiteral(maxCharacters)})`);
  const [only] = parts;
  const fullText =
    parts.length === 1 && only !== undefined
      ? only
      : join(
          parts.map((part) => sql`coalesce(${part}, '')`),
          " || ' ' || ",
        );
  const text =
    maxCharacters === undefined || parts.length === 1
      ? fullText
      : sql`left(${fullText}, ${integerLiteral(maxCharacters)})`;
  return sql`to_tsvector(${textConfiguration(language)}, ${normalizeText(schema, text)})`;
}
