// The log that the embedded database writes to, and the log file of PostgreSQL itself: opened for it, cut when it
// grows, and read back when a start fails. PostgreSQL's own collector would be one more process, and bounds the age of its files, not their size.
import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync, truncateSync } from 'node:fs';

/** Takes messages of the embedded database, as values for the server's own log. */
export interface Log {
  debug(message: string, facts?: Record<string, unknown>): void;
  info(message: string, facts?: Record<string, unknown>): void;
  warn(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
}

export interface ServerLog {
  /** File descriptor, append only, to be inherited by PostgreSQL. */
  readonly descriptor: number;
  /** The last lines that were written since this log was opened. */
  tail(lines: number): string;
  close(): void;
}

const largestLog = 10 * 1024 * 1024;
const largestTail = 16 * 1024;

/** Opens the log file for appending, cut first when it is too large. */
export function openServerLog(path: string): ServerLog {
  boundLog(path);
  const descriptor = openSync(path, 'a+', 0o600);
  const beginning = statSync(path).size;
  return {
    descriptor,
    tail(lines) {
      const { size } = statSync(path);
      const from = Math.max(size < beginning ? 0 : beginning, size - largestTail);
      const bytes = Buffer.alloc(size - from);
      readSync(descriptor, bytes, 0, bytes.length, from);
      return bytes.toString('utf8').trim().split('\n').slice(-lines).join('\n');
    },
    close: () => closeSync(descriptor),
  };
}

/**
 * Keeps a log that is written to at this moment below two times 10 MB: its content becomes `<path>.1`, and it begins
 * anew. Lines written between the two steps are lost. A log that is not there is no error.
 */
export function boundLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= largestLog) return;
  rmSync(`${path}.1`, { force: true });
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}
