// What every bench needs: the PostgreSQL that servers share (an embedded one in a cache folder, or the one of
// --database-url), databases with the data set, servers as child processes on free ports, requests to them, and what the
// kernel knows of a process. The data set is loaded once into a golden database; every run works on a copy of it.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import pg from 'pg';
import { startEmbedded } from '../src/embedded-postgres/embedded.ts';
import { type DataSet, dataSetVersion, findSchema, loadDataSet, schemaDocument } from './dataset.ts';

const root = join(import.meta.dirname, '..');
const START_TIMEOUT_SECONDS = 30;

/** The copy that a run works on. */
const RUN_DATABASE = 'wda_bench_run';

/** Parses an option. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

/** Parses the option of a data set's size. */
export function share(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 10)) throw new InvalidArgumentError('It must be above 0 and at most 10.');
  return value;
}

export const databaseOption = [
  '--database-url <url>',
  'a PostgreSQL to use instead of the embedded one; its user makes databases there',
] as const;

export const progress = (line: string): void => void process.stderr.write(`${line}\n`);

export const plural = (connections: number): string => `${connections} connection${connections === 1 ? '' : 's'}`;

/** Runs a bench with the options of its command; the servers that it has started end with it. */
export async function runBench<T>(command: Command, bench: (options: T) => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  await bench(command.parse().opts() as T);
}

/** Chooses by name; an unknown or empty choice ends the process with a message that lists all. */
export function choose<T extends { readonly name: string }>(
  command: Command,
  all: readonly T[],
  names: string | undefined,
  matches: (name: string, wanted: string) => boolean,
): readonly T[] {
  const wanted = names?.split(',').map((name) => name.trim());
  const unknown = wanted?.filter((each) => !all.some(({ name }) => matches(name, each))) ?? [];
  if (unknown.length > 0)
    command.error(`error: none is named ${unknown.join(', ')}. There are: ${all.map(({ name }) => name).join('; ')}`);
  return wanted === undefined ? all : all.filter(({ name }) => wanted.some((each) => matches(name, each)));
}

