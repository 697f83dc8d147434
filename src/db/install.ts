// The platform's own migrations: runs the numbered SQL files of a folder that have not run yet, once, however many
// processes start at the same time. Takes a connection, gives nothing; refuses a database that cannot hold us.
import { runner } from 'node-pg-migrate';
import type pg from 'pg';
import { makeConnect } from './connect.ts';

export interface Installation {
  /** Folder of the SQL files. */
  readonly directory: string;
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

/** Throws InstallError when the database is unfit, the driver's error when it is away or a file fails. */
export async function runInstallation(
  connection: pg.ClientConfig,
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
    const applied = await runner({
      dbClient: client,
      dir: installation.directory,
      direction: 'up',
      migrationsSchema: installation.schema,
      createMigrationsSchema: true,
      migrationsTable: 'installed',
      checkOrder: true,
      singleTransaction: true,
      lockValue: LOCK,
      advisoryLockMode: 'wait',
      logger: { info: () => undefined, warn: log, error: log },
    });
    for (const { name } of applied) log(`control tables: ${name} applied`);
  } finally {
    await client.end();
  }
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
