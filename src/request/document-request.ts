// Parses the query string of GET …/_openapi.json.
import { badRequest, listNames, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { readQuery } from './read-parameters.ts';

export interface DocumentRequest {
  /** `free`: requests may choose the fields of the response. `fixed`: the document leaves that out. */
  readonly selection: 'free' | 'fixed';
  /** Names of entities, or undefined for all. */
  readonly entities: ReadonlySet<string> | undefined;
  /** Roles of the user whose document it is, or undefined for that of the sender. */
  readonly roles: readonly string[] | undefined;
}

/** Parses the query string; throws 400 for an unknown parameter. */
export function parseDocumentRequest(query: string): DocumentRequest {
  const { selection = 'free', entities, principal, role } = readQuery('openapi', query);
  const isOther = principal !== undefined || role !== undefined;
  return { selection, entities: entities && new Set(entities), roles: isOther ? (role ?? []) : undefined };
}

/** Throws 400 for the first of the names that is not among those of the workspace. */
export function checkNames(kind: 'entity' | 'role', names: Iterable<string>, existing: readonly string[]): void {
  for (const name of names) {
    if (existing.includes(name)) continue;
    const suggestion = closest(name, existing);
    const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
    throw badRequest('INVALID_PARAMETER', `Unknown ${kind} ${shorten(name)}.${hint} Known: ${listNames(existing)}`);
  }
}
