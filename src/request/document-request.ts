// Parses the query string of GET …/_openapi.json.
import { badRequest, listNames, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { readQuery } from './read-parameters.ts';

export interface DocumentRequest {
  /** `free`: requests may choose the fields of the response. `fixed`: the document leaves that out. */
  readonly selection: 'free' | 'fixed';
  /** Names of entities, or undefined for all. */
  readonly entities: ReadonlySet<string> | undefined;
}

/** Parses the query string; throws 400 for a name that is not in `entityNames`, and for no name. */
export function parseDocumentRequest(query: string, entityNames: readonly string[]): DocumentRequest {
  const { selection = 'free', entities } = readQuery('openapi', query);
  for (const name of entities ?? []) {
    if (entityNames.includes(name)) continue;
    const suggestion = closest(name, entityNames);
    const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
    throw badRequest('INVALID_PARAMETER', `Unknown entity ${shorten(name)}.${hint} Known: ${listNames(entityNames)}`);
  }
  return { selection, entities: entities && new Set(entities) };
}
