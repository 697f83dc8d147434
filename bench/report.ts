// What a run says: the figures of each workload as values, and their table for a terminal, for docs/performance.md or as
// JSON.

import Table from 'cli-table3';
import type { Result, Round } from './measure.ts';
import type { Workload } from './workloads.ts';

export const goals = { p50: 1.25, p99: 1.5, memoryAtRest: 150, memoryPeak: 300 } as const;

/** `many` are the rounds at `connections`, `one` those over a single connection; memory in MB. */
export type Measurement = {
  readonly workload: Workload;
  readonly connections: number;
  readonly many: readonly Round[];
  readonly one: readonly Round[];
  readonly memoryPeak: number | undefined;
};

export type Run = {
  readonly machine: string;
  readonly settings: string;
  readonly measurements: readonly Measurement[];
  readonly memoryAtRest: number | undefined;
};

/** One line of the table. Rates are requests per second, times milliseconds, processor time microseconds per request. */
export type Summary = {
  readonly name: string;
  readonly title: string;
  readonly connections: number;
  readonly limitRate: number;
  readonly oursRate: number;
  readonly rateRatio: number;
  readonly rateGoal: number;
  readonly limitP50: number;
  readonly oursP50: number;
  readonly p50Ratio: number;
  readonly limitP99: number;
  readonly oursP99: number;
  readonly limitProcessor: number;
  readonly oursProcessor: number;
  readonly memoryPeak: number | undefined;
  readonly failed: number;
};

export function summarize({ workload, connections, many, one, memoryPeak }: Measurement): Summary {
  const of = (rounds: readonly Round[], side: 'limit' | 'ours', figure: keyof Result) =>
    median(rounds.map((round) => round[side][figure]));
  const ratio = (rounds: readonly Round[], figure: keyof Result) =>
    median(rounds.map(({ limit, ours }) => ours[figure] / limit[figure]));
  return {
    name: workload.name,
    title: workload.title,
    connections,
    limitRate: of(many, 'limit', 'perSecond'),
    oursRate: of(many, 'ours', 'perSecond'),
    rateRatio: ratio(many, 'perSecond'),
    rateGoal: workload.goal,
    limitP50: of(one, 'limit', 'p50'),
    oursP50: of(one, 'ours', 'p50'),
    p50Ratio: ratio(one, 'p50'),
    limitP99: of(many, 'limit', 'p99'),
    oursP99: of(many, 'ours', 'p99'),
    limitProcessor: of(many, 'limit', 'processor'),
    oursProcessor: of(many, 'ours', 'processor'),
    memoryPeak,
    failed: [...many, ...one].reduce((sum, { limit, ours }) => sum + limit.failed + ours.failed, 0),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

function headings(connections: number): readonly string[] {
  const at = `at ${connections}`;
  return [
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
}

/** The cells of a line; a missed goal carries an exclamation mark. */
function cells(summary: Summary): readonly string[] {
  const missed = (value: string, goal: boolean) => (goal ? `${value} !` : value);
  return [
    `${summary.name}: ${summary.title}`,
    rate(summary.limitRate),
    rate(summary.oursRate),
    `${missed(summary.rateRatio.toFixed(2), summary.rateRatio < summary.rateGoal)} (${summary.rateGoal})`,
    time(summary.limitP50),
    time(summary.oursP50),
    missed(summary.p50Ratio.toFixed(2), summary.p50Ratio > goals.p50),
    time(summary.limitP99),
    missed(time(summary.oursP99), summary.oursP99 > goals.p99 * summary.limitP99),
    summary.limitProcessor.toFixed(0),
    summary.oursProcessor.toFixed(0),
    summary.memoryPeak === undefined ? '-' : summary.memoryPeak.toFixed(0),
    String(summary.failed),
  ];
}

function rate(perSecond: number): string {
  return perSecond.toLocaleString('en', { maximumFractionDigits: perSecond < 100 ? 1 : 0 });
}

function time(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 2 : 1);
}

export function renderTerminal(run: Run): string {
  const table = new Table({
    head: headings(run.measurements[0]?.connections ?? 0).map((heading, column) =>
      column === 0 ? heading : wrap(heading),
    ),
    colAligns: ['left', ...Array.from({ length: 12 }, () => 'right' as const)],
    style: { head: [], border: [], compact: true },
  });
  for (const measurement of run.measurements) table.push([...cells(summarize(measurement))]);
  return [table.toString(), ...remarks(run)].join('\n');
}

function wrap(heading: string): string {
  return heading.replace(/ (?=\S+ ms|CPU|req\/s|at )/g, '\n');
}

export function renderMarkdown(run: Run): string {
  const line = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  const head = headings(run.measurements[0]?.connections ?? 0);
  const rule = ['---', ...Array.from({ length: head.length - 1 }, () => '--:')];
  const rows = run.measurements.map((measurement) => line(cells(summarize(measurement))));
  return [line(head), line(rule), ...rows, '', ...remarks(run).map((remark) => `- ${remark}`)].join('\n');
}

function remarks(run: Run): readonly string[] {
  const peak = peakOf(run);
  const loud = run.measurements.flatMap(({ many, one }) => [...many, ...one]).filter(({ quiet }) => !quiet).length;
  const memory =
    run.memoryAtRest === undefined || peak === undefined
      ? 'Resident memory: not measured (it is read from /proc).'
      : `Resident memory of our server: ${run.memoryAtRest.toFixed(0)} MB at rest (goal: under ${goals.memoryAtRest}), ` +
        `${peak.toFixed(0)} MB at its peak under these workloads (goal: under ${goals.memoryPeak}).`;
  return [
    memory,
    `Goals: throughput as the table says, p50 at most ${goals.p50} and p99 at most ${goals.p99} times the limit's; "!" marks a miss.`,
    `Machine: ${run.machine}.`,
    `Settings: ${run.settings}.`,
    ...(loud === 0 ? [] : [`${loud} rounds were measured while other programs used the processors.`]),
  ];
}

function peakOf(run: Run): number | undefined {
  const peaks = run.measurements.flatMap(({ memoryPeak }) => memoryPeak ?? []);
  return peaks.length === 0 ? undefined : Math.max(...peaks);
}

/** Everything, for other programs: the summaries and each single round. */
export function renderJson(run: Run): string {
  return JSON.stringify(
    {
      machine: run.machine,
      settings: run.settings,
      memory: { atRest: run.memoryAtRest ?? null, peak: peakOf(run) ?? null },
      workloads: run.measurements.map((measurement) => ({
        ...summarize(measurement),
        rounds: { many: measurement.many, one: measurement.one },
      })),
    },
    null,
    2,
  );
}
