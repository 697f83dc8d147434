// Where the embedded PostgreSQL of one DATA_DIR lives and the user that it runs as.
//
//   DATA_DIR/postgres      the state directory, or a link to it when PostgreSQL's user cannot reach DATA_DIR
//     data                 the data directory of PostgreSQL; `initialising-*` is one that is not complete yet
//     postgresql-18.4.0    a copy of the binaries, where those of the package cannot be used
//     run                  its Unix socket (in /tmp when this path is too long for one)
//     lock                 held by the process that runs it
//     password             the superuser's password; app-password: that of the role the server works as
//     reserve              space that is freed when the disk is full
//     postgresql.log       its log; `.1` is the part before
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Binaries, installedBinaries, usableBinaries } from './binaries.ts';
import { asFailure, embeddedFailure } from './failure.ts';
import type { User } from './process.ts';
import { findClosedDirectory, isRoot, makeDirectories, makeOpenDirectory, unprivilegedUser } from './user.ts';

export interface Paths {
  /** The user that PostgreSQL runs as, or undefined for the user of this process. */
  readonly user: User | undefined;
  readonly binaries: Binaries;
  readonly stateDirectory: string;
  readonly dataDirectory: string;
  readonly socketDirectory: string;
  readonly lockFile: string;
  readonly passwordFile: string;
  readonly appPasswordFile: string;
  readonly logFile: string;
  /** Text in the title of every process of this PostgreSQL, and of no other. */
  readonly clusterName: string;
  readonly notices: readonly string[];
}

/** The port is only a part of the socket's name: nothing listens on TCP, except on Windows. */
export const socketPort = 5432;

// sockaddr_un holds 104 bytes on macOS, 108 on Linux, including the final NUL.
const longestSocketPath = 103;

/**
 * Determines the paths for `dataDir` and creates the directories. `stateRoot` is where root keeps data and binaries
 * that PostgreSQL's user could not reach otherwise. Throws a readable failure when they cannot be used.
 */
export function preparePaths(dataDir: string, stateRoot: string): Paths {
  try {
    const home = prepareHome(resolve(dataDir));
    const pointer = join(home, 'postgres');
    const existingDirectory = findState(pointer);
    const user = isRoot() ? chooseUser(existingDirectory) : undefined;
    const stateDirectory = existingDirectory ?? makeState(pointer, user, stateRoot);
    checkOwner(stateDirectory, user);
    const binaries = usableBinaries(installedBinaries(), user, user === undefined ? stateDirectory : stateRoot);
    const dataDirectory = join(stateDirectory, 'data');
    const mark = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16);
    return {
      user,
      binaries,
      stateDirectory,
      dataDirectory,
      socketDirectory: chooseSocketDirectory(join(stateDirectory, 'run'), mark),
      lockFile: join(stateDirectory, 'lock'),
      passwordFile: join(stateDirectory, 'password'),
      appPasswordFile: join(stateDirectory, 'app-password'),
      logFile: join(stateDirectory, 'postgresql.log'),
      clusterName: `wda-${mark}`,
      notices: stateDirectory === pointer ? [] : [buildMovedNotice(stateDirectory, pointer, user)],
    };
  } catch (error) {
    throw asFailure(error, `The embedded database cannot use ${resolve(dataDir)}.`);
  }
}

/** Creates a directory of mode 0700 that PostgreSQL's user owns. Throws when one of this name has another owner. */
export function makePrivateDirectory(path: string, user: User | undefined): void {
  makeIfMissing(path, 0o700);
  if (process.platform === 'win32') return;
  const stats = lstatSync(path);
  const ownUid = process.getuid?.();
  if (!stats.isDirectory() || (stats.uid !== ownUid && stats.uid !== user?.uid)) {
    throw embeddedFailure(`${path} belongs to another user.`, '', 'Remove it, or choose another DATA_DIR.');
  }
  if (user !== undefined && stats.uid !== user.uid) chownSync(path, user.uid, user.gid);
  if ((stats.mode & 0o777) !== 0o700) chmodSync(path, 0o700);
}

