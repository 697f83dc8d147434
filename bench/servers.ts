// The two servers as child processes on free ports of this machine, the admin requests that make the workspace, and what
// the kernel knows of a process's memory.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { schemaDocument } from './dataset.ts';

const root = join(import.meta.dirname, '..');
const START_TIMEOUT_SECONDS = 30;

export type RunningServer = {
  readonly pid: number;
  readonly port: number;
  readonly stop: () => Promise<void>;
};

/** Starts our server on a database and waits until it is ready. A profile directory gets a CPU profile when it stops. */
export async function startOurs(
  databaseUrl: string,
  adminKey: string,
  profileDirectory?: string,
): Promise<RunningServer> {
  return start([...profiling(profileDirectory, 'ours'), ...startArguments()], '/readyz', {
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(tmpdir(), 'wda-bench-unused'),
    WDA_ADMIN_KEY: adminKey,
    WDA_DEMO: 'off',
    // As many processes as the limit server has.
    WDA_WORKERS: '1',
    LOG_LEVEL: 'warn',
  });
}

/** What `npm start` gives to node: memory settings belong to what is measured. */
function startArguments(): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.replace(/^exec node /, '').split(' ');
}

/** Starts the limit server on the tables of a PostgreSQL schema. */
export async function startLimit(
  databaseUrl: string,
  schema: string,
  profileDirectory?: string,
): Promise<RunningServer> {
  const args = [...profiling(profileDirectory, 'limit'), 'bench/limit-server.ts'];
  return start(args, '/orders/1', { DATABASE_URL: databaseUrl, DATA_SCHEMA: schema });
}

function profiling(directory: string | undefined, name: string): readonly string[] {
  if (directory === undefined) return [];
  const file = ['--cpu-prof-dir', directory, '--cpu-prof-name', `${name}.cpuprofile`];
  return ['--cpu-prof', '--cpu-prof-interval', '200', ...file];
}

async function start(
  args: readonly string[],
  readyPath: string,
  environment: Record<string, string>,
): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production', PORT: String(port), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A run that is broken off leaves nobody behind.
  const abandon = () => child.kill('SIGTERM');
  process.once('exit', abandon);
  child.once('exit', () => process.off('exit', abandon));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
  }
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${args.at(-1)} ended with code ${code}:\n${output}`);
  });
  ended.catch(() => {});
  const ready = (async () => {
    for (const limit = performance.now() + START_TIMEOUT_SECONDS * 1000; performance.now() < limit; await sleep(50)) {
      const response = await fetch(`http://127.0.0.1:${port}${readyPath}`).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.ok) return;
    }
    child.kill('SIGKILL');
    throw new Error(`${args.join(' ')} was not ready within ${START_TIMEOUT_SECONDS} s:\n${output}`);
  })();
  await Promise.race([ready, ended]);
  if (child.pid === undefined) throw new Error(`${args.join(' ')} has no process id`);
  return { pid: child.pid, port, stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exit;
  clearTimeout(killer);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

const ORGANIZATION = 'bench';
const WORKSPACE = 'shop';
export const dataPrefix = `/api/v1/${ORGANIZATION}/${WORKSPACE}`;

/** Makes the organization and the workspace with the schema document of the data set. */
export async function createWorkspace(server: RunningServer, adminKey: string): Promise<void> {
  await administer(server, adminKey, '/organizations', { slug: ORGANIZATION, name: 'Bench' });
  await administer(server, adminKey, `/organizations/${ORGANIZATION}/workspaces`, {
    slug: WORKSPACE,
    name: 'Shop',
    schema: schemaDocument,
  });
}

/** Makes an API key of the workspace. */
export async function createApiKey(server: RunningServer, adminKey: string): Promise<string> {
  const path = `/organizations/${ORGANIZATION}/workspaces/${WORKSPACE}/api-keys`;
  const { key } = await administer<{ key: string }>(server, adminKey, path, { name: 'bench' });
  return key;
}

async function administer<T>(server: RunningServer, adminKey: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${server.port}/api/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: T }).data;
}

/** Resident memory of a process in MB (10^6 bytes): now, and its peak since the last reset. Linux only. */
export function readMemory(pid: number): { readonly now: number; readonly peak: number } | undefined {
  if (process.platform !== 'linux') return undefined;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Processor time that a process has taken so far, in microseconds (kernel ticks of 10 ms). Linux only. */
export function readProcessorTime(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name in brackets; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Starts a new peak of `readMemory`. */
export function resetMemoryPeak(pid: number): void {
  if (process.platform === 'linux') writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
