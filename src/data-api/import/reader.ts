// Decodes the rows of a file and formats them as text for COPY, in time slices; mistakes are recorded by row.
import { formatCopyLine } from '../../database/copy.ts';
import { type ApiError, conflict, type Detail, validationFailed } from '../../errors.ts';
import type { TimeSlices } from '../../limits/fair-scheduler.ts';
import type { RowDecoder } from '../../plan/import-row.ts';
import { ImportFault } from './rows.ts';

// A write per row would cost more than the row; a longer text would only wait.
const COPY_CHARACTERS = 65_536;

export interface ImportReader {
  /** Yields text for COPY. Throws when reading on is useless: too many mistakes, or an unreadable row. */
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

/** Rows of a file, and how they are decoded. */
export interface RowSource<T> {
  readonly batches: AsyncIterable<readonly T[]>;
  readonly decode: RowDecoder<T>;
  /** Mistakes after which the rest is not read. */
  readonly maxErrors: number;
}

/** Creates the reader. `slices`: see RawRequest. */
export function makeImportReader<T extends { readonly line: number }>(
  { batches, decode, maxErrors }: RowSource<T>,
  slices: TimeSlices,
): ImportReader {
  const details: Detail[] = [];
  const invalidRows: number[] = [];
  let row = 0;
  let line = 0;
  const report = (detail: Detail): boolean => details.push({ ...detail, line }) < maxErrors;
  async function* lines(): AsyncGenerator<string> {
    let text = '';
    let startedAt = performance.now();
    try {
      for await (const batch of batches) {
        for (const source of batch) {
          row++;
          line = source.line;
          if (row % CHECK_EVERY === 0 && performance.now() - startedAt > SLICE_MS) {
            await slices.next();
            startedAt = performance.now();
          }
          const cells = decode(source, row, report);
          if (cells === undefined) {
            invalidRows.push(row);
            if (details.length >= maxErrors) throw toImportError(details, maxErrors);
          } else text += formatCopyLine([String(row), String(line), ...cells]);
          if (text.length >= COPY_CHARACTERS) {
            yield text;
            text = '';
          }
        }
      }
    } catch (error) {
      if (!(error instanceof ImportFault)) throw error;
      const fault = { row: row + 1, line: error.line, field: null, code: error.code, message: error.message };
      throw toImportError([...details, fault], maxErrors);
    }
    if (text !== '') yield text;
  }
  const rowOfLine = (line: number): number => invalidRows.reduce((at, bad) => (bad <= at ? at + 1 : at), line);
  return { lines, details, rows: () => row, rowOfLine };
}

/** Builds the error of the first mistakes by row: 409 when all are duplicates or existing records, else 400. */
export function toImportError(details: readonly Detail[], maxErrors: number): ApiError {
  const first = [...details].sort((a, b) => (a.row ?? 0) - (b.row ?? 0)).slice(0, maxErrors);
  const [detail] = first;
  if (detail === undefined || first.some(({ code }) => code !== 'NOT_UNIQUE')) return validationFailed(first);
  const more = first.length > 1 ? ` (and ${first.length - 1} more)` : '';
  return conflict(
    'IMPORT_CONFLICT',
    `Nothing was imported: row ${detail.row}, ${detail.field}: ${detail.message}${more}`,
    first,
  );
}
