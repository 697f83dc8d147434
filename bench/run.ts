// `npm run bench`: our server against the limit server on one database, in one run. Takes the arguments, puts the steps
// in order, prints the table; with --soak or --writes something else instead.

import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type DataSet, dataSetOf, restoreOrders, stopAutovacuum } from './dataset.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import {
  assertSameAnswer,
  type MeasuredSide,
  measureWorkload,
  median,
  type Result,
  type Round,
  renderTable,
} from './measure.ts';
import {
  choose,
  createApiKey,
  databaseOption,
  dataPrefix,
  describeMachine,
  makeScratch,
  type Place,
  plural,
  progress,
  type RunningServer,
  readMemory,
  resetMemoryPeak,
  runBench,
  schemaIn,
  share,
  startLimit,
  startOurs,
  wholeNumber,
  withClient,
  withGolden,
  withPostgres,
  withServer,
} from './setup.ts';
import { type PreparedRequest, prepareRequests, type Workload, workloadsOver } from './workloads.ts';
import { measureWrites } from './writes.ts';

const SECONDS_AT_REST = 10;
const SOAK_MINUTES = 10;
const GOALS = { p50: 1.25, p99: 1.5, memoryAtRest: 150, memoryPeak: 300 } as const;

/** Of a thousand requests. Deep pages and large expansions are what a client asks for now and then. */
const SHARES: Readonly<Record<string, number>> = {
  W1: 400,
  W2: 60,
  W3: 60,
  W3b: 100,
  W4: 80,
  W5: 100,
  W6: 4,
  W8: 1,
  W9: 100,
  W7: 95,
};

type Options = {
  readonly workloads?: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly scale: number;
  readonly databaseUrl?: string;
  readonly profile?: string;
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
  .option(...databaseOption)
  .option('--profile <directory>', 'write CPU profiles of both servers there (see bench/profile.ts)')
  .option('--markdown', 'print the table as docs/performance.md has it')
  .option('--keep', 'keep the database that the run has worked on (wda_bench_run)')
  .option('--fresh', 'load the data set anew')
  .option('--writes', 'instead: many records at once, keys, imports and searches, against the same work by hand')
  .option(
    '--soak [minutes]',
    'instead: all workloads mixed on our server alone, for so long (10 minutes)',
    wholeNumber,
  );

/** What a run works with. */
type Stage = Place & { readonly data: DataSet; readonly generator: LoadGenerator; readonly options: Options };

await runBench<Options>(command, async (options) => {
  const data = dataSetOf(options.scale);
  const workloads = choose(command, workloadsOver(data), options.workloads, (name, wanted) => name === wanted);
  const generator = await findLoadGenerator(makeScratch());
  await withPostgres(options, (postgres) =>
    withGolden(postgres, data, options, async (place) => {
      const stage = { ...place, data, generator, options };
      const print = options.soak !== undefined ? soak : options.writes ? measureMany : compareServers;
      process.stdout.write(`${await print(stage, workloads)}\n`);
    }),
  );
});

function measureMany({ url, adminKey, data, generator, options: { rounds, seconds } }: Stage): Promise<string> {
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    return withServer(startOurs(url, adminKey), (ours) =>
      withServer(startLimit(url, schema), async (limit) => {
        const key = await createApiKey(ours, adminKey);
        return measureWrites({ ours, limit, key, adminKey, client, schema, data, generator, rounds, seconds });
      }),
    );
  });
}

/** `many` are the rounds at `connections`, `one` those over a single connection; memory in MB. */
type Measurement = {
  readonly workload: Workload;
  readonly many: readonly Round[];
  readonly one: readonly Round[];
  readonly memoryPeak: number | undefined;
};

