// The path of a data API request -> its segments, its id, its name for metrics. Syntax only.
import { malformedId, notFound, shown } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';
import { decodePart } from './query-string.ts';

const PREFIX = '/api/v1/';
// 64-bit integers.
const MAX_ID = 9223372036854775807n;

/**
 * Undecoded path below /api/v1/ -> decoded segments; a trailing slash is none. A segment that does not decode, or to
 * text that PostgreSQL cannot be asked for, stays as it is and so names nothing.
 */
export function segmentsOf(path: string): string[] {
  const parts = path.slice(PREFIX.length).split('/');
  if (parts.at(-1) === '') parts.pop();
  // node's parser lets only ASCII through, so without an escape there is nothing to decode.
  if (!path.includes('%')) return parts;
  return parts.map((part) => {
    const decoded = decodePart(part);
    return decoded !== undefined && isStorable(decoded) ? decoded : part;
  });
}

/** Digits of an id; undefined when it fits into no 64 bits and so names no record. 400 when it is no integer. */
export function parseId(text: string): string | undefined {
  if (!/^-?\d+$/.test(text)) {
    if (text.startsWith('_')) throw notFound(`There is no operation ${shown(text)}. Known: _query, _import, _export`);
    throw malformedId(text);
  }
  if (text.length < 19) return text;
  const value = text.length > 100 ? MAX_ID + 1n : BigInt(text);
  return value > MAX_ID || value < -MAX_ID - 1n ? undefined : text;
}

/** The fourth segment behind the prefix; '' for none. */
function tailOf(url: string): string {
  let at = PREFIX.length - 1;
  for (let segment = 0; segment < 3; segment++) {
    at = url.indexOf('/', at + 1);
    if (at < 0) return '';
  }
  const query = url.indexOf('?');
  if (query >= 0 && query < at) return '';
  const rest = url.slice(at + 1, query < 0 ? undefined : query);
  const end = rest.indexOf('/');
  return end < 0 ? rest : rest.slice(0, end);
}

/** A word for metrics: few, and none of them made by clients. */
export function operationOf(method: string, url: string): string {
  const tail = tailOf(url);
  switch (method) {
    case 'GET':
    case 'HEAD':
      return tail === '' ? 'list' : tail === '_export' ? 'export' : 'read';
    case 'POST':
      return tail === '' ? 'create' : tail === '_import' ? 'import' : 'query';
    case 'PUT':
    case 'PATCH':
      return 'update';
    case 'DELETE':
      return 'delete';
    default:
      return 'other';
  }
}
