// Parses the parameters and the media type of an import. Knows no schema; checks form only.
import { badRequest, unsupportedMediaType } from '../errors.ts';
import type { CellFormats } from './cell-formats.ts';
import { readQuery } from './read-parameters.ts';

export type ConflictMode = 'fail' | 'skip' | 'update';

export interface ImportRequest {
  readonly kind: 'import';
  readonly format: 'csv' | 'ndjson';
  /**
   * Header of the file (or member of a line) -> name of the field, `relation.field` for a look-up, null to leave the
   * column out.
   */
  readonly map: ReadonlyMap<string, string | null>;
  readonly onConflict: ConflictMode;
  /** Fields that find existing records, or undefined for the id. */
  readonly conflictOn?: readonly string[];
  /** Whether everything is executed and then rolled back. */
  readonly isDryRun?: boolean;
  /** Whether rows with mistakes are left out, and are the answer. */
  readonly hasRejects?: boolean;
  /** Whether readers of changes are told of the import as a whole. */
  readonly isSummary?: boolean;
  /** Mistakes that are listed. */
  readonly maxErrors: number;
  /** Forms of the cells of a CSV file. */
  readonly formats?: CellFormats;
}

const DEFAULT_MAX_ERRORS = 100;

const NDJSON_TYPES = ['application/x-ndjson', 'application/ndjson', 'application/jsonl'];

/** Parses the query string and headers of POST …/{entity}/_import. Throws 400 for parameters, then 415. */
export function parseImportRequest(
  query: string,
  headers: { readonly 'content-type'?: string | undefined; readonly 'content-encoding'?: string | undefined },
): ImportRequest {
  const {
    map = new Map(),
    onConflict = 'fail',
    conflictOn: key,
    dryRun = false,
    rejects = false,
    events = 'each',
    maxErrors = DEFAULT_MAX_ERRORS,
    formats,
  } = readQuery('import', query);
  if (key !== undefined && onConflict === 'fail')
    throw badRequest('PARAMETER_CONFLICT', 'conflictOn is for onConflict=skip or update');
  const conflictOn = key === undefined || key.join() === 'id' ? {} : { conflictOn: key };
  const format = parseFormat(headers);
  if (formats !== undefined && format !== 'csv')
    throw badRequest('PARAMETER_CONFLICT', 'formats is for CSV: the values of NDJSON have the forms of JSON');
  return {
    kind: 'import',
    format,
    map,
    onConflict,
    ...conflictOn,
    ...(dryRun ? { isDryRun: true } : {}),
    ...(rejects ? { hasRejects: true } : {}),
    ...(events === 'summary' ? { isSummary: true } : {}),
    maxErrors,
    ...(formats === undefined ? {} : { formats }),
  };
}

/** Reads the media type by RFC 7111 and RFC 4180 for CSV (`charset`, `header`), and the NDJSON conventions. */
function parseFormat(headers: {
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
