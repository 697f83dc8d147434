// The query string of GET …/_openapi.json -> which document is asked for.
import { badRequest, listed, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { readQuery } from './read-parameters.ts';

export interface DocumentRequest {
  /** `free`: requests may choose the fields that they are shown. `fixed`: that is left out. */
  readonly selection: 'free' | 'fixed';
  /** undefined: all. */
  readonly entities: ReadonlySet<string> | undefined;
}

/** `known`: the names of the entities; 400 for another one, and for no name. */
export function parseDocumentRequest(query: string, entityNames: readonly string[]): DocumentRequest {
  const { selection = 'free', entities } = readQuery('openapi', query);
  for (const name of entities ?? []) {
    if (entityNames.includes(name)) continue;
    const suggestion = closest(name, entityNames);
    const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
    throw badRequest('INVALID_PARAMETER', `Unknown entity ${shorten(name)}.${hint} Known: ${listed(entityNames)}`);
  }
  return { selection, entities: entities && new Set(entities) };
}
