// Load: sends a pool of prepared requests over a number of connections for some seconds and tells the rate and the
// times. wrk does it where it is installed; else autocannon, in a process of its own: this file, with port, connections,
// seconds and the file of requests (its format is in load.lua).

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PreparedRequest } from './workloads.ts';

const run = promisify(execFile);

type Load = {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: readonly PreparedRequest[];
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second at most; as many as it can if not given. autocannon alone keeps to it. */
  readonly perSecond?: number;
};

/** Times are milliseconds; `failed` counts answers that are not 2xx, broken connections and time-outs. */
export type LoadResult = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
  readonly failed: number;
};

/** The value that a share of the sorted times does not exceed. */
export const percentile = (times: readonly number[], share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;

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
    import.meta.filename,
    ...[String(load.port), String(load.connections), String(load.seconds), await writeRequests(load, directory)],
    ...(load.perSecond === undefined ? [] : [String(load.perSecond)]),
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

type AutocannonClient = { readonly setRequests: (requests: readonly AutocannonRequest[]) => void };
type AutocannonRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};
type AutocannonRun = {
  on(
    event: 'response',
    listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
  ): unknown;
  on(event: 'reqError', listener: () => void): unknown;
  on(event: 'done', listener: (result: { readonly duration: number }) => void): unknown;
};
type Autocannon = (settings: Readonly<Record<string, unknown>>, done: () => void) => AutocannonRun;

/** Prints a LoadResult as JSON. Gathers the single times, as autocannon's own histogram counts whole milliseconds. */
function runAutocannon([port, connections, seconds, file = '', perSecond]: readonly string[]): void {
  // autocannon carries no types.
  const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

  const [headerLine = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const shared = headersOf(headerLine.split('\t'));
  const requests = lines.map((line): AutocannonRequest => {
    const [method = 'GET', path = '/', body = '', ...own] = line.split('\t');
    const headers = own.length === 0 ? shared : { ...shared, ...headersOf(own) };
    return { method, path, headers, ...(body === '' ? {} : { body }) };
  });

  const times: number[] = [];
  let failed = 0;
  let clients = 0;
  const generator = autocannon(
    {
      url: `http://127.0.0.1:${port}`,
      connections: Number(connections),
      duration: Number(seconds),
      timeout: 20,
      ...(perSecond === undefined ? {} : { overallRate: Number(perSecond) }),
      requests: requests.slice(0, 1),
      // Each connection takes its own stretch of the pool; by itself autocannon gives every one the same sequence.
      setupClient: (client: AutocannonClient) => {
        const stretch = Math.max(1, Math.floor(requests.length / Number(connections)));
        const start = (clients++ * stretch) % requests.length;
        client.setRequests(requests.slice(start, start + stretch));
      },
    },
    () => {},
  );
  generator.on('response', (_client, status, _bytes, milliseconds) => {
    times.push(milliseconds);
    if (status < 200 || status > 299) failed++;
  });
  generator.on('reqError', () => {
    failed++;
  });
  generator.on('done', ({ duration }) => {
    times.sort((a, b) => a - b);
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
    const result = { perSecond: times.length / duration, p50, p99 };
    process.stdout.write(JSON.stringify({ ...result, requests: times.length, failed }));
  });
}

const headersOf = (lines: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    lines
      .filter((header) => header !== '')
      .map((header) => [header.slice(0, header.indexOf(': ')), header.slice(header.indexOf(': ') + 2)]),
  );

if (import.meta.main) runAutocannon(process.argv.slice(2));
