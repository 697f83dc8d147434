// `npm run bench -- --stall`: how long the throughput takes to come back after the database has stood still for 0.4 s, three
// times. Its backends are stopped (SIGSTOP) and go on (SIGCONT): all of them, or the one that has worked last.

import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { formatRate, markMissed, renderReport } from './compare.ts';
import { dataSetOf, loadDataSet, schemaDocument } from './dataset.ts';
import { median, type Report } from './measure.ts';
import {
  ADMIN,
  call,
  describeMachine,
  type PlaceOptions,
  progress,
  type RunningServer,
  schemaOfWorkspace,
  startOurs,
  withClient,
  withDatabase,
  withServer,
} from './setup.ts';
import { makeRandom } from './workloads.ts';

const WORKSPACES = 10;
const STALLS = 3;
const STALL_MS = 400;
const BEFORE_WINDOWS = 12;
const AFTER_WINDOWS = 24;
// Long enough to average over garbage collections, short against the goal.
const WINDOW_MS = 250;
/** Throughput is back when two windows in turn have this share of the throughput before. */
const RECOVERED = 0.8;
const GOAL_SECONDS = 2;

type Options = PlaceOptions & { readonly connections: number; readonly markdown?: true };

type Stall = { readonly before: number; readonly seconds: number | undefined };

export async function measureStalls(options: Options): Promise<Report> {
  const lines: { name: string; before: number; seconds: (number | undefined)[]; failed: number }[] = [];
  let machine = '';
  await withDatabase('wda_bench_stall', { ...options, fresh: true }, ({ url, adminKey, postgres }) =>
    withServer(startOurs(url, adminKey), (server) =>
      withClient(url, async (client) => {
        machine = describeMachine(postgres);
        await makeShops(server, adminKey, client);
        for (const workspaces of [1, WORKSPACES]) {
          for (const backends of ['all', 'one'] as const) {
            const name = `${workspaces} workspace${workspaces === 1 ? '' : 's'}, ${backends} of the backends`;
            progress(`${name} ...`);
            const load = startLoad(server, adminKey, workspaces, options.connections);
            try {
              await load.measureWindows(BEFORE_WINDOWS);
              const stalls: Stall[] = [];
              for (let index = 0; index < STALLS; index++) stalls.push(await stall(client, load, backends));
              lines.push({
                name,
                before: median(stalls.map(({ before }) => before)),
                seconds: stalls.map(({ seconds }) => seconds),
                failed: load.failed(),
              });
            } finally {
              load.end();
            }
          }
        }
      }),
    ),
  );
  const head = ['Stalls', 'req/s before', ...lines[0]!.seconds.map((_, index) => `stall ${index + 1}: s`), 'failed'];
  const longest = (AFTER_WINDOWS * WINDOW_MS) / 1000;
  const rows = lines.map(({ name, before, seconds, failed }) => [
    name,
    formatRate(before),
    ...seconds.map((each) => markMissed(each?.toFixed(2) ?? `above ${longest}`, (each ?? longest) > GOAL_SECONDS)),
    String(failed),
  ]);
  const remarks = [
    `Seconds from the end of a stall of ${STALL_MS} ms until the throughput is above ${RECOVERED} of that before; "!" marks more than ${GOAL_SECONDS}.`,
    `An order with its items and their products, over ${options.connections} connections; ${machine}.`,
  ];
  return { text: renderReport(head, rows, remarks, options), lines };
}

async function makeShops(server: RunningServer, key: string, client: pg.Client): Promise<void> {
  await call(server, key, 'POST', ADMIN, { slug: 'bench', name: 'Bench' });
  for (let index = 0; index < WORKSPACES; index++) {
    const slug = `shop${index}`;
    await call(server, key, 'POST', `${ADMIN}/bench/workspaces`, { slug, name: slug, schema: schemaDocument });
    await loadDataSet(client, await schemaOfWorkspace(client, slug), DATA, () => {});
  }
}

const DATA = dataSetOf(0.005);

type Load = {
  /** Answers a second in each of the next windows. */
  readonly measureWindows: (windows: number) => Promise<readonly number[]>;
  readonly failed: () => number;
  readonly end: () => void;
};

/** Asks for orders of these workspaces at random until the load is ended. */
function startLoad({ port }: RunningServer, key: string, workspaces: number, connections: number): Load {
  const agent = new Agent({ keepAlive: true });
  const random = makeRandom(1);
  let [answers, failed, isOver] = [0, 0, false];
  const ask = (): void => {
    const [shop, order] = [Math.floor(random() * workspaces), 1 + Math.floor(random() * DATA.orders)];
    const path = `/api/v1/bench/shop${shop}/orders/${order}?expand=items.product`;
    const request = get({ agent, port, path, headers: { authorization: `Bearer ${key}` } }, (response) => {
      if (response.statusCode === 200) answers++;
      else failed++;
      response.resume().once('end', again);
    });
    request.once('error', () => {
      if (!isOver) failed++;
      again();
    });
  };
  const again = (): void => {
    if (!isOver) ask();
  };
  for (let index = 0; index < connections; index++) ask();
  return {
    async measureWindows(windows) {
      const rates: number[] = [];
      for (let window = 0; window < windows; window++) {
        const [already, began] = [answers, performance.now()];
        await sleep(WINDOW_MS);
        rates.push(((answers - already) / (performance.now() - began)) * 1000);
      }
      return rates;
    },
    failed: () => failed,
    end() {
      isOver = true;
      agent.destroy();
    },
  };
}

/** Measures, lets the backends stand still, and measures again. */
async function stall(client: pg.Client, load: Load, backends: 'all' | 'one'): Promise<Stall> {
  const before = median(await load.measureWindows(BEFORE_WINDOWS));
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend' order by query_start desc nulls last ${backends === 'one' ? 'limit 1' : ''}`,
  );
  const send = (signal: NodeJS.Signals) => {
    for (const { pid } of rows) process.kill(pid, signal);
  };
  const goOn = () => send('SIGCONT');
  process.once('exit', goOn);
  send('SIGSTOP');
  await sleep(STALL_MS);
  goOn();
  process.off('exit', goOn);
  const after = await load.measureWindows(AFTER_WINDOWS);
  const isBack = (rate: number | undefined) => (rate ?? 0) >= RECOVERED * before;
  const back = after.findIndex((rate, window) => isBack(rate) && isBack(after[window + 1]));
  return { before, seconds: back < 0 ? undefined : (back * WINDOW_MS) / 1000 };
}
