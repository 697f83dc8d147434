// File formats of import and export: their extensions and media types, and a counter of records in a stream. Pure.
import { usageFailure } from './failure.ts';

export type FileFormat = 'csv' | 'ndjson';

export const MEDIA_TYPES: Readonly<Record<FileFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
};

const EXTENSIONS: Readonly<Record<string, FileFormat>> = { csv: 'csv', ndjson: 'ndjson', jsonl: 'ndjson' };

/** Returns the format of the option, of the file's extension or `fallback`; throws a usage failure without any. */
export function chooseFormat(option: string | undefined, file: string, fallback?: FileFormat): FileFormat {
  if (option === 'csv' || option === 'ndjson') return option;
  if (option !== undefined) throw usageFailure(`--format is csv or ndjson, not ${option}`);
  const extension = /\.([A-Za-z]+)$/.exec(file)?.[1]?.toLowerCase();
  const format = (extension === undefined ? undefined : EXTENSIONS[extension]) ?? fallback;
  if (format === undefined)
    throw usageFailure(`The format of ${file === '-' ? 'stdin' : file} is not known`, [
      'Pass --format csv or --format ndjson.',
    ]);
  return format;
}

export interface RecordCounter {
  readonly add: (chunk: Uint8Array) => void;
  /** Returns the number of records so far, without the header and with an unfinished last line. */
  readonly count: () => number;
}

/** Creates a counter of records by line ends, without those inside quotes of a CSV. */
export function makeRecordCounter(format: FileFormat): RecordCounter {
  let lines = 0;
  let quoted = false;
  let open = false;
  const add = (chunk: Uint8Array): void => {
    for (const byte of chunk) {
      if (byte === 0x22 && format === 'csv') {
        quoted = !quoted;
        open = true;
      } else if (byte === 0x0a && !quoted) {
        if (open) lines++;
        open = false;
      } else if (byte !== 0x0d) open = true;
    }
  };
  return { add, count: () => Math.max(0, lines + (open ? 1 : 0) - (format === 'csv' ? 1 : 0)) };
}
