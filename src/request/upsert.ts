// `onConflict` and `conflict` of a create: handling of an existing record. Knows no schema; form only.
import { badRequest } from '../errors.ts';
import { readQuery, type Values } from './read-parameters.ts';

/** Fields whose values find a record, and whether to change it or leave it as it is. */
export interface Upsert {
  readonly fields: readonly string[];
  readonly mode: 'update' | 'skip';
}

/** Parses the query string of POST …/{entity}, or returns undefined for a plain create. */
export const parseCreateOptions = (query: string): Upsert | undefined => parseUpsert(readQuery('create', query));

/** Throws 400 for `conflict` without `onConflict`. */
export function parseUpsert({ onConflict, conflict }: Values<'create', 'query'>): Upsert | undefined {
  if (onConflict !== undefined) return { fields: onConflict, mode: conflict ?? 'update' };
  if (conflict === undefined) return undefined;
  throw badRequest('PARAMETER_CONFLICT', 'conflict is for requests with onConflict=<field>[,<field>…]');
}
