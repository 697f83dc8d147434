// `onConflict` and `conflict` of a create: what happens to a record that exists already. Knows no schema; form only.
import { badRequest } from '../errors.ts';
import { readQuery, type Values } from './read-parameters.ts';

/** A record is found by its values of these fields; then it is changed, or left as it is. */
export interface Upsert {
  readonly fields: readonly string[];
  readonly mode: 'update' | 'skip';
}

/** The query string of POST …/{entity}; undefined for a create. */
export const parseCreateOptions = (query: string): Upsert | undefined => parseUpsert(readQuery('create', query));

/** 400 for `conflict` without `onConflict`. */
export function parseUpsert({ onConflict, conflict }: Values<'create', 'query'>): Upsert | undefined {
  if (onConflict !== undefined) return { fields: onConflict, mode: conflict ?? 'update' };
  if (conflict === undefined) return undefined;
  throw badRequest('PARAMETER_CONFLICT', 'conflict is for requests with onConflict=<field>[,<field>…]');
}
