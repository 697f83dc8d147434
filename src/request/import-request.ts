// The parameters and the media type of an import as a value. Knows no schema; everything here is checked for form only.
import { badRequest, shown, unsupportedMediaType } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { splitEscaped } from './filter.ts';
import { parseDryRun, parseParameters } from './parameters.ts';
import { parseKeyFields } from './upsert.ts';

export type ConflictMode = 'fail' | 'skip' | 'update';

export interface ImportRequest {
  readonly kind: 'import';
  readonly format: 'csv' | 'ndjson';
  /** Header of the file (or member of a line) -> name of the field, null to leave the column out. */
  readonly map: ReadonlyMap<string, string | null>;
  readonly onConflict: ConflictMode;
  /** Fields by which records that are there are found; undefined: by the id. */
  readonly conflictOn?: readonly string[];
  /** Everything is checked and run, and undone. */
  readonly isDryRun?: boolean;
}

// An entity has 500 fields at most.
const MAX_MAP_ENTRIES = 500;
const CONFLICT_MODES = ['fail', 'skip', 'update'] as const;
const NDJSON_TYPES = ['application/x-ndjson', 'application/ndjson', 'application/jsonl'];

/** The query string and headers of POST …/{entity}/_import. Throws 400 for parameters, then 415. */
export function parseImportRequest(
  query: string,
  headers: { readonly 'content-type'?: string | undefined; readonly 'content-encoding'?: string | undefined },
): ImportRequest {
  const parameters = parseParameters(query, ['map', 'onConflict', 'conflictOn', 'dryRun']);
  const mode = parameters.get('onConflict') ?? 'fail';
  const onConflict = CONFLICT_MODES.find((known) => known === mode);
  if (onConflict === undefined) {
    const suggestion = closest(mode, CONFLICT_MODES);
    throw badRequest(
      `Unknown onConflict ${shown(mode)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${CONFLICT_MODES.join(', ')}`,
    );
  }
  const map = parseHeaderMap(parameters.get('map') ?? '');
  const named = parameters.get('conflictOn');
  if (named !== undefined && onConflict === 'fail') throw badRequest('conflictOn is for onConflict=skip or update');
  const conflictOn = named === undefined || named === 'id' ? {} : { conflictOn: parseKeyFields('conflictOn', named) };
  const dryRun = parseDryRun(parameters.get('dryRun')) ? { isDryRun: true } : {};
  return { kind: 'import', format: formatOf(headers), map, onConflict, ...conflictOn, ...dryRun };
}

/**
 * `Header:field,Other:,…`. A header ends at the last colon of its entry, so it may hold colons; `\,` is a comma.
 * An empty field leaves the column out.
 */
export function parseHeaderMap(text: string): Map<string, string | null> {
  const map = new Map<string, string | null>();
  if (text === '') return map;
  const entries = splitEscaped(text, ',');
  if (entries.length > MAX_MAP_ENTRIES) throw badRequest(`map has more than ${MAX_MAP_ENTRIES} entries`);
  const headers = new Map<string, string>();
  for (const entry of entries) {
    const at = entry.lastIndexOf(':');
    if (at < 1)
      throw badRequest(`map is malformed at "${shown(entry)}": each entry is Header:field, or Header: to leave it out`);
    const header = entry.slice(0, at);
    if (map.has(header)) throw badRequest(`map names the header ${shown(header)} twice`);
    const field = entry.slice(at + 1);
    const other = headers.get(field);
    if (field !== '' && other !== undefined) {
      throw badRequest(`map gives the field ${shown(field)} to two headers: ${shown(other)} and ${shown(header)}`);
    }
    headers.set(field, header);
    map.set(header, field === '' ? null : field);
  }
  return map;
}

/** RFC 7111 and RFC 4180 for CSV (`charset`, `header`), the NDJSON conventions for lines of JSON. */
function formatOf(headers: {
  readonly 'content-type'?: string | undefined;
  readonly 'content-encoding'?: string | undefined;
}): 'csv' | 'ndjson' {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw unsupportedMediaType('text/csv or application/x-ndjson, without a Content-Encoding');
  }
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const isCsv = type === 'text/csv';
  if (!isCsv && !NDJSON_TYPES.includes(type)) throw unsupportedMediaType('text/csv or application/x-ndjson');
  for (const parameter of parameters) {
    const utf8 = /^charset="?utf-8"?$/.test(parameter);
    const header = isCsv && parameter === 'header=present';
    if (!utf8 && !header && parameter !== '') {
      throw unsupportedMediaType(isCsv ? 'text/csv; charset=utf-8; header=present' : `${type}; charset=utf-8`);
    }
  }
  return isCsv ? 'csv' : 'ndjson';
}
