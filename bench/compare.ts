// `npm run bench`: our server against the limit server on one database, in turns. With --busy once more, while two other
// processes use the processors.

import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSet, restoreOrders, stopAutovacuum } from './dataset.ts';
import type { LoadGenerator } from './load.ts';
import {
  assertSameAnswer,
  countFailed,
  type MeasuredSide,
  measureWorkload,
  medianOf,
  type Report,
  type Round,
  ratioToFirst,
  renderTable,
} from './measure.ts';
import {
  createApiKey,
  dataPrefix,
  describeMachine,
  type Place,
  plural,
  progress,
  readMemory,
  resetMemoryPeak,
  schemaIn,
  startLimit,
  startOurs,
  withClient,
  withServer,
} from './setup.ts';
import { prepareRequests, type Workload } from './workloads.ts';

const SECONDS_AT_REST = 10;
const BUSY_PROCESSES = 2;
const GOALS = { p50: 1.25, p99: 1.5, memoryAtRest: 150, memoryPeak: 300, busy: 0.8 } as const;

export type RunOptions = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly scale: number;
  readonly databaseUrl?: string;
  readonly profile?: string;
  readonly markdown?: true;
};

/** What a run works with. */
export type Stage = Place & {
  readonly data: DataSet;
  readonly generator: LoadGenerator;
  readonly options: RunOptions;
};

/** Both servers on one database, and a function that measures a workload on them in turns. */
type Arena = {
  readonly pid: number;
  readonly measure: (workload: Workload, connections: number, isBusy?: boolean) => Promise<readonly Round[]>;
  readonly memoryAtRest: number | undefined;
};

