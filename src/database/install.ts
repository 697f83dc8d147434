// Runs the numbered SQL files of install/: `control` and `data` in the schema `wda` when a server starts, `workspace` in the
// PostgreSQL schema of each workspace, `changes` there as well when its first entity keeps changes. A file runs once in a schema, however many processes come to it at the same time, in
// the transaction that records it in `wda.installed`.
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { TEXT_COLLATION } from '../model/field-types.ts';
import { ident, sql, toQuery } from '../sql/fragment.ts';
import { internalFunction } from '../sql/internal-names.ts';
import { makeConnect } from './connect.ts';
import type { Route } from './connection-url.ts';
import { InstallError } from './errors.ts';
import type { Session } from './pool.ts';
import { executeEach, inTransaction } from './transaction.ts';

type Queryable = Pick<Session, 'query' | 'execute'>;
export type InstallFolder = 'control' | 'data' | 'workspace' | 'changes';

interface InstallFile {
  /** Name of the file, such as `000001-base`. */
  readonly name: string;
  /** Statements, sent one at a time as a cluster needs it. */
  readonly statements: readonly string[];
}

const SCHEMA = 'wda';
const MINIMUM_VERSION = 15;
// "wdi" in ASCII: other programs on the database have other classes of advisory locks.
const LOCK_CLASS = 0x776469;

/** Reads the files of a folder in order. An empty line separates the statements of a file; no statement contains one. */
function readFiles(folder: InstallFolder): readonly InstallFile[] {
  const directory = new URL(`../../install/${folder}/`, import.meta.url);
  return readdirSync(directory)
    .sort()
    .map((file) => ({
      name: file.replace(/\.sql$/, ''),
      statements: readFileSync(new URL(file, directory), 'utf8')
        .split(/;\s*\n(?:\s*\n|$)/)
        .map((statement) => statement.trim())
        .filter((statement) => statement !== ''),
    }));
}

/** Files of this version. */
export const INSTALL_FILES: Readonly<Record<InstallFolder, readonly InstallFile[]>> = {
  control: readFiles('control'),
  data: readFiles('data'),
  workspace: readFiles('workspace'),
  changes: readFiles('changes'),
};

/** Returns the name of the last file of a folder: a schema that has run it has run all of them. */
export const getLastFile = (folder: InstallFolder): string => INSTALL_FILES[folder].at(-1)?.name ?? '';

/**
 * Runs the files of a folder that a schema lacks, in the transaction of the session. Returns their names. `execute`: sends
 * the statements of a file.
 */
export async function runFiles(
  session: Queryable,
  folder: InstallFolder,
  schema: string,
  execute = executeEach,
): Promise<readonly string[]> {
  await lockSchema(session, schema);
  const recordedFiles = await session.query<{ name: string }>(
    toQuery(sql`select name from wda.installed where schema = ${schema} and folder = ${folder}`),
  );
  const names = new Set(recordedFiles.map(({ name }) => name));
  const missingFiles = INSTALL_FILES[folder].filter(({ name }) => !names.has(name));
  for (const { name, statements } of missingFiles) {
    const texts = statements.map((statement) => ({ text: fillIn(statement, schema) }));
    await execute(session, texts);
    await session.query(
      toQuery(sql`insert into wda.installed (schema, folder, name) values (${schema}, ${folder}, ${name})`),
    );
  }
  return missingFiles.map(({ name }) => name);
}

