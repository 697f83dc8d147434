// `npm run bench`: our server against the limit server on one database, in one run. Takes the arguments, puts the steps
// in order, prints the table.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { assertSameAnswer } from './compare.ts';
import { copyGolden, dropCopy, openPostgres, withClient } from './database.ts';
import { type DataSet, dataSetOf, restoreOrders, stopAutovacuum } from './dataset.ts';
import { loadGolden, schemaIn } from './golden.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import { type MeasuredSide, measureWorkload } from './measure.ts';
import { type Measurement, type Run, renderJson, renderMarkdown, renderTerminal } from './report.ts';
import { createApiKey, dataPrefix, readMemory, resetMemoryPeak, startLimit, startOurs } from './servers.ts';
import { soak } from './soak.ts';
import { prepareRequests, type Workload, workloadsOver } from './workloads.ts';
import { measureWrites } from './writes.ts';

const SECONDS_AT_REST = 10;
const SOAK_MINUTES = 10;

type Options = {
  readonly workloads?: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly scale: number;
  readonly databaseUrl?: string;
  readonly profile?: string;
  readonly json?: string;
  readonly markdown?: true;
  readonly keep?: true;
  readonly fresh?: true;
  readonly soak?: true | number;
  readonly writes?: true;
};

const command = new Command('npm run bench --')
  .description('Measures the server against the least that a Node.js server could do, side by side on one database.')
  .option('--workloads <names>', 'only these, such as W1,W5')
  .option('--rounds <n>', 'rounds per workload and number of connections', wholeNumber, 5)
  .option('--seconds <s>', 'length of one round', wholeNumber, 3)
  .option('--connections <n>', 'connections of the throughput rounds', wholeNumber, 32)
  .option('--scale <share>', 'size of the data set, 1 being a million orders', share, 1)
  .option('--database-url <url>', 'a PostgreSQL to use instead of the embedded one; its user makes databases there')
  .option('--profile <directory>', 'write CPU profiles of both servers there (see bench/profile.ts)')
  .option('--json <file>', 'write every figure to a file')
  .option('--markdown', 'print the table as docs/performance.md has it')
  .option('--keep', 'keep the database that the run has worked on (wda_bench_run)')
  .option('--fresh', 'load the data set anew')
  .option('--writes', 'instead: many records at once, keys, imports and searches, against the same work by hand')
  .option(
    '--soak [minutes]',
    'instead: all workloads mixed on our server alone, for so long (10 minutes)',
    wholeNumber,
  );

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

function share(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 10)) throw new InvalidArgumentError('It must be above 0 and at most 10.');
  return value;
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(options: Options): Promise<void> {
  const data = dataSetOf(options.scale);
  const workloads = selectWorkloads(workloadsOver(data), options.workloads);
  const cacheDirectory = join(import.meta.dirname, '..', 'node_modules', '.cache', 'wda-bench');
  await mkdir(cacheDirectory, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'wda-bench-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const postgres = await openPostgres(options.databaseUrl, cacheDirectory, progress);
  try {
    const adminKey = randomBytes(24).toString('hex');
    const url = await copyGolden(postgres, data, options.fresh ?? false, (empty) =>
      loadGolden(empty, adminKey, data, progress),
    );
    const generator = await findLoadGenerator(scratch);
    if (options.soak !== undefined) {
      process.stdout.write(`${await soakOurs(url, adminKey, data, options, generator)}\n`);
      if (!options.keep) await dropCopy(postgres);
      return;
    }
    if (options.writes) {
      process.stdout.write(`${await measureMany(url, adminKey, data, options, generator)}\n`);
      if (!options.keep) await dropCopy(postgres);
      return;
    }
    const { measurements, memoryAtRest } = await measureAll(url, adminKey, data, workloads, options, generator);
    const { rounds, seconds, scale } = options;
    const run: Run = {
      machine: [
        `${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}) shared by servers, database and load`,
        `Node.js ${process.versions.node}`,
        `PostgreSQL ${postgres.version}${options.databaseUrl === undefined ? ' (embedded)' : ''}`,
        generator.description,
      ].join(', '),
      settings: `medians of ${rounds} rounds of ${seconds} s, data set of scale ${scale}, API key checked on every request of ours`,
      measurements,
      memoryAtRest,
    };
    process.stdout.write(`${options.markdown ? renderMarkdown(run) : renderTerminal(run)}\n`);
    if (options.json !== undefined) await writeFile(options.json, renderJson(run));
    if (!options.keep) await dropCopy(postgres);
  } finally {
    await postgres.stop();
  }
}

function selectWorkloads(all: readonly Workload[], names: string | undefined): readonly Workload[] {
  if (names === undefined) return all;
  const asked = names.split(',').map((name) => name.trim());
  const unknown = asked.filter((name) => !all.some((workload) => workload.name === name));
  if (unknown.length > 0) {
    const known = all.map((workload) => workload.name).join(', ');
    command.error(`error: no workload ${unknown.join(', ')}. There are: ${known}`);
  }
  return all.filter((workload) => asked.includes(workload.name));
}

async function soakOurs(
  url: string,
  adminKey: string,
  data: DataSet,
  { soak: asked, connections }: Options,
  generator: LoadGenerator,
): Promise<string> {
  const server = await startOurs(url, adminKey);
  try {
    const key = await createApiKey(server, adminKey);
    const minutes = asked === true || asked === undefined ? SOAK_MINUTES : asked;
    return await soak(server, { minutes, connections, generator, data, key, progress });
  } finally {
    await server.stop();
  }
}

async function measureMany(
  url: string,
  adminKey: string,
  data: DataSet,
  { rounds, seconds }: Options,
  generator: LoadGenerator,
): Promise<string> {
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    const ours = await startOurs(url, adminKey);
    try {
      const limit = await startLimit(url, schema);
      try {
        const key = await createApiKey(ours, adminKey);
        const settings = { data, generator, rounds, seconds, progress };
        return await measureWrites({ ours, limit, key, adminKey, client, schema, ...settings });
      } finally {
        await limit.stop();
      }
    } finally {
      await ours.stop();
    }
  });
}