/** A new folder that is removed when the process ends. */
export function makeScratch(): string {
  const scratch = mkdtempSync(join(tmpdir(), 'wda-bench-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  return scratch;
}

export function describeMachine(postgres: Postgres, ...more: readonly string[]): string {
  const processors = `${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}) shared by servers, database and clients`;
  return [processors, `Node.js ${process.versions.node}`, `PostgreSQL ${postgres.version}`, ...more].join(', ');
}

/** A database for one run, and the operator's key for servers on it. */
export type Place = { readonly url: string; readonly adminKey: string; readonly postgres: Postgres };

export type PlaceOptions = { readonly databaseUrl?: string; readonly keep?: true; readonly cache?: string };

export const CACHE = join(root, 'node_modules', '.cache', 'wda-bench');

export async function withPostgres<T>(
  { databaseUrl, cache = CACHE }: PlaceOptions,
  work: (postgres: Postgres) => Promise<T>,
): Promise<T> {
  await mkdir(cache, { recursive: true });
  const postgres = await openPostgres(databaseUrl, cache, progress);
  try {
    return await work(postgres);
  } finally {
    await postgres.stop();
  }
}

/** Runs `work` on a fresh copy of the golden database, which is dropped when it succeeds. */
export async function withGolden<T>(
  postgres: Postgres,
  data: DataSet,
  { fresh, keep }: { readonly fresh?: true; readonly keep?: true },
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const adminKey = randomBytes(24).toString('hex');
  const url = await copyGolden(postgres, data, fresh ?? false, (empty) => loadGolden(empty, adminKey, data, progress));
  const result = await work({ url, adminKey, postgres });
  if (!keep) await dropCopy(postgres);
  return result;
}

/** Runs `work` on a database of this name, which is made if it is not there and dropped when it succeeds. */
export function withDatabase<T>(
  name: string,
  options: PlaceOptions & { readonly fresh?: true },
  work: (place: Place) => Promise<T>,
): Promise<T> {
  return withPostgres(options, async (postgres) => {
    const url = await ensureDatabase(postgres, name, options.fresh);
    const result = await work({ url, adminKey: randomBytes(24).toString('hex'), postgres });
    if (!options.keep) await withClient(postgres.urlOf(postgres.maintenanceDatabase), (client) => drop(client, name));
    return result;
  });
}

/** Makes a database if it is not there, or anew; returns its URL. */
export async function ensureDatabase(postgres: Postgres, name: string, fresh = false): Promise<string> {
  await withClient(postgres.urlOf(postgres.maintenanceDatabase), async (client) => {
    if (fresh) await drop(client, name);
    const { rows } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rows.length === 0) await client.query(`create database ${name}`);
  });
  return postgres.urlOf(name);
}

/** Runs `work` with a server, and stops it whatever happens. */
export async function withServer<T>(
  starting: Promise<RunningServer>,
  work: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await starting;
  return work(server).finally(server.stop);
}

type Postgres = {
  /** The connection string of one of its databases. */
  readonly urlOf: (database: string) => string;
  readonly maintenanceDatabase: string;
  readonly version: string;
  readonly stop: () => Promise<void>;
};

/** Opens the PostgreSQL of a URL, or starts the embedded one with its data below `cacheDirectory`. */
export async function openPostgres(
  databaseUrl: string | undefined,
  cacheDirectory: string,
  say: (line: string) => void,
): Promise<Postgres> {
  if (databaseUrl !== undefined) {
    const [, server, database, parameters] = /^(\w+:\/\/[^/?]*)\/?([^?]*)(\?.*)?$/.exec(databaseUrl) ?? [];
    if (server === undefined) throw new Error('--database-url is not a connection string (postgres://...)');
    const urlOf = (name: string) => `${server}/${name}${parameters ?? ''}`;
    return describe(urlOf, database === undefined || database === '' ? 'postgres' : database, async () => {});
  }
  const embedded = await startEmbedded({
    dataDir: cacheDirectory,
    log: { debug: () => {}, info: () => {}, warn: say, error: say },
  });
  const { host, port, user, password, database } = embedded.superuser;
  // A host that is a directory names a Unix socket; it must be encoded to pass for a host.
  const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const urlOf = (name: string) => `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${name}`;
  return describe(urlOf, database, embedded.stop);
}

async function describe(
  urlOf: Postgres['urlOf'],
  maintenanceDatabase: string,
  stop: Postgres['stop'],
): Promise<Postgres> {
  const version = await withClient(urlOf(maintenanceDatabase), async (client) => {
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return rows[0]?.server_version ?? 'unknown';
  });
  return { urlOf, maintenanceDatabase, version, stop };
}

/** Connects, runs `work`, and closes whatever happens. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * A fresh copy of the golden database, and its URL. `load` fills a new golden database through its URL when there is none
 * of this data set and of these table definitions yet, or when `fresh` asks for a new one.
 */
export async function copyGolden(
  postgres: Postgres,
  data: DataSet,
  fresh: boolean,
  load: (url: string) => Promise<void>,
): Promise<string> {
  const family = `wda_bench_golden_s${String(data.scale).replace('.', '_')}`;
  const golden = `${family}_${goldenVersion()}`;
  await withClient(postgres.urlOf(postgres.maintenanceDatabase), async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [`${family}_`],
    );
    const there = rows.map((row) => row.datname);
    for (const name of there.filter((name) => name !== golden || fresh)) await drop(client, name);
    if (fresh || !there.includes(golden)) {
      const unfinished = 'wda_bench_loading';
      await drop(client, unfinished);
      await client.query(`create database ${unfinished}`);
      await load(postgres.urlOf(unfinished));
      await client.query(`alter database ${unfinished} rename to ${golden}`);
    }
    await drop(client, RUN_DATABASE);
    await client.query(`create database ${RUN_DATABASE} template ${golden} strategy file_copy`);
  });
  return postgres.urlOf(RUN_DATABASE);
}

