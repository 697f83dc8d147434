// Load: sends a pool of prepared requests over a number of connections for some seconds and tells the rate and the
// times. wrk does it where it is installed; else autocannon, in a process of its own.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PreparedRequest } from './workloads.ts';

const run = promisify(execFile);

export type Load = {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: readonly PreparedRequest[];
  readonly connections: number;
  readonly seconds: number;
};

/** Times are milliseconds; `failed` counts answers that are not 2xx, broken connections and time-outs. */
export type LoadResult = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
  readonly failed: number;
};

export type LoadGenerator = {
  readonly description: string;
  readonly apply: (load: Load) => Promise<LoadResult>;
};

/** The generator of this machine; `directory` takes the request files. */
export async function findLoadGenerator(directory: string): Promise<LoadGenerator> {
  const version = await wrkVersion();
  if (version !== undefined) return { description: `wrk ${version}`, apply: (load) => applyWrk(load, directory) };
  return {
    description: 'autocannon (it needs about as much processor time as the servers: wrk measures them more sharply)',
    apply: (load) => applyAutocannon(load, directory),
  };
}

async function wrkVersion(): Promise<string | undefined> {
  // wrk prints its version and usage, and ends with code 1.
  const { stdout } = await run('wrk', ['-v']).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  return /^wrk (?:debian\/)?(\S+)/.exec(stdout)?.[1];
}

async function applyWrk(load: Load, directory: string): Promise<LoadResult> {
  const { stdout } = await run(
    'wrk',
    [
      ...['--threads', '1', '--connections', String(load.connections), '--duration', `${load.seconds}s`],
      ...['--timeout', '20s', '--script', join(import.meta.dirname, 'load.lua'), `http://127.0.0.1:${load.port}`],
    ],
    { env: { ...process.env, REQUESTS: await writeRequests(load, directory) } },
  );
  const figures = /^RESULT (\S+) (\S+) (\S+) (\S+) (\S+)$/m.exec(stdout)?.slice(1).map(Number);
  if (figures === undefined) throw new Error(`wrk ended without a result: ${stdout}`);
  const [perSecond = 0, p50 = 0, p99 = 0, requests = 0, failed = 0] = figures;
  return { perSecond, p50, p99, requests, failed };
}

async function applyAutocannon(load: Load, directory: string): Promise<LoadResult> {
  const { stdout } = await run(process.execPath, [
    join(import.meta.dirname, 'load-autocannon.ts'),
    ...[String(load.port), String(load.connections), String(load.seconds), await writeRequests(load, directory)],
  ]);
  return JSON.parse(stdout) as LoadResult;
}

/** The format is told in load.lua. */
async function writeRequests(load: Load, directory: string): Promise<string> {
  const file = join(directory, 'requests.tsv');
  const lines = load.requests.map(({ method, path, body, headers = {} }) =>
    [method, path, body ?? '', ...headerLines(headers)].join('\t'),
  );
  await writeFile(file, `${[headerLines(load.headers).join('\t'), ...lines].join('\n')}\n`);
  return file;
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}
