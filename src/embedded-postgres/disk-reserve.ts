// A reserve file that is deleted when the disk is full. On a full disk PostgreSQL stops at its next WAL file (16 MB),
// and cannot even start again, as recovery needs such a file, too. Deleting the reserve makes space for reading and for
// deleting data.
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import { open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { getMessage } from './failure.ts';
import type { Log } from './log.ts';
import type { Paths } from './paths.ts';

type Directory = Pick<Paths, 'stateDirectory'>;

const chunkBytes = 1024 * 1024;
// Three WAL files of PostgreSQL.
const reserveBytes = 48 * chunkBytes;
const logFileBytes = 16 * chunkBytes;

const reserveFile = ({ stateDirectory }: Directory): string => join(stateDirectory, 'reserve');

/**
 * Creates the reserve soon, and again after its release when the disk has more space than it needs. Returns the
 * function that stops this.
 */
export function maintainReserve(paths: Directory, everyMs: number, log: Log): () => void {
  let isBusy = false;
  const check = (): void => {
    if (isBusy || existsSync(reserveFile(paths))) return;
    isBusy = true;
    makeReserve(paths)
      .catch((error) => log.debug('The reserve for a full disk could not be made', { error: getMessage(error) }))
      .finally(() => {
        isBusy = false;
      });
  };
  const first = setTimeout(check, Math.min(everyMs, 5_000)).unref();
  const later = setInterval(check, everyMs).unref();
  return () => {
    clearTimeout(first);
    clearInterval(later);
  };
}

/** Returns whether PostgreSQL stopped because the disk is full: it said so, or could not even write that. */
export function isDiskFull(paths: Directory, error: unknown): boolean {
  if (/no space left on device|ENOSPC|disk quota|EDQUOT/i.test(getMessage(error))) return true;
  const { bavail, bsize } = statfsSync(paths.stateDirectory);
  return bavail * bsize < logFileBytes;
}

/** Deletes the reserve; returns false if there was none. */
export function releaseReserve(paths: Directory): boolean {
  const existed = existsSync(reserveFile(paths));
  for (const file of [reserveFile(paths), `${reserveFile(paths)}.new`]) rmSync(file, { force: true });
  return existed;
}

async function makeReserve(paths: Directory): Promise<void> {
  const { bavail, bsize } = await statfs(paths.stateDirectory);
  if (bavail * bsize < 4 * reserveBytes) return;
  const unfinished = `${reserveFile(paths)}.new`;
  try {
    const file = await open(unfinished, 'w', 0o600);
    try {
      // Zeros would take no space on a file system that compresses.
      const chunk = randomBytes(chunkBytes);
      for (let writtenBytes = 0; writtenBytes < reserveBytes; writtenBytes += chunkBytes) await file.write(chunk);
    } finally {
      await file.close();
    }
    await rename(unfinished, reserveFile(paths));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}
