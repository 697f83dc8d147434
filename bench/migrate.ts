// `npm run bench:migrate`: what changing the schema of a table with a million records costs those who use it meanwhile.
// Eight clients read and write all the time; each change is made while they do, and their times during it are held
// against their times just before. Prints the table of docs/performance-migrations.md.

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type DataSet, dataSetOf } from './dataset.ts';
import { percentile } from './load.ts';
import { renderTable } from './measure.ts';
import {
  choose,
  createApiKey,
  databaseOption,
  dataPrefix,
  describeMachine,
  migrate,
  type Place,
  progress,
  runBench,
  schemaIn,
  share,
  startOurs,
  wholeNumber,
  withClient,
  withGolden,
  withPostgres,
  withServer,
} from './setup.ts';

const CLIENTS = 8;

const command = new Command('npm run bench:migrate --')
  .description('Measures what changes of the schema cost those who read and write meanwhile.')
  .option('--seconds <s>', 'how long the times before each change are taken', wholeNumber, 8)
  .option('--scale <share>', 'size of the data set, 1 being a million orders', share, 1)
  .option('--only <names>', 'only the changes whose names contain one of these, separated by commas')
  .option(...databaseOption);

type Options = {
  readonly seconds: number;
  readonly scale: number;
  readonly only?: string;
  readonly databaseUrl?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON that the changes edit
type Json = any;

type Change = {
  readonly name: string;
  /** p99 during the change may be so many times that before it. */
  readonly goal: number;
  readonly edit: (orders: Json, entities: Json) => void;
  /** What PostgreSQL does for the same by itself, on the table as it was. */
  readonly naive?: (table: string) => string;
};

const CHANGES: readonly Change[] = [
  {
    name: 'type: decimal(12, 2) to decimal(14, 4)',
    goal: 3,
    edit: (orders) => Object.assign(orders.fields.total, { precision: 14, scale: 4 }),
    naive: (table) => `alter table ${table} alter column total type numeric(14, 4)`,
  },
  {
    name: 'type: integer to bigint',
    goal: 3,
    edit: (_orders, entities) => {
      entities.orderItems.fields.quantity.type = 'bigint';
    },
    naive: (table) => `alter table ${table.replace('orders', '"orderItems"')} alter column quantity type int8`,
  },
  {
    name: 'new required field with a default',
    goal: 2,
    edit: (orders) => {
      orders.fields.channel = { type: 'enum', values: ['web', 'shop'], required: true, default: 'web' };
    },
  },
  {
    name: 'index on a field',
    goal: 2,
    edit: (orders) => {
      orders.fields.createdAt.index = true;
    },
    naive: (table) => `create index bench_naive on ${table} ("createdAt")`,
  },
  {
    name: 'new field, then a foreign key on it',
    goal: 2,
    edit: (orders) => {
      orders.relations.agent = { kind: 'belongsTo', entity: 'customers' };
    },
  },
  {
    name: 'onDelete of a relation (another foreign key)',
    goal: 2,
    edit: (orders) => {
      orders.relations.customer.onDelete = 'cascade';
    },
  },
  {
    name: 'rename a field (metadata alone)',
    goal: 2,
    edit: (orders) => {
      orders.fields.remark = { ...orders.fields.note, renamedFrom: 'note' };
      delete orders.fields.note;
    },
  },
];

type Sample = { readonly at: number; readonly milliseconds: number; readonly status: number };

/** Clients that read by id, list, update and create in turn, each its next request when the last is answered. */
function startClients(port: number, key: string, data: DataSet) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const samples: Sample[] = [];
  let running = true;
  const random = (top: number): number => 1 + Math.floor(Math.random() * top);
  const asked = [
    () => ({ method: 'GET', path: `/orders/${random(data.orders)}`, body: undefined }),
    () => ({ method: 'PUT', path: `/orders/${random(data.orders)}`, body: '{"status":"paid","total":7.25}' }),
    () => ({ method: 'GET', path: '/orders?size=20&sort=id,desc&count=none', body: undefined }),
    () => ({
      method: 'POST',
      path: '/orders',
      body: `{"customerId":${random(data.customers)},"status":"new","total":12.34}`,
    }),
  ];
  const send = ({ method, path, body }: { method: string; path: string; body: string | undefined }): Promise<number> =>
    new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const call = request({ agent, port, method, path: dataPrefix + path, headers }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      call.on('error', () => resolve(0));
      call.end(body);
    });
  const client = async (first: number): Promise<void> => {
    for (let turn = first; running; turn++) {
      const at = performance.now();
      const status = await send((asked[turn % asked.length] as (typeof asked)[number])());
      samples.push({ at, milliseconds: performance.now() - at, status });
    }
  };
  const done = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
  return {
    between: (from: number, to: number): Summary =>
      summarize(
        samples.filter(({ at }) => at >= from && at < to),
        to - from,
      ),
    async stop() {
      running = false;
      await done;
      agent.destroy();
    },
  };
}

