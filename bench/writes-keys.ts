// What an Idempotency-Key costs: creates with a new key each against the same creates without one, both of this server.

import type { DataSet } from './dataset.ts';
import type { LoadGenerator } from './load.ts';
import { dataPrefix, type RunningServer } from './servers.ts';
import { median, type Row } from './turns.ts';
import { type PreparedRequest, prepareRequests, workloadsOver } from './workloads.ts';

export type KeyOptions = {
  readonly ours: RunningServer;
  readonly key: string;
  readonly data: DataSet;
  readonly generator: LoadGenerator;
  readonly rounds: number;
  readonly seconds: number;
  readonly progress: (line: string) => void;
  /** Puts the tables back as they were loaded. */
  readonly restore: () => Promise<void>;
};

/** Share of the throughput without a key. */
const GOAL = 0.8;
// More than a round can send, as a key that comes again is answered without a write.
const REQUESTS_PER_SECOND = 20_000;

export async function measureKeys(options: KeyOptions): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const connections of [1, 32]) {
    const work = `creates with Idempotency-Key, against creates without, ${connections} connection${connections === 1 ? '' : 's'}`;
    options.progress(`${work} ...`);
    const [keyed, plain, ratios]: [number[], number[], number[]] = [[], [], []];
    // The first round only warms up.
    for (let round = 0; round <= options.rounds; round++) {
      const turns = round % 2 === 0 ? [true, false] : [false, true];
      const rates = new Map<boolean, number>();
      for (const keys of turns) rates.set(keys, await rateOf(options, connections, round, keys));
      if (round === 0) continue;
      const [withKey, without] = [rates.get(true) ?? Number.NaN, rates.get(false) ?? Number.NaN];
      keyed.push(withKey);
      plain.push(without);
      ratios.push(withKey / without);
    }
    const [ours, byHand] = [keyed, plain].map((rates) => `${Math.round(median(rates)).toLocaleString('en')}/s`);
    const ratio = median(ratios);
    rows.push({ work, ours: ours ?? '', byHand: byHand ?? '', ratio, goal: `${GOAL}`, met: ratio >= GOAL });
  }
  return rows;
}

/** Creates per second in one round. */
async function rateOf(options: KeyOptions, connections: number, round: number, keys: boolean): Promise<number> {
  const { ours, key, generator, seconds } = options;
  const requests = requestsOf(options, `${connections}-${round}`, round, keys);
  const result = await generator.apply({
    port: ours.port,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    requests,
    connections,
    seconds,
  });
  if (result.failed > 0) throw new Error(`${result.failed} creates failed`);
  if (keys && result.requests > requests.length)
    throw new Error('more creates than keys: some were answered without a write');
  await options.restore();
  return result.perSecond;
}

function requestsOf(options: KeyOptions, name: string, seed: number, keys: boolean): readonly PreparedRequest[] {
  const workload = workloadsOver(options.data).find((each) => each.name === 'W7');
  if (workload === undefined) throw new TypeError('no workload W7');
  const pool = prepareRequests(workload, dataPrefix, options.data, seed);
  return Array.from({ length: options.seconds * REQUESTS_PER_SECOND }, (_, index) => {
    const request = pool[index % pool.length] as PreparedRequest;
    return keys ? { ...request, headers: { 'idempotency-key': `bench-${name}-${index}` } } : request;
  });
}