// Where a function is created, called, or named for its oid.
const FUNCTION = /\{schema\}\."\$(\w+)"(?=\(|'::regproc)/g;

/** Names the schema and its functions in a statement of a file. */
const fillIn = (statement: string, schema: string): string =>
  statement
    .replaceAll(FUNCTION, (_, name: string) => internalFunction(schema, name).text)
    .replaceAll('{schema}', () => ident(schema).text);

/** Returns whether some file of the folder has run in the schema. */
export async function hasFiles(
  session: Pick<Queryable, 'query'>,
  folder: InstallFolder,
  schema: string,
): Promise<boolean> {
  const [file] = await session.query(
    toQuery(sql`select from wda.installed where schema = ${schema} and folder = ${folder} limit 1`),
  );
  return file !== undefined;
}

/** Waits until no other process runs files in the schema, and locks it until the transaction ends. */
async function lockSchema(session: Queryable, schema: string): Promise<void> {
  await session.query(toQuery(sql`select pg_advisory_xact_lock(${LOCK_CLASS}::int4, hashtext(${schema}))`));
}

/**
 * Brings the control tables up to date; several processes may do so at once, one after the other. `log` gets a line for each
 * file: `ran install/control/000001-base.sql`. Throws InstallError when the database is unfit or a newer version has
 * installed it, the driver's error when it is unavailable or a file fails.
 */
export async function install(connection: Route, log: (message: string) => void): Promise<void> {
  // No limits: another process that installs may take its time, and so may a file.
  const { client } = await makeConnect({ ...connection, application_name: 'wda install' })({
    statementTimeoutMs: 0,
    lockTimeoutMs: 0,
  });
  const session: Queryable = {
    query: async (query) => (await client.query(query as pg.QueryConfig)).rows,
    execute: async (text) => void (await client.query(text)),
  };
  try {
    await checkDatabase(session);
    const lines = await inTransaction(session, 0, async () => {
      await lockSchema(session, SCHEMA);
      await createRecord(session);
      await checkNotNewer(session);
      const lines: string[] = [];
      // The order matters: rows of workspaces refer to those of the control tables.
      for (const folder of ['control', 'data'] as const) {
        const names = await runFiles(session, folder, SCHEMA);
        lines.push(...names.map((name) => `ran install/${folder}/${name}.sql`));
      }
      return lines;
    });
    for (const line of lines) log(line);
  } finally {
    await client.end();
  }
}

async function createRecord(session: Queryable): Promise<void> {
  // On a cluster a `create schema` goes to each node even where the schema exists, and fails while one is down.
  const [table] = await session.query(toQuery(sql`select where to_regclass('wda.installed') is not null`));
  if (table !== undefined) return;
  await session.execute(sql`create schema if not exists wda`.text);
  await session.execute(
    sql`create table wda.installed (
  schema text collate "C",
  folder text collate "C",
  name text collate "C",
  run_at timestamptz(3) not null default clock_timestamp(),
  primary key (schema, folder, name)
)`.text,
  );
}

/** Refuses an installation of a newer version: the changes of its files are unknown, and writing there could break it. */
async function checkNotNewer(session: Queryable): Promise<void> {
  const recordedFiles = await session.query<{ folder: InstallFolder; name: string }>(
    toQuery(sql`select distinct folder, name from wda.installed order by folder, name`),
  );
  const unknownFiles = recordedFiles.filter(
    ({ folder, name }) => !INSTALL_FILES[folder]?.some((file) => file.name === name),
  );
  if (unknownFiles.length === 0) return;
  throw new InstallError(
    `This database was installed by a newer version (${unknownFiles.map(({ folder, name }) => `${folder}/${name}`).join(', ')}): start that version, or restore a backup of the time before it`,
  );
}

interface DatabaseFacts {
  readonly major: number;
  readonly version: string;
  readonly encoding: string;
  readonly database: string;
  readonly role: string;
  readonly mayCreate: boolean;
  readonly hasCollation: boolean;
}

async function checkDatabase(session: Queryable): Promise<void> {
  const [facts] = await session.query<DatabaseFacts>(
    toQuery(sql`select current_setting('server_version_num')::int / 10000 as major,
  current_setting('server_version') as version,
  current_setting('server_encoding') as encoding,
  current_database() as database,
  current_user as role,
  has_database_privilege(current_database(), 'create') as "mayCreate",
  exists (select from pg_catalog.pg_collation where collname = ${TEXT_COLLATION}) as "hasCollation"`),
  );
  const { major, version, encoding, database, role, mayCreate, hasCollation } = facts as DatabaseFacts;
  if (major < MINIMUM_VERSION) {
    throw new InstallError(`PostgreSQL ${MINIMUM_VERSION} or newer is needed; the server is ${version}`);
  }
  if (encoding !== 'UTF8') {
    throw new InstallError(`Database ${database} has the encoding ${encoding}; UTF8 is needed`);
  }
  if (!hasCollation) {
    throw new InstallError(
      `This PostgreSQL lacks the collation ${TEXT_COLLATION}: one that was built with ICU is needed`,
    );
  }
  if (!mayCreate) {
    throw new InstallError(
      `Role ${role} may not create schemas in database ${database}: grant create on database "${database}" to "${role}"`,
    );
  }
}
