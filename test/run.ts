// `npm test [files…]`: starts one PostgreSQL for all test files (the embedded one, or the server of TEST_DATABASE_URL),
// makes the template that each file clones, and runs node's test runner over test/**/*.test.ts.
import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

const folder = mkdtempSync(join(tmpdir(), 'wda-test-'));
// An unprivileged PostgreSQL must reach its data below it.
chmodSync(folder, 0o755);
const embedded =
  process.env.TEST_DATABASE_URL === undefined ? await startEmbedded({ dataDir: folder, log: silent }) : undefined;
// Tests make databases and roles, and look where the role of a server may not.
const url = process.env.TEST_DATABASE_URL ?? urlOf((embedded as NonNullable<typeof embedded>).superuser);
await makeTemplate(url);

// Each file is a process that loads the whole server, 1.3 s of it for stripping types and compiling; 0.6 s once that is kept.
const compiled = join(folder, 'compiled');

const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-concurrency=2',
    '--test-timeout=300000',
    ...['spec', join(import.meta.dirname, 'support/slowest.ts')].flatMap((reporter) => [
      `--test-reporter=${reporter}`,
      '--test-reporter-destination=stdout',
    ]),
    ...options,
    ...files,
  ],
  { stdio: 'inherit', env: { ...process.env, TEST_DATABASE_URL: url, NODE_ENV: 'test', NODE_COMPILE_CACHE: compiled } },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const code = await new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
await embedded?.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(code);

function urlOf(connection: { host: string; port: number; user: string; password: string; database: string }): string {
  const { host, port, user, password, database } = connection;
  return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
