// The control tables: installed once by however many processes, and never on a database that cannot hold them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { install } from '../../../src/catalog/install.ts';
import { InstallError } from '../../../src/db/install.ts';
import { serverUrl } from '../../support/database.ts';

const suffix = randomBytes(6).toString('hex');
let admin: pg.Client;
const made: string[] = [];

before(async () => {
  admin = new pg.Client({ connectionString: serverUrl() });
  await admin.connect();
});
after(async () => {
  try {
    // Databases before the roles that own something in them.
    for (const statement of made) await admin.query(statement);
  } finally {
    await admin.end();
  }
});

async function createDatabase(name: string, options = ''): Promise<string> {
  const database = `wda_install_${name}_${suffix}`;
  await admin.query(`create database ${database} template template0 ${options}`);
  made.push(`drop database ${database} with (force)`);
  return onDatabase(database);
}

function onDatabase(database: string, user?: string, password?: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  if (user !== undefined) url.username = user;
  if (password !== undefined) url.password = password;
  return url.href;
}

async function tablesOf(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query("select tablename from pg_tables where schemaname = 'wda' order by 1");
  await client.end();
  return rows.map(({ tablename }) => tablename);
}

test('several processes that start at once install the control tables once', async () => {
  const connectionString = await createDatabase('race', "encoding 'UTF8'");
  const lines: string[] = [];
  await Promise.all(Array.from({ length: 4 }, () => install({ connectionString }, (line) => lines.push(line))));
  const files = readdirSync(new URL('../../../install', import.meta.url)).sort();
  assert.deepEqual(
    lines,
    files.map((file) => `control tables: ${file.replace('.sql', '')} applied`),
  );
  const tables = await tablesOf(connectionString);
  for (const name of ['api_key', 'instance', 'migration', 'organization', 'workspace'])
    assert.ok(tables.includes(name));
  await install({ connectionString }, (line) => lines.push(line));
  assert.equal(lines.length, files.length);
});

test('a database whose encoding is not UTF8 is refused in words', async () => {
  const connectionString = await createDatabase('latin', "encoding 'SQL_ASCII' locale_provider libc locale 'C'");
  await assert.rejects(
    install({ connectionString }, () => undefined),
    (error: Error) => {
      assert.ok(error instanceof InstallError);
      assert.match(error.message, /has the encoding SQL_ASCII; UTF8 is needed/);
      return true;
    },
  );
  assert.deepEqual(await tablesOf(connectionString), []);
});

test('a role that may not create schemas is told what to grant', async () => {
  await createDatabase('grant', "encoding 'UTF8'");
  const role = `wda_role_${suffix}`;
  await admin.query(`create role ${role} login password 'secret-of-the-test'`);
  made.push(`drop role ${role}`);
  const connectionString = onDatabase(`wda_install_grant_${suffix}`, role, 'secret-of-the-test');
  await assert.rejects(
    install({ connectionString }, () => undefined),
    (error: Error) => {
      assert.ok(error instanceof InstallError);
      assert.match(error.message, new RegExp(`Role ${role} may not create schemas .*: grant create on database`));
      return true;
    },
  );
  await admin.query(`grant create on database wda_install_grant_${suffix} to ${role}`);
  await install({ connectionString }, () => undefined);
  assert.ok((await tablesOf(connectionString)).includes('workspace'));
});
