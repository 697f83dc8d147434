// The ten workloads: what each one asks, and the pools of prepared requests that the load generator sends. One path
// serves both servers; they differ only in the prefix before the entity. And the aggregates of --writes, with the same
// question as a hand would write it in SQL: the path after `_aggregate?` names the statement; what varies is in `filter`.

import type { DataSet } from './dataset.ts';

export type Workload = {
  readonly name: string;
  readonly title: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the server's prefix, with `{order}` and `{customer}` standing for random ids. */
  readonly path: string;
  /** JSON text with the same placeholders; null for reads. */
  readonly body: string | null;
  /** The throughput to reach, as a share of the limit server's: more than its own where ours has the better algorithm. */
  readonly goal: number;
};

export type PreparedRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  /** Beside those of the whole load. */
  readonly headers?: Readonly<Record<string, string>>;
};

// Enough different ids that neither server profits from repetition, few enough that preparing them takes milliseconds.
const POOL_SIZE = 20_000;

const GOALS: Readonly<Record<string, number>> = { W2: 3, W3: 100, W7: 0.8, W8: 1.25 };
const GOAL_OF_OTHERS = 0.85;

/** The workloads over a data set of a given size, in the order in which they run: what writes comes last. */
export function workloadsOver(data: DataSet): readonly Workload[] {
  const deepPage = Math.floor(data.orders / 2 / 20);
  const newest = '/orders?size=20&sort=id,desc';
  return [
    read('W1', 'one order by id', '/orders/{order}'),
    read('W2', '20 of the customers, with the total', '/customers?size=20'),
    read('W3', '20 newest orders, with the total', newest),
    read('W3b', '20 newest orders, no total', `${newest}&count=none`),
    read('W4', '20 newest orders, each with its customer', `${newest}&expand=customer&count=none`),
    read('W5', 'one order with its items and their products', '/orders/{order}?expand=items.product'),
    read('W6', '20 customers with all their orders (about 100 each)', '/customers?size=20&expand=orders&count=none'),
    read('W8', `page ${deepPage} of the orders, no total`, `/orders?page=${deepPage}&size=20&sort=id,desc&count=none`),
    write('W9', 'update one field of one order', 'PUT', '/orders/{order}', '{"status":"paid"}'),
    write(
      'W7',
      'create an order',
      'POST',
      '/orders',
      '{"customerId":{customer},"status":"new","total":12.34,"note":"bench"}',
    ),
  ];
}

/** A pool of requests below `prefix`; the same seed gives the same ids, so that both servers get the same questions. */
export function prepareRequests(
  workload: Workload,
  prefix: string,
  data: DataSet,
  seed: number,
): readonly PreparedRequest[] {
  const random = makeRandom(seed);
  const top: Record<string, number> = { order: data.orders, customer: data.customers };
  const fill = (text: string) =>
    text.replace(/\{(order|customer)\}/g, (_, name: string) => String(1 + Math.floor(random() * (top[name] ?? 1))));
  const varies = /\{(order|customer)\}/.test(workload.path + (workload.body ?? ''));
  return Array.from({ length: varies ? POOL_SIZE : 1 }, () => ({
    method: workload.method,
    path: prefix + fill(workload.path),
    body: workload.body === null ? null : fill(workload.body),
  }));
}

function read(name: string, title: string, path: string): Workload {
  return { name, title, method: 'GET', path, body: null, goal: GOALS[name] ?? GOAL_OF_OTHERS };
}

function write(name: string, title: string, method: 'POST' | 'PUT', path: string, body: string): Workload {
  return { name, title, method, path, body, goal: GOALS[name] ?? GOAL_OF_OTHERS };
}

/** Numbers in [0, 1) from a 32-bit linear congruential generator (the constants of Numerical Recipes). */
export function makeRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Aggregate = {
  /** Requests of each side that are measured. */
  readonly turns: number;
  readonly title: string;
  /** Query string but for the filter. */
  readonly query: string;
  /** `{customer}` stands for one id after the other, `{recent}` for the last but 20,000 orders. */
  readonly filter: string;
  /** Of the orders `o` of a schema; gives the columns of a group, in their order. */
  readonly sql: (schema: string) => string;
};

// An aggregate's time is PostgreSQL's: within 1.1 times of it.
const GOAL = 0.91;

const AGGREGATES: readonly Aggregate[] = [
  {
    turns: 300,
    title: 'five numbers of the orders of one customer (about 100)',
    query: 'select=count,sum:total,avg:total,min:createdAt,max:createdAt',
    filter: 'customerId,eq,{customer}',
    sql: (schema) =>
      `select count(*) as count, sum(total) as "sum:total", round(avg(total), 8) as "avg:total",
        min("createdAt") as "min:createdAt", max("createdAt") as "max:createdAt" from ${schema}.orders where "customerId" = $1`,
  },
  {
    turns: 300,
    title: 'orders of one customer by month in Berlin',
    query: 'select=count,sum:total&group=createdAt:month&tz=Europe/Berlin',
    filter: 'customerId,eq,{customer}',
    sql: (schema) =>
      `select date_trunc('month', "createdAt" at time zone 'Europe/Berlin')::date as "createdAt:month", count(*) as count,
        sum(total) as "sum:total" from ${schema}.orders where "customerId" = $1 group by 1 order by 1 limit 100`,
  },
  {
    turns: 60,
    title: 'the newest 20,000 orders by country of their customers',
    query: 'select=count,sum:total&group=customer.country',
    filter: 'id,gt,{recent}',
    sql: (schema) =>
      `select c.country as "customer.country", count(*) as count, sum(o.total) as "sum:total" from ${schema}.orders o
        left join ${schema}.customers c on c.id = o."customerId" where o.id > $1 group by 1 order by 1 limit 100`,
  },
  {
    turns: 30,
    title: 'all orders by status',
    query: 'select=count,sum:total&group=status',
    filter: '',
    sql: (schema) =>
      `select status, count(*) as count, sum(total) as "sum:total" from ${schema}.orders group by 1 order by 1 limit 100`,
  },
];

/** A workload whose path differs from turn to turn. */
type AggregateWorkload = {
  readonly turns: number;
  readonly at: (turn: number) => Workload & { readonly path: string };
};

export function aggregateWorkloads(data: DataSet): readonly AggregateWorkload[] {
  return AGGREGATES.map(({ title, query, filter, turns }) => ({
    turns,
    at(turn) {
      const condition = filter
        .replace('{recent}', String(Math.max(0, data.orders - 20_000)))
        .replace('{customer}', String((((turn + 7) * 7919) % data.customers) + 1));
      const path = `/orders/_aggregate?${query}${condition === '' ? '' : `&filter=${condition}`}`;
      return { name: `_aggregate, ${title}`, title, method: 'GET', path, body: null, goal: GOAL };
    },
  }));
}

/** The limit server's statements by the query string without its filter. */
export function aggregateStatements(schema: string): ReadonlyMap<string, string> {
  return new Map(AGGREGATES.map(({ query, sql }) => [query, sql(schema)]));
}
