// A Search as SQL: the words of a row, and what they must satisfy. What was typed is bound, one text for each term, and
// PostgreSQL makes its words plain as it did those of the index.

import type { Operand } from '../plan/operand.ts';
import type { Search, SearchTerm } from '../plan/search.ts';
import { type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { getSchema } from './table.ts';
import { normalizeText, textConfiguration, toTsvector } from './text-expressions.ts';

/**
 * The row satisfies the search. Of a query that a subquery gives PostgreSQL knows nothing and supposes that few rows
 * satisfy it, so that it uses the index: whenever it knows that many do it would rather read the table and make the words
 * of each row, 40 s for a million instead of 1.
 */
export function matches(search: Search, row: Fragment): Fragment {
  return sql`${renderTsvector(search, row)} @@ (select ${renderTsquery(search)})`;
}

/**
 * What `from` names to have the rows of `rows`, a select whose conditions hold ONE_PROCESS, under an alias. For the words of
 * each row that a search might find PostgreSQL would start more processes, which takes 14 ms, and what is found with a rare
 * word among a million records takes 1. It starts none for rows that depend on others.
 */
export const inOneProcess = (rows: Fragment, alias: Fragment): Fragment =>
  sql`(select true as process offset 0) one, lateral (${rows} offset 0) ${alias}`;

export const ONE_PROCESS = keyword('one.process');

/**
 * How well the first `most` characters of its texts satisfy what queryOf gives: a float4, the same for a row and a search
 * whenever it is asked.
 */
export function renderRank(search: Search, row: Fragment, query: Fragment, maxCharacters: number): Fragment {
  return sql`ts_rank(${renderTsvector(search, row, maxCharacters)}, ${query})`;
}

function renderTsvector({ entity, through }: Search, row: Fragment, maxCharacters?: number): Fragment {
  const columns = through.fields.map(({ column }) => sql`${row}.${ident(column)}`);
  return toTsvector(getSchema(entity), through.language, columns, maxCharacters);
}

/** What the words of a row must satisfy: a tsquery. */
export function renderTsquery(search: Search): Fragment {
  return sql`(${join(
    search.terms.map((term) => renderTerm(search, term)),
    ' && ',
  )})`;
}

function renderTerm({ entity, through }: Search, term: SearchTerm): Fragment {
  const configuration = textConfiguration(through.language);
  // Out of a subquery PostgreSQL does not make the words while it plans. Where it did, plans for one search looked cheaper
  // than one for all, and each search was planned anew: 3.8 instead of 0.6 ms for a rare word.
  const normalize = (text: Operand): Fragment => normalizeText(getSchema(entity), sql`(select ${text}::text)`);
  switch (term.kind) {
    case 'words':
      return sql`plainto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'phrase':
      return sql`phraseto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'without':
      return sql`!!phraseto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'unfinished': {
      // Plain words have no quotes. Of nothing to_tsquery would make a mistake.
      const beginning = sql`coalesce(to_tsquery(${configuration}, '''' || nullif(btrim(${normalize(term.beginning)}), '') || ''':*'), '')`;
      if (term.phrase === undefined) return beginning;
      return sql`(phraseto_tsquery(${configuration}, ${normalize(term.phrase)}) <-> ${beginning})`;
    }
    default:
      return term satisfies never;
  }
}
