// Expressions over texts that an index holds: PostgreSQL uses it only for statements that write the same.
import { type Fragment, ident, join, literal, sql } from './fragment.ts';

/**
 * Case-folds as Unicode does (full folding: ß and ẞ, σ and ς are alike). PostgreSQL has casefold() only since 18;
 * lower and then upper under ICU comes to the same but for the dotless ı.
 */
export function folded(text: Fragment): Fragment {
  return sql`upper(lower(${text} collate "und-x-icu"))`;
}

/**
 * A text without case, accents and signs, by the function that install/data/000013-search.sql makes in the schema of a
 * workspace.
 */
export function plainWords(schema: string, text: Fragment): Fragment {
  return sql`${ident(schema)}."$words"(${text})`;
}

/** A configuration of PostgreSQL's text search. */
export const textConfiguration = (language: string): Fragment => sql`${literal(`"${language}"`)}::regconfig`;

/** The words of columns with their places; null when a single column is. */
export function wordVector(schema: string, language: string, columns: readonly Fragment[]): Fragment {
  const [only] = columns;
  const text =
    columns.length === 1 && only !== undefined
      ? only
      : join(
          columns.map((column) => sql`coalesce(${column}, '')`),
          " || ' ' || ",
        );
  return sql`to_tsvector(${textConfiguration(language)}, ${plainWords(schema, text)})`;
}