type Summary = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  readonly failed: number;
};

function summarize(samples: readonly Sample[], milliseconds: number): Summary {
  const times = samples.map((sample) => sample.milliseconds).sort((a, b) => a - b);
  return {
    perSecond: (samples.length / milliseconds) * 1000,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    most: percentile(times, 1),
    failed: samples.filter(({ status }) => status < 200 || status > 299).length,
  };
}

type Line = {
  readonly change: Change;
  readonly before: Summary;
  readonly during: Summary;
  readonly seconds: number;
  readonly naive: number | undefined;
};

async function measure({ url, adminKey }: Place, change: Change, data: DataSet, seconds: number): Promise<Line> {
  const naive = change.naive === undefined ? undefined : await measureNaive(url, change.naive);
  return withServer(startOurs(url, adminKey), async (server) => {
    const clients = startClients(server.port, await createApiKey(server, adminKey), data);
    try {
      await sleep(2000);
      const before = performance.now();
      await sleep(seconds * 1000);
      const started = performance.now();
      const migration = await migrate(server, adminKey, (entities) => change.edit(entities.orders, entities));
      // A change of milliseconds has no p99 of its own: as long a time as before it, from its beginning.
      await sleep(Math.max(0, started + seconds * 1000 - performance.now()));
      return {
        change,
        before: clients.between(before, started),
        during: clients.between(started, performance.now()),
        seconds: (Date.parse(migration.finishedAt) - Date.parse(migration.startedAt)) / 1000,
        naive,
      };
    } finally {
      await clients.stop();
    }
  });
}

/** Seconds of PostgreSQL's own statement, with nobody else at the table; undone. */
async function measureNaive(url: string, statement: (table: string) => string): Promise<number> {
  return withClient(url, async (client) => {
    const table = `"${await schemaIn(client)}".orders`;
    await client.query('begin');
    const started = performance.now();
    await client.query(statement(table));
    const took = (performance.now() - started) / 1000;
    await client.query('rollback');
    return took;
  });
}

const HEAD = [
  'Change',
  'req/s before',
  'during',
  'p50 ms before',
  'during',
  'p99 ms before',
  'during',
  'ratio',
  'longest ms',
  'failed',
  'seconds',
  "PostgreSQL's own",
];

function cells({ change, before, during, seconds, naive }: Line): string[] {
  const ratio = during.p99 / before.p99;
  return [
    change.name,
    before.perSecond.toFixed(0),
    during.perSecond.toFixed(0),
    before.p50.toFixed(2),
    during.p50.toFixed(2),
    before.p99.toFixed(1),
    during.p99.toFixed(1),
    `${ratio.toFixed(2)}${ratio > change.goal ? ' !' : ''}`,
    during.most.toFixed(0),
    String(during.failed),
    seconds.toFixed(2),
    naive === undefined ? '' : `${naive.toFixed(2)} (${(seconds / naive).toFixed(1)})`,
  ];
}

const asks = (name: string, wanted: string) => name.includes(wanted);

await runBench<Options>(command, async (options) => {
  const data = dataSetOf(options.scale);
  const changes = choose(command, CHANGES, options.only, asks);
  await withPostgres(options, async (postgres) => {
    const lines: Line[] = [];
    for (const change of changes) {
      progress(`${change.name} ...`);
      await withGolden(postgres, data, {}, async (place) => {
        lines.push(await measure(place, change, data, options.seconds));
      });
    }
    process.stdout.write(
      `${[
        renderTable(HEAD, lines.map(cells)),
        '',
        `- ${data.orders.toLocaleString('en')} orders, ${(2 * data.orders).toLocaleString('en')} order items; ${CLIENTS} clients that read by id, update, list and create in turn.`,
        `- "during" is the time of the change, at least ${options.seconds} s from its beginning.`,
        '- "!": p99 during the change above its goal (3 times before for a change of type, 2 times for the others).',
        `- ${describeMachine(postgres)}.`,
      ].join('\n')}\n`,
    );
  });
});
