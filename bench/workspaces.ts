// `npm run bench:workspaces`: many workspaces in one database. How long a start takes then, how much memory requests to all
// of them leave, and how the throughput of requests spread over all compares with that of requests to one.

import { Command } from 'commander';
import { findLoadGenerator, type LoadGenerator, type LoadResult } from './load.ts';
import { median, renderTable } from './measure.ts';
import {
  ADMIN,
  call,
  describeMachine,
  makeScratch,
  progress,
  type RunningServer,
  readMemory,
  runBench,
  startOurs,
  wholeNumber,
  withDatabase,
  withServer,
} from './setup.ts';
import type { PreparedRequest } from './workloads.ts';

const DATABASE = 'wda_bench_workspaces';
const ENTITIES = 10;
const RECORDS = 20;
const CONNECTIONS = 32;
const MAKERS = 4;

const command = new Command('npm run bench:workspaces --')
  .description('Measures a server whose requests are spread over many workspaces.')
  .option('--workspaces <n>', 'how many', wholeNumber, 2000)
  .option('--rounds <n>', 'rounds of each kind', wholeNumber, 5)
  .option('--seconds <s>', 'length of a round', wholeNumber, 3)
  .option('--keep', 'keep the database for the next run, which then needs not make the workspaces');

type Options = { readonly workspaces: number; readonly rounds: number; readonly seconds: number; readonly keep?: true };

const schema = {
  entities: Object.fromEntries(
    Array.from({ length: ENTITIES }, (_, index) => [
      `entity${index}`,
      {
        fields: {
          name: { type: 'string', required: true },
          size: { type: 'integer', index: true },
          price: { type: 'decimal', precision: 12, scale: 2 },
          at: { type: 'datetime', default: 'now' },
        },
        ...(index === 0 ? {} : { relations: { parent: { kind: 'belongsTo', entity: `entity${index - 1}` } } }),
      },
    ]),
  ),
};

/** Makes what a run before with --keep may have left. */
async function make(server: RunningServer, key: string, path: string, body: unknown): Promise<void> {
  await call(server, key, 'POST', path, body).catch((error: Error) => {
    if (!/answered 409/.test(error.message)) throw error;
  });
}

async function makeWorkspaces(server: RunningServer, key: string, count: number): Promise<void> {
  await make(server, key, ADMIN, { slug: 'many', name: 'Many' });
  const rows = Array.from({ length: RECORDS }, (_, index) => `n${index},${index},${index}.5`).join('\n');
  let next = 0;
  await Promise.all(
    Array.from({ length: MAKERS }, async () => {
      for (;;) {
        const index = next++;
        if (index >= count) return;
        await make(server, key, `${ADMIN}/many/workspaces`, { slug: `w${index}`, name: `W${index}`, schema });
        const file = `name,size,price\n${rows}\n`;
        await call(server, key, 'POST', `/api/v1/many/w${index}/entity0/_import`, file, 'text/csv');
        if (index % 200 === 199) progress(`${index + 1} workspaces`);
      }
    }),
  );
}

/** Records by id and lists in turn, of `count` workspaces. */
function requestsOver(count: number): PreparedRequest[] {
  return Array.from({ length: 20_000 }, (_, index) => {
    const workspace = (index * 7919) % count;
    const path = index % 2 === 0 ? `entity0/${1 + (index % RECORDS)}` : 'entity0?size=20&count=none';
    return { method: 'GET', path: `/api/v1/many/w${workspace}/${path}`, body: null };
  });
}

async function measure(
  server: RunningServer,
  key: string,
  options: Options,
  generator: LoadGenerator,
): Promise<string[][]> {
  const { workspaces, rounds, seconds } = options;
  const apply = (requests: readonly PreparedRequest[], length: number): Promise<LoadResult> =>
    generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}` },
      requests,
      connections: CONNECTIONS,
      seconds: length,
    });
  const [one, all] = [requestsOver(1), requestsOver(workspaces)];
  await apply(one, 2);
  await apply(all, 15);
  const ratios: number[] = [];
  const rates = { one: [] as number[], all: [] as number[] };
  let failed = 0;
  for (let round = 0; round < rounds; round++) {
    const results = { one: await apply(one, seconds), all: await apply(all, seconds) };
    rates.one.push(results.one.perSecond);
    rates.all.push(results.all.perSecond);
    ratios.push(results.all.perSecond / results.one.perSecond);
    failed += results.one.failed + results.all.failed;
  }
  const memory = readMemory(server.pid);
  return [
    ['requests to one workspace', `${median(rates.one).toFixed(0)} req/s`],
    ['requests spread over all', `${median(rates.all).toFixed(0)} req/s`],
    ['ratio (goal: at least 0.6)', `${median(ratios).toFixed(2)}`],
    ['resident memory of the server', `${memory?.now.toFixed(0)} MB, peak ${memory?.peak.toFixed(0)} MB`],
    ['failed', `${failed}`],
  ];
}

await runBench<Options>(command, async (options) => {
  const generator = await findLoadGenerator(makeScratch());
  await withDatabase(DATABASE, options, async ({ url, adminKey: key, postgres }) => {
    await withServer(startOurs(url, key), (maker) => makeWorkspaces(maker, key, options.workspaces));
    const started = performance.now();
    await withServer(startOurs(url, key), async (server) => {
      const start = (performance.now() - started) / 1000;
      const rows = await measure(server, key, options, generator);
      const table = renderTable(
        [`${options.workspaces} workspaces of ${ENTITIES} entities`, ''],
        [['start until ready (goal: under 5 s)', `${start.toFixed(2)} s`], ...rows],
      );
      const machine = describeMachine(postgres, generator.description);
      process.stdout.write(
        `${table}\n\n- Records by id and lists of 20 in turn over ${CONNECTIONS} connections; ${machine}.\n`,
      );
    });
  });
});
