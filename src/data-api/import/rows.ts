// Converts the chunks of an import's body to text for COPY, in bounded memory: bytes are counted, checked as UTF-8,
// split into CSV rows or lines of JSON, and decoded while they arrive; mistakes are recorded by row. Unreadable input
// ends in an ImportFault after the rows before it.
import { isUtf8 } from 'node:buffer';
import { type CsvError, Parser } from 'csv-parse';
import { formatCopyLine } from '../../database/copy.ts';
import {
  type ApiError,
  conflict,
  type Detail,
  type DetailCode,
  payloadTooLarge,
  validationFailed,
} from '../../errors.ts';
import type { TimeSlices } from '../../limits/fair-scheduler.ts';
import { JsonFault, nestingDepth, parseExact, readJson, UNLIMITED } from '../../model/exact-json.ts';
import type { RowDecoder } from '../../plan/import-row.ts';
import { MAX_DETAILS } from '../../plan/unknown-name.ts';
import { MAX_NESTING } from '../../request/body.ts';

/** Signals that the next row cannot be read, and so no row after it. */
export class ImportFault extends Error {
  readonly code: DetailCode;
  constructor(code: DetailCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ImportFault';
    this.code = code;
  }
}

/** A line of JSON: its value, or the fault in it. */
export type Line = { readonly value: unknown } | { readonly fault: string };

export interface SourceLimits {
  /** Maximum of bytes of the whole body. */
  readonly maxBytes: number;
  /** Maximum of bytes of one row or line. */
  readonly maxRowBytes: number;
}

const LOOKAHEAD = Buffer.from('\ufffd\ufffd\ufffd');
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads rows of RFC 4180 CSV, including the header. Empty lines are skipped. */
export async function* readCsv(source: AsyncIterable<Buffer>, limits: SourceLimits): AsyncGenerator<string[][]> {
  let batch: string[][] = [];
  let failure: Error | undefined;
  // Measured on 1,000,000 rows of 10 columns (134 MB): 260,000 rows/s, 4 of the seconds that an import takes.
  const parser = new Parser({
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: limits.maxRowBytes,
    // Bypasses the buffer of the stream, which is lost with the rows before a mistake.
    on_record: (row) => {
      batch.push(row as string[]);
      return null;
    },
  });
  parser.on('error', (error) => {
    failure = error;
  });
  parser.resume();
  const take = (): string[][] => {
    const rows = batch;
    batch = [];
    return rows;
  };
  try {
    for await (const chunk of readUtf8(source, limits.maxBytes)) {
      await new Promise<void>((resolve) => parser.write(chunk, () => resolve()));
      if (batch.length > 0) yield take();
      if (failure !== undefined) throw toCsvFault(failure, limits);
    }
    await new Promise<void>((resolve) => {
      parser.once('end', resolve);
      parser.once('error', () => resolve());
      parser.end();
    });
    if (batch.length > 0) yield take();
    if (failure !== undefined) throw toCsvFault(failure, limits);
  } finally {
    parser.destroy();
  }
}

function toCsvFault(error: Error, { maxRowBytes }: SourceLimits): ImportFault {
  switch ((error as CsvError).code) {
    case 'CSV_MAX_RECORD_SIZE':
      return new ImportFault('TOO_LONG', `is longer than ${maxRowBytes} bytes; is a quote left open?`, error);
    case 'CSV_QUOTE_NOT_CLOSED':
      return new ImportFault('INVALID', 'has a quote that is not closed before the end of the file', error);
    case 'CSV_INVALID_CLOSING_QUOTE':
      return new ImportFault(
        'INVALID',
        'has text after a closing quote; a quote inside of quotes is written twice',
        error,
      );
    default:
      return new ImportFault(
        'INVALID',
        'has a quote inside of a cell that is not quoted; quote the cell, and write the quote twice',
        error,
      );
  }
}

const NEWLINE = 0x0a;
const MAX_PIECES = 1000;

/** Runs the work of a long line in time slices. */
export type RunInSlices = <T>(work: Generator<undefined, T>) => Promise<T>;

// Longer lines are parsed in slices.
const MAX_SYNC_BYTES = 8192;

/** Reads lines of JSON (NDJSON); blank lines are skipped. */
export async function* readLines(
  source: AsyncIterable<Buffer>,
  limits: SourceLimits,
  runInSlices: RunInSlices,
): AsyncGenerator<Line[]> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of readUtf8(source, limits.maxBytes)) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      let bytes = chunk.subarray(start, end);
      start = end + 1;
      if (restBytes + bytes.length > limits.maxRowBytes) {
        if (lines.length > 0) yield lines;
        throw tooLongLine(limits);
      }
      if (restBytes > 0) {
        bytes = Buffer.concat([...rest, bytes]);
        rest = [];
        restBytes = 0;
      }
      const line = bytes.length > MAX_SYNC_BYTES ? await readLongLine(bytes, runInSlices) : parseLine(bytes);
      if (line !== undefined) lines.push(line);
    }
    if (start < chunk.length) {
      rest.push(chunk.subarray(start));
      restBytes += chunk.length - start;
      // A chunk of one byte takes a hundred: limits the memory of a line that arrives slowly.
      if (rest.length >= MAX_PIECES) rest = [Buffer.concat(rest)];
    }
    if (lines.length > 0) yield lines;
    if (restBytes > limits.maxRowBytes) throw tooLongLine(limits);
  }
  const line = await readLongLine(Buffer.concat(rest), runInSlices);
  if (line !== undefined) yield [line];
}

function tooLongLine({ maxRowBytes }: SourceLimits): ImportFault {
  return new ImportFault('TOO_LONG', `is longer than ${maxRowBytes} bytes`);
}

