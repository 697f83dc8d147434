// Aggregates of the flag --writes: what each asks, and the same question as a hand would write it in SQL, for the limit
// server. The path after `_aggregate?` names the statement; what varies stands in `filter` alone.

import type { DataSet } from './dataset.ts';
import type { Workload } from './workloads.ts';

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
export type AggregateWorkload = {
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
