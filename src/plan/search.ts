// SearchQuery -> Search: the searchable fields of an entity, and the words as bound values. Throws 400.
import { badRequest } from '../errors.ts';
import type { Entity, SearchText } from '../model/entity.ts';
import type { SearchQuery } from '../request/search.ts';
import type { Operand } from './operand.ts';

/** Words of a search as one text each; a record must satisfy all of them. */
export type SearchTerm =
  /** Words in any position. */
  | { readonly kind: 'words'; readonly text: Operand }
  /** Words in this sequence. */
  | { readonly kind: 'phrase'; readonly text: Operand }
  | { readonly kind: 'without'; readonly text: Operand }
  /** Beginning of a word, after the words of a phrase. */
  | { readonly kind: 'unfinished'; readonly phrase: Operand | undefined; readonly beginning: Operand };

export interface Search {
  readonly entity: Entity;
  /** Texts to search. */
  readonly through: SearchText;
  readonly terms: readonly SearchTerm[];
  /** Text of the search as typed. */
  readonly text: string;
  /** Whether PostgreSQL knows the words while it plans, for an estimate. */
  readonly isPlanned?: true;
}

/** Plans a search. Throws 400 for an entity without searchable fields. */
export function planSearch(query: SearchQuery, entity: Entity): Search {
  if (entity.search === null) {
    throw badRequest(
      'NOT_SEARCHABLE',
      `${entity.name} has no searchable field. An owner makes one of type string or text searchable by "searchable": true in the schema document`,
    );
  }
  const { words, phrases, excluded, unfinished } = query;
  const last = unfinished?.at(-1);
  const before = unfinished?.slice(0, -1) ?? [];
  const terms: SearchTerm[] = [
    ...(words.length === 0 ? [] : [{ kind: 'words', text: toOperand(words) } as const]),
    ...phrases.map((phrase) => ({ kind: 'phrase', text: toOperand(phrase) }) as const),
    ...excluded.map((phrase) => ({ kind: 'without', text: toOperand(phrase) }) as const),
  ];
  if (last !== undefined) {
    const phrase = before.length === 0 ? undefined : toOperand(before);
    terms.push({ kind: 'unfinished', phrase, beginning: toOperand([last]) });
  }
  return { entity, through: entity.search, terms, text: query.text };
}

function toOperand(words: readonly string[]): Operand {
  return { kind: 'value', value: words.join(' '), type: 'text' };
}
