// First rows of a file as texts. Pure but for the parser of CSV, which is that of the server.
import { parse } from 'csv-parse/browser/esm/sync';
import { parseExact, stringifyExact } from '../api/json.ts';

export type FileKind = 'csv' | 'ndjson';

export interface Sample {
  readonly kind: FileKind;
  readonly headers: readonly string[];
  /** Rows, 50 at most, in the order of the headers; '' for missing cells. */
  readonly rows: readonly (readonly string[])[];
}

/** File that the user chose for an import. */
export interface ImportFile {
  readonly file: Blob;
  readonly name: string;
  readonly sample: Sample;
  /** Number that differs when the same file is chosen again. */
  readonly number: number;
  /** Delimiter of the original; the upload has commas. */
  readonly delimiter: string | undefined;
}

const MOST_ROWS = 50;

/** Detects NDJSON by an object in the first line. */
export const detectKind = (text: string): FileKind => (/^\uFEFF?\s*\{/.test(text) ? 'ndjson' : 'csv');

/**
 * Parses the first rows of a text that may be truncated after them. `isWhole`: it is not truncated. Throws an Error
 * with a message for the user.
 */
export function parseSample(text: string, isWhole: boolean): Sample {
  const kind = detectKind(text);
  return kind === 'csv' ? parseCsvSample(text, isWhole) : parseNdjsonSample(text, isWhole);
}

function parseCsvSample(text: string, isWhole: boolean): Sample {
  const all = parseCsvRows(text, isWhole);
  const [headers = [], ...rows] = all;
  return { kind: 'csv', headers, rows: rows.slice(0, MOST_ROWS) };
}

/** A truncated text may end within quotes, so it is parsed up to the end of an earlier line. */
function parseCsvRows(text: string, isWhole: boolean): string[][] {
  const read = (part: string): string[][] =>
    parse(part, { bom: true, relax_column_count: true, to: MOST_ROWS + 1 }) as unknown as string[][];
  if (isWhole) return read(text);
  for (let end = text.lastIndexOf('\n'); ; end = text.lastIndexOf('\n', end - 1)) {
    try {
      return read(text.slice(0, Math.max(0, end)));
    } catch (error) {
      if (end <= 0) throw error;
    }
  }
}

function parseNdjsonSample(text: string, isWhole: boolean): Sample {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const whole = (isWhole ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== '').slice(0, MOST_ROWS);
  const records = whole.map((line, at) => {
    try {
      return new Map(Object.entries(parseExact(line) as object));
    } catch {
      throw new Error(`Line ${at + 1} is not JSON`);
    }
  });
  const headers = [...new Set(records.flatMap((record) => [...record.keys()]))];
  const print = (value: unknown): string =>
    value === undefined || value === null ? '' : typeof value === 'string' ? value : stringifyExact(value);
  return { kind: 'ndjson', headers, rows: records.map((record) => headers.map((header) => print(record.get(header)))) };
}

// Delimiters of other programs: European spreadsheets, and tabs.
const OTHER_DELIMITERS = [';', '\t', '|'] as const;

/** Detects the delimiter of a CSV text; undefined for commas, or only one column. */
export function detectDelimiter(text: string): string | undefined {
  const [line = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1);
  // Quoted delimiters do not count.
  const header = line.replace(/"[^"]*"/g, '');
  if (detectKind(text) !== 'csv' || header.includes(',')) return undefined;
  return OTHER_DELIMITERS.find((delimiter) => header.includes(delimiter));
}

/** Converts a whole CSV text to commas, row by row. Throws an Error with a message for the user. */
export function convertToCommas(text: string, delimiter: string): string {
  const rows = parse(text, {
    bom: true,
    delimiter,
    relax_column_count: true,
    skip_empty_lines: true,
  }) as unknown as string[][];
  const cell = (value: string): string => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return rows.map((row) => `${row.map(cell).join(',')}\n`).join('');
}

/**
 * Picks the rows of a whole file by their numbers (from 1, as in error details), with its header, in the same format.
 */
export function pickRows(text: string, numbers: ReadonlySet<number>): string {
  if (detectKind(text) === 'ndjson') {
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
    return lines.filter((_, at) => numbers.has(at + 1)).join('\n');
  }
  const [header = '', ...rows] = parse(text, {
    bom: true,
    relax_column_count: true,
    raw: true,
    skip_empty_lines: true,
  }) as unknown as (string | { readonly raw: string })[];
  const raw = (one: string | { readonly raw: string }): string =>
    (typeof one === 'string' ? one : one.raw).replace(/\r?\n?$/, '');
  return [raw(header), ...rows.filter((_, at) => numbers.has(at + 1)).map(raw)].join('\n');
}
