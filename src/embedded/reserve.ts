// A file beside the data whose only purpose is to be removed. On a full disk PostgreSQL stops at its next file of log
// (16 MB), and cannot even start again, as recovery needs such a file, too. Then the reserve is removed, which gives
// room for reading and for deleting something.
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import { open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from './failure.ts';
import type { Log } from './log.ts';
import type { Place } from './place.ts';

type Where = Pick<Place, 'stateDirectory'>;

const chunkBytes = 1024 * 1024;
// Three files of PostgreSQL's log.
const reserveBytes = 48 * chunkBytes;
const logFileBytes = 16 * chunkBytes;

const fileIn = ({ stateDirectory }: Where): string => join(stateDirectory, 'reserve');

/**
 * Makes the reserve soon, and again when it was given up and there is room for more than it. Gives the function that
 * stops this.
 */
export function keepReserve(place: Where, everyMs: number, log: Log): () => void {
  let isAtWork = false;
  const look = (): void => {
    if (isAtWork || existsSync(fileIn(place))) return;
    isAtWork = true;
    layIn(place)
      .catch((error) => log.debug('The reserve for a full disk could not be made', { error: messageOf(error) }))
      .finally(() => {
        isAtWork = false;
      });
  };
  const first = setTimeout(look, Math.min(everyMs, 5_000)).unref();
  const later = setInterval(look, everyMs).unref();
  return () => {
    clearTimeout(first);
    clearInterval(later);
  };
}

/** True when PostgreSQL stopped for lack of room: it said so, or could not even say it. */
export function isDiskFull(place: Where, error: unknown): boolean {
  if (/no space left on device|ENOSPC|disk quota|EDQUOT/i.test(messageOf(error))) return true;
  const { bavail, bsize } = statfsSync(place.stateDirectory);
  return bavail * bsize < logFileBytes;
}

/** Removes it; false when there was none. */
export function giveUpReserve(place: Where): boolean {
  const there = existsSync(fileIn(place));
  for (const file of [fileIn(place), `${fileIn(place)}.new`]) rmSync(file, { force: true });
  return there;
}

async function layIn(place: Where): Promise<void> {
  const { bavail, bsize } = await statfs(place.stateDirectory);
  if (bavail * bsize < 4 * reserveBytes) return;
  const unfinished = `${fileIn(place)}.new`;
  try {
    const file = await open(unfinished, 'w', 0o600);
    try {
      // Zeros would take no room on a file system that compresses.
      const chunk = randomBytes(chunkBytes);
      for (let written = 0; written < reserveBytes; written += chunkBytes) await file.write(chunk);
    } finally {
      await file.close();
    }
    await rename(unfinished, fileIn(place));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}
