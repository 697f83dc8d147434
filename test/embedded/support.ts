// What the tests of the embedded PostgreSQL share: folders, connections, server processes to be killed, and a look at
// the processes that are left.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { type EmbeddedConnection, type EmbeddedDatabase, startEmbedded } from '../../src/embedded-postgres/embedded.ts';
import type { Log } from '../../src/embedded-postgres/log.ts';
import { runningProcesses, sendSignal } from '../../src/embedded-postgres/process.ts';
import { until } from '../support/wait-until.ts';

export { until };

// The modes that the tests give to folders are meant as they are written.
process.umask(0o022);

/** Keeps every line, to be read when a test fails. */
export interface KeptLog extends Log {
  readonly lines: string[];
}

export function keepLog(): KeptLog {
  const lines: string[] = [];
  const keep = (message: string, facts?: Record<string, unknown>) => {
    lines.push(`${message} ${JSON.stringify(facts ?? {})}`);
  };
  return { lines, debug: keep, info: keep, warn: keep, error: keep };
}

/** A folder that everybody may enter, gone after the test together with every process that uses it. */
export function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'wda-embedded-'));
  chmodSync(folder, 0o755);
  t.after(async () => {
    for (const { pid } of await processesOn(folder)) sendSignal(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  return folder;
}

/** Starts in this process; stopped after the test. */
export async function startHere(t: TestContext, dataDir: string, log: Log = keepLog()): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ dataDir, log, stateRoot: join(dataDir, 'unused-state') });
  t.after(() => database.stop());
  return database;
}

/** Rows of one statement on a connection of its own, as arrays. */
export async function query(connection: EmbeddedConnection, text: string): Promise<unknown[][]> {
  const client = await connect(connection);
  try {
    return (await client.query({ text, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

/** A connected client whose loss of connection is no error of the test. */
export async function connect(connection: EmbeddedConnection): Promise<pg.Client> {
  const client = new pg.Client(connection);
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** True when the database answers a query. */
export function answers(connection: EmbeddedConnection): Promise<boolean> {
  return query(connection, 'select 1').then(
    () => true,
    () => false,
  );
}

/** Waits until it answers queries again. */
export function untilAnswers(connection: EmbeddedConnection): Promise<void> {
  return until('the database answers', () => answers(connection));
}

/** Process id of the PostgreSQL whose state is in `stateDirectory`. */
export function postmasterPid(stateDirectory: string): number {
  return Number.parseInt(readFileSync(join(stateDirectory, 'data', 'postmaster.pid'), 'utf8'), 10);
}

/** Processes other than this one whose command line or working directory is in `folder`: servers, guards, PostgreSQL. */
export async function processesOn(folder: string): Promise<{ pid: number; title: string }[]> {
  const options = existsSync(folder)
    ? globSync(['*/data/postmaster.opts', '*/*/data/postmaster.opts'], { cwd: folder })
    : [];
  const clusters = options.flatMap((file) => clusterNamesIn(join(folder, file)));
  return (await runningProcesses()).filter(
    ({ pid, title }) =>
      pid !== process.pid && (title.includes(folder) || clusters.some((name) => title.includes(name))),
  );
}

/** Those of them that are PostgreSQL or one of its children. */
export async function postgresProcessesOn(folder: string): Promise<number[]> {
  return (await processesOn(folder)).filter(({ title }) => /^\S*postgres/.test(title)).map(({ pid }) => pid);
}

function clusterNamesIn(optionsFile: string): string[] {
  if (!existsSync(optionsFile)) return [];
  return /cluster_name=(wda-\w+)/.exec(readFileSync(optionsFile, 'utf8'))?.slice(1) ?? [];
}

export interface ServerProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it printed when it had started. */
  readonly database: { connection: EmbeddedConnection; joined: boolean; stateDirectory: string; notices: string[] };
  /** Ends it in good order, as SIGTERM would end the server. */
  stop(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
}

interface ServerProcessOptions {
  readonly stateRoot?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A Node process that runs `server-process.ts` on `dataDir`; killed after the test if it still runs. */
export async function startProcess(
  t: TestContext,
  dataDir: string,
  options: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const child = spawnProcess(t, dataDir, options);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    lines.push(line);
    if (line.startsWith('{')) break;
  }
  assert.match(lines.at(-1) ?? '', /^\{/, `the server process did not start: ${lines.join('\n')}`);
  child.stdout!.resume();
  const gone = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return gone;
  };
  return {
    pid: child.pid!,
    child,
    database: JSON.parse(lines.at(-1)!),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** The same without waiting until it has started. */
export function spawnProcess(t: TestContext, dataDir: string, options: ServerProcessOptions = {}): ChildProcess {
  const { stateRoot = join(dataDir, 'unused-state'), ...identity } = options;
  const program = join(import.meta.dirname, 'server-process.ts');
  const child = spawn(process.execPath, [program, dataDir, stateRoot], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...identity,
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}