function prepareHome(dataDir: string): string {
  const isNew = makeDirectories(dataDir);
  const home = realpathSync(dataDir);
  // PostgreSQL's user can enter what root creates here, whatever the umask; existing directories are not changed.
  if (isNew && isRoot()) chmodSync(home, 0o755);
  return home;
}

function findState(pointer: string): string | undefined {
  const stats = lstatSync(pointer, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (existsSync(pointer)) return realpathSync(pointer);
  throw embeddedFailure(
    `${pointer} leads to a directory that is gone, and the data with it.`,
    '',
    `Bring the directory back, or remove ${pointer} to begin with an empty database.`,
  );
}

// Data keep their owner: a server started by root on an ordinary user's data runs PostgreSQL as that user.
function chooseUser(existingDirectory: string | undefined): User {
  if (existingDirectory === undefined) return unprivilegedUser();
  const { uid, gid } =
    statSync(join(existingDirectory, 'data'), { throwIfNoEntry: false }) ?? statSync(existingDirectory);
  return uid === 0 ? unprivilegedUser() : { uid, gid };
}

function checkOwner(stateDirectory: string, user: User | undefined): void {
  const data = join(stateDirectory, 'data');
  const stats = statSync(data, { throwIfNoEntry: false });
  const owner = user?.uid ?? process.getuid?.();
  if (stats !== undefined && owner !== undefined && stats.uid !== owner) {
    throw embeddedFailure(
      `The data in ${data} belong to user ${stats.uid}, and PostgreSQL would run as user ${owner}.`,
      '',
      `Start the server as the user who made them, hand them over with chown -R ${owner} ${stateDirectory}, or choose another DATA_DIR.`,
    );
  }
  const closedDirectory = user === undefined ? undefined : findClosedDirectory(user, stateDirectory);
  if (closedDirectory !== undefined) {
    throw embeddedFailure(
      `PostgreSQL does not run as root but as user ${owner}, and ${closedDirectory} is closed to that user.`,
      '',
      `Move ${stateDirectory} to a directory that is open to others, and put a symbolic link to it in its paths.`,
    );
  }
}

function makeState(pointer: string, user: User | undefined, stateRoot: string): string {
  if (user === undefined) return makeDirectory(pointer, 0o700);
  if (findClosedDirectory(user, dirname(pointer)) === undefined) return makeDirectory(pointer, 0o711);
  // A new name each time: after `rm -r DATA_DIR` the next start creates new data instead of using the old.
  const readable = dirname(pointer)
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(-40);
  makeOpenDirectory(stateRoot);
  const state = makeDirectory(join(realpathSync(stateRoot), `${readable}-${randomBytes(4).toString('hex')}`), 0o711);
  try {
    symlinkSync(state, pointer);
    return state;
  } catch (error) {
    // Another process was faster: use its directory.
    rmdirSync(state);
    if (!existsSync(pointer)) throw error;
    return realpathSync(pointer);
  }
}

function makeDirectory(path: string, mode: number): string {
  makeIfMissing(path, mode);
  chmodSync(path, mode);
  return path;
}

// Creates a directory if it is missing. With `recursive` the error of a read-only file system would be ENOENT.
function makeIfMissing(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** Chooses the socket directory: one in /tmp where the preferred path is too long for a socket. */
function chooseSocketDirectory(preferred: string, mark: string): string {
  const length = Buffer.byteLength(join(preferred, `.s.PGSQL.${socketPort}`));
  // Not os.tmpdir(): a second process with another TMPDIR must find the same socket.
  return length <= longestSocketPath ? preferred : join('/tmp', `wda-${mark}`);
}

function buildMovedNotice(stateDirectory: string, pointer: string, user: User | undefined): string {
  const closedDirectory = user === undefined ? undefined : findClosedDirectory(user, dirname(pointer));
  const reason =
    closedDirectory === undefined
      ? ''
      : `: PostgreSQL does not run as root, and ${closedDirectory} is closed to other users`;
  return `The database is in ${stateDirectory}, where ${pointer} leads${reason}.`;
}
