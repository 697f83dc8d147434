// `npm run bench -- --writes`: what many records at once cost, each against the same work done by hand, in turns over one
// connection each. The ratio is of the medians of the single requests.
import type { Client } from 'pg';
import { assertSameAnswer } from './compare.ts';
import { type DataSet, restoreOrders } from './dataset.ts';
import { dataPrefix, type RunningServer } from './servers.ts';
import { aggregateWorkloads } from './workloads-aggregate.ts';

/** A question to one of the sides; resolves when it is answered, and throws when it is refused. */
type Ask = (turn: number) => Promise<unknown>;

interface Comparison {
  readonly name: string;
  /** What the ratio is: how many times as fast as by hand ours is, at least. */
  readonly goal: number;
  readonly ours: Ask;
  readonly byHand: Ask;
  /** Single requests of which one turn of `byHand` consists. */
  readonly turns: number;
}

export interface WritesOptions {
  readonly ours: RunningServer;
  readonly limit: RunningServer;
  readonly key: string;
  readonly client: Client;
  readonly schema: string;
  readonly data: DataSet;
  readonly progress: (line: string) => void;
}

const BULK = 1000;
const FEW = 100;

/** A table in Markdown. */
export async function measureWrites(options: WritesOptions): Promise<string> {
  const { client, schema, data, progress } = options;
  await compareAggregates(options);
  const lines = ['| Work | ours (ms) | by hand (ms) | times as fast | goal |', '|---|---|---|---|---|'];
  for (const { name, goal, ours, byHand, turns } of comparisonsOf(options)) {
    progress(`${name} ...`);
    await restoreOrders(client, schema, data, 'W7');
    const [mine, theirs]: [number[], number[]] = [[], []];
    for (let turn = -3; turn < turns; turn++) {
      // The first turns only warm up; then the sides take turns in who begins.
      const sides: (readonly [Ask, number[]])[] = [
        [ours, mine],
        [byHand, theirs],
      ];
      for (const [ask, times] of turn % 2 === 0 ? sides : sides.reverse()) {
        const began = performance.now();
        await ask(turn);
        if (turn >= 0) times.push(performance.now() - began);
      }
    }
    const [a, b] = [median(mine), median(theirs)];
    lines.push(`| ${name} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${(b / a).toFixed(2)} | ${goal} |`);
  }
  return lines.join('\n');
}

function comparisonsOf({ ours, limit, key, data }: WritesOptions): readonly Comparison[] {
  const api = asker(ours, dataPrefix, { authorization: `Bearer ${key}` });
  const hand = asker(limit, '', {});
  const order = (index: number) => ({
    customerId: (index % data.customers) + 1,
    status: 'new',
    total: index / 100,
    note: index % 3 === 0 ? null : `note ${index}`,
  });
  const orders = (count: number) => ({ data: Array.from({ length: count }, (_, index) => order(index)) });
  const changes = (turn: number) => ({
    data: Array.from({ length: BULK }, (_, index) => ({
      id: (((turn + 3) * BULK + index) % data.orders) + 1,
      status: 'paid',
      total: index / 100,
    })),
  });
  return [
    {
      name: `_bulk, ${BULK} creates, against insert … select from unnest`,
      goal: 0.6,
      turns: 40,
      ours: () => api('POST', '/orders/_bulk', orders(BULK)),
      byHand: () => hand('POST', '/orders/_bulk', orders(BULK)),
    },
    {
      name: `_bulk, ${BULK} updates, against update … from unnest`,
      goal: 0.5,
      turns: 40,
      ours: (turn) => api('PUT', '/orders/_bulk', changes(turn)),
      byHand: (turn) => hand('PUT', '/orders/_bulk', changes(turn)),
    },
    {
      name: `_bulk, ${FEW} creates, against ${FEW} creates one after the other`,
      goal: 15,
      turns: 20,
      ours: () => api('POST', '/orders/_bulk', orders(FEW)),
      byHand: async () => {
        for (let index = 0; index < FEW; index++) await api('POST', '/orders', order(index));
      },
    },
    ...aggregateWorkloads(data).map(({ turns, at }) => ({
      name: at(0).name,
      goal: at(0).goal,
      turns,
      ours: (turn: number) => api('GET', at(turn).path),
      byHand: (turn: number) => hand('GET', at(turn).path),
    })),
  ];
}

/** Both sides answer the same aggregates alike, before any of them is timed. */
async function compareAggregates({ ours, limit, key, data }: WritesOptions): Promise<void> {
  const mine = { name: 'ours', port: ours.port, headers: { authorization: `Bearer ${key}` } };
  const theirs = { name: 'limit', port: limit.port, headers: {} };
  for (const { at } of aggregateWorkloads(data)) {
    const { method, path, body } = at(0);
    const requests = [path, dataPrefix + path].map((each) => ({ method, path: each, body })) as [Asked, Asked];
    await assertSameAnswer(at(0), [theirs, mine], requests);
  }
}

type Asked = Parameters<typeof assertSameAnswer>[2][0];

function asker({ port }: RunningServer, prefix: string, headers: Readonly<Record<string, string>>) {
  return async (method: string, path: string, body?: unknown): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}${prefix}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
