// The log interface of the embedded database, and the log file of PostgreSQL: opened for it, truncated when it grows,
// and read when a start fails. PostgreSQL's own collector would be another process, and limits the age of its files,
// not their size.
import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync, truncateSync } from 'node:fs';

/** Log of the embedded database, which passes structured messages to the server's own log. */
export interface Log {
  debug(message: string, facts?: Record<string, unknown>): void;
  info(message: string, facts?: Record<string, unknown>): void;
  warn(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
}

export interface ServerLog {
  /** File descriptor, append only, to be inherited by PostgreSQL. */
  readonly descriptor: number;
  /** Returns the last lines that were written since this log was opened. */
  tail(lines: number): string;
  close(): void;
}

const largestLog = 10 * 1024 * 1024;
const largestTail = 16 * 1024;

/** Opens the log file for appending, truncated first when it is too large. */
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
 * Limits a log in use to two times 10 MB: its content is moved to `<path>.1`, and it starts empty. Lines written
 * between the two steps are lost. A missing log is no error.
 */
export function boundLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= largestLog) return;
  rmSync(`${path}.1`, { force: true });
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}
