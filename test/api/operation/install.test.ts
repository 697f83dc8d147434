// The control tables: installed once by however many processes, and never on a database that cannot hold them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { InstallError } from '../../../src/database/errors.ts';
import { INSTALL_FILES, install } from '../../../src/database/install.ts';
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

async function rowsOf(connectionString: string, text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function tablesOf(connectionString: string): Promise<string[]> {
  const rows = await rowsOf(connectionString, "select tablename from pg_tables where schemaname = 'wda' order by 1");
  return rows.map(({ tablename }) => tablename);
}

/** All that the platform's schema is made of, a line each. */
const INVENTORY = `
select format('%s %s %s %s', relkind, relname, reloptions, relacl) as line from pg_class where relnamespace = 'wda'::regnamespace
union all select format('column %s.%s %s %s not null %s default %s identity %s collation %s statistics %s', c.relname, attnum, attname,
    format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attidentity, attcollation::regcollation, attstattarget)
  from pg_attribute a join pg_class c on c.oid = attrelid left join pg_attrdef d on (adrelid, adnum) = (attrelid, attnum)
  where relnamespace = 'wda'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
union all select format('constraint %s of %s %s', conname, conrelid::regclass, pg_get_constraintdef(oid))
  from pg_constraint where connamespace = 'wda'::regnamespace
union all select pg_get_indexdef(indexrelid) from pg_index join pg_class c on c.oid = indexrelid where relnamespace = 'wda'::regnamespace
union all select format('%s %s', pg_get_triggerdef(t.oid), tgenabled) from pg_trigger t join pg_class c on c.oid = tgrelid
  where relnamespace = 'wda'::regnamespace and not tgisinternal
union all select format('%s %s', pg_get_functiondef(oid), proacl) from pg_proc where pronamespace = 'wda'::regnamespace
union all select format('%s of %s has run', name, folder) from wda.installed
order by 1`;

const inventoryOf = async (connectionString: string): Promise<string[]> =>
  (await rowsOf(connectionString, INVENTORY)).map(({ line }) => line);

test('several processes that start at once install the control tables once', async () => {
  const connectionString = await createDatabase('race', "encoding 'UTF8'");
  const lines: string[] = [];
  await Promise.all(Array.from({ length: 4 }, () => install({ connectionString }, (line) => lines.push(line))));
  const files = (['control', 'data'] as const).flatMap((folder) =>
    INSTALL_FILES[folder].map(({ name }) => `ran install/${folder}/${name}.sql`),
  );
  assert.deepEqual(lines, files);
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

test('a database that a newer version has installed is refused in words, and left as it is', async () => {
  const connectionString = await createDatabase('newer', "encoding 'UTF8'");
  await install({ connectionString }, () => undefined);
  await rowsOf(
    connectionString,
    `insert into wda.installed (schema, folder, name)
     values ('wda', 'control', '999997-wind'), ('wda', 'data', '999998-clouds'), ('ws1_shop', 'workspace', '999999-rain'),
       ('ws1_shop', 'changes', '000001-base')`,
  );
  // This version would install it again.
  await rowsOf(connectionString, "delete from wda.installed where folder = 'data' and name = '000001-base'");
  const inventory = await inventoryOf(connectionString);
  await assert.rejects(
    install({ connectionString }, () => undefined),
    (error: Error) => {
      assert.ok(error instanceof InstallError);
      assert.match(
        error.message,
        /by a newer version \(changes\/000001-base, control\/999997-wind, data\/999998-clouds, workspace\/999999-rain\): start that version/,
      );
      return true;
    },
  );
  assert.deepEqual(await inventoryOf(connectionString), inventory);
});

test('files of install/control need nothing of install/data, which refers to organizations alone', async () => {
  const connectionString = await createDatabase('control', "encoding 'UTF8'");
  await rowsOf(connectionString, 'create schema wda');
  for (const statement of INSTALL_FILES.control.flatMap(({ statements }) => statements))
    await rowsOf(connectionString, statement);
  const control = await tablesOf(connectionString);
  await rowsOf(connectionString, 'drop schema wda cascade');
  await install({ connectionString }, () => undefined);
  const keys = await rowsOf(
    connectionString,
    `select conname, conrelid::regclass::text as "table", confrelid::regclass::text as target from pg_constraint
where contype = 'f' and connamespace = 'wda'::regnamespace`,
  );
  const isControl = (table: string): boolean => control.includes(table.replace('wda.', ''));
  assert.deepEqual(
    keys
      .filter(({ table, target }) => isControl(table) !== isControl(target))
      .map(({ conname }) => conname)
      .sort(),
    ['member_organization', 'shared_schema_organization', 'workspace_organization'],
  );
});
