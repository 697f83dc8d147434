// `npm run bench:neighbours`: what the clients of one workspace notice of those of another. Twenty requests a second of a
// calm workspace, first alone, then beside each behaviour of a noisy one in turn, on one server and one database. Prints the
// table of docs/performance.md.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { percentile } from './load.ts';
import { renderTable } from './measure.ts';
import {
  BEHAVIOURS,
  type Behaviour,
  type Calm,
  type CalmResult,
  fillNoisy,
  type Noisy,
  schemaDocument,
} from './neighbour-clients.ts';
import {
  ADMIN,
  choose,
  createApiKey,
  databaseOption,
  describeMachine,
  makeWorkspace,
  progress,
  type RunningServer,
  runBench,
  schemaOfWorkspace,
  startOurs,
  wholeNumber,
  withClient,
  withDatabase,
  withServer,
} from './setup.ts';

const DATABASE = 'wda_bench_neighbours';
const PER_SECOND = 20;
const RECORDS = 1000;
const STOCK = 300_000;
// Until the noise has got going, and until what it has left behind is done.
const GETTING_GOING_MS = 2000;
const SETTLING_MS = 4000;
const WARM_SECONDS = 5;

const command = new Command('npm run bench:neighbours --')
  .description('Measures what one workspace notices of the worst that another does.')
  .option('--seconds <s>', 'how long each figure is taken', wholeNumber, 30)
  .option('--scale <share>', 'size of the noisy tables, 1 being a million records', Number, 1)
  .option('--only <names>', 'only the behaviours whose names contain one of these, separated by commas')
  .option('--markdown', 'print the table as docs/performance.md has it')
  .option(...databaseOption);

type Options = {
  readonly seconds: number;
  readonly scale: number;
  readonly only?: string;
  readonly markdown?: true;
  readonly databaseUrl?: string;
};

type Prepared = { readonly noisy: Noisy; readonly calm: Omit<Calm, 'seconds'> };

async function prepare(server: RunningServer, url: string, adminKey: string, scale: number): Promise<Prepared> {
  const calmSchema = { entities: { notes: { fields: { text: { type: 'string' }, rank: { type: 'integer' } } } } };
  await makeWorkspace(server, adminKey, ['calm', 'b'], calmSchema);
  await makeWorkspace(server, adminKey, ['noisy', 'a'], schemaDocument);
  const adminPath = `${ADMIN}/noisy/workspaces/a`;
  const things = Math.max(10_000, Math.round(1_000_000 * scale));
  const stock = Math.max(3000, Math.round(STOCK * scale));
  const schema = await withClient(url, async (client) => {
    const [calm, noisy] = [await schemaOfWorkspace(client, 'b'), await schemaOfWorkspace(client, 'a')];
    progress(`Filling ${things.toLocaleString('en')} records of the noisy workspace ...`);
    await client.query(
      `insert into ${calm}.notes (text, rank) select 'note ' || i, i from generate_series(1, ${RECORDS}) i`,
    );
    await client.query(`vacuum (analyze) ${calm}.notes`);
    await fillNoisy(client, noisy, things, stock);
    return noisy;
  });
  return {
    calm: {
      port: server.port,
      path: '/api/v1/calm/b',
      key: await createApiKey(server, adminKey, `${ADMIN}/calm/workspaces/b`),
      records: RECORDS,
      perSecond: PER_SECOND,
    },
    noisy: {
      port: server.port,
      databaseUrl: url,
      schema,
      path: '/api/v1/noisy/a',
      adminPath,
      key: await createApiKey(server, adminKey, adminPath),
      adminKey,
      things,
      stock,
    },
  };
}

async function listen(calm: Omit<Calm, 'seconds'>, seconds: number): Promise<CalmResult> {
  const client = join(import.meta.dirname, 'neighbour-clients.ts');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [client, JSON.stringify({ ...calm, seconds } satisfies Calm)],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as CalmResult;
}

type Line = {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  readonly failed: Readonly<Record<string, number>>;
  /** What the noisy clients were answered meanwhile. */
  readonly noise: Readonly<Record<string, number>>;
};

function lineOf(name: string, { times, failed }: CalmResult, noise: Readonly<Record<string, number>>): Line {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), percentile(sorted, 1)];
  return { name, p50, p99, most, failed, noise };
}

async function beside(behaviour: Behaviour, { calm, noisy }: Prepared, seconds: number): Promise<Line> {
  progress(`beside: ${behaviour.name} ...`);
  const noise: Record<string, number> = {};
  const end = await behaviour.begin(noisy, (status) => {
    noise[status] = (noise[status] ?? 0) + 1;
  });
  try {
    await sleep(GETTING_GOING_MS);
    return lineOf(behaviour.name, await listen(calm, seconds), noise);
  } finally {
    await end();
    await sleep(SETTLING_MS);
  }
}

const goalOf = (alone: Line): number => 100 + 3 * alone.p99;

function counts(of: Readonly<Record<string, number>>): string {
  const told = Object.entries(of).map(([status, count]) => `${count} × ${status === '0' ? 'no answer' : status}`);
  return told.length === 0 ? '0' : told.join(', ');
}

function render(alone: Line, lines: readonly Line[], isMarkdown: boolean): string {
  const goal = goalOf(alone);
  const rows = [alone, ...lines].map((line) => [
    line.name,
    line.p50.toFixed(1),
    `${line.p99.toFixed(1)}${line.p99 > goal ? ' !' : ''}`,
    line.most.toFixed(0),
    `${counts(line.failed)}${Object.keys(line.failed).length > 0 ? ' !' : ''}`,
    line === alone ? '' : counts(line.noise),
  ]);
  const head = ['Beside a workspace that …', 'p50 ms', 'p99 ms', 'longest ms', 'failed', 'it is answered'];
  return renderTable(head, rows, { markdown: isMarkdown, left: [0, 5] });
}

const asks = (name: string, wanted: string) => name.includes(wanted);

await runBench<Options>(command, async (options) => {
  const behaviours = choose(command, BEHAVIOURS, options.only, asks);
  await withDatabase(DATABASE, { ...options, fresh: true }, ({ url, adminKey, postgres }) =>
    withServer(startOurs(url, adminKey), async (server) => {
      const prepared = await prepare(server, url, adminKey, options.scale);
      await listen(prepared.calm, WARM_SECONDS);
      progress('alone ...');
      const alone = lineOf('alone', await listen(prepared.calm, options.seconds), {});
      const lines: Line[] = [];
      for (const behaviour of behaviours) lines.push(await beside(behaviour, prepared, options.seconds));
      lines.push(lineOf('alone again', await listen(prepared.calm, options.seconds), {}));
      process.stdout.write(`${render(alone, lines, options.markdown === true)}\n\n`);
      process.stdout.write(
        `${[
          `- ${PER_SECOND} requests a second by id, of lists and of creates in turn, each sent when it is due and timed from then; ${options.seconds} s each.`,
          `- "!": p99 above ${goalOf(alone).toFixed(0)} ms (100 ms + 3 times alone), or requests that failed.`,
          `- ${prepared.noisy.things.toLocaleString('en')} records in the noisy tables; ${describeMachine(postgres, 'one server process')}.`,
        ].join('\n')}\n`,
      );
    }),
  );
});
