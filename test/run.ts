// `npm test [files…]`: starts one PostgreSQL for all test files (the embedded one, or the server of TEST_DATABASE_URL),
// makes the template that each file clones, and runs node's test runner over test/**/*.test.ts in a few processes.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { startEmbedded } from '../src/embedded-postgres/embedded.ts';
import { makeTemplate } from './support/database.ts';
import { reasonToRunAlone } from './support/isolated-files.ts';

const LONGEST_FIRST = [
  'test/chaos',
  'test/failover',
  'test/packages',
  'test/schema-changes',
  'test/api/access',
  'test/api/agents',
  'test/cli',
  'test/api',
];

const silent = { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error };

const given = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const patterns = given.length === 0 ? ['test'] : given;
const files = patterns
  .flatMap((pattern) =>
    pattern.endsWith('.ts') ? [pattern] : globSync(`${pattern}/**/*.test.ts`, { exclude: ['**/node_modules/**'] }),
  )
  .map((file) => relative(process.cwd(), file))
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
if (files.length === 0) {
  console.error(`No test files in ${patterns.join(', ')}`);
  process.exit(1);
}

// Files that a run has at least for failed ones to be run again, and the most that are.
const MANY = 10;
const MOST_AGAIN = 3;

// One more than a small machine has processors: some files mostly wait.
const PROCESSES = 3;
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

// Modules that were compiled once are there for the processes that start later.
const compiled = join(folder, 'compiled');

const failures = join(folder, 'failures');
let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => running?.kill(signal));
let code = await runPrograms('all', files, PROCESSES);
const failed = existsSync(failures) ? readFileSync(failures, 'utf8').trimEnd().split('\n') : [];
// A run of many files has three of them at a time on what may be a slow machine. What fails there by the load of the others
// passes with nothing beside it, and is told, so that it can be mended; a mistake fails again.
const isFew = failed.length > 0 && failed.length <= MOST_AGAIN;
if (code === 1 && files.length >= MANY && isFew && failed.every((file) => files.includes(file))) {
  console.log(`\nOnce more, with nothing beside it: ${failed.join(', ')}\n`);
  code = await runPrograms('again', failed, 1);
  if (code === 0) console.log(`\nUNSTABLE, passed at the second try: ${failed.join(', ')}`);
}
await embedded?.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(code);

/** Long files first, so that no process waits for one at the end. */
function rank(file: string): number {
  const index = LONGEST_FIRST.findIndex((start) => file.startsWith(start));
  return index === -1 ? LONGEST_FIRST.length : index;
}

/** Runs node's test runner over the files and returns its exit code; `name` is of a folder for its programs. */
async function runPrograms(name: string, files: readonly string[], processes: number): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${processes}`,
      // Longest time of a process. Files have limits of their own.
      '--test-timeout=3600000',
      `--test-reporter=${join(import.meta.dirname, 'support/reporter.ts')}`,
      ...options,
      ...writeProcesses(join(folder, name), files, processes),
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        TEST_DATABASE_URL: url,
        TEST_FAILURES: failures,
        NODE_ENV: 'test',
        NODE_COMPILE_CACHE: compiled,
        // What tests make of their own lies there, too: servers of PostgreSQL, profiles of browsers.
        TMPDIR: folder,
      },
    },
  );
  running = child;
  return new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
}

/**
 * Writes a program for each process of node's test runner, for so many `processes`, and gives their paths. One place is for the files that run
 * alone, until there are none left.
 */
function writeProcesses(folder: string, files: readonly string[], processes: number): readonly string[] {
  const [alone, shared] = [
    files.filter((file) => reasonToRunAlone(file) !== undefined),
    files.filter((file) => reasonToRunAlone(file) === undefined),
  ];
  const programs = join(folder, 'programs');
  mkdirSync(join(folder, 'claims'), { recursive: true });
  mkdirSync(programs, { recursive: true });
  const write = (name: string, own: readonly string[]): string => {
    const program = join(programs, `${name}.test.mjs`);
    writeFileSync(
      program,
      `import { runFiles } from ${JSON.stringify(join(import.meta.dirname, 'support/test-file.ts'))};
await runFiles(${JSON.stringify(own)}, ${JSON.stringify(join(folder, 'claims'))});
`,
    );
    return program;
  };
  const sharing = Math.min(processes, shared.length);
  const names = Array.from({ length: sharing }, (_, index) => write(`shared-${index + 1}`, shared));
  const first = names.splice(0, alone.length === 0 ? sharing : processes - 1);
  return [...first, ...alone.map((file) => write(file.replaceAll(/\W/g, '-'), [file])), ...names];
}

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
