// The rows of a file, decoded while they arrive, as text for COPY; what is wrong with them is kept by row.
import { copyLine } from '../../db/copy.ts';
import { type ApiError, conflict, type Detail, validationFailed } from '../../errors.ts';
import type { Turn } from '../../pace/turns.ts';
import type { RowDecoder } from '../../plan/import-row.ts';
import { MAX_DETAILS } from '../../plan/naming.ts';
import { ImportFault } from './import-source.ts';

// A write that is sent for each row would cost more than the row; a longer text would only wait.
const COPY_CHARACTERS = 65_536;

export interface Reading {
  /** Text for COPY. Throws when no more need be read: 100 mistakes, or a row that cannot be read. */
  readonly lines: () => AsyncGenerator<string>;
  readonly details: readonly Detail[];
  /** Rows read so far, those with mistakes among them. */
  readonly rows: () => number;
  /** Row of the file that was sent as this line, from 1. */
  readonly rowOfLine: (line: number) => number;
}

// A file that is there at once, or comes as fast as it is read, would keep everybody else from the process: 0.2 s for
// 100,000 rows.
const PIECE_MS = 2;
const LOOK_EVERY = 100;

/** `turn`: see RawRequest. */
export function makeReading<T>(batches: AsyncIterable<readonly T[]>, decode: RowDecoder<T>, turn: Turn): Reading {
  const details: Detail[] = [];
  const mistaken: number[] = [];
  let row = 0;
  const report = (detail: Detail): boolean => details.push(detail) < MAX_DETAILS;
  async function* lines(): AsyncGenerator<string> {
    let text = '';
    let began = performance.now();
    try {
      for await (const batch of batches) {
        for (const source of batch) {
          row++;
          if (row % LOOK_EVERY === 0 && performance.now() - began > PIECE_MS) {
            await turn.next();
            began = performance.now();
          }
          const staged = decode(source, row, report);
          if (staged === undefined) {
            mistaken.push(row);
            if (details.length >= MAX_DETAILS) throw refusal(details);
          } else text += copyLine([String(row), ...staged]);
          if (text.length >= COPY_CHARACTERS) {
            yield text;
            text = '';
          }
        }
      }
    } catch (error) {
      if (!(error instanceof ImportFault)) throw error;
      throw refusal([...details, { row: row + 1, field: null, code: error.code, message: error.message }]);
    }
    if (text !== '') yield text;
  }
  const rowOfLine = (line: number): number => mistaken.reduce((at, bad) => (bad <= at ? at + 1 : at), line);
  return { lines, details, rows: () => row, rowOfLine };
}

/** The first mistakes by row: 409 when all are about records that exist or stand twice, else 400. */
export function refusal(details: readonly Detail[]): ApiError {
  const first = [...details].sort((a, b) => (a.row ?? 0) - (b.row ?? 0)).slice(0, MAX_DETAILS);
  const [detail] = first;
  if (detail === undefined || first.some(({ code }) => code !== 'NOT_UNIQUE')) return validationFailed(first);
  const more = first.length > 1 ? ` (and ${first.length - 1} more)` : '';
  return conflict(`Nothing was imported: row ${detail.row}, ${detail.field}: ${detail.message}${more}`, first);
}
