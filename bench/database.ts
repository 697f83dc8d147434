// The database that both servers share: an embedded PostgreSQL in a cache folder, or the one of --database-url. The data
// set is loaded once into a golden database; every run works on a fresh copy of it, so that runs start equal.

import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../src/embedded-postgres/embedded.ts';
import { type DataSet, dataSetVersion } from './dataset.ts';

const root = join(import.meta.dirname, '..');

/** The copy that a run works on. */
const RUN_DATABASE = 'wda_bench_run';

export type Postgres = {
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
