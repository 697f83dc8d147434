// The data directory of the embedded PostgreSQL: created once by initdb, completely or not at all, and checked at each
// start. The server works as a role that owns the database and has no rights outside it; the superuser is for
// administrators. The caller of each function here holds the lock, and no PostgreSQL runs on the data.
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
import type { Paths } from './paths.ts';
import { spawnGuarded } from './process.ts';

export const databaseName = 'wda';
export const superuser = 'wda';
export const appRole = 'wda_app';

// Settings of a new postgresql.conf, where the operator may change them. Sized for a small machine. The log has events
// of the server itself, not failed statements: their text and details contain values of records.
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

/** Creates the data directory if there is none yet. Throws when there is one that this PostgreSQL cannot use. */
export async function prepareCluster(paths: Paths, serverLog: ServerLog): Promise<void> {
  // Directories of killed initdb processes; they never had the name of real data.
  for (const name of readdirSync(paths.stateDirectory).filter((entry) => entry.startsWith('initialising-'))) {
    await rm(join(paths.stateDirectory, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  if (!existsSync(paths.dataDirectory)) return initialise(paths, serverLog);
  checkVersion(paths);
  await restorePassword(paths, serverLog, superuser, paths.passwordFile);
  await restorePassword(paths, serverLog, appRole, paths.appPasswordFile);
}

/** Returns the password in a file, or undefined if there is none yet. */
export function readPassword(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

function checkVersion({ dataDirectory, binaries }: Paths): void {
  const versionFile = join(dataDirectory, 'PG_VERSION');
  if (!existsSync(versionFile)) {
    throw embeddedFailure(
      `${dataDirectory} is not a data directory of PostgreSQL: it has no file PG_VERSION.`,
      '',
      'Move it away, or choose another DATA_DIR.',
    );
  }
  const version = readFileSync(versionFile, 'utf8').trim();
  if (version === binaries.major) return;
  throw embeddedFailure(
    `The data in ${dataDirectory} were written by PostgreSQL ${version}, and this version of the server brings PostgreSQL ${binaries.major}.`,
    '',
    `Nothing was changed. Start the version of the server that brought PostgreSQL ${version} and run: wda backup everything.wda. Then start this one on an empty DATA_DIR and run: wda restore everything.wda. Or run a PostgreSQL ${version} on the data and set DATABASE_URL.`,
  );
}

async function initialise(paths: Paths, serverLog: ServerLog): Promise<void> {
  const password = readPassword(paths.passwordFile) ?? storePassword(paths, paths.passwordFile, randomPassword());
  const appPassword =
    readPassword(paths.appPasswordFile) ?? storePassword(paths, paths.appPasswordFile, randomPassword());
  await inWorkDirectory(paths, async (work) => {
    const passwordFile = writePrivateFile(join(work, 'password'), `${password}\n`, paths);
    const cluster = join(work, 'cluster');
    await run({ paths, serverLog, aim: 'make its data directory' }, 'initdb', [
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
      ...Object.entries(firstSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]);
    await runSingleUser({ paths, serverLog, aim: 'make its database in' }, cluster, [
      `create role ${appRole} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${appPassword}'`,
      `create database ${databaseName} owner ${appRole}`,
    ]);
    renameSync(cluster, paths.dataDirectory);
    syncDirectory(paths.stateDirectory);
  });
}

/** Sets a new password when the file is lost: it is only a copy, and the owner of the data can set a new one. */
async function restorePassword(paths: Paths, serverLog: ServerLog, role: string, file: string): Promise<void> {
  if (existsSync(file)) return;
  const password = randomPassword();
  await runSingleUser({ paths, serverLog, aim: 'set a new password in' }, paths.dataDirectory, [
    `alter role ${role} password '${password}'`,
  ]);
  storePassword(paths, file, password);
}

interface Task {
  readonly paths: Paths;
  readonly serverLog: ServerLog;
  /** Verb and object for the message of a failure, as in "could not make". */
  readonly aim: string;
}

/** Runs statements as the superuser, while no PostgreSQL runs. In this mode a newline ends a statement. */
async function runSingleUser(task: Task, cluster: string, statements: readonly string[]): Promise<void> {
  const lines = statements.map((statement) => `${statement};\n`).join('');
  await inWorkDirectory(task.paths, (work) => {
    const input = writePrivateFile(join(work, 'statements.sql'), lines, task.paths);
    return run(task, 'postgres', ['--single', '-D', cluster, '-c', 'exit_on_error=true', 'postgres'], input);
  });
}

async function inWorkDirectory(paths: Paths, work: (path: string) => Promise<void>): Promise<void> {
  const path = join(paths.stateDirectory, `initialising-${randomBytes(6).toString('hex')}`);
  mkdirSync(path, { mode: 0o700 });
  if (paths.user !== undefined) chownSync(path, paths.user.uid, paths.user.gid);
  try {
    await work(path);
  } finally {
    await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Runs a program of PostgreSQL to its end. Throws a readable failure unless it succeeds. */
async function run({ paths, serverLog, aim }: Task, program: string, args: readonly string[], input?: string) {
  const guarded = spawnGuarded({
    file: join(paths.binaries.directory, 'bin', program),
    args,
    user: paths.user,
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
    `PostgreSQL could not ${aim} ${paths.dataDirectory}.`,
    serverLog.tail(12) || failed || `exit code ${code}`,
    `The lines above are the end of its log, ${paths.logFile}. Set DATABASE_URL to use another PostgreSQL.`,
  );
}

function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** Writes the file completely or not at all: an empty one would be read as a password. */
function storePassword(paths: Paths, file: string, password: string): string {
  const unfinished = `${file}.new`;
  writeFileSync(unfinished, `${password}\n`, { mode: 0o600, flush: true });
  if (paths.user !== undefined) chownSync(unfinished, paths.user.uid, paths.user.gid);
  renameSync(unfinished, file);
  syncDirectory(paths.stateDirectory);
  return password;
}

function writePrivateFile(path: string, content: string, { user }: Paths): string {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  return path;
}

/** Flushes a directory, so that a rename in it survives a power failure. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