/** Runs `work` with the limit server and ours, after their answers have been compared. */
export function withArena<T>(
  { url, adminKey, data, generator, options }: Stage,
  workloads: readonly Workload[],
  secondsAtRest: number,
  work: (arena: Arena) => Promise<T>,
): Promise<T> {
  const { rounds, seconds, profile } = options;
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    return withServer(startOurs(url, adminKey, profile), async (server) => {
      await sleep(secondsAtRest * 1000);
      const memoryAtRest = readMemory(server.pid)?.now;
      const headers = { authorization: `Bearer ${await createApiKey(server, adminKey)}` };
      const ours: MeasuredSide = { name: 'ours', pid: server.pid, port: server.port, headers, prefix: dataPrefix };
      return withServer(startLimit(url, schema, profile), async ({ pid, port }) => {
        const limit: MeasuredSide = { name: 'limit', pid, port, headers: {}, prefix: '' };
        for (const workload of workloads) await compareAnswers(workload, limit, ours, data);
        await restoreOrders(client, schema, data, 'W7');
        return work({
          pid: server.pid,
          memoryAtRest,
          measure(workload, connections, isBusy = false) {
            progress(`${workload.name} (${workload.title}), ${plural(connections)}${isBusy ? ', busy' : ''} ...`);
            const restore = async () => {
              if (workload.method !== 'GET') await restoreOrders(client, schema, data, workload.name);
            };
            const entrants = [limit, ours].map((side) => ({ side, workload }));
            return measureWorkload(entrants, { rounds, seconds, connections, generator, data, restore, isBusy });
          },
        });
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

/** `many` are the rounds at `connections`, `one` those over a single connection; memory in MB. */
type Measurement = {
  readonly workload: Workload;
  readonly many: readonly Round[];
  readonly one: readonly Round[];
  readonly memoryPeak: number | undefined;
};

export function compareServers(stage: Stage, workloads: readonly Workload[]): Promise<Report> {
  const { connections } = stage.options;
  return withArena(stage, workloads, SECONDS_AT_REST, async ({ pid, measure, memoryAtRest }) => {
    const measurements: Measurement[] = [];
    for (const workload of workloads) {
      resetMemoryPeak(pid);
      const many = await measure(workload, connections);
      const one = await measure(workload, 1);
      measurements.push({ workload, many, one, memoryPeak: readMemory(pid)?.peak });
    }
    return report(stage, measurements, memoryAtRest);
  });
}

/** The table of all workloads; a missed goal has an exclamation mark. */
function report(
  { options, postgres, generator }: Stage,
  measurements: readonly Measurement[],
  memoryAtRest: number | undefined,
): Report {
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
  const remarks = [
    memoryAtRest === undefined || peaks.length === 0
      ? 'Resident memory: not measured (it is read from /proc).'
      : `Resident memory of our server: ${memoryAtRest.toFixed(0)} MB at rest (goal: under ${GOALS.memoryAtRest}), ` +
        `${Math.max(...peaks).toFixed(0)} MB at its peak under these workloads (goal: under ${GOALS.memoryPeak}).`,
    `Goals: throughput as the table says, p50 at most ${GOALS.p50} and p99 at most ${GOALS.p99} times the limit's; "!" marks a miss.`,
    ...describeRun({ options, postgres, generator }),
    ...describeNoise(measurements.flatMap(({ many, one }) => [...many, ...one])),
  ];
  return {
    text: renderReport(head, measurements.map(cellsOf), remarks, options),
    lines: measurements.map(({ workload, many, one, memoryPeak }) => ({
      name: workload.name,
      title: workload.title,
      limit: figuresOf(many, one, 0),
      ours: { ...figuresOf(many, one, 1), memoryPeak },
      ratio: ratioToFirst(many, 1, 'perSecond'),
    })),
  };
}

const figuresOf = (many: readonly Round[], one: readonly Round[], entrant: number) => ({
  perSecond: medianOf(many, entrant, 'perSecond'),
  p99: medianOf(many, entrant, 'p99'),
  processor: medianOf(many, entrant, 'processor'),
  p50AtOne: medianOf(one, entrant, 'p50'),
});

/** Machine and settings, for below a table. */
export function describeRun({ options, postgres, generator }: Pick<Stage, 'options' | 'postgres' | 'generator'>) {
  const origin = options.databaseUrl === undefined ? ' (embedded)' : '';
  return [
    `Machine: ${describeMachine({ ...postgres, version: postgres.version + origin }, generator.description)}.`,
    `Settings: medians of ${options.rounds} rounds of ${options.seconds} s, data set of scale ${options.scale}, API key checked on every request of ours.`,
  ];
}

function describeNoise(rounds: readonly Round[]): readonly string[] {
  const loud = rounds.filter(({ quiet }) => !quiet).length;
  return loud === 0 ? [] : [`${loud} rounds were measured while other programs used the processors.`];
}

/** A table with remarks below it, in Markdown or for a terminal. */
export function renderReport(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  remarks: readonly string[],
  { markdown = false }: { readonly markdown?: boolean },
): string {
  const table = renderTable(head, rows, { markdown });
  return [table, ...(markdown ? [''] : []), ...remarks.map((remark) => (markdown ? `- ${remark}` : remark))].join('\n');
}

function cellsOf({ workload, many, one, memoryPeak }: Measurement): readonly string[] {
  const [rateRatio, p50Ratio] = [ratioToFirst(many, 1, 'perSecond'), ratioToFirst(one, 1, 'p50')];
  const [limitP99, oursP99] = [medianOf(many, 0, 'p99'), medianOf(many, 1, 'p99')];
  return [
    `${workload.name}: ${workload.title}`,
    formatRate(medianOf(many, 0, 'perSecond')),
    formatRate(medianOf(many, 1, 'perSecond')),
    `${markMissed(rateRatio.toFixed(2), rateRatio < workload.goal)} (${workload.goal})`,
    formatTime(medianOf(one, 0, 'p50')),
    formatTime(medianOf(one, 1, 'p50')),
    markMissed(p50Ratio.toFixed(2), p50Ratio > GOALS.p50),
    formatTime(limitP99),
    markMissed(formatTime(oursP99), oursP99 > GOALS.p99 * limitP99),
    medianOf(many, 0, 'processor').toFixed(0),
    medianOf(many, 1, 'processor').toFixed(0),
    memoryPeak === undefined ? '-' : memoryPeak.toFixed(0),
    String(countFailed([...many, ...one])),
  ];
}

export const markMissed = (value: string, isMissed: boolean): string => (isMissed ? `${value} !` : value);

export function formatRate(perSecond: number): string {
  return perSecond.toLocaleString('en', { maximumFractionDigits: perSecond < 100 ? 1 : 0 });
}

export function formatTime(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : 1);
}

/** The ratios of a quiet machine and of one on which two other processes are busy, workload by workload. */
export async function compareBusy(stage: Stage, workloads: readonly Workload[]): Promise<Report> {
  const { connections } = stage.options;
  const busy = startBusy();
  try {
    const lines = await withArena(stage, workloads, 0, async ({ measure }) => {
      const measured = [];
      for (const workload of workloads) {
        const quiet = await measure(workload, connections);
        busy.resume();
        const loud = await measure(workload, connections, true).finally(busy.pause);
        measured.push({
          name: workload.name,
          title: workload.title,
          quiet: { ...figuresOf(quiet, [], 1), ratio: ratioToFirst(quiet, 1, 'perSecond') },
          busy: { ...figuresOf(loud, [], 1), ratio: ratioToFirst(loud, 1, 'perSecond') },
          failed: countFailed([...quiet, ...loud]),
        });
      }
      return measured;
    });
    const head = [
      'Workload',
      'quiet: ours req/s',
      'ratio to the limit',
      'busy: ours req/s',
      'ratio to the limit',
      'of the quiet ratio',
      'errors',
    ];
    const rows = lines.map(({ name, title, quiet, busy: loud, failed }) => [
      `${name}: ${title}`,
      formatRate(quiet.perSecond),
      quiet.ratio.toFixed(2),
      formatRate(loud.perSecond),
      loud.ratio.toFixed(2),
      markMissed((loud.ratio / quiet.ratio).toFixed(2), loud.ratio < GOALS.busy * quiet.ratio),
      String(failed),
    ]);
    const remarks = [
      `Busy: ${BUSY_PROCESSES} other processes use the processors without a pause; "!" marks less than ${GOALS.busy} of the quiet ratio.`,
      ...describeRun(stage),
    ];
    return { text: renderReport(head, rows, remarks, stage.options), lines };
  } finally {
    busy.end();
  }
}

/** Processes that use a processor each, while they are not paused. */
function startBusy() {
  const all: readonly ChildProcess[] = Array.from({ length: BUSY_PROCESSES }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  const send = (signal: NodeJS.Signals) => () => {
    for (const each of all) each.kill(signal);
  };
  const end = send('SIGKILL');
  process.once('exit', end);
  send('SIGSTOP')();
  return {
    resume: send('SIGCONT'),
    pause: send('SIGSTOP'),
    end() {
      process.off('exit', end);
      end();
    },
  };
}
