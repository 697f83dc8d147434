// `npm run bench:neighbours`: what the clients of one workspace notice of those of another. Twenty requests a second of a
// calm workspace, first alone, then beside each behaviour of a noisy one in turn, on one server and one database. Prints the
// table of docs/performance.md.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { openPostgres, withClient } from './database.ts';
import { BEHAVIOURS, type Behaviour, fillNoisy, type Noisy, schemaDocument } from './neighbour-behaviours.ts';
import type { Calm, CalmResult } from './neighbour-client.ts';
import { type RunningServer, startOurs } from './servers.ts';

const DATABASE = 'wda_bench_neighbours';
const ADMIN = '/api/admin/v1/organizations';
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
  .option('--database-url <url>', 'a PostgreSQL to use instead of the embedded one; its user makes databases there');

type Options = {
  readonly seconds: number;
  readonly scale: number;
  readonly only?: string;
  readonly markdown?: true;
  readonly databaseUrl?: string;
};

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function administer<T>(server: RunningServer, key: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${server.port}${ADMIN}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return (JSON.parse(text) as { data: T }).data;
}

/** Makes a workspace and gives a key of its. */
async function makeWorkspace(
  server: RunningServer,
  adminKey: string,
  [organization, slug]: readonly [string, string],
  schema: unknown,
): Promise<string> {
  await administer(server, adminKey, '', { slug: organization, name: organization });
  const path = `/${organization}/workspaces`;
  await administer(server, adminKey, path, { slug, name: slug, schema });
  return (await administer<{ key: string }>(server, adminKey, `${path}/${slug}/api-keys`, { name: 'bench' })).key;
}

type Prepared = { readonly noisy: Noisy; readonly calm: Omit<Calm, 'seconds'> };

async function prepare(server: RunningServer, url: string, adminKey: string, scale: number): Promise<Prepared> {
  const calmSchema = { entities: { notes: { fields: { text: { type: 'string' }, rank: { type: 'integer' } } } } };
  const calmKey = await makeWorkspace(server, adminKey, ['calm', 'b'], calmSchema);
  const key = await makeWorkspace(server, adminKey, ['noisy', 'a'], schemaDocument);
  const things = Math.max(10_000, Math.round(1_000_000 * scale));
  const stock = Math.max(3000, Math.round(STOCK * scale));
  const schema = await withClient(url, async (client) => {
    const { rows } = await client.query<{ slug: string; name: string }>(
      `select slug, quote_ident(database_schema) as name from wda.workspace`,
    );
    const schemaOf = (slug: string): string => rows.find((row) => row.slug === slug)?.name ?? '';
    progress(`Filling ${things.toLocaleString('en')} records of the noisy workspace ...`);
    await client.query(
      `insert into ${schemaOf('b')}.notes (text, rank) select 'note ' || i, i from generate_series(1, ${RECORDS}) i`,
    );
    await client.query(`vacuum (analyze) ${schemaOf('b')}.notes`);
    await fillNoisy(client, schemaOf('a'), things, stock);
    return schemaOf('a');
  });
  return {
    calm: { port: server.port, path: '/api/v1/calm/b', key: calmKey, records: RECORDS, perSecond: PER_SECOND },
    noisy: {
      port: server.port,
      databaseUrl: url,
      schema,
      path: '/api/v1/noisy/a',
      adminPath: `${ADMIN}/noisy/workspaces/a`,
      key,
      adminKey,
      things,
      stock,
    },
  };
}

async function listen(calm: Omit<Calm, 'seconds'>, seconds: number): Promise<CalmResult> {
  const client = join(import.meta.dirname, 'neighbour-client.ts');
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
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { name, p50: at(0.5), p99: at(0.99), most: at(1), failed, noise };
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
  if (isMarkdown) {
    const rule = head.map((_, index) => (index === 0 || index === 5 ? '---' : '--:'));
    return [head, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  }
  const widths = head.map((cell, index) => Math.max(cell.length, ...rows.map((row) => (row[index] as string).length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, index) =>
          index === 0 || index === 5 ? cell.padEnd(widths[index] as number) : cell.padStart(widths[index] as number),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

async function main(options: Options): Promise<void> {
  const wanted = options.only?.split(',').map((name) => name.trim());
  const behaviours = BEHAVIOURS.filter(
    ({ name }) => wanted === undefined || wanted.some((part) => name.includes(part)),
  );
  if (behaviours.length === 0)
    command.error(`error: no such behaviour. There are: ${BEHAVIOURS.map(({ name }) => name).join('; ')}`);
  const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'wda-bench');
  await mkdir(cache, { recursive: true });
  const postgres = await openPostgres(options.databaseUrl, cache, progress);
  const maintenance = postgres.urlOf(postgres.maintenanceDatabase);
  const drop = (): Promise<unknown> =>
    withClient(maintenance, (client) => client.query(`drop database if exists ${DATABASE} with (force)`));
  try {
    await drop();
    await withClient(maintenance, (client) => client.query(`create database ${DATABASE}`));
    const url = postgres.urlOf(DATABASE);
    const adminKey = randomBytes(24).toString('hex');
    const server = await startOurs(url, adminKey);
    try {
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
          `- ${prepared.noisy.things.toLocaleString('en')} records in the noisy tables; ${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}) shared by server, database and all clients, one server process, Node.js ${process.versions.node}, PostgreSQL ${postgres.version}.`,
        ].join('\n')}\n`,
      );
    } finally {
      await server.stop();
    }
    await drop();
  } finally {
    await postgres.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await main(command.parse().opts<Options>());
