// `npm test [files…]`: starts one PostgreSQL for all test files (the embedded one, or the server of TEST_DATABASE_URL),
// makes the template that each file clones, and runs node's test runner over test/**/*.test.ts.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../src/embedded/embedded.ts';
import { makeTemplate } from './support/database.ts';

const silent = { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error };

const given = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const patterns = given.length === 0 ? ['test'] : given;
const files = patterns
  .flatMap((pattern) =>
    pattern.endsWith('.ts') ? [pattern] : globSync(`${pattern}/**/*.test.ts`, { exclude: ['**/node_modules/**'] }),
  )
  .sort();
if (files.length === 0) {
  console.error(`No test files in ${patterns.join(', ')}`);
  process.exit(1);
}

const MEMORY = '/dev/shm';
// All tests together take 0.8 GB at most.
const ROOM = 4 * 2 ** 30;

const folder = makeFolder();
const embedded =
  process.env.TEST_DATABASE_URL === undefined
    ? await startEmbedded({ dataDir: join(folder, 'data'), log: silent })
    : undefined;
// Tests make databases and roles, and look where the role of a server may not.
const url = process.env.TEST_DATABASE_URL ?? urlOf((embedded as NonNullable<typeof embedded>).superuser);
await makeTemplate(url);

// Each file is a process that loads the whole server, 1.3 s of it for stripping types and compiling; 0.6 s once that is kept.
const compiled = join(folder, 'compiled');

const child = spawn(
  process.execPath,
  [
    '--test',
    // One more than a small machine has processors: some files mostly wait.
    '--test-concurrency=3',
    '--test-timeout=300000',
    ...['spec', join(import.meta.dirname, 'support/slowest.ts')].flatMap((reporter) => [
      `--test-reporter=${reporter}`,
      '--test-reporter-destination=stdout',
    ]),
    ...options,
    ...files,
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_DATABASE_URL: url,
      NODE_ENV: 'test',
      NODE_COMPILE_CACHE: compiled,
      // What tests make of their own lies there, too: servers of PostgreSQL, profiles of browsers.
      TMPDIR: folder,
    },
  },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const code = await new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
await embedded?.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(code);

/**
 * In memory where there is room: no test asks what outlives a machine, and a disk is work for the processors. Measured on
 * ext4, a database is made and dropped in 46 to 330 ms of a processor, in memory in 20.
 */
function makeFolder(): string {
  if (hasRoom(MEMORY)) {
    const inMemory = makeBelow(MEMORY);
    if (runsPrograms(inMemory)) return inMemory;
    rmSync(inMemory, { recursive: true });
  }
  return makeBelow(tmpdir());
}

function makeBelow(parent: string): string {
  const made = mkdtempSync(join(parent, 'wda-'));
  // An unprivileged PostgreSQL must reach its data below it, and programs of its user leave their temporary files there.
  chmodSync(made, 0o1777);
  return made;
}

function hasRoom(parent: string): boolean {
  if (!existsSync(parent)) return false;
  const { bavail, bsize } = statfsSync(parent);
  return Math.min(bavail * bsize, freemem()) > ROOM;
}

/** Containers forbid it in their memory, and some tests have copies of PostgreSQL's programs. */
function runsPrograms(parent: string): boolean {
  const program = join(parent, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

function urlOf(connection: { host: string; port: number; user: string; password: string; database: string }): string {
  const { host, port, user, password, database } = connection;
  return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
