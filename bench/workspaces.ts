// `npm run bench:workspaces`: many workspaces in one database. How long a start takes then, how much memory requests to all
// of them leave, and how the throughput of requests spread over all compares with that of requests to one.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { openPostgres, withClient } from './database.ts';
import { findLoadGenerator, type LoadGenerator, type LoadResult } from './load.ts';
import { type RunningServer, readMemory, startOurs } from './servers.ts';
import type { PreparedRequest } from './workloads.ts';

const DATABASE = 'wda_bench_workspaces';
const ADMIN = '/api/admin/v1/organizations';
const ENTITIES = 10;
const RECORDS = 20;
const CONNECTIONS = 32;
const MAKERS = 4;

const command = new Command('npm run bench:workspaces --')
  .description('Measures a server whose requests are spread over many workspaces.')
  .option('--workspaces <n>', 'how many', wholeNumber, 2000)
  .option('--rounds <n>', 'rounds of each kind', wholeNumber, 5)
  .option('--seconds <s>', 'length of a round', wholeNumber, 3)
  .option('--keep', 'keep the database for the next run, which then needs not make the workspaces');

type Options = { readonly workspaces: number; readonly rounds: number; readonly seconds: number; readonly keep?: true };

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

const schema = {
  entities: Object.fromEntries(
    Array.from({ length: ENTITIES }, (_, index) => [
      `entity${index}`,
      {
        fields: {
          name: { type: 'string', required: true },
          size: { type: 'integer', index: true },
          price: { type: 'decimal', precision: 12, scale: 2 },
          at: { type: 'datetime', default: 'now' },
        },
        ...(index === 0 ? {} : { relations: { parent: { kind: 'belongsTo', entity: `entity${index - 1}` } } }),
      },
    ]),
  ),
};

async function call(server: RunningServer, key: string, path: string, body: unknown): Promise<void> {
  const isText = typeof body === 'string';
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': isText ? 'text/csv' : 'application/json' },
    body: isText ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok && response.status !== 409) throw new Error(`POST ${path}: ${response.status} ${text}`);
}

async function makeWorkspaces(server: RunningServer, key: string, count: number): Promise<void> {
  await call(server, key, ADMIN, { slug: 'many', name: 'Many' });
  const rows = Array.from({ length: RECORDS }, (_, index) => `n${index},${index},${index}.5`).join('\n');
  let next = 0;
  await Promise.all(
    Array.from({ length: MAKERS }, async () => {
      for (;;) {
        const index = next++;
        if (index >= count) return;
        await call(server, key, `${ADMIN}/many/workspaces`, { slug: `w${index}`, name: `W${index}`, schema });
        await call(server, key, `/api/v1/many/w${index}/entity0/_import`, `name,size,price\n${rows}\n`);
        if (index % 200 === 199) progress(`${index + 1} workspaces`);
      }
    }),
  );
}

/** Records by id and lists in turn, of `count` workspaces. */
function requestsOver(count: number): PreparedRequest[] {
  return Array.from({ length: 20_000 }, (_, index) => {
    const workspace = (index * 7919) % count;
    const path = index % 2 === 0 ? `entity0/${1 + (index % RECORDS)}` : 'entity0?size=20&count=none';
    return { method: 'GET', path: `/api/v1/many/w${workspace}/${path}`, body: null };
  });
}

async function measure(
  server: RunningServer,
  key: string,
  options: Options,
  generator: LoadGenerator,
): Promise<string[]> {
  const { workspaces, rounds, seconds } = options;
  const apply = (requests: readonly PreparedRequest[], length: number): Promise<LoadResult> =>
    generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}` },
      requests,
      connections: CONNECTIONS,
      seconds: length,
    });
  const [one, all] = [requestsOver(1), requestsOver(workspaces)];
  await apply(one, 2);
  await apply(all, 15);
  const ratios: number[] = [];
  const rates = { one: [] as number[], all: [] as number[] };
  let failed = 0;
  for (let round = 0; round < rounds; round++) {
    const results = { one: await apply(one, seconds), all: await apply(all, seconds) };
    rates.one.push(results.one.perSecond);
    rates.all.push(results.all.perSecond);
    ratios.push(results.all.perSecond / results.one.perSecond);
    failed += results.one.failed + results.all.failed;
  }
  const memory = readMemory(server.pid);
  return [
    `| requests to one workspace | ${median(rates.one).toFixed(0)} req/s |`,
    `| requests spread over all | ${median(rates.all).toFixed(0)} req/s |`,
    `| ratio (goal: at least 0.6) | ${median(ratios).toFixed(2)} |`,
    `| resident memory of the server | ${memory?.now.toFixed(0)} MB, peak ${memory?.peak.toFixed(0)} MB |`,
    `| failed | ${failed} |`,
  ];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function main(options: Options): Promise<void> {
  const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'wda-bench');
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'wda-bench-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const postgres = await openPostgres(undefined, cache, progress);
  const maintenance = postgres.urlOf(postgres.maintenanceDatabase);
  try {
    await withClient(maintenance, async (client) => {
      const { rows } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (rows.length === 0) await client.query(`create database ${DATABASE}`);
    });
    const url = postgres.urlOf(DATABASE);
    const key = randomBytes(24).toString('hex');
    const maker = await startOurs(url, key);
    await makeWorkspaces(maker, key, options.workspaces).finally(maker.stop);
    const generator = await findLoadGenerator(scratch);
    const started = performance.now();
    const server = await startOurs(url, key);
    const start = (performance.now() - started) / 1000;
    const lines = await measure(server, key, options, generator).finally(server.stop);
    const head = [
      `| ${options.workspaces} workspaces of ${ENTITIES} entities | |`,
      '| --- | --: |',
      `| start until ready (goal: under 5 s) | ${start.toFixed(2)} s |`,
    ];
    process.stdout.write(`${[...head, ...lines].join('\n')}\n\n`);
    process.stdout.write(
      `- Records by id and lists of 20 in turn over ${CONNECTIONS} connections; ${cpus().length} processors shared by server, database and load, Node.js ${process.versions.node}, PostgreSQL ${postgres.version}, ${generator.description}.\n`,
    );
    if (!options.keep) await withClient(maintenance, (client) => client.query(`drop database ${DATABASE}`));
  } finally {
    await postgres.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await main(command.parse().opts<Options>());
