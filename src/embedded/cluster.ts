// The data directory of the embedded PostgreSQL: made once with initdb, complete or not at all, and checked at each
// start. For every function here the caller holds the lock and no PostgreSQL runs on the data.
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { embeddedFailure } from './failure.ts';
import type { ServerLog } from './log.ts';
import type { Place } from './place.ts';
import { spawnGuarded } from './process.ts';
import { appRole, handOver, hasRights, makeAppRole, noteRights, superuser } from './rights.ts';

export const databaseName = 'wda';

// Written into postgresql.conf, where the operator may change them. Sized for a small machine. The log has events of
// the server itself, not failed statements: their text and details hold values of records.
const firstSettings = {
  shared_buffers: '128MB',
  effective_cache_size: '512MB',
  max_connections: '100',
  max_wal_size: '512MB',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

/**
 * Makes the data directory if there is none yet. Throws when there is one that this PostgreSQL cannot use. `extra`:
 * arguments of initdb besides the usual ones.
 */
export async function prepareCluster(place: Place, serverLog: ServerLog, extra: readonly string[] = []): Promise<void> {
  // An initdb that was killed leaves its directory behind. It never had the name of real data.
  for (const name of readdirSync(place.stateDirectory).filter((entry) => entry.startsWith('initialising-'))) {
    await rm(join(place.stateDirectory, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  if (!existsSync(place.dataDirectory)) return initialise(place, serverLog, extra);
  checkVersion(place);
  if (readPassword(place.passwordFile) === undefined) await resetPassword(place, serverLog);
  await giveRights(place, serverLog);
}

/** The password in a file of the place; undefined when there is none yet. */
export function readPassword(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** Data of an earlier version belong to the superuser, as which the server worked then: their owner is changed once. */
async function giveRights(place: Place, serverLog: ServerLog): Promise<void> {
  const password = readPassword(place.appPasswordFile) ?? newPassword(place, place.appPasswordFile);
  if (hasRights(place.dataDirectory, password)) return;
  await singleUser({ place, serverLog, aim: 'give the rights to' }, place.dataDirectory, databaseName, [
    ...makeAppRole(password),
    ...handOver(databaseName),
  ]);
  noteRights(place.dataDirectory, password, place);
}

/** Major version of the PostgreSQL that made a data directory; undefined when it is none. */
export function versionOf(dataDirectory: string): string | undefined {
  const versionFile = join(dataDirectory, 'PG_VERSION');
  return existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : undefined;
}

function checkVersion({ dataDirectory, binaries }: Place): void {
  const version = versionOf(dataDirectory);
  if (version === binaries.major) return;
  if (version === undefined) {
    throw embeddedFailure(
      `${dataDirectory} is not a data directory of PostgreSQL: it has no file PG_VERSION.`,
      '',
      'Move it away, or choose another DATA_DIR.',
    );
  }
  throw embeddedFailure(
    `The data in ${dataDirectory} were written by PostgreSQL ${version}, and this version of the server brings PostgreSQL ${binaries.major}.`,
    '',
    byHand(version),
  );
}

/** What there is to do when the data of another major version cannot be upgraded by the server itself. */
export const byHand = (version: string): string =>
  `Nothing was changed. Start the version of the server that brought PostgreSQL ${version} and run: wda backup everything.wda. Then start this one on an empty DATA_DIR and run: wda restore everything.wda. Or run a PostgreSQL ${version} on the data and set DATABASE_URL.`;

async function initialise(place: Place, serverLog: ServerLog, extra: readonly string[]): Promise<void> {
  const password = readPassword(place.passwordFile) ?? newPassword(place, place.passwordFile);
  const appPassword = readPassword(place.appPasswordFile) ?? newPassword(place, place.appPasswordFile);
  await inWorkDirectory(place, async (work) => {
    const passwordFile = giveFile(join(work, 'password'), `${password}\n`, place);
    const cluster = join(work, 'cluster');
    await run({ place, serverLog, aim: 'make its data directory' }, 'initdb', [
      `--pgdata=${cluster}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=und',
      '--data-checksums',
      '--no-instructions',
      ...extra,
      ...Object.entries(firstSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]);
    await singleUser({ place, serverLog, aim: 'make its database in' }, cluster, 'postgres', [
      ...makeAppRole(appPassword),
      `create database ${databaseName} owner ${appRole}`,
    ]);
    noteRights(cluster, appPassword, place);
    renameSync(cluster, place.dataDirectory);
    syncDirectory(place.stateDirectory);
  });
}

// The file is only a copy of the password; the data have its hash. Whoever owns the data can set a new one.
export async function resetPassword(place: Place, serverLog: ServerLog): Promise<void> {
  const password = randomPassword();
  await singleUser({ place, serverLog, aim: 'set a new password in' }, place.dataDirectory, 'postgres', [
    `alter role ${superuser} password '${password}'`,
  ]);
  storePassword(place, place.passwordFile, password);
}

interface Errand {
  readonly place: Place;
  readonly serverLog: ServerLog;
  /** What failed to be done to the data directory, as in "could not make". */
  readonly aim: string;
}

/** Statements as the superuser, while no PostgreSQL runs. In this mode the end of a line is the end of a statement. */
async function singleUser(
  errand: Errand,
  cluster: string,
  database: string,
  statements: readonly string[],
): Promise<void> {
  const lines = statements.map((statement) => `${statement.replace(/\s+/g, ' ').trim()};\n`).join('');
  await inWorkDirectory(errand.place, (work) => {
    const input = giveFile(join(work, 'statements.sql'), lines, errand.place);
    return run(errand, 'postgres', ['--single', '-D', cluster, '-c', 'exit_on_error=true', database], input);
  });
}

async function inWorkDirectory(place: Place, work: (path: string) => Promise<void>): Promise<void> {
  const path = join(place.stateDirectory, `initialising-${randomBytes(6).toString('hex')}`);
  mkdirSync(path, { mode: 0o700 });
  if (place.user !== undefined) chownSync(path, place.user.uid, place.user.gid);
  try {
    await work(path);
  } finally {
    await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Runs a program of PostgreSQL to its end. Throws a failure in words when that is none of success. */
export async function run({ place, serverLog, aim }: Errand, program: string, args: readonly string[], input?: string) {
  const guarded = spawnGuarded({
    file: join(place.binaries.directory, 'bin', program),
    args,
    user: place.user,
    output: serverLog.descriptor,
    signal: 'TERM',
    ...(input === undefined ? {} : { input }),
  });
  const failed = await guarded.pid.then(
    () => '',
    (error: Error) => error.message,
  );
  const code = await guarded.exited;
  if (code === 0) return;
  throw embeddedFailure(
    `PostgreSQL could not ${aim} ${place.dataDirectory}.`,
    serverLog.tail(12) || failed || `exit code ${code}`,
    `The lines above are the end of its log, ${place.logFile}. Set DATABASE_URL to use another PostgreSQL.`,
  );
}

function newPassword(place: Place, file: string): string {
  const password = randomPassword();
  storePassword(place, file, password);
  return password;
}

function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

// Complete or missing: an empty password file would be read as a password.
function storePassword(place: Place, file: string, password: string): void {
  const unfinished = `${file}.new`;
  writeFileSync(unfinished, `${password}\n`, { mode: 0o600, flush: true });
  if (place.user !== undefined) chownSync(unfinished, place.user.uid, place.user.gid);
  renameSync(unfinished, file);
  syncDirectory(place.stateDirectory);
}

function giveFile(path: string, content: string, { user }: Place): string {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  return path;
}

/** So that a rename in it survives a power cut. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