async function readLongLine(bytes: Buffer, runInSlices: RunInSlices): Promise<Line | undefined> {
  const text = bytes.toString('utf8');
  if (text.trim() === '') return undefined;
  try {
    return { value: await runInSlices(readJson(text, UNLIMITED)) };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { fault: error.kind === 'depth' ? TOO_DEEP : MALFORMED };
  }
}

const TOO_DEEP = `is nested more than ${MAX_NESTING} levels deep`;
const MALFORMED = 'is malformed JSON';

function parseLine(bytes: Buffer): Line | undefined {
  const text = bytes.toString('utf8');
  if (text.trim() === '') return undefined;
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) {
    return { fault: TOO_DEEP };
  }
  try {
    return { value: parseExact(text) };
  } catch {
    return { fault: MALFORMED };
  }
}

/**
 * Yields the chunks of the body, cut at character boundaries, without a byte order mark. Throws 413 beyond `maxBytes`,
 * and an ImportFault (after the text before it) at the first byte that is not UTF-8.
 */
async function* readUtf8(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  let incomplete: Buffer = Buffer.alloc(0);
  let isStart = true;
  for await (const part of source) {
    size += part.length;
    if (size > maxBytes) throw payloadTooLarge(maxBytes);
    let chunk = incomplete.length === 0 ? part : Buffer.concat([incomplete, part]);
    if (isStart) {
      if (chunk.length < BOM.length) {
        incomplete = chunk;
        continue;
      }
      isStart = false;
      if (chunk.subarray(0, BOM.length).equals(BOM)) chunk = chunk.subarray(BOM.length);
    }
    const end = chunk.length - countOpenBytes(chunk);
    const text = chunk.subarray(0, end);
    incomplete = chunk.subarray(end);
    if (!isUtf8(text)) {
      // The CSV parser looks some bytes ahead: replacement characters make it return all rows before the fault.
      yield Buffer.concat([text.subarray(0, findValidLength(text)), LOOKAHEAD]);
      throw notUtf8();
    }
    if (text.length > 0) yield text;
  }
  if (incomplete.length === 0) return;
  if (!isUtf8(incomplete)) throw notUtf8();
  yield incomplete;
}

function notUtf8(): ImportFault {
  return new ImportFault('INVALID', 'is not UTF-8 text');
}

/** Counts the bytes at the end that start an incomplete character (RFC 3629 section 3): 0 to 3. */
function countOpenBytes(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

/** Finds the length of the longest prefix that is valid UTF-8, by bisection. */
function findValidLength(bytes: Buffer): number {
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const part = bytes.subarray(0, middle);
    if (isUtf8(part.subarray(0, middle - countOpenBytes(part)))) low = middle;
    else high = middle - 1;
  }
  const part = bytes.subarray(0, low);
  return low - countOpenBytes(part);
}

/* ---- rows as text for COPY ---- */

// A write per row would cost more than the row; a longer text would only wait.
const COPY_CHARACTERS = 65_536;

export interface ImportReader {
  /** Yields text for COPY. Throws when reading on is useless: 100 mistakes, or an unreadable row. */
  readonly lines: () => AsyncGenerator<string>;
  readonly details: readonly Detail[];
  /** Rows read so far, including those with mistakes. */
  readonly rows: () => number;
  /** Row number in the file of a line of COPY, from 1. */
  readonly rowOfLine: (line: number) => number;
}

// Time slice of the reader: a file that arrives as fast as it is read would block all other requests, 0.2 s for 100,000
// rows.
const SLICE_MS = 2;
const CHECK_EVERY = 100;

/** Creates the reader. `slices`: see RawRequest. */
export function makeImportReader<T>(
  batches: AsyncIterable<readonly T[]>,
  decode: RowDecoder<T>,
  slices: TimeSlices,
): ImportReader {
  const details: Detail[] = [];
  const invalidRows: number[] = [];
  let row = 0;
  const report = (detail: Detail): boolean => details.push(detail) < MAX_DETAILS;
  async function* lines(): AsyncGenerator<string> {
    let text = '';
    let startedAt = performance.now();
    try {
      for await (const batch of batches) {
        for (const source of batch) {
          row++;
          if (row % CHECK_EVERY === 0 && performance.now() - startedAt > SLICE_MS) {
            await slices.next();
            startedAt = performance.now();
          }
          const cells = decode(source, row, report);
          if (cells === undefined) {
            invalidRows.push(row);
            if (details.length >= MAX_DETAILS) throw toImportError(details);
          } else text += formatCopyLine([String(row), ...cells]);
          if (text.length >= COPY_CHARACTERS) {
            yield text;
            text = '';
          }
        }
      }
    } catch (error) {
      if (!(error instanceof ImportFault)) throw error;
      throw toImportError([...details, { row: row + 1, field: null, code: error.code, message: error.message }]);
    }
    if (text !== '') yield text;
  }
  const rowOfLine = (line: number): number => invalidRows.reduce((at, bad) => (bad <= at ? at + 1 : at), line);
  return { lines, details, rows: () => row, rowOfLine };
}

/** Builds the error of the first mistakes by row: 409 when all are duplicates or existing records, else 400. */
export function toImportError(details: readonly Detail[]): ApiError {
  const first = [...details].sort((a, b) => (a.row ?? 0) - (b.row ?? 0)).slice(0, MAX_DETAILS);
  const [detail] = first;
  if (detail === undefined || first.some(({ code }) => code !== 'NOT_UNIQUE')) return validationFailed(first);
  const more = first.length > 1 ? ` (and ${first.length - 1} more)` : '';
  return conflict(
    'IMPORT_CONFLICT',
    `Nothing was imported: row ${detail.row}, ${detail.field}: ${detail.message}${more}`,
    first,
  );
}
