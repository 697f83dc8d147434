// `npm run bench:changes`: what it costs to keep the changes of an entity. Creates and updates of one record on two equal
// workspaces of one server, of which one keeps changes, take turns; then pages of the feed against pages of a list.
import { readdirSync, readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { findLoadGenerator, type LoadResult } from './load.ts';
import { median, renderTable } from './measure.ts';
import {
  call,
  createApiKey,
  describeMachine,
  makeScratch,
  makeWorkspace,
  progress,
  type RunningServer,
  readProcessorTime,
  runBench,
  startOurs,
  wholeNumber,
  withClient,
  withDatabase,
  withServer,
} from './setup.ts';
import { measureLatency, measureStreams } from './streams.ts';
import type { PreparedRequest } from './workloads.ts';

const DATABASE = 'wda_bench_changes';
const RECORDS = 2000;

const PARTS = ['writes', 'bulk', 'pages', 'streams'] as const;

const command = new Command('npm run bench:changes --')
  .description('Measures what it costs to keep changes, and to read them.')
  .option('--rounds <n>', 'rounds of each kind', wholeNumber, 7)
  .option('--seconds <s>', 'length of a round', wholeNumber, 3)
  .option('--connections <n>', 'connections that write', wholeNumber, 32)
  .option('--streams <n>', 'event streams that are open at once', wholeNumber, 10_000)
  .addOption(new Option('--only <part>', 'one part alone').choices(PARTS));

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly streams: number;
  readonly only?: (typeof PARTS)[number];
};

const KEPT = ['off', 'feed', 'history'] as const;
type Kept = (typeof KEPT)[number];

const toSchema = (changes: Kept) => ({
  entities: {
    customers: { fields: { name: { type: 'string' } } },
    orders: {
      fields: {
        status: { type: 'string', index: true },
        total: { type: 'decimal', precision: 12, scale: 2 },
        note: { type: 'text' },
        placedAt: { type: 'datetime', default: 'now' },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
      settings: { changes },
    },
  },
});

const STREAM_SETTINGS = { WDA_MAX_STREAMS: '20000', WDA_STREAMS_PER_CREDENTIAL: '10000' };

type Round = LoadResult & { readonly processor: number };

async function fill(server: RunningServer, key: string, workspace: string): Promise<void> {
  const path = `/api/v1/bench/${workspace}`;
  await call(server, key, 'POST', `${path}/customers`, { name: 'Ada' });
  const data = Array.from({ length: 1000 }, (_, index) => makeOrder(index));
  for (let count = 0; count < RECORDS; count += data.length)
    await call(server, key, 'POST', `${path}/orders/_bulk`, { data });
}

const makeOrder = (index: number) => ({
  status: 'open',
  total: index / 100,
  note: index % 3 === 0 ? null : `note ${index}`,
  customerId: 1,
});

const WRITES: Readonly<Record<string, (prefix: string) => readonly PreparedRequest[]>> = {
  create: (prefix) =>
    Array.from({ length: 500 }, (_, index) => ({
      method: 'POST',
      path: `${prefix}/orders`,
      body: JSON.stringify(makeOrder(index)),
    })),
  // Each record once in a while: the feed has a change for each.
  update: (prefix) =>
    Array.from({ length: RECORDS }, (_, index) => ({
      method: 'PATCH',
      path: `${prefix}/orders/${index + 1}`,
      body: JSON.stringify({ total: Math.floor(Math.random() * 1_000_000) / 100 }),
    })),
};

/** Rounds of each workspace in turns. */
async function measure(
  server: RunningServer,
  postmaster: number,
  { rounds, seconds, connections }: Options,
  keys: ReadonlyMap<Kept, string>,
  requestsOf: (prefix: string) => readonly PreparedRequest[],
): Promise<ReadonlyMap<Kept, readonly Round[]>> {
  const generator = await findLoadGenerator(makeScratch());
  const results = new Map<Kept, Round[]>(KEPT.map((changes) => [changes, []]));
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < KEPT.length; turn++) {
      const changes = KEPT[(turn + round) % KEPT.length] as Kept;
      const before = readProcessorTimes(server.pid, postmaster);
      const result = await generator.apply({
        port: server.port,
        headers: { authorization: `Bearer ${keys.get(changes)}`, 'content-type': 'application/json' },
        requests: requestsOf(`/api/v1/bench/${changes}`),
        connections,
        seconds,
      });
      if (result.failed > 0) throw new Error(`${result.failed} requests failed`);
      const processor = (readProcessorTimes(server.pid, postmaster) - before) / result.requests;
      if (round > 0) results.get(changes)?.push({ ...result, processor });
    }
  }
  return results;
}

/** Processor time of the server and of all processes of PostgreSQL, microseconds. */
function readProcessorTimes(pid: number, postmaster: number): number {
  const backends = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => isChild(id, postmaster));
  return [pid, postmaster, ...backends].reduce((sum, id) => sum + readTime(id), 0);
}

function readTime(pid: number): number {
  try {
    return readProcessorTime(pid) ?? Number.NaN;
  } catch {
    // The process has ended.
    return 0;
  }
}

