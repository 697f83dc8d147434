// Data of an earlier major version become data of this one: the earlier binaries serve them on a socket that nobody else
// knows, a new data directory is filled beside them and takes their place when it is whole. The old one is only read, and
// stays as `data.<version>` until `wda upgrade --finish`. The caller holds the lock, and no PostgreSQL runs on the data.
//
// One rename decides: that of the new data to `data.next`. Before it the next start begins anew, after it the next start
// ends what is left.
import { existsSync, readdirSync, renameSync, statfsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  byHand,
  databaseName,
  prepareCluster,
  readPassword,
  resetPassword,
  run,
  syncDirectory,
  versionOf,
} from './cluster.ts';
import { earlierBinaries } from './earlier.ts';
import { embeddedFailure, messageOf } from './failure.ts';
import { type LaunchOptions, launch } from './launch.ts';
import { clearAway } from './leftovers.ts';
import type { Log, ServerLog } from './log.ts';
import { makePrivateDirectory, markOf, type Place, socketDirectoryFor, socketPort } from './place.ts';
import type { Guarded } from './process.ts';
import { isDiskFull } from './reserve.ts';
import { appRole, superuser } from './rights.ts';
import { freePort } from './status.ts';

/** A PostgreSQL of ours as the driver reaches it, by its superuser. */
export interface ServedData {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Moves all of a database to an empty one; `owner` is the role that everything belongs to. */
export type CloneData = (clone: {
  readonly from: ServedData;
  readonly to: ServedData;
  readonly owner: string;
  readonly onProgress: (percent: number) => void;
}) => Promise<{ readonly tables: number; readonly records: number; readonly left: readonly string[] }>;

export interface UpgradeOptions {
  readonly log: Log;
  readonly serverLog: ServerLog;
  readonly signal: AbortSignal;
  readonly clone: CloneData | undefined;
}

const endingMs = 500;
const wordEveryMs = 2000;
// Of an empty database with its log.
const leastRoom = 268_435_456;

/** Does nothing when the data are of this version, of a later one, or none yet. */
export async function upgradeData(place: Place, options: UpgradeOptions): Promise<void> {
  const { log, clone } = options;
  const { dataDirectory, binaries } = place;
  endSwitch(place, log);
  await removeUnfinished(place, log);
  const version = existsSync(dataDirectory) ? versionOf(dataDirectory) : undefined;
  if (version === undefined || clone === undefined || !(Number(version) < Number(binaries.major))) return;
  const earlier = await prepared(place, version, options);
  const began = performance.now();
  log.info('upgrading the data; they stay as they are until that is done', { from: version, to: binaries.major });
  try {
    const { left, ...moved } = await fill(place, earlier, { ...options, clone });
    renameSync(join(workOf(place), 'data'), nextOf(place));
    syncDirectory(place.stateDirectory);
    endSwitch(place, log);
    if (left.length > 0) log.warn('roles and databases made by hand are only in the data of before', { left });
    log.info('the data were upgraded', { ...moved, seconds: Math.round((performance.now() - began) / 1000) });
  } catch (error) {
    if (options.signal.aborted) throw error;
    throw embeddedFailure(
      `The data in ${dataDirectory} could not be upgraded from PostgreSQL ${version} to ${binaries.major}.`,
      messageOf(rootOf(error)),
      isDiskFull(place, error) ? 'The disk is full: free some space and start again.' : byHand(version),
    );
  } finally {
    // Once more when this one cannot: at the next start.
    await removeUnfinished(place, log).catch(() => undefined);
  }
}

/** What is behind the words for clients. */
const rootOf = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;

const workOf = ({ stateDirectory }: Place): string => join(stateDirectory, 'upgrading');
const nextOf = ({ stateDirectory }: Pick<Place, 'stateDirectory'>): string => join(stateDirectory, 'data.next');

/** Of both steps each may have been the last one before a kill. */
function endSwitch(place: Place, log: Log): void {
  const { dataDirectory, stateDirectory } = place;
  const next = nextOf(place);
  if (!existsSync(next)) return;
  if (existsSync(dataDirectory)) renameSync(dataDirectory, `${dataDirectory}.${versionOf(dataDirectory)}`);
  renameSync(next, dataDirectory);
  syncDirectory(stateDirectory);
  log.info('the upgraded data are in place', { dataDirectory });
}

async function removeUnfinished(place: Place, log: Log): Promise<void> {
  const work = workOf(place);
  if (existsSync(work)) {
    await clearAway(newPlace(place), log);
    await remove(work);
  }
  // Of `wda upgrade --finish`.
  for (const name of readdirSync(place.stateDirectory).filter((entry) => entry.startsWith(removing)))
    await remove(join(place.stateDirectory, name));
}

/** The beginning of the names of what is being removed. */
export const removing = 'removing-';

export const remove = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Where the data are served while they are read. Throws when they cannot be upgraded. */
async function prepared(place: Place, version: string, { log, serverLog, signal }: UpgradeOptions): Promise<Place> {
  const { dataDirectory, binaries: own, stateDirectory } = place;
  const refusal = (why: string, advice = byHand(version)): Error =>
    embeddedFailure(
      `The data in ${dataDirectory} were written by PostgreSQL ${version}, and this version of the server brings PostgreSQL ${own.major}. They cannot be upgraded: ${why}.`,
      '',
      advice,
    );
  if (existsSync(`${dataDirectory}.${version}`)) {
    throw refusal(
      `there is ${dataDirectory}.${version} of an upgrade before`,
      'Remove it by wda upgrade --finish, or move it away.',
    );
  }
  const [needed, free] = [await sizeOf(join(dataDirectory, 'base')), freeIn(stateDirectory)];
  // Without what was left by changes it is smaller, but sorting for an index takes room, too.
  const room = Math.ceil(needed * 1.2) + leastRoom;
  if (free < room) {
    throw refusal(
      `that takes ${megabytes(room)} MB in ${stateDirectory}, and ${megabytes(free)} MB are free`,
      `Nothing was changed. Make room and start again.`,
    );
  }
  const binaries = await earlierBinaries(place, version, log, signal);
  signal.throwIfAborted();
  if (binaries === undefined) {
    throw refusal(
      `there is no ${join(stateDirectory, `postgresql-${version}`)} with its binaries, and npm did not bring them`,
    );
  }
  const earlier = { ...place, binaries, socketDirectory: socketIn(place, 'old') };
  if (readPassword(place.passwordFile) === undefined) await resetPassword(earlier, serverLog);
  return earlier;
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000);

function freeIn(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

async function sizeOf(path: string): Promise<number> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  let sum = 0;
  for (const entry of entries) if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
  return sum;
}

const socketIn = (place: Place, name: string): string => {
  const wanted = join(workOf(place), name);
  return socketDirectoryFor(wanted, markOf(wanted));
};

const newPlace = (place: Place): Place => {
  const dataDirectory = join(workOf(place), 'data');
  return {
    ...place,
    dataDirectory,
    socketDirectory: socketIn(place, 'new'),
    clusterName: `wda-${markOf(dataDirectory)}`,
  };
};

// Its files are written out once, at the end; what is lost until then is begun anew.
const quickly = [
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=1GB',
  'autovacuum=off',
  'maintenance_work_mem=128MB',
];

type Fill = UpgradeOptions & { readonly clone: CloneData };

/** Makes the new data in the directory of the upgrade, whole and on the disk. */
async function fill(place: Place, earlier: Place, { clone, log, serverLog, signal }: Fill) {
  const next = newPlace(place);
  makePrivateDirectory(workOf(place), place.user);
  await prepareCluster(next, serverLog, ['--no-sync']);
  const servers: Guarded[] = [];
  let isOver = false;
  let died: string | undefined;
  const serve = async (one: Place, extra: readonly string[]): Promise<ServedData> => {
    const port = process.platform === 'win32' ? await freePort(0) : undefined;
    const launching: LaunchOptions = { log, serverLog, signal, extra, port };
    const server = await launch(one, launching);
    server.exited.then(() => {
      if (!isOver) died = serverLog.tail(12);
    });
    servers.push(server);
    return servedAt(one, port);
  };
  const giveUp = (): void => {
    isOver = true;
    for (const server of servers) server.release();
  };
  signal.addEventListener('abort', giveUp);
  let saidAt = performance.now();
  const onProgress = (percent: number): void => {
    if (performance.now() - saidAt < wordEveryMs) return;
    saidAt = performance.now();
    log.info('upgrading the data', { percent });
  };
  try {
    const from = await serve(earlier, ['autovacuum=off']);
    const to = await serve(next, quickly);
    const moved = await clone({ from, to, owner: appRole, onProgress });
    signal.throwIfAborted();
    giveUp();
    const codes = await Promise.all(servers.map(({ exited }) => exited));
    if (codes.some((code) => code !== 0)) throw new Error(`PostgreSQL ended with exit code ${codes.join(', ')}`);
    await run({ place: next, serverLog, aim: 'write out' }, 'initdb', [
      '--sync-only',
      `--pgdata=${next.dataDirectory}`,
    ]);
    return moved;
  } catch (error) {
    // Its log says more than the connection that broke.
    await Promise.race([Promise.all(servers.map(({ exited }) => exited)), sleep(endingMs)]);
    throw died === undefined ? error : new Error(died);
  } finally {
    signal.removeEventListener('abort', giveUp);
    giveUp();
    await Promise.all(servers.map(({ exited }) => exited));
    for (const { socketDirectory } of [earlier, next]) await remove(socketDirectory);
  }
}

function servedAt({ socketDirectory, passwordFile }: Place, port: number | undefined): ServedData {
  return {
    host: port === undefined ? socketDirectory : '127.0.0.1',
    port: port ?? socketPort,
    user: superuser,
    password: readPassword(passwordFile) ?? '',
    database: databaseName,
  };
}