function compareServers(stage: Stage, workloads: readonly Workload[]): Promise<string> {
  const { url, adminKey, data, generator, options } = stage;
  const { rounds, seconds, profile } = options;
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    return withServer(startOurs(url, adminKey, profile), async (server) => {
      progress(`Our server is at rest for ${SECONDS_AT_REST} s ...`);
      await sleep(SECONDS_AT_REST * 1000);
      const memoryAtRest = readMemory(server.pid)?.now;
      const headers = { authorization: `Bearer ${await createApiKey(server, adminKey)}` };
      const ours: MeasuredSide = { name: 'ours', pid: server.pid, port: server.port, headers, prefix: dataPrefix };
      return withServer(startLimit(url, schema, profile), async ({ pid, port }) => {
        const limit: MeasuredSide = { name: 'limit', pid, port, headers: {}, prefix: '' };
        for (const workload of workloads) await compareAnswers(workload, limit, ours, data);
        const measurements: Measurement[] = [];
        for (const workload of workloads) {
          resetMemoryPeak(server.pid);
          const restore = async () => {
            if (workload.method !== 'GET') await restoreOrders(client, schema, data, workload.name);
          };
          const measure = (connections: number) => {
            progress(`${workload.name} (${workload.title}), ${plural(connections)} ...`);
            return measureWorkload(workload, limit, ours, { rounds, seconds, connections, generator, data, restore });
          };
          await restoreOrders(client, schema, data, 'W7');
          const many = await measure(options.connections);
          const one = await measure(1);
          measurements.push({ workload, many, one, memoryPeak: readMemory(server.pid)?.peak });
        }
        return report(stage, measurements, memoryAtRest);
      });
    });
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

/** The table of all workloads; a missed goal has an exclamation mark. */
function report(
  { options, postgres, generator }: Stage,
  measurements: readonly Measurement[],
  memoryAtRest: number | undefined,
): string {
  const at = `at ${options.connections}`;
  const head = [
    'Workload',
    `limit req/s ${at}`,
    `ours req/s ${at}`,
    'ratio (goal)',
    'limit p50 ms at 1',
    'ours p50 ms at 1',
    'ratio',
    `limit p99 ms ${at}`,
    `ours p99 ms ${at}`,
    'limit CPU µs',
    'ours CPU µs',
    'peak MB',
    'errors',
  ];
  const peaks = measurements.flatMap(({ memoryPeak }) => memoryPeak ?? []);
  const loud = measurements.flatMap(({ many, one }) => [...many, ...one]).filter(({ quiet }) => !quiet).length;
  const origin = options.databaseUrl === undefined ? ' (embedded)' : '';
  const remarks = [
    memoryAtRest === undefined || peaks.length === 0
      ? 'Resident memory: not measured (it is read from /proc).'
      : `Resident memory of our server: ${memoryAtRest.toFixed(0)} MB at rest (goal: under ${GOALS.memoryAtRest}), ` +
        `${Math.max(...peaks).toFixed(0)} MB at its peak under these workloads (goal: under ${GOALS.memoryPeak}).`,
    `Goals: throughput as the table says, p50 at most ${GOALS.p50} and p99 at most ${GOALS.p99} times the limit's; "!" marks a miss.`,
    `Machine: ${describeMachine({ ...postgres, version: postgres.version + origin }, generator.description)}.`,
    `Settings: medians of ${options.rounds} rounds of ${options.seconds} s, data set of scale ${options.scale}, API key checked on every request of ours.`,
    ...(loud === 0 ? [] : [`${loud} rounds were measured while other programs used the processors.`]),
  ];
  const { markdown = false } = options;
  const table = renderTable(head, measurements.map(cellsOf), { markdown });
  return [table, ...(markdown ? [''] : []), ...remarks.map((remark) => (markdown ? `- ${remark}` : remark))].join('\n');
}

function cellsOf({ workload, many, one, memoryPeak }: Measurement): readonly string[] {
  const of = (rounds: readonly Round[], side: 'limit' | 'ours', figure: keyof Result) =>
    median(rounds.map((round) => round[side][figure]));
  const ratio = (rounds: readonly Round[], figure: keyof Result) =>
    median(rounds.map(({ limit, ours }) => ours[figure] / limit[figure]));
  const missed = (value: string, isMissed: boolean) => (isMissed ? `${value} !` : value);
  const [rateRatio, p50Ratio] = [ratio(many, 'perSecond'), ratio(one, 'p50')];
  const [limitP99, oursP99] = [of(many, 'limit', 'p99'), of(many, 'ours', 'p99')];
  return [
    `${workload.name}: ${workload.title}`,
    rate(of(many, 'limit', 'perSecond')),
    rate(of(many, 'ours', 'perSecond')),
    `${missed(rateRatio.toFixed(2), rateRatio < workload.goal)} (${workload.goal})`,
    time(of(one, 'limit', 'p50')),
    time(of(one, 'ours', 'p50')),
    missed(p50Ratio.toFixed(2), p50Ratio > GOALS.p50),
    time(limitP99),
    missed(time(oursP99), oursP99 > GOALS.p99 * limitP99),
    of(many, 'limit', 'processor').toFixed(0),
    of(many, 'ours', 'processor').toFixed(0),
    memoryPeak === undefined ? '-' : memoryPeak.toFixed(0),
    String([...many, ...one].reduce((sum, { limit, ours }) => sum + limit.failed + ours.failed, 0)),
  ];
}

function rate(perSecond: number): string {
  return perSecond.toLocaleString('en', { maximumFractionDigits: perSecond < 100 ? 1 : 0 });
}

function time(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : 1);
}

