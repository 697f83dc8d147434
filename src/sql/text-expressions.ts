// Expressions over texts that an index holds: PostgreSQL uses it only for statements with the same expression.
import { type Fragment, ident, integerLiteral, join, literal, sql } from './fragment.ts';

/**
 * Case-folds as Unicode does (full folding: ß and ẞ, σ and ς are alike), but for the dotless ı, which is an i here.
 * PostgreSQL has casefold() only since 18. Indexes have this expression.
 */
export function foldCase(text: Fragment): Fragment {
  return sql`upper(lower(${text} collate "und-x-icu"))`;
}

/**
 * Case-folds as Unicode does, in three times the time: in Turkish only ı becomes an I, and an i does not. Ligatures with
 * an i become I in any language, so they are spelled first. All characters were compared with casefold() of
 * PostgreSQL 18.
 */
export function foldCaseOfDotless(text: Fragment): Fragment {
  return sql`upper(replace(replace(lower(${text} collate "und-x-icu"), 'ﬁ', 'fi'), 'ﬃ', 'ffi') collate "tr-x-icu")`;
}

/** Removes case, accents and signs, by the function that install/data creates in the schema of a workspace. */
export function normalizeText(schema: string, text: Fragment): Fragment {
  return sql`${ident(schema)}."$words"(${text})`;
}

/** Renders a configuration of PostgreSQL's text search. */
export const textConfiguration = (language: string): Fragment => sql`${literal(`"${language}"`)}::regconfig`;

/**
 * Renders the words of columns with their positions; null when a single column is. `maxCharacters`: characters of the
 * columns together, from their beginning, to parse; with it no index is used.
 */
export function toTsvector(
  schema: string,
  language: string,
  columns: readonly Fragment[],
  maxCharacters?: number,
): Fragment {
  // Reads no more of each column than fits.
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
