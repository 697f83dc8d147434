// Rejected rows of an import on their way to the client: their text, kept in memory up to 1 MiB and in a file of the folder
// of temporary files beyond that, as they are sent once the others are committed.
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { badRequest, serviceUnavailable } from '../../errors.ts';
import { type MinRate, makeRateMeter } from '../../limits/upload.ts';
import { REJECT_COLUMNS } from '../../plan/import-columns.ts';
import { isRecord } from '../../request/members.ts';
import { quoteCell } from '../../response/export-file.ts';
import type { CsvRow, JsonLine } from './rows.ts';

/** Text of rejected rows in the format of their file. */
export interface RejectFormat<T> {
  readonly contentType: string;
  readonly header: string;
  /** Formats the row as it came. */
  readonly formatSource: (source: T) => string;
  /** Formats a line of the answer. */
  readonly formatLine: (row: string, source: string, reason: string) => string;
}

// PostgreSQL's text has no NUL.
const withoutNul = (text: string): string => text.replaceAll('\0', '\ufffd');

const formatCell = (cell: string): string => (cell === '' ? '' : quoteCell(cell));

const CELL_COUNT_REASON = /^has \d+ cells? where the header has \d+$/;

/**
 * Creates the format of a CSV file with these headers. A row with a wrong number of cells keeps all of them before `_row`
 * and `_reason`, and has a wrong number in the answer, too: imported unedited, it is rejected again.
 */
export function makeCsvRejects(headers: readonly string[]): RejectFormat<CsvRow> {
  const indexes = headers.flatMap((header, index) => (REJECT_COLUMNS.includes(header) ? [] : [index]));
  const names = [...indexes.map((index) => headers[index] as string), ...REJECT_COLUMNS];
  const isRejectFile = headers.slice(-REJECT_COLUMNS.length).join() === REJECT_COLUMNS.join();
  const select = (cells: readonly string[]): readonly string[] => {
    if (cells.length === headers.length) return indexes.map((index) => cells[index] as string);
    const [row, reason] = isRejectFile ? cells.slice(-REJECT_COLUMNS.length) : [];
    const hasMarks = /^\d+$/.test(row ?? '') && CELL_COUNT_REASON.test(reason ?? '');
    const rest = hasMarks ? cells.slice(0, -REJECT_COLUMNS.length) : cells;
    // A row without the marks of its header would be right with those of the answer.
    return rest.length === indexes.length ? [...rest, ''] : rest;
  };
  return {
    contentType: 'text/csv; charset=utf-8; header=present',
    header: `${names.map(formatCell).join()}\n`,
    formatSource: ({ cells }) =>
      withoutNul(
        select(cells)
          .map((cell) => `${formatCell(cell)},`)
          .join(''),
      ),
    formatLine: (row, source, reason) => `${source}${row},${formatCell(reason)}\n`,
  };
}

/** Format of lines of JSON. A line that is no object is the member `_text`. */
export const NDJSON_REJECTS: RejectFormat<JsonLine> = {
  contentType: 'application/x-ndjson',
  header: '',
  formatSource(line) {
    const value = 'value' in line ? line.value : undefined;
    if (!isRecord(value)) return `"_text":${JSON.stringify(withoutNul(line.text.trim()))}`;
    const isNew = REJECT_COLUMNS.every((name) => !Object.hasOwn(value, name));
    // The line as it is keeps the form of its numbers.
    if (isNew) return line.text.trim().slice(1, -1).trim();
    const entries = Object.entries(value).filter(([name]) => !REJECT_COLUMNS.includes(name));
    return JSON.stringify(Object.fromEntries(entries)).slice(1, -1);
  },
  formatLine: (row, source, reason) =>
    `{${source}${source === '' ? '' : ','}"_row":${row},"_reason":${JSON.stringify(reason)}}\n`,
};

const MEMORY_BYTES = 1_048_576;
const READ_BYTES = 65_536;

/** Text that is written once and then read once. */
export interface RejectFile {
  /** Throws 400 beyond the maximum, 503 if the folder of temporary files has no room. */
  readonly write: (text: string) => Promise<void>;
  /** Reads the next bytes, undefined at the end. */
  readonly read: () => Promise<Buffer | undefined>;
  readonly close: () => Promise<void>;
}

export function makeRejectFile(maxBytes: number): RejectFile {
  let file: FileHandle | undefined;
  let chunks: Buffer[] = [];
  let pendingBytes = 0;
  let size = 0;
  let position = 0;
  const flush = async (): Promise<void> => {
    try {
      file ??= await openUnnamed();
      for (const chunk of chunks) await file.appendFile(chunk);
    } catch (error) {
      const message = 'The server has no room for the rejected rows at the moment; nothing was imported, retry';
      throw serviceUnavailable('OVERLOADED', message, 5, error);
    }
    chunks = [];
    pendingBytes = 0;
  };
  return {
    async write(text) {
      const chunk = Buffer.from(text);
      size += chunk.length;
      if (size > maxBytes)
        throw badRequest(
          'LIMIT_EXCEEDED',
          `The rejected rows have more than ${maxBytes} bytes; nothing was imported. Correct the file, or import it in parts`,
        );
      chunks.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes > MEMORY_BYTES) await flush();
    },
    async read() {
      if (file !== undefined && position < size - pendingBytes) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
        if (bytesRead === 0) throw new Error('the file of rejected rows is shorter than what was written');
        position += bytesRead;
        return buffer.subarray(0, bytesRead);
      }
      return chunks.shift();
    },
    async close() {
      chunks = [];
      await file?.close();
      file = undefined;
    },
  };
}

/** Opens a file without a name, which is gone when it is closed or the process ends. */
async function openUnnamed(): Promise<FileHandle> {
  const path = join(tmpdir(), `wda-rejects-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

export interface ReadLimits {
  readonly minRate: MinRate;
  /** Longest time in which the client reads nothing. */
  readonly stallMs: number;
}

/** Streams the file once and closes it. A client that reads too slowly, or not at all, is cut off. */
export function streamRejects(file: RejectFile, { minRate, stallMs }: ReadLimits, onClose: () => void): Readable {
  let stallTimer: NodeJS.Timeout | undefined;
  let stopWaiting: (() => void) | undefined;
  const meter = makeRateMeter(minRate, () => stream.destroy(new Error('the client reads too slowly')));
  const clearStall = (): void => {
    clearTimeout(stallTimer);
    stopWaiting?.();
    stopWaiting = undefined;
  };
  const send = async (): Promise<void> => {
    const chunk = await file.read();
    if (stream.destroyed) return;
    if (chunk === undefined) {
      stream.push(null);
      return;
    }
    meter.count(chunk.length);
    if (stream.push(chunk)) return;
    stallTimer = setTimeout(() => stream.destroy(new Error('the client stopped reading')), stallMs);
    stopWaiting = meter.wait();
  };
  const stream = new Readable({
    read() {
      clearStall();
      send().catch((error) => stream.destroy(error));
    },
    destroy(error, callback) {
      clearStall();
      onClose();
      file.close().then(
        () => callback(error),
        (closing) => callback(error ?? closing),
      );
    },
  });
  // The pipeline of the response adds its listener later; until then an error must not end the process.
  stream.on('error', () => undefined);
  return stream;
}
