// Daily backups. The process that gets their lock makes the backup, and another one when it is killed or loses the database;
// a file gets its name when it is complete, and only then older files are deleted.
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../database/pool.ts';
import { runExclusively } from '../jobs/exclusive.ts';
import type { Metric } from '../metric.ts';
import { loadFact, storeFact } from '../store/instance.ts';
import type { Backups } from './backup.ts';
import { checkFile } from './format.ts';

export interface ScheduleOptions {
  readonly db: Database;
  readonly backups: Pick<Backups, 'open'>;
  /** Folder of the files, or undefined if none are made. */
  readonly folder: string | undefined;
  /** Time of day in UTC, such as `03:00`. */
  readonly at: string;
  /** Number of files that are kept. */
  readonly maxFiles: number;
  readonly now: () => number;
  readonly log: Record<'info' | 'error', (message: string, facts: Record<string, unknown>) => void>;
}

export interface Schedule {
  /** Makes the backup that is due, unless another process is making it. Throws when the database is unavailable. */
  readonly runIfDue: () => Promise<void>;
  /**
   * Milliseconds until the next check: short before the first one, as the server may have been down when a backup was
   * due.
   */
  readonly pauseMs: () => number;
  readonly metrics: () => readonly Metric[];
}

const DAY_MS = 86_400_000;
const FIRST_CHECK_MS = 1000;
const CHECK_INTERVAL_MS = 20_000;
// Pause after a failure: the disk may have space later, and another process may succeed.
const RETRY_DELAY_MS = 600_000;
/** The label `kind` of a backup that succeeded. */
const SUCCESS_KIND = 'made';
/** Name of the fact with the Unix time at which the last backup that succeeded was started. */
const SUCCEEDED_FACT = 'backup_made';
const LOCK = 'make-backups';

const NAME = /^wda-\d{4}-\d\d-\d\dT\d{6}Z\.wda$/;
const UNFINISHED = /^wda-\d{4}-\d\d-\d\dT\d{6}Z\.wda\.part$/;

export function makeSchedule({ db, backups, folder, at, maxFiles, now, log }: ScheduleOptions): Schedule {
  let failedCount = 0;
  let succeededCount = 0;
  let lastSuccess = 0;
  let retryAt = 0;
  let checks = 0;

  async function runIfDue(): Promise<void> {
    checks++;
    if (folder === undefined || !(await isDue()) || now() < retryAt) return;
    const makeUnlessMade = async (): Promise<void> => {
      if (await isDue()) await make(folder);
    };
    await runExclusively(db, LOCK, makeUnlessMade, { purpose: 'migration', statementTimeoutMs: DAY_MS });
  }

  async function isDue(): Promise<boolean> {
    lastSuccess = Number((await loadFact(db, SUCCEEDED_FACT)) ?? 0);
    return lastSuccess * 1000 < findLastDue(at, now());
  }

  async function make(place: string): Promise<void> {
    const startedAt = now();
    try {
      const { file, size } = await makeFile(place, startedAt, backups);
      await removeOld(place, maxFiles);
      succeededCount++;
      lastSuccess = Math.floor(startedAt / 1000);
      await storeFact(db, SUCCEEDED_FACT, String(lastSuccess));
      log.info('a backup was made', { file, bytes: size, milliseconds: now() - startedAt });
    } catch (error) {
      failedCount++;
      retryAt = now() + RETRY_DELAY_MS;
      log.error('a backup could not be made; trying again', {
        folder: place,
        error: String(error),
        minutes: RETRY_DELAY_MS / 60_000,
      });
    }
  }

  return {
    runIfDue,
    pauseMs: () => (checks === 0 ? FIRST_CHECK_MS : CHECK_INTERVAL_MS),
    metrics: () => [
      {
        name: 'wda_backups_total',
        help: 'Scheduled backups by outcome',
        read: () => ({ [SUCCESS_KIND]: succeededCount, failed: failedCount }),
      },
      {
        name: 'wda_backup_last_success_timestamp_seconds',
        help: 'Unix time of the last scheduled backup that succeeded; 0: none',
        read: () => lastSuccess,
        aggregator: 'max',
      },
    ],
  };
}

/** Returns the last time, in milliseconds, at which the time of day was `at`. */
export function findLastDue(at: string, now: number): number {
  const [hours = 0, minutes = 0] = at.split(':').map(Number);
  const today = now - (now % DAY_MS) + (hours * 60 + minutes) * 60_000;
  return today <= now ? today : today - DAY_MS;
}

/** Writes a file and verifies it by reading it to its end. Deletes it when that fails. */
async function makeFile(
  folder: string,
  now: number,
  backups: Pick<Backups, 'open'>,
): Promise<{ readonly file: string; readonly size: number }> {
  await mkdir(folder, { recursive: true });
  const name = `wda-${new Date(now).toISOString().slice(0, 19).replaceAll(':', '')}Z.wda`;
  const file = join(folder, name);
  const part = `${file}.part`;
  try {
    const stream = await backups.open(null, { isAborted: () => false, onAbort: () => () => undefined });
    // Only this user may read the file, as it has all records.
    await pipeline(stream, createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true }));
    await checkFile(createReadStream(part));
    await rename(part, file);
    return { file, size: (await stat(file)).size };
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Deletes all but the newest files, and the partial files of killed processes. */
async function removeOld(folder: string, maxFiles: number): Promise<void> {
  const names = (await readdir(folder)).sort();
  const old = names.filter((name) => NAME.test(name)).slice(0, -maxFiles);
  for (const name of [...old, ...names.filter((one) => UNFINISHED.test(one))])
    await rm(join(folder, name), { force: true });
}