/**
 * Every workload mixed, for minutes on end, on our server alone: memory after the first minute against memory at the end, and
 * not one failed request. Resident memory rises and falls by 40 % within seconds, as garbage is collected, so a minute is
 * told by its mean and its lowest, and "after the first minute" is the second.
 */
function soak({ url, adminKey, data, generator, options }: Stage): Promise<string> {
  return withServer(startOurs(url, adminKey), async (server) => {
    const key = await createApiKey(server, adminKey);
    const minutes = typeof options.soak === 'number' ? options.soak : SOAK_MINUTES;
    return soakServer(server, key, minutes, { data, generator, connections: options.connections });
  });
}

async function soakServer(
  server: RunningServer,
  key: string,
  minutes: number,
  { data, generator, connections }: Pick<Stage, 'data' | 'generator'> & { readonly connections: number },
): Promise<string> {
  const memory: Memory[] = [];
  let [requests, failed] = [0, 0];
  for (let minute = 0; minute < minutes; minute++) {
    const watch = watchMemory(server.pid);
    const result = await generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      requests: mixedRequests(data, minute),
      connections,
      seconds: 60,
    });
    requests += result.requests;
    failed += result.failed;
    const used = watch.end();
    memory.push(used);
    progress(
      `minute ${minute + 1}: ${result.perSecond.toFixed(0)} req/s, p99 ${result.p99.toFixed(0)} ms, ${inWords(used)}, ${result.failed} failed`,
    );
  }
  const [first, last] = [memory[1] ?? memory[0], memory.at(-1)] as [Memory, Memory];
  return [
    `| soak of ${minutes} minutes | |`,
    '| --- | --: |',
    `| requests | ${requests.toLocaleString('en')} |`,
    `| failed (goal: 0) | ${failed} |`,
    `| resident memory after the first minute | ${inWords(first)} |`,
    `| at the end (goal: at most 1.1 of that) | ${inWords(last)} (${(last.mean / first.mean).toFixed(2)}) |`,
  ].join('\n');
}

/** Resident memory over a minute, in MB. */
type Memory = { readonly lowest: number; readonly mean: number; readonly peak: number };

function inWords({ lowest, mean, peak }: Memory): string {
  return `${mean.toFixed(0)} MB on average, ${lowest.toFixed(0)} to ${peak.toFixed(0)} MB`;
}

/** Looks at a process's memory every second. */
function watchMemory(pid: number): { readonly end: () => Memory } {
  const seen: number[] = [];
  const look = (): void => void seen.push(readMemory(pid)?.now ?? Number.NaN);
  const timer = setInterval(look, 1000);
  return {
    end: () => {
      clearInterval(timer);
      look();
      return {
        lowest: Math.min(...seen),
        mean: seen.reduce((sum, value) => sum + value, 0) / seen.length,
        peak: Math.max(...seen),
      };
    },
  };
}

/** A pool in which the workloads are spread evenly by their shares; each minute asks for other ids. */
function mixedRequests(data: DataSet, minute: number): PreparedRequest[] {
  const all = workloadsOver(data).flatMap((workload) => {
    const count = SHARES[workload.name] ?? 0;
    const pool = prepareRequests(workload, dataPrefix, data, minute + 1);
    return Array.from({ length: 20 * count }, (_, index) => ({
      at: (index + 0.5) / (20 * count),
      request: pool[index % pool.length] as PreparedRequest,
    }));
  });
  return all.sort((a, b) => a.at - b.at).map(({ request }) => request);
}