async function measureAll(
  url: string,
  adminKey: string,
  data: DataSet,
  workloads: readonly Workload[],
  options: Options,
  generator: Awaited<ReturnType<typeof findLoadGenerator>>,
): Promise<Pick<Run, 'measurements' | 'memoryAtRest'>> {
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    const server = await startOurs(url, adminKey, options.profile);
    try {
      progress(`Our server is at rest for ${SECONDS_AT_REST} s ...`);
      await sleep(SECONDS_AT_REST * 1000);
      const memoryAtRest = readMemory(server.pid)?.now;
      const key = await createApiKey(server, adminKey);
      const limitServer = await startLimit(url, schema, options.profile);
      try {
        const limit: MeasuredSide = {
          name: 'limit',
          pid: limitServer.pid,
          port: limitServer.port,
          headers: {},
          prefix: '',
        };
        const headers = { authorization: `Bearer ${key}` };
        const ours: MeasuredSide = { name: 'ours', pid: server.pid, port: server.port, headers, prefix: dataPrefix };
        for (const workload of workloads) await compareAnswers(workload, limit, ours, data);
        const measurements: Measurement[] = [];
        for (const workload of workloads) {
          resetMemoryPeak(server.pid);
          const measure = (connections: number) => {
            progress(
              `${workload.name} (${workload.title}), ${connections} connection${connections === 1 ? '' : 's'} ...`,
            );
            const { rounds, seconds } = options;
            const restore = async () => {
              if (workload.method !== 'GET') await restoreOrders(client, schema, data, workload.name);
            };
            return measureWorkload(workload, limit, ours, { rounds, seconds, connections, generator, data, restore });
          };
          await restoreOrders(client, schema, data, 'W7');
          const { connections } = options;
          const many = await measure(connections);
          const one = await measure(1);
          measurements.push({ workload, connections, many, one, memoryPeak: readMemory(server.pid)?.peak });
        }
        return { measurements, memoryAtRest };
      } finally {
        await limitServer.stop();
      }
    } finally {
      await server.stop();
    }
  });
}

/** One question of a pool that the rounds do not use. */
async function compareAnswers(
  workload: Workload,
  limit: MeasuredSide,
  ours: MeasuredSide,
  data: DataSet,
): Promise<void> {
  const seed = 1_000_003;
  const [toLimit] = prepareRequests(workload, limit.prefix, data, seed);
  const [toOurs] = prepareRequests(workload, ours.prefix, data, seed);
  if (toLimit === undefined || toOurs === undefined) throw new TypeError('an empty pool');
  await assertSameAnswer(workload, [limit, ours], [toLimit, toOurs]);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await main(command.parse().opts<Options>());