/** Removes the copy of this run; the golden database stays for the next one. */
export async function dropCopy(postgres: Postgres): Promise<void> {
  await withClient(postgres.urlOf(postgres.maintenanceDatabase), (client) => drop(client, RUN_DATABASE));
}

async function drop(client: pg.Client, database: string): Promise<void> {
  await client.query(`drop database if exists ${database} with (force)`);
}

/** The rows, and the definitions that decide what the server's tables look like. */
function goldenVersion(): string {
  const hash = createHash('sha256').update(dataSetVersion());
  for (const file of globSync(['install/*/*.sql', 'src/migrations/ddl.ts'], { cwd: root }).sort()) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 8);
}

export async function loadGolden(
  url: string,
  adminKey: string,
  data: DataSet,
  progress: (line: string) => void,
): Promise<void> {
  progress('Loading the data set (once; the next run finds it) ...');
  const server = await startOurs(url, adminKey);
  try {
    await createWorkspace(server, adminKey);
  } finally {
    await server.stop();
  }
  await withClient(url, async (client) => {
    await loadDataSet(client, await schemaIn(client), data, progress);
  });
}

/** The PostgreSQL schema of the workspace. */
export async function schemaIn(client: Parameters<typeof findSchema>[0]): Promise<string> {
  const schema = await findSchema(client);
  if (schema === undefined) throw new Error('The workspace has no orders table');
  return schema;
}

export type RunningServer = {
  readonly pid: number;
  readonly port: number;
  readonly stop: () => Promise<void>;
};

/** Starts our server on a database and waits until it is ready. A profile directory gets a CPU profile when it stops. */
export async function startOurs(
  databaseUrl: string,
  adminKey: string,
  profileDirectory?: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  return start([...profiling(profileDirectory, 'ours'), ...startArguments()], '/readyz', {
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(tmpdir(), 'wda-bench-unused'),
    WDA_ADMIN_KEY: adminKey,
    WDA_DEMO: 'off',
    // As many processes as the limit server has.
    WDA_WORKERS: '1',
    LOG_LEVEL: 'warn',
    ...environment,
  });
}

/** What `npm start` gives to node: memory settings belong to what is measured. */
function startArguments(): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.replace(/^exec node /, '').split(' ');
}

/** Starts the limit server on the tables of a PostgreSQL schema. */
export async function startLimit(
  databaseUrl: string,
  schema: string,
  profileDirectory?: string,
): Promise<RunningServer> {
  const args = [...profiling(profileDirectory, 'limit'), 'bench/limit-server.ts'];
  return start(args, '/orders/1', { DATABASE_URL: databaseUrl, DATA_SCHEMA: schema });
}

/** Starts another server of the field by its script, whose folder has its packages. */
export function startPeer(
  script: string,
  environment: Readonly<Record<string, string>>,
  timeoutSeconds: number,
): Promise<RunningServer> {
  return start([script], '/', environment, timeoutSeconds);
}

function profiling(directory: string | undefined, name: string): readonly string[] {
  if (directory === undefined) return [];
  const file = ['--cpu-prof-dir', directory, '--cpu-prof-name', `${name}.cpuprofile`];
  return ['--cpu-prof', '--cpu-prof-interval', '200', ...file];
}

