// The ten workloads: what each one asks, and the pools of prepared requests that the load generator sends. One path
// serves both servers; they differ only in the prefix before the entity.

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
function makeRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
