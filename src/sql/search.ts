// A Search as SQL: the words of a row, and the tsquery that they must satisfy. The typed text is bound, one value for
// each term, and PostgreSQL normalizes its words as it did those of the index.

import type { Operand } from '../plan/operand.ts';
import type { Search, SearchTerm } from '../plan/search.ts';
import { type Fragment, ident, join, keyword, sql } from './fragment.ts';
import { getSchema } from './table.ts';
import { normalizeText, textConfiguration, toTsvector } from './text-expressions.ts';

/**
 * Renders the condition that the row satisfies the search. The planner cannot estimate a tsquery from a subquery and
 * assumes that few rows satisfy it, so it uses the index: when it knows that many do, it would rather read the table
 * and parse the words of each row, 40 s for a million instead of 1. `isVisible`: a condition without which the text of no
 * row is parsed; the index finds rows with all words, and their order is looked at afterwards.
 */
export function matches(search: Search, row: Fragment, isVisible?: Fragment): Fragment {
  const words = renderTsvector(search, row);
  const match = sql`${words} @@ ${search.isPlanned ? renderTsquery(search) : sql`(select ${renderTsquery(search)})`}`;
  if (isVisible === undefined) return match;
  const isUnordered = sql`(select (${renderTsquery(search)})::text !~ ${ORDER})`;
  return sql`(${words} @@ (select ${renderUnordered(search)}) and case when ${isVisible} then ${isUnordered} or ${match} else false end)`;
}

/** Operator of phrases in the text of a tsquery. */
const ORDER = keyword("'<(-|[0-9]+)>'");

/** Renders the tsquery without the order of its words. */
export const renderWordsInAnyOrder = (search: Search): Fragment =>
  sql`regexp_replace(${renderTsquery(search)}::text, ${ORDER}, '&', 'g')::tsquery`;

/** Renders a tsquery that the index answers alone: that of a search without phrases, or else the words in any order. */
function renderUnordered(search: Search): Fragment {
  const terms = search.terms.filter(({ kind }) => kind !== 'without').map((term) => renderTerm(search, term));
  const words = sql`regexp_replace((${join(terms, ' && ')})::text, ${ORDER}, '&', 'g')::tsquery`;
  return sql`case when w.whole::text ~ ${ORDER} and numnode(w.words) > 0 then w.words else w.whole end from (select ${renderTsquery(search)} as whole, ${words} as words) w`;
}

/**
 * Renders `from` for the rows of `rows`, a select whose conditions hold ONE_PROCESS, under an alias. To parse the words
 * of the rows that a search might find PostgreSQL would start more processes, which takes 14 ms, while finding a rare
 * word among a million records takes 1. It starts none for rows that depend on others.
 */
export const inOneProcess = (rows: Fragment, alias: Fragment): Fragment =>
  sql`(select true as process offset 0) one, lateral (${rows} offset 0) ${alias}`;

export const ONE_PROCESS = keyword('one.process');

/**
 * Renders the rank of the first `maxCharacters` of the row's texts for the tsquery `query`: a float4 that is stable for
 * a row and a search.
 */
export function renderRank(search: Search, row: Fragment, query: Fragment, maxCharacters: number): Fragment {
  return sql`ts_rank(${renderTsvector(search, row, maxCharacters)}, ${query})`;
}

function renderTsvector({ entity, through }: Search, row: Fragment, maxCharacters?: number): Fragment {
  const columns = through.fields.map(({ column }) => sql`${row}.${ident(column)}`);
  return toTsvector(getSchema(entity), through.language, columns, maxCharacters);
}

/** Renders the tsquery that the words of a row must satisfy. */
export function renderTsquery(search: Search): Fragment {
  return sql`(${join(
    search.terms.map((term) => renderTerm(search, term)),
    ' && ',
  )})`;
}

function renderTerm({ entity, through, isPlanned }: Search, term: SearchTerm): Fragment {
  const configuration = textConfiguration(through.language);
  // In a subquery, PostgreSQL does not normalize the words while it plans. Where it did, plans for one search looked
  // cheaper than one for all, and each search was planned again: 3.8 instead of 0.6 ms for a rare word.
  const normalize = (text: Operand): Fragment =>
    normalizeText(getSchema(entity), isPlanned ? sql`${text}::text` : sql`(select ${text}::text)`);
  switch (term.kind) {
    case 'words':
      return sql`plainto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'phrase':
      return sql`phraseto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'without':
      return sql`!!phraseto_tsquery(${configuration}, ${normalize(term.text)})`;
    case 'unfinished': {
      // Normalized words have no quotes. For an empty text to_tsquery would fail.
      const beginning = sql`coalesce(to_tsquery(${configuration}, '''' || nullif(btrim(${normalize(term.beginning)}), '') || ''':*'), '')`;
      if (term.phrase === undefined) return beginning;
      return sql`(phraseto_tsquery(${configuration}, ${normalize(term.phrase)}) <-> ${beginning})`;
    }
    default:
      return term satisfies never;
  }
}
