// Decodes the rows of a file and formats them as text for COPY, in time slices; mistakes are recorded by row.
import { formatCopyLine } from '../../database/copy.ts';
import { ApiError, conflict, type Detail, validationFailed } from '../../errors.ts';
import type { TimeSlices } from '../../limits/fair-scheduler.ts';
import type { RowDecoder, StagedRow } from '../../plan/import-row.ts';
import { ForeignRow } from '../../plan/row-rules.ts';
import type { RejectFormat } from './reject-file.ts';
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
  /** Formats a row as it came, for an import with rejects: then rows with mistakes are staged, too. */
  readonly rejects?: Pick<RejectFormat<T>, 'formatSource'> | undefined;
}

/** Formats the mistakes of a row. */
export const formatReason = (details: readonly Detail[]): string =>
  details.map(({ field, message }) => (field === null ? message : `${field}: ${message}`)).join('; ');

const MAX_REASONS = 100;

/** Decodes a row of an import with rejects: its values, or nulls and the reason. */
function decodeOrReject<T>(source: T, row: number, width: number, decode: RowDecoder<T>): [StagedRow, string | null] {
  const details: Detail[] = [];
  try {
    const values = decode(source, row, (detail) => details.push(detail) < MAX_REASONS);
    if (values !== undefined) return [values, null];
  } catch (error) {
    // A row of another user.
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    details.push({ field: null, code: 'INVALID', message: error.message });
  }
  return [new Array(width).fill(null), formatReason(details)];
}

/**
 * Creates the reader. `width`: staged texts of a row. `slices`: see RawRequest. `isStaged`: whether each line begins with the
 * numbers of its row and its line.
 */
export function makeImportReader<T extends { readonly line: number }>(
  { batches, decode, maxErrors, rejects }: RowSource<T>,
  width: number,
  slices: TimeSlices,
  isStaged = true,
): ImportReader {
  const details: Detail[] = [];
  const invalidRows: number[] = [];
  let row = 0;
  let line = 0;
  const report = ({ row: at, ...detail }: Detail): boolean =>
    details.push({ row: at ?? row, line, ...detail }) < maxErrors;
  const decodeInPlace = (source: T): StagedRow | undefined => {
    try {
      return decode(source, row, report);
    } catch (error) {
      throw error instanceof ForeignRow ? error.at({ row, line }) : error;
    }
  };
  const toCopyLine = (source: T): string => {
    const place = isStaged ? [String(row), String(line)] : [];
    if (rejects !== undefined) {
      const [cells, reason] = decodeOrReject(source, row, width, decode);
      return formatCopyLine([...place, ...cells, rejects.formatSource(source), reason]);
    }
    const cells = decodeInPlace(source);
    if (cells !== undefined) return formatCopyLine([...place, ...cells]);
    invalidRows.push(row);
    if (details.length >= maxErrors) throw toImportError(details, maxErrors);
    return '';
  };
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
          text += toCopyLine(source);
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
