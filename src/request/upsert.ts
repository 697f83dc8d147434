// `onConflict` and `conflict` of a create: what happens to a record that exists already. Knows no schema; form only.
import { badRequest, shown } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { parseParameters } from './parameters.ts';

/** A record is found by its values of these fields; then it is changed, or left as it is. */
export interface Upsert {
  readonly fields: readonly string[];
  readonly mode: 'update' | 'skip';
}

export const UPSERT_PARAMETERS = ['onConflict', 'conflict'] as const;
const MODES = ['update', 'skip'] as const;

/** The query string of POST …/{entity}; undefined for a create. */
export function parseCreateOptions(query: string): Upsert | undefined {
  return parseUpsert(parseParameters(query, UPSERT_PARAMETERS));
}

/** 400 for a field that is named twice, for no field, and for `conflict` without `onConflict`. */
export function parseUpsert(values: ReadonlyMap<string, string>): Upsert | undefined {
  const named = values.get('onConflict');
  const mode = values.get('conflict');
  if (named === undefined) {
    if (mode === undefined) return undefined;
    throw badRequest('conflict is for requests with onConflict=<field>[,<field>…]');
  }
  const fields = parseKeyFields('onConflict', named);
  return { fields, mode: mode === undefined ? 'update' : parseMode(mode) };
}

/** The names in `parameter=<field>[,<field>…]`, each once. */
export function parseKeyFields(parameter: string, text: string): readonly string[] {
  const fields = text.split(',');
  if (fields.includes('')) throw badRequest(`${parameter} must name fields: ${parameter}=<field>[,<field>…]`);
  const twice = fields.find((field, index) => fields.indexOf(field) !== index);
  if (twice !== undefined) throw badRequest(`${parameter} names ${shown(twice)} twice`);
  return fields;
}

function parseMode(text: string): Upsert['mode'] {
  const mode = MODES.find((known) => known === text);
  if (mode !== undefined) return mode;
  const suggestion = closest(text, MODES);
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  throw badRequest(`Unknown conflict ${shown(text)}.${hint} Known: ${MODES.join(', ')}`);
}
