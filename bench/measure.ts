// The rounds: both servers in turn within seconds, so that what else the machine does meets both, and the ratio of a
// round is worth more than its absolute figures.

import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Side } from './compare.ts';
import type { DataSet } from './dataset.ts';
import type { LoadGenerator, LoadResult } from './load.ts';
import { readProcessorTime } from './servers.ts';
import { prepareRequests, type Workload } from './workloads.ts';

export type MeasuredSide = Side & { readonly pid: number; readonly prefix: string };

/** `processor`: microseconds of the server process's own processor time per request; NaN where they are not known. */
export type Result = LoadResult & { readonly processor: number };

/** `quiet`: nothing else used the processors when the round began. */
export type Round = { readonly limit: Result; readonly ours: Result; readonly quiet: boolean };

export type RoundSettings = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly generator: LoadGenerator;
  readonly data: DataSet;
  /** Runs after every load of one side. */
  readonly restore: () => Promise<void>;
};

/** One warm-up and then the rounds of a workload. The sides take turns in going first. */
export async function measureWorkload(
  workload: Workload,
  limit: MeasuredSide,
  ours: MeasuredSide,
  settings: RoundSettings,
): Promise<readonly Round[]> {
  const apply = async (side: MeasuredSide, round: number): Promise<Result> => {
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
    const quiet = await awaitQuiet();
    const limitFirst = round % 2 === 0;
    const first = await apply(limitFirst ? limit : ours, round);
    const second = await apply(limitFirst ? ours : limit, round);
    if (round > 0) rounds.push({ limit: limitFirst ? first : second, ours: limitFirst ? second : first, quiet });
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
