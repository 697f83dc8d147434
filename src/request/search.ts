// Text of a search box -> SearchQuery. Syntax only; plan/ knows the searched fields.
import { badRequest } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';

/** Longest search, in characters as JavaScript counts them. */
export const MAX_SEARCH = 200;

/** Words that follow each other. */
export type Phrase = readonly string[];

export interface SearchQuery {
  /** Text as typed. */
  readonly text: string;
  /** Required words, in any position. */
  readonly words: readonly string[];
  readonly phrases: readonly Phrase[];
  /** Words and phrases to exclude. */
  readonly excluded: readonly Phrase[];
  /** Last words of the text: a phrase whose last word may be incomplete. */
  readonly unfinished: Phrase | undefined;
}

// A minus, then a phrase in quotes, of which the last may be open, or all up to a space or quote.
const TERM = /(-*)(?:"([^"]*)("?)|([^\s"]+))/gu;
const WORD = /[\p{L}\p{Nd}\p{M}]+/gu;
const HAS_LETTER = /[\p{L}\p{Nd}]/u;

/**
 * Parses `ann "new york" -paris sto`: all of these words, the last one as a prefix. Signs separate words: those around
 * one sign (`ann-lee`, `ann@example.com`) follow each other. Throws 400 if no word is required; `name` is the
 * parameter.
 */
export function parseSearch(text: string, name = 'search'): SearchQuery {
  if (text.length > MAX_SEARCH) throw badRequest('INVALID_SEARCH', `${name} has more than ${MAX_SEARCH} characters`);
  if (!isStorable(text))
    throw badRequest('INVALID_SEARCH', `${name} must not contain NUL characters or lone surrogates`);
  const words: string[] = [];
  const phrases: Phrase[] = [];
  const excluded: Phrase[] = [];
  let unfinished: Phrase | undefined;
  const trimmed = text.trimEnd();
  for (const { 0: term, 1: minus = '', 2: quoted, 3: end, 4: plain, index } of trimmed.matchAll(TERM)) {
    const phrase = splitWords(quoted ?? plain ?? '');
    if (phrase.length === 0) continue;
    if (minus !== '') excluded.push(phrase);
    else if (index + term.length === trimmed.length && end !== '"') unfinished = phrase;
    else if (phrase.length > 1) phrases.push(phrase);
    else words.push(...phrase);
  }
  if (words.length + phrases.length > 0 || unfinished !== undefined)
    return { text, words, phrases, excluded, unfinished };
  throw badRequest(
    'INVALID_SEARCH',
    excluded.length > 0
      ? `${name} must have a word to look for, and not only words that it excludes`
      : `${name} must have a word to look for: letters or digits`,
  );
}

function splitWords(text: string): string[] {
  return (text.match(WORD) ?? []).filter((word) => HAS_LETTER.test(word));
}
