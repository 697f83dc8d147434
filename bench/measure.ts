// Measures two or more sides in turns within seconds, so that what else the machine does meets all of them, and the ratio of
// a round is worth more than its absolute figures. Before anything is timed, the answers of both sides are compared. Prints
// tables.

import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Table from 'cli-table3';
import type { DataSet } from './dataset.ts';
import type { LoadGenerator, LoadResult } from './load.ts';
import { readProcessorTime } from './setup.ts';
import { type PreparedRequest, prepareRequests, type Workload } from './workloads.ts';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

/** A table in Markdown, or for a terminal. The columns `left` are of text. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { markdown = true, left = [0] }: { readonly markdown?: boolean | undefined; readonly left?: readonly number[] } = {},
): string {
  if (markdown) {
    const rule = head.map((_, column) => (left.includes(column) ? '---' : '--:'));
    return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  }
  const table = new Table({
    head: head.map((heading) => heading.replace(/ (?=\S+ ms|CPU|req\/s|at )/g, '\n')),
    colAligns: head.map((_, column) => (left.includes(column) ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((cells) => [...cells]));
  return table.toString();
}

/** What a run has measured: as a table with remarks, and line by line for a result file. */
export type Report = {
  readonly text: string;
  readonly lines: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
};

type Side = {
  readonly name: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
};

type Answer = { readonly data?: unknown; readonly meta?: Readonly<Record<string, unknown>> };

/** Sends one request of a workload to both and throws when the answers differ. */
export async function assertSameAnswer(
  workload: Workload,
  [limit, ours]: readonly [Side, Side],
  [toLimit, toOurs]: readonly [PreparedRequest, PreparedRequest],
): Promise<void> {
  const expected = await answerOf(limit, toLimit);
  const actual = await answerOf(ours, toOurs);
  const created = workload.method === 'POST';
  if (!isDeepStrictEqual(normalize(expected.data, created), normalize(actual.data, created))) {
    throw new Error(differing(workload, expected.data, actual.data));
  }
  for (const [name, value] of Object.entries(expected.meta ?? {})) {
    if (actual.meta?.[name] !== value) throw new Error(differing(workload, expected.meta, actual.meta));
  }
}

async function answerOf(side: Side, request: PreparedRequest): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${side.port}${request.path}`, {
    method: request.method,
    headers: { ...side.headers, ...(request.body === null ? {} : { 'content-type': 'application/json' }) },
    body: request.body,
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${side.name}: ${request.method} ${request.path} answered ${response.status}: ${text}`);
  }
  return JSON.parse(text) as Answer;
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

// What two creates cannot have in common; orderId is the id of an order of the same batch.
const CREATED: ReadonlySet<string> = new Set(['id', 'createdAt', 'orderId']);

/** Times as instants; without what two creates cannot have in common. */
function normalize(value: unknown, created: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => normalize(item, created));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([name]) => !(created && CREATED.has(name)));
    return Object.fromEntries(entries.map(([name, item]) => [name, normalize(item, created)]));
  }
  return typeof value === 'string' && TIME.test(value) ? Date.parse(value) : value;
}

function differing(workload: Workload, expected: unknown, actual: unknown): string {
  const show = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 1500);
  return `${workload.name}: the answers differ\nlimit: ${show(expected)}\nours:  ${show(actual)}`;
}

export type MeasuredSide = Side & { readonly pid: number; readonly prefix: string };

/** A server and the requests that ask it for what a workload asks for. */
export type Entrant = { readonly side: MeasuredSide; readonly workload: Workload };

/** `processor`: microseconds of the server process's own processor time per request; NaN where they are not known. */
export type Result = LoadResult & { readonly processor: number };

/** Results in the order of the entrants. `quiet`: nothing else used the processors when the round began. */
export type Round = { readonly results: readonly Result[]; readonly quiet: boolean };

/** The median of one figure of an entrant. */
export const medianOf = (rounds: readonly Round[], entrant: number, figure: keyof Result): number =>
  median(rounds.map(({ results }) => results[entrant]?.[figure] ?? Number.NaN));

/** The median of the ratios of an entrant to the first one. */
export const ratioToFirst = (rounds: readonly Round[], entrant: number, figure: keyof Result): number =>
  median(rounds.map(({ results }) => (results[entrant]?.[figure] ?? 0) / (results[0]?.[figure] ?? 0)));

export const countFailed = (rounds: readonly Round[]): number =>
  rounds.flatMap(({ results }) => results).reduce((sum, { failed }) => sum + failed, 0);

type RoundSettings = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly generator: LoadGenerator;
  readonly data: DataSet;
  /** Runs after every load of one side. */
  readonly restore: () => Promise<void>;
  /** True when other programs are to use the processors. */
  readonly isBusy?: boolean;
};

