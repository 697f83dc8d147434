// Child process of load.ts: drives autocannon over a request file (format: load.lua) and prints a LoadResult as JSON.
// Arguments: port, connections, seconds, file. autocannon's own histogram counts whole milliseconds, too coarse for one
// connection, so the times of the single answers are gathered here.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

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

// autocannon carries no types.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

const [port, connections, seconds, file = ''] = process.argv.slice(2);
const [headerLine = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
const shared = headersOf(headerLine.split('\t'));
const requests = lines.map((line): AutocannonRequest => {
  const [method = 'GET', path = '/', body = '', ...own] = line.split('\t');
  const headers = own.length === 0 ? shared : { ...shared, ...headersOf(own) };
  return { method, path, headers, ...(body === '' ? {} : { body }) };
});

function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines
      .filter((header) => header !== '')
      .map((header) => [header.slice(0, header.indexOf(': ')), header.slice(header.indexOf(': ') + 2)]),
  );
}

const times: number[] = [];
let failed = 0;
let clients = 0;
const run = autocannon(
  {
    url: `http://127.0.0.1:${port}`,
    connections: Number(connections),
    duration: Number(seconds),
    timeout: 20,
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
run.on('response', (_client, status, _bytes, milliseconds) => {
  times.push(milliseconds);
  if (status < 200 || status > 299) failed++;
});
run.on('reqError', () => {
  failed++;
});
run.on('done', ({ duration }) => {
  times.sort((a, b) => a - b);
  const percentile = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const result = { perSecond: times.length / duration, p50: percentile(0.5), p99: percentile(0.99) };
  process.stdout.write(JSON.stringify({ ...result, requests: times.length, failed }));
});
