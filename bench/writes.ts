// `npm run bench -- --writes`: what many records at once, keys, imports, aggregates and searches cost, each against the same
// work done by hand, in turns.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type DataSet, restoreOrders } from './dataset.ts';
import type { LoadGenerator } from './load.ts';
import { assertSameAnswer, median, type Report, renderTable, type Sides, takeTurns } from './measure.ts';
import { call, dataPrefix, migrate, plural, progress, type RunningServer } from './setup.ts';
import {
  aggregateWorkloads,
  type PreparedRequest,
  prepareRequests,
  type Workload,
  workloadsOver,
} from './workloads.ts';

/** A line of the table. */
type Row = {
  readonly work: string;
  /** With their unit. */
  readonly ours: string;
  readonly byHand: string;
  /** How many times as fast as the other side ours is. */
  readonly ratio: number;
  readonly goal: string;
  /** Undefined where the goal is for another size of the data set. */
  readonly met: boolean | undefined;
};

const milliseconds = (time: number): string => `${time.toFixed(time < 10 ? 2 : 1)} ms`;

/** A row of two times, in milliseconds; the goal is how many times as fast ours is, at least. */
function rowOfTimes(work: string, times: { readonly ours: number; readonly byHand: number }, goal: number): Row {
  const ratio = times.byHand / times.ours;
  const [ours, byHand] = [milliseconds(times.ours), milliseconds(times.byHand)];
  return { work, ours, byHand, ratio, goal: `${goal}`, met: ratio >= goal };
}

interface Comparison extends Sides {
  readonly name: string;
  /** What the ratio is: how many times as fast as by hand ours is, at least. */
  readonly goal: number;
  /** Single requests of which one turn of `byHand` consists. */
  readonly turns: number;
}

interface WritesOptions {
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
}

const BULK = 1000;
const FEW = 100;
// Work that is asked for so often is small: what the servers compile of their own code while it is new would be most of its
// time. Of 300 turns without these, half were 0.4 ms longer in ours, which has more code than the limit server.
const SMALL = 200;
const WARM = 1500;
/** Items of the order of a batch: 10 operations. */
const LINES = 9;

export async function measureWrites(options: WritesOptions): Promise<Report> {
  const { client, schema, data } = options;
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
  rows.push(...(await measureKeys(options, restore)));
  rows.push(...(await measureImports(options, restore)));
  rows.push(...(await measureSearches(options)));
  const text = renderTable(
    ['Work', 'ours', 'by hand', 'times as fast', 'goal', 'met'],
    rows.map(({ work, ours, byHand, ratio, goal, met }) => [
      ...[work, ours, byHand, ratio.toFixed(2), goal],
      met === undefined ? '' : met ? 'yes' : 'no',
    ]),
    { left: [0, 5] },
  );
  return { text, lines: rows.map(({ work, ...figures }) => ({ name: work, ...figures })) };
}

function comparisonsOf({ ours, limit, key, data }: WritesOptions): readonly Comparison[] {
  const api = (method: string, path: string, body?: unknown) => call(ours, key, method, dataPrefix + path, body);
  const hand = (method: string, path: string, body?: unknown) => call(limit, undefined, method, path, body);
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

/** Share of the throughput without a key. */
const KEY_GOAL = 0.8;
// More than a round can send, as a key that comes again is answered without a write.
const REQUESTS_PER_SECOND = 20_000;

/** Creates with a new Idempotency-Key each against the same creates without one, both of this server. */
async function measureKeys(options: WritesOptions, restore: Restore): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const connections of [1, 32]) {
    const work = `creates with Idempotency-Key, against creates without, ${plural(connections)}`;
    progress(`${work} ...`);
    const [keyed, plain, ratios]: [number[], number[], number[]] = [[], [], []];
    // The first round only warms up.
    for (let round = 0; round <= options.rounds; round++) {
      const turns = round % 2 === 0 ? [true, false] : [false, true];
      const rates = new Map<boolean, number>();
      for (const keys of turns) {
        rates.set(keys, await rateOf(options, connections, round, keys));
        await restore();
      }
      if (round === 0) continue;
      const [withKey, without] = [rates.get(true) ?? Number.NaN, rates.get(false) ?? Number.NaN];
      keyed.push(withKey);
      plain.push(without);
      ratios.push(withKey / without);
    }
    const [ours, byHand] = [keyed, plain].map((rates) => `${Math.round(median(rates)).toLocaleString('en')}/s`);
    const ratio = median(ratios);
    rows.push({ work, ours: ours ?? '', byHand: byHand ?? '', ratio, goal: `${KEY_GOAL}`, met: ratio >= KEY_GOAL });
  }
  return rows;
}

/** Creates per second in one round. */
async function rateOf(options: WritesOptions, connections: number, round: number, keys: boolean): Promise<number> {
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
  return result.perSecond;
}

function requestsOf(options: WritesOptions, name: string, seed: number, keys: boolean): readonly PreparedRequest[] {
  const workload = workloadsOver(options.data).find((each) => each.name === 'W7');
  if (workload === undefined) throw new TypeError('no workload W7');
  const pool = prepareRequests(workload, dataPrefix, options.data, seed);
  return Array.from({ length: options.seconds * REQUESTS_PER_SECOND }, (_, index) => {
    const request = pool[index % pool.length] as PreparedRequest;
    return keys ? { ...request, headers: { 'idempotency-key': `bench-${name}-${index}` } } : request;
  });
}

/** Share of COPY's speed. */
const IMPORT_GOAL = 0.5;
const IMPORTED = 100_000;
const IMPORTS = 5;