function isChild(pid: number, parent: number): boolean {
  try {
    return new RegExp(`^PPid:\\s*${parent}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function findPostmaster(client: {
  query: (text: string) => Promise<{ rows: { pid: number }[] }>;
}): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const status = readFileSync(`/proc/${rows[0]?.pid}/status`, 'utf8');
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
}

function toRow(name: string, results: ReadonlyMap<Kept, readonly Round[]>, changes: Kept): string[] {
  const [off, on] = [results.get('off') ?? [], results.get(changes) ?? []];
  // The ratio of each round, as what else the machine does meets both.
  const ratio = median(on.map(({ processor }, index) => processor / (off[index]?.processor ?? Number.NaN)));
  const processor = (rounds: readonly Round[]) => `${median(rounds.map((round) => round.processor)).toFixed(0)} µs`;
  const perSecond = (rounds: readonly Round[]) => median(rounds.map((round) => round.perSecond)).toFixed(0);
  return [
    `${name}: processor time`,
    processor(off),
    processor(on),
    ratio.toFixed(2),
    `${perSecond(off)}, ${perSecond(on)}`,
  ];
}

/** Pages of 1,000 events against pages of 1,000 records of a list. */
async function measurePages(server: RunningServer, { rounds, seconds }: Options, key: string): Promise<string[]> {
  const generator = await findLoadGenerator(makeScratch());
  const prefix = '/api/v1/bench/feed/orders';
  const paths = [`${prefix}?size=1000&count=none`, `${prefix}/_changes?after=oldest&size=1000`];
  const results: number[][] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const [index, path] of paths.entries()) {
      const { perSecond, failed } = await generator.apply({
        port: server.port,
        headers: { authorization: `Bearer ${key}` },
        requests: [{ method: 'GET', path, body: null }],
        connections: 1,
        seconds,
      });
      if (failed > 0) throw new Error(`${failed} requests failed`);
      if (round > 0) results[index]?.push(perSecond);
    }
  }
  const [list, feed] = results.map(median) as [number, number];
  return [
    '1,000 records of a list, 1,000 events',
    `${(1000 / list).toFixed(1)} ms`,
    `${(1000 / feed).toFixed(1)} ms`,
    (feed / list).toFixed(2),
    '',
  ];
}

/** Creates of 1,000 records in one request. */
async function measureBulk(
  server: RunningServer,
  { rounds }: Options,
  keys: ReadonlyMap<Kept, string>,
): Promise<string[]> {
  const data = Array.from({ length: 1000 }, (_, index) => makeOrder(index));
  const times = new Map<Kept, number[]>([
    ['off', []],
    ['feed', []],
  ]);
  // Some at once for each round, as one is short.
  for (let round = 0; round < 5 * rounds; round++) {
    for (const [changes, list] of times) {
      const started = performance.now();
      await call(server, keys.get(changes) ?? '', 'POST', `/api/v1/bench/${changes}/orders/_bulk`, { data });
      if (round > 0) list.push(performance.now() - started);
    }
  }
  const [off, feed] = [...times.values()].map(median) as [number, number];
  return [
    '1,000 creates in one request, feed',
    `${off.toFixed(0)} ms`,
    `${feed.toFixed(0)} ms`,
    (feed / off).toFixed(2),
    '',
  ];
}

async function measureAllStreams(server: RunningServer, options: Options, key: string): Promise<string[][]> {
  const generator = await findLoadGenerator(makeScratch());
  const prefix = '/api/v1/bench/feed';
  const own = { streams: options.streams, seconds: Math.max(5, options.seconds), path: `${prefix}/orders`, key };
  const latency = await measureLatency(server, own, (perSecond, seconds) =>
    generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      requests: WRITES.create?.(prefix) ?? [],
      connections: 8,
      seconds,
      perSecond,
    }),
  );
  return [...latency, ...(await measureStreams(server, own))];
}

await runBench<Options>(command, (options) =>
  withDatabase(DATABASE, { fresh: true }, ({ url, adminKey, postgres }) =>
    withServer(startOurs(url, adminKey, undefined, STREAM_SETTINGS), async (server) => {
      const keys = new Map<Kept, string>();
      for (const changes of KEPT) {
        await makeWorkspace(server, adminKey, ['bench', changes], toSchema(changes)).catch(async (error: Error) => {
          // The organization is there from the second workspace on.
          if (!/answered 409/.test(error.message)) throw error;
          const path = '/api/admin/v1/organizations/bench/workspaces';
          await call(server, adminKey, 'POST', path, { slug: changes, name: changes, schema: toSchema(changes) });
        });
        const key = await createApiKey(server, adminKey, `/api/admin/v1/organizations/bench/workspaces/${changes}`);
        keys.set(changes, key);
        await fill(server, key, changes);
      }
      const postmaster = await withClient(url, findPostmaster);
      const isMeasured = (part: (typeof PARTS)[number]) => options.only === undefined || options.only === part;
      const rows: string[][] = [];
      for (const [name, requestsOf] of Object.entries(isMeasured('writes') ? WRITES : {})) {
        progress(`${name} ...`);
        const rounds = await measure(server, postmaster, options, keys, requestsOf);
        for (const changes of KEPT.slice(1)) rows.push(toRow(`${name}, ${changes}`, rounds, changes));
      }
      if (isMeasured('bulk')) rows.push(await measureBulk(server, options, keys));
      if (isMeasured('pages')) {
        progress('pages ...');
        rows.push(await measurePages(server, options, keys.get('feed') ?? ''));
      }
      if (rows.length > 0)
        process.stdout.write(`${renderTable(['Work', 'off', 'on', 'ratio', 'requests a second'], rows)}\n`);
      if (isMeasured('streams')) {
        progress('streams ...');
        const figures = await measureAllStreams(server, options, keys.get('feed') ?? '');
        process.stdout.write(`${renderTable(['Event streams', ''], figures)}\n`);
      }
      process.stdout.write(
        `${describeMachine(postgres)}; medians of ${options.rounds} rounds of ${options.seconds} s\n`,
      );
    }),
  ),
);
