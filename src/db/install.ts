// The platform's own migrations: runs the numbered SQL files of one or more folders that have not run yet, once, however
// many processes start at the same time. Takes a connection, gives nothing; refuses a database that cannot hold us.
import { readdir } from 'node:fs/promises';
import { basename, dirname, parse } from 'node:path';
import { type RunnerOption, runner } from 'node-pg-migrate';
import pg from 'pg';
import { makeConnect } from './connect.ts';
import type { Route } from './route.ts';

/** Numbered SQL files that are run in their order, each in the transaction of all that have not run yet. */
export interface FileRow {
  /** Folder of the SQL files, e.g. `000001-tables.sql`. */
  readonly directory: string;
  /** Table of the platform's schema that knows which of them have run. */
  readonly record: string;
  /**
   * Files up to number `last` were once parts of files of the same number that the table `record` knows: where it has the
   * number they have run.
   */
  readonly partsOf?: { readonly record: string; readonly last: number };
}

export interface Installation {
  /** Run one after the other, each row in a transaction of its own. */
  readonly rows: readonly FileRow[];
  /** PostgreSQL schema of the platform's tables; created when missing. */
  readonly schema: string;
  /** A database below this version is refused, e.g. 15. */
  readonly minimumVersion: number;
  /** Collation that text columns need. */
  readonly collation: string;
}

/** What is wrong with the database, in words for whoever starts the server. */
export class InstallError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InstallError';
  }
}

// Our own: node-pg-migrate's default is shared by every program that uses it on this database.
const LOCK = 7_764_610_001;

/** Throws InstallError when the database is unfit or a newer version has installed it, the driver's error when it is away or a file fails. */
export async function runInstallation(
  connection: Route,
  installation: Installation,
  log: (message: string) => void,
): Promise<void> {
  // Without limits: another process that installs may take its time, and so may a file.
  const { client } = await makeConnect({ ...connection, application_name: 'wda install' })({
    statementTimeoutMs: 0,
    lockTimeoutMs: 0,
  });
  try {
    await checkDatabase(client, installation);
    await client.query({ text: 'select pg_advisory_lock($1)', values: [LOCK] });
    try {
      await checkNotNewer(client, installation);
      for (const row of installation.rows) await runRow(client, installation.schema, row, log);
    } finally {
      // Explicitly, as a pooler may keep the backend. With the connection the lock is gone, too.
      await client.query({ text: 'select pg_advisory_unlock($1)', values: [LOCK] }).catch(() => undefined);
    }
  } finally {
    await client.end();
  }
}

/** Of a newer version we do not know what its files changed: what we wrote there could stop that version from starting. */
async function checkNotNewer(client: pg.Client, { schema, rows }: Installation): Promise<void> {
  const unknown: string[] = [];
  for (const { directory, record } of rows) {
    const known = new Set((await readdir(directory)).map((file) => parse(file).name));
    unknown.push(...(await namesIn(client, schema, record)).filter((name) => !known.has(name)));
  }
  if (unknown.length === 0) return;
  throw new InstallError(
    `This database was installed by a newer version (${unknown.sort().join(', ')}): start that version, or restore a backup of the time before it`,
  );
}

async function runRow(client: pg.Client, schema: string, row: FileRow, log: (message: string) => void): Promise<void> {
  const { rows } = await client.query({
    text: 'select from pg_catalog.pg_namespace where nspname = $1',
    values: [schema],
  });
  const options: RunnerOption = {
    dbClient: client,
    dir: row.directory,
    direction: 'up',
    migrationsSchema: schema,
    // Even where it is there, a cluster does this on each node, and no server would start while one is down.
    createMigrationsSchema: rows.length === 0,
    migrationsTable: row.record,
    checkOrder: true,
    singleTransaction: true,
    // Whoever calls has one.
    noLock: true,
    logger: { info: () => undefined, warn: log, error: log },
  };
  const count = await countRunAsParts(client, schema, row);
  // Recorded and not run.
  if (count > 0) await runner({ ...options, fake: true, count });
  const place = `${basename(dirname(row.directory))}/${basename(row.directory)}`;
  for (const { name } of await runner(options)) log(`ran ${place}/${name}.sql`);
}

/** Of the files that this row's own record lacks, how many have run as parts of others: the first ones, as rows have an order. */
async function countRunAsParts(
  client: pg.Client,
  schema: string,
  { directory, record, partsOf }: FileRow,
): Promise<number> {
  if (partsOf === undefined) return 0;
  const whole = new Set((await namesIn(client, schema, partsOf.record)).map(numberOf));
  const own = new Set((await namesIn(client, schema, record)).map(numberOf));
  const files = (await readdir(directory)).map(numberOf);
  return files.filter((number) => number <= partsOf.last && whole.has(number) && !own.has(number)).length;
}

/** `000012-totals-by-index.sql`: 12. */
const numberOf = (name: string): number => Number.parseInt(name, 10);

/** Names of the files that a record knows; none while there is no such table. */
async function namesIn(client: pg.Client, schema: string, table: string): Promise<string[]> {
  const { rows } = await client.query({
    text: `select from pg_catalog.pg_tables where schemaname = $1 and tablename = $2`,
    values: [schema, table],
  });
  if (rows.length === 0) return [];
  const place = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`;
  return (await client.query<{ name: string }>(`select name from ${place}`)).rows.map(({ name }) => name);
}

async function checkDatabase(client: pg.Client, installation: Installation): Promise<void> {
  const { rows } = await client.query({
    text: `select current_setting('server_version_num')::int / 10000 as major,
      current_setting('server_version') as version,
      current_setting('server_encoding') as encoding,
      current_database() as database,
      current_user as role,
      has_database_privilege(current_database(), 'create') as may_create,
      exists (select from pg_catalog.pg_collation where collname = $1) as has_collation`,
    values: [installation.collation],
  });
  const found = rows[0];
  if (found.major < installation.minimumVersion) {
    throw new InstallError(
      `PostgreSQL ${installation.minimumVersion} or newer is needed; the server is ${found.version}`,
    );
  }
  if (found.encoding !== 'UTF8') {
    throw new InstallError(`Database ${found.database} has the encoding ${found.encoding}; UTF8 is needed`);
  }
  if (!found.has_collation) {
    throw new InstallError(
      `This PostgreSQL lacks the collation ${installation.collation}: one that was built with ICU is needed`,
    );
  }
  if (!found.may_create) {
    throw new InstallError(
      `Role ${found.role} may not create schemas in database ${found.database}: grant create on database "${found.database}" to "${found.role}"`,
    );
  }
}