type Restore = () => Promise<void>;

/** A file against COPY of the same rows, as CSV, into the same table with the same indexes, constraints and triggers. */
async function measureImports(options: WritesOptions, restore: Restore): Promise<readonly Row[]> {
  const { ours, key, client, schema, data } = options;
  const count = Math.max(100, Math.round(IMPORTED * data.scale));
  const orders = Array.from({ length: count }, (_, index) => ({
    customerId: ((index * 7919) % data.customers) + 1,
    status: ['new', 'paid', 'shipped', 'closed'][index % 4],
    total: (index % 100_000) / 100,
    note: index % 3 === 0 ? null : `note for imported order ${index}`,
  }));
  const names = ['customerId', 'status', 'total', 'note'] as const;
  const csv = [names.join(), ...orders.map((order) => names.map((name) => order[name] ?? '').join())].join('\n');
  const files = [
    { format: 'CSV', type: 'text/csv', text: `${csv}\n` },
    {
      format: 'NDJSON',
      type: 'application/x-ndjson',
      text: orders.map((each) => `${JSON.stringify(each)}\n`).join(''),
    },
  ];
  const copy = `copy "${schema}".orders ("customerId", status, total, note) from stdin (format csv, header)`;
  const rows: Row[] = [];
  for (const { format, type, text } of files) {
    const work = `_import, ${count.toLocaleString('en')} orders of ${format}, against COPY of the same as CSV`;
    progress(`${work} ...`);
    const sides = {
      ours: async () => {
        const { inserted } = await call(ours, key, 'POST', `${dataPrefix}/orders/_import`, text, type);
        if (inserted !== count) throw new Error(`_import has inserted ${inserted}`);
      },
      byHand: () => pipeline(Readable.from([`${csv}\n`]), client.query(copyFrom(copy))),
    };
    rows.push(rowOfTimes(work, await takeTurns(sides, IMPORTS, 1, restore), IMPORT_GOAL));
  }
  await restore();
  return rows;
}

const GOAL_MS = 20;
/** The goal is for so many orders. */
const GOAL_ORDERS = 1_000_000;
/** This server ranks so many of the records that it finds. */
const RANKED = 1000;

type Search = {
  readonly title: string;
  readonly turns: number;
  /** The last word is a beginning. */
  readonly words: (turn: number, data: DataSet) => readonly string[];
};

const SEARCHES: readonly Search[] = [
  {
    title: 'of which one is rare',
    turns: 100,
    words: (turn, data) => ['note', 'order', String((((turn + 7) * 7919) % data.orders) + 1)],
  },
  { title: 'that two thirds of the orders have', turns: 15, words: () => ['note', 'for', 'order'] },
];

/**
 * Searches of three words in the notes of the orders against the same search in SQL over the same index. The notes become
 * searchable for it, which makes every write more expensive: it is the last thing that a run measures.
 */
async function measureSearches(options: WritesOptions): Promise<readonly Row[]> {
  const { ours, key, adminKey, client, schema, data } = options;
  progress('The notes become searchable ...');
  await migrate(ours, adminKey, (entities) => {
    entities.orders.fields.note.searchable = true;
  });
  await client.query(`vacuum analyze "${schema}".orders`);
  const statement = await statementOf(client, schema);
  const ask = (words: readonly string[]) => {
    const search = encodeURIComponent(words.join(' '));
    return call(ours, key, 'GET', `${dataPrefix}/orders?search=${search}&size=20&count=none`);
  };
  const askByHand = async (words: readonly string[]) => {
    const { rows } = await client.query({ name: 'search', text: statement, values: [`${words.join(' & ')}:*`] });
    return JSON.parse(rows[0].json);
  };
  const rows: Row[] = [];
  for (const { title, turns, words } of SEARCHES) {
    const work = `search, 3 words in ${data.orders.toLocaleString('en')} notes, ${title}`;
    progress(`${work} ...`);
    const [mine, theirs] = [idsOf(await ask(words(0, data))), idsOf(await askByHand(words(0, data)))];
    if (mine !== theirs) throw new Error(`${work}: ours found ${mine}, by hand ${theirs}`);
    const sides = {
      ours: (turn: number) => ask(words(turn, data)),
      byHand: (turn: number) => askByHand(words(turn, data)),
    };
    const times = await takeTurns(sides, turns);
    rows.push({
      work,
      ours: milliseconds(times.ours),
      byHand: milliseconds(times.byHand),
      ratio: times.byHand / times.ours,
      goal: `${GOAL_MS} ms`,
      met: data.orders < GOAL_ORDERS ? undefined : times.ours <= GOAL_MS,
    });
  }
  return rows;
}

function idsOf(records: readonly { readonly id: number }[]): string {
  return records.map(({ id }) => id).join();
}

/** The search by hand: of what it finds the first by `id` are ranked. */
async function statementOf(client: Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ words: string }>(
    `select pg_get_indexdef(i.indexrelid, 1, true) as words from pg_index i
      join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where a.amname = 'gin' and i.indrelid = $1::regclass`,
    [`"${schema}".orders`],
  );
  const words = rows[0]?.words;
  if (words === undefined) throw new Error('the notes have no index of their words');
  return `select coalesce(json_agg(f), '[]')::text as json from (
    select id, "customerId", status, total, "createdAt", note from (
      select o.*, ${words} as words from "${schema}".orders o where ${words} @@ to_tsquery('simple', $1) order by id limit ${RANKED}
    ) found order by ts_rank(words, to_tsquery('simple', $1)) desc, id limit 20
  ) f`;
}
