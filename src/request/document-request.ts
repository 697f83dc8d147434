// The query string of GET …/_openapi.json -> which document is asked for.
import { badRequest, listed, shown } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { parseParameters } from './parameters.ts';

export interface DocumentRequest {
  /** `free`: requests may choose the fields that they are shown. `fixed`: that is left out. */
  readonly selection: 'free' | 'fixed';
  /** undefined: all. */
  readonly entities: ReadonlySet<string> | undefined;
}

const SELECTIONS = ['free', 'fixed'] as const;

/** `known`: the names of the entities; 400 for another one, and for no name. */
export function parseDocumentRequest(query: string, known: readonly string[]): DocumentRequest {
  const parameters = parseParameters(query, ['selection', 'entities']);
  const word = parameters.get('selection') ?? 'free';
  const selection = SELECTIONS.find((each) => each === word);
  if (selection === undefined) throw unknown('selection', word, SELECTIONS);
  const named = parameters.get('entities');
  if (named === undefined) return { selection, entities: undefined };
  const names = named.split(',').map((name) => name.trim());
  for (const name of names) if (!known.includes(name)) throw unknown('entity', name, known);
  return { selection, entities: new Set(names) };
}

function unknown(what: string, name: string, known: readonly string[]): Error {
  const suggestion = closest(name, known);
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  return badRequest(`Unknown ${what} ${shown(name)}.${hint} Known: ${listed(known)}`);
}
