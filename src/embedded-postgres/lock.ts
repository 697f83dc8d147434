// The lock that decides which of several server processes on one DATA_DIR runs its PostgreSQL. Node has no flock(), but
// SQLite's exclusive transaction is one: atomic, portable, and released by the kernel however the process dies. (A file
// with a process id is wrong as soon as another process has that id.)
import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { asFailure } from './failure.ts';

export interface Lock {
  /**
   * Takes the lock if it is free, without waiting; returns true if this process has it. Costs about 4 µs when another
   * has it.
   */
  acquire(): boolean;
  /** Releases the lock and closes its file. */
  release(): void;
}

const sqliteBusy = 5;

/** Opens the lock in the file `path`, which stays empty. Throws a readable failure when it cannot be opened. */
export function openLock(path: string): Lock {
  const file = openFile(path);
  return {
    acquire() {
      if (file.isTransaction) return true;
      try {
        // No journal, as nothing is ever written.
        file.exec('pragma journal_mode = off; begin exclusive');
        return true;
      } catch (error) {
        if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return false;
        throw error;
      }
    },
    release() {
      if (file.isOpen) file.close();
    },
  };
}

function openFile(path: string): DatabaseSync {
  try {
    // Only its owner may read it, as a reader could lock it. Only for a new file: a close() anywhere in this process
    // releases its locks.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw asFailure(error, `The lock file ${path} cannot be used.`);
  }
}