/** One warm-up and then the rounds of a workload. The entrants take turns in going first. */
export async function measureWorkload(
  entrants: readonly Entrant[],
  settings: RoundSettings,
): Promise<readonly Round[]> {
  const apply = async ({ side, workload }: Entrant, round: number): Promise<Result> => {
    const before = readProcessorTime(side.pid) ?? Number.NaN;
    const result = await settings.generator.apply({
      port: side.port,
      headers: { ...side.headers, ...(workload.body === null ? {} : { 'content-type': 'application/json' }) },
      requests: prepareRequests(workload, side.prefix, settings.data, round),
      connections: settings.connections,
      seconds: round === 0 ? Math.min(2, settings.seconds) : settings.seconds,
    });
    const after = readProcessorTime(side.pid) ?? Number.NaN;
    await settings.restore();
    return { ...result, processor: (after - before) / result.requests };
  };
  const rounds: Round[] = [];
  for (let round = 0; round <= settings.rounds; round++) {
    const quiet = settings.isBusy !== true && (await awaitQuiet());
    const results: Result[] = [];
    for (let turn = 0; turn < entrants.length; turn++) {
      const which = (turn + round) % entrants.length;
      results[which] = await apply(entrants[which] as Entrant, round);
    }
    if (round > 0) rounds.push({ results, quiet });
  }
  return rounds;
}

const QUIET_SHARE = 0.9;
// All the waiting of one process together: on a machine that is never quiet the rounds go on regardless, and say so.
let patienceMs = 60_000;

/** Waits until the processors are idle, as long as there is patience; says whether they are. */
async function awaitQuiet(): Promise<boolean> {
  for (;;) {
    const before = processorTimes();
    await sleep(400);
    const after = processorTimes();
    if (after.idle - before.idle >= QUIET_SHARE * (after.all - before.all)) return true;
    if (patienceMs <= 0) return false;
    patienceMs -= 500;
    await sleep(100);
  }
}

function processorTimes(): { readonly idle: number; readonly all: number } {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.idle + times.user + times.sys + times.nice + times.irq;
  }
  return { idle, all };
}

/** One round of load; the number of the round chooses its requests. `perSecondBeside`: of what is sent beside it. */
export type Variant = (round: number) => Promise<LoadResult & { readonly perSecondBeside?: number }>;

/** Medians. `processor`: microseconds of the server's processor time per answer, with what was sent beside it. */
export type Figures = Pick<LoadResult, 'perSecond' | 'p50' | 'p99' | 'failed'> & {
  readonly processor: number;
  readonly perSecondBeside: number;
};

/** One warm-up and then the rounds, every variant once in each; they take turns in going first. */
export async function compareVariants<const V extends readonly Variant[]>(
  variants: V,
  pid: number,
  rounds: number,
): Promise<{ [K in keyof V]: Figures }> {
  const results = variants.map((): Figures[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const which = (turn + round) % variants.length;
      const before = readProcessorTime(pid) ?? Number.NaN;
      const result = await (variants[which] as Variant)(round);
      const processor = ((readProcessorTime(pid) ?? Number.NaN) - before) / result.requests;
      if (round > 0) results[which]?.push({ perSecondBeside: 0, ...result, processor });
    }
  }
  return results.map(mediansOf) as { [K in keyof V]: Figures };
}

function mediansOf(results: readonly Figures[]): Figures {
  const of = (figure: keyof Figures) => median(results.map((result) => result[figure]));
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    processor: of('processor'),
    perSecondBeside: of('perSecondBeside'),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** Does the work once; resolves when it is done, and throws when it is refused. */
type Ask = (turn: number) => Promise<unknown>;

/** Sides of a comparison: this server's, and the one it is held against. */
export type Sides = { readonly ours: Ask; readonly byHand: Ask };

/**
 * Medians of the milliseconds that each side took. The first `warmUps` turns do not count; `before` runs untimed ahead of
 * each single piece of work.
 */
export async function takeTurns(
  { ours, byHand }: Sides,
  turns: number,
  warmUps = 3,
  before: () => Promise<void> = async () => {},
): Promise<{ readonly ours: number; readonly byHand: number }> {
  const [mine, theirs]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < warmUps + turns; turn++) {
    const sides: (readonly [Ask, number[]])[] = [
      [ours, mine],
      [byHand, theirs],
    ];
    for (const [ask, times] of turn % 2 === 0 ? sides : sides.reverse()) {
      await before();
      const began = performance.now();
      await ask(turn);
      if (turn >= warmUps) times.push(performance.now() - began);
    }
  }
  return { ours: median(mine), byHand: median(theirs) };
}
