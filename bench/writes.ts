// `npm run bench -- --writes`: what many records at once, keys, searches and imports cost, each against the same work done
// by hand, in turns.
import type { Client } from 'pg';
import { assertSameAnswer } from './compare.ts';
import { type DataSet, restoreOrders } from './dataset.ts';
import type { LoadGenerator } from './load.ts';
import { dataPrefix, type RunningServer } from './servers.ts';
import { type Row, rowOfTimes, type Sides, tableOf, takeTurns } from './turns.ts';
import type { Workload } from './workloads.ts';
import { aggregateWorkloads } from './workloads-aggregate.ts';
import { measureImports } from './writes-import.ts';
import { measureKeys } from './writes-keys.ts';
import { measureSearches } from './writes-search.ts';

interface Comparison extends Sides {
  readonly name: string;
  /** What the ratio is: how many times as fast as by hand ours is, at least. */
  readonly goal: number;
  /** Single requests of which one turn of `byHand` consists. */
  readonly turns: number;
}

export interface WritesOptions {
  readonly ours: RunningServer;
  readonly limit: RunningServer;
  readonly key: string;
  readonly adminKey: string;
  readonly client: Client;
  readonly schema: string;
  readonly data: DataSet;
  readonly generator: LoadGenerator;
  /** Of the creates with a key: rounds, and the length of each. */
  readonly rounds: number;
  readonly seconds: number;
  readonly progress: (line: string) => void;
}

const BULK = 1000;
const FEW = 100;
// Work that is asked for so often is small: what the servers compile of their own code while it is new would be most of its
// time. Of 300 turns without these, half were 0.4 ms longer in ours, which has more code than the limit server.
const SMALL = 200;
const WARM = 1500;
/** Items of the order of a batch: 10 operations. */
const LINES = 9;

/** A table in Markdown. */
export async function measureWrites(options: WritesOptions): Promise<string> {
  const { client, schema, data, progress } = options;
  const restore = async () => {
    await client.query(`delete from "${schema}"."orderItems" where id > $1`, [data.orderItems]);
    await restoreOrders(client, schema, data, 'W7');
  };
  await compareAnswers(options);
  const rows: Row[] = [];
  for (const { name, goal, turns, ...sides } of comparisonsOf(options)) {
    progress(`${name} ...`);
    await restore();
    rows.push(rowOfTimes(name, await takeTurns(sides, turns, turns >= SMALL ? WARM : undefined), goal));
  }
  await restore();
  rows.push(...(await measureKeys({ ...options, restore })));
  rows.push(...(await measureImports({ ...options, restore })));
  rows.push(...(await measureSearches(options)));
  return tableOf(rows);
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
    {
      name: `${BATCH}, against the same statements in one transaction`,
      goal: 0.67,
      turns: 200,
      ours: (turn) => api('POST', '/_batch', batch(data, turn)),
      byHand: (turn) => hand('POST', '/_batch', batch(data, turn)),
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

const BATCH = `_batch of ${LINES + 1}, an order and its items`;

function batch(data: DataSet, turn: number) {
  const order = { customerId: ((turn + 3) % data.customers) + 1, status: 'new', total: 12.34, note: null };
  const line = (index: number) => ({
    method: 'POST',
    entity: 'orderItems',
    body: { orderId: { $ref: 'order.id' }, productId: (index % data.products) + 1, quantity: index + 1, price: 9.5 },
  });
  return {
    operations: [
      { ref: 'order', method: 'POST', entity: 'orders', body: order },
      ...Array.from({ length: LINES }, (_, index) => line(index)),
    ],
  };
}

/** Both sides answer the same aggregates and the same batch alike, before any of them is timed. */
async function compareAnswers({ ours, limit, key, data }: WritesOptions): Promise<void> {
  const authorization = `Bearer ${key}`;
  const mine = { name: 'ours', port: ours.port, headers: { authorization } };
  const theirs = { name: 'limit', port: limit.port, headers: {} };
  const body = JSON.stringify(batch(data, 0));
  const workloads: Workload[] = [
    ...aggregateWorkloads(data).map(({ at }) => at(0)),
    { name: BATCH, title: BATCH, method: 'POST', path: '/_batch', body, goal: 0 },
  ];
  for (const workload of workloads) {
    const requests = [workload, { ...workload, path: dataPrefix + workload.path }] as const;
    await assertSameAnswer(workload, [theirs, mine], requests);
  }
}

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
