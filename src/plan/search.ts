// SearchQuery -> Search: the fields that an entity is searched by, and the words as values to bind. Throws 400.
import { badRequest } from '../errors.ts';
import type { Entity, SearchText } from '../model/entity.ts';
import type { SearchQuery } from '../request/search.ts';
import type { Operand } from './operand.ts';

/** Words of a search as one text each, all of which the words of a record must satisfy. */
export type SearchTerm =
  /** All of the words, wherever. */
  | { readonly kind: 'words'; readonly text: Operand }
  /** The words one after the other. */
  | { readonly kind: 'phrase'; readonly text: Operand }
  | { readonly kind: 'without'; readonly text: Operand }
  /** The beginning of a word, after the words of a phrase. */
  | { readonly kind: 'unfinished'; readonly phrase: Operand | undefined; readonly beginning: Operand };

export interface Search {
  readonly entity: Entity;
  /** What is looked through. */
  readonly through: SearchText;
  readonly terms: readonly SearchTerm[];
  /** As it was typed. */
  readonly text: string;
}

/** Throws 400 for an entity without searchable fields. */
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
