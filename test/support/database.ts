// Databases of tests: a template with the control tables, and a clone of it for each test file.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { install } from '../../src/database/install.ts';
import { type Database, type DatabaseOptions, makeDatabase } from '../../src/database/pool.ts';
import { dropOnNodes, isCluster, joinNodes, onEachNode } from './citus.ts';

const TEMPLATE = 'wda_test_template';

export interface TestDatabase {
  readonly url: string;
  /** Runs SQL as its owner, to arrange what the API does not allow or to look behind it. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** Opens a database as a server with its default settings does. */
export function openDatabase(
  connection: string | DatabaseOptions['connection'],
  settings: Partial<DatabaseOptions> = {},
): Database {
  return makeDatabase({
    ...readConfig({}),
    connection: typeof connection === 'string' ? { connectionString: connection } : connection,
    processes: 1,
    onError: () => undefined,
    ...settings,
  });
}

/** (Re)makes the template on the server of the URL. */
export async function makeTemplate(url: string): Promise<void> {
  // A database of a cluster cannot be cloned.
  if (isCluster) return;
  await administer(url, [
    `drop database if exists ${TEMPLATE} with (force)`,
    `create database ${TEMPLATE} encoding 'UTF8' template template0`,
  ]);
  await install({ connectionString: onDatabase(url, TEMPLATE) }, () => undefined);
}

/** A fresh database with the control tables; on a cluster one of all nodes, unless they are to be `apart` until joinDatabase(). */
export async function createTestDatabase({ apart = false } = {}): Promise<TestDatabase> {
  const server = serverUrl();
  const name = `wda_test_${randomBytes(6).toString('hex')}`;
  const url = onDatabase(server, name);
  if (isCluster) {
    await onEachNode(server, [`create database ${name} encoding 'UTF8' template template0`]);
    if (!apart) await joinNodes(server, (node) => onDatabase(node, name));
    await install({ connectionString: url }, () => undefined);
  } else await administer(server, [`create database ${name} template ${TEMPLATE}`]);
  let client: pg.Client | undefined;
  return {
    url,
    async query(text, values = []) {
      if (client === undefined) {
        client = new pg.Client({ connectionString: url });
        client.on('error', () => undefined);
        await client.connect();
      }
      return (await client.query(text, values)).rows;
    },
    async drop() {
      await client?.end();
      if (isCluster) await dropOnNodes(server, name);
      else await administer(server, [`drop database if exists ${name} with (force)`]);
    },
  };
}

/** Makes the databases of the nodes into one of a cluster. */
export const joinDatabase = ({ url }: TestDatabase): Promise<void> =>
  joinNodes(serverUrl(), (node) => onDatabase(node, new URL(url).pathname.slice(1)));

/** Looks into the database of each node of a cluster, the coordinator first; elsewhere into the only one. */
export async function queryNodes({ url, query }: TestDatabase, text: string): Promise<Record<string, unknown>[]> {
  if (!isCluster) return query(text);
  // Citus keeps the tables of shards out of the catalogs unless it is told not to.
  const statements = ['set citus.override_table_visibility to off', text];
  return onEachNode(serverUrl(), statements, (node) => onDatabase(node, new URL(url).pathname.slice(1)));
}

const WAITING = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
and state = 'active' and wait_event_type = 'Lock' and query like $1`;
// The coordinator waits for the worker, and says by which of its statements.
const WAITING_ON_CLUSTER = 'select 1 from citus_lock_waits where blocked_statement like $1';

/** Whether a statement like the pattern waits for a lock, of whichever node. */
export async function isWaiting(database: TestDatabase, pattern: string): Promise<boolean> {
  return (await database.query(isCluster ? WAITING_ON_CLUSTER : WAITING, [pattern])).length > 0;
}

/**
 * The statement that keeps reads and writes from the table until its transaction ends. Citus passes `lock table` on to no
 * node, and a node that is read straight knows nothing of it; a change of the table locks it there, too.
 */
export const lockWhole = (table: string): string =>
  isCluster ? `alter table ${table} add column "$locked" integer` : `lock table ${table} in access exclusive mode`;

/** How often PostgreSQL has looked into the index; on workers its name ends with the number of its shard. */
export async function scansOf(database: TestDatabase, schema: string, index: string): Promise<number> {
  await database.query('select pg_stat_force_next_flush()');
  const rows = await queryNodes(
    database,
    `select coalesce(sum(idx_scan), 0)::int as scans from pg_stat_user_indexes
where schemaname = '${schema}' and regexp_replace(indexrelname, '_[0-9]+$', '') = '${index}'`,
  );
  return rows.reduce((sum, row) => sum + Number(row.scans), 0);
}

/** The server that test/run.ts has started. */
export function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (url === undefined) throw new Error('Run tests by `npm test -- <files>`: it starts the PostgreSQL that they need');
  return url;
}

async function administer(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function onDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}
