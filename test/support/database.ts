// Databases of tests: a template with the control tables, and a clone of it for each test file.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { install } from '../../src/catalog/install.ts';
import { isCluster, joinNodes, onEachNode } from './citus.ts';

const TEMPLATE = 'wda_test_template';

export interface TestDatabase {
  readonly url: string;
  /** Runs SQL as its owner, to arrange what the API does not allow or to look behind it. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
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

/** A fresh database with the control tables. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = serverUrl();
  const name = `wda_test_${randomBytes(6).toString('hex')}`;
  const url = onDatabase(server, name);
  if (isCluster) {
    await onEachNode(server, [`create database ${name} encoding 'UTF8' template template0`]);
    await joinNodes(server, (node) => onDatabase(node, name));
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
      const gone = [`drop database if exists ${name} with (force)`];
      await (isCluster ? onEachNode(server, gone) : administer(server, gone));
    },
  };
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