async function start(
  args: readonly string[],
  readyPath: string,
  environment: Readonly<Record<string, string>>,
  timeoutSeconds = START_TIMEOUT_SECONDS,
): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production', PORT: String(port), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A run that is broken off leaves nobody behind.
  const abandon = () => child.kill('SIGTERM');
  process.once('exit', abandon);
  child.once('exit', () => process.off('exit', abandon));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
  }
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${args.at(-1)} ended with code ${code}:\n${output}`);
  });
  ended.catch(() => {});
  const ready = (async () => {
    for (const limit = performance.now() + timeoutSeconds * 1000; performance.now() < limit; await sleep(50)) {
      const response = await fetch(`http://127.0.0.1:${port}${readyPath}`).catch(() => undefined);
      await response?.arrayBuffer();
      if (response !== undefined && response.status < 500) return;
    }
    child.kill('SIGKILL');
    throw new Error(`${args.join(' ')} was not ready within ${timeoutSeconds} s:\n${output}`);
  })();
  await Promise.race([ready, ended]);
  if (child.pid === undefined) throw new Error(`${args.join(' ')} has no process id`);
  return { pid: child.pid, port, stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exit;
  clearTimeout(killer);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

export const dataPrefix = '/api/v1/bench/shop';
export const ADMIN = '/api/admin/v1/organizations';
export const SHOP = `${ADMIN}/bench/workspaces/shop`;

/** Makes the organization and the workspace with the schema document of the data set. */
export function createWorkspace(server: RunningServer, adminKey: string): Promise<unknown> {
  return makeWorkspace(server, adminKey, ['bench', 'shop'], schemaDocument);
}

export async function makeWorkspace(
  server: RunningServer,
  adminKey: string,
  [organization, slug]: readonly [string, string],
  schema: unknown,
): Promise<void> {
  await call(server, adminKey, 'POST', ADMIN, { slug: organization, name: organization });
  await call(server, adminKey, 'POST', `${ADMIN}/${organization}/workspaces`, { slug, name: slug, schema });
}

/** Makes an API key of a workspace. */
export async function createApiKey(server: RunningServer, adminKey: string, workspace = SHOP): Promise<string> {
  return (await call(server, adminKey, 'POST', `${workspace}/api-keys`, { name: 'bench' })).key;
}

/** Sends a request with a body of JSON, or of a file; returns the data of the answer, and throws for a refusal. */
export async function call(
  server: Pick<RunningServer, 'port'>,
  key: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
  // biome-ignore lint/suspicious/noExplicitAny: documents, migrations and records, as JSON
): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { 'content-type': type, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? undefined : JSON.parse(text).data;
}

/** Changes the schema document of the shop and waits for the end; returns the migration. */
export async function migrate(
  server: RunningServer,
  adminKey: string,
  // biome-ignore lint/suspicious/noExplicitAny: documents are JSON that the changes edit
  edit: (entities: any) => void,
): Promise<{ readonly startedAt: string; readonly finishedAt: string }> {
  const document = await call(server, adminKey, 'GET', `${SHOP}/schema`);
  edit(document.entities);
  let migration = await call(server, adminKey, 'PUT', `${SHOP}/schema?wait=60`, document);
  while (migration.finishedAt === null) {
    await sleep(200);
    migration = await call(server, adminKey, 'GET', `${SHOP}/migrations/${migration.id}`);
  }
  if (migration.state !== 'succeeded')
    throw new Error(`the migration ${migration.state}: ${JSON.stringify(migration.error)}`);
  return migration;
}

/** The PostgreSQL schema of a workspace, quoted. */
export async function schemaOfWorkspace(client: pg.Client, slug: string): Promise<string> {
  const { rows } = await client.query(
    'select quote_ident(database_schema) as name from wda.workspace where slug = $1',
    [slug],
  );
  return rows[0].name;
}

/** Resident memory of a process in MB (10^6 bytes): now, and its peak since the last reset. Linux only. */
export function readMemory(pid: number): { readonly now: number; readonly peak: number } | undefined {
  if (process.platform !== 'linux') return undefined;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Memory in MB of a PostgreSQL process without its share of the buffers, which all have in common. Linux only. */
export function readPrivateMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 1e6;
}

/** Processor time that a process has taken so far, in microseconds (kernel ticks of 10 ms). Linux only. */
export function readProcessorTime(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name in brackets; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Starts a new peak of `readMemory`. */
export function resetMemoryPeak(pid: number): void {
  if (process.platform === 'linux') writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
