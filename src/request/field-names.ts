// Parses names of fields in one parameter: `email,country` of a key, `Header:field` of a file. Syntax only.
import { badRequest, shorten } from '../errors.ts';
import { splitEscaped } from './filter.ts';

/** Returns the names in `parameter=<field>[,<field>…]`, each once. */
export function parseKeyFields(text: string, parameter: string): readonly string[] {
  // The planner refuses empty names, and says which ones are possible.
  const fields = text === '' ? [] : text.split(',');
  const twice = fields.find((field, index) => field !== '' && fields.indexOf(field) !== index);
  if (twice !== undefined) throw badRequest('INVALID_CONFLICT_KEY', `${parameter} names ${shorten(twice)} twice`);
  return fields;
}

// An entity has 500 fields at most.
const MAX_MAP_ENTRIES = 500;

/**
 * Parses `Header:field,Other:,…`. A header ends at the last colon of its entry, so it may hold colons; `\,` is a comma,
 * `\\` a backslash.
 * An empty field leaves the column out.
 */
export function parseHeaderMap(text: string): Map<string, string | null> {
  const map = new Map<string, string | null>();
  if (text === '') return map;
  const entries = splitEscaped(text, ',');
  if (entries.length > MAX_MAP_ENTRIES)
    throw badRequest('LIMIT_EXCEEDED', `map has more than ${MAX_MAP_ENTRIES} entries`);
  const headers = new Map<string, string>();
  for (const entry of entries) {
    const at = entry.lastIndexOf(':');
    if (at < 1)
      throw badRequest(
        'INVALID_HEADER_MAP',
        `map is malformed at "${shorten(entry)}": each entry is Header:field, or Header: to leave it out`,
      );
    const header = entry.slice(0, at);
    if (map.has(header)) throw badRequest('INVALID_HEADER_MAP', `map names the header ${shorten(header)} twice`);
    const field = entry.slice(at + 1);
    const other = headers.get(field);
    if (field !== '' && other !== undefined) {
      throw badRequest(
        'INVALID_HEADER_MAP',
        `map gives the field ${shorten(field)} to two headers: ${shorten(other)} and ${shorten(header)}`,
      );
    }
    headers.set(field, header);
    map.set(header, field === '' ? null : field);
  }
  return map;
}
