// The control tables: installed once by however many processes, and never on a database that cannot hold them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { install } from '../../../src/catalog/install.ts';
import { InstallError } from '../../../src/db/install.ts';
import { serverUrl } from '../../support/database.ts';
import { installOneRow, ONE_ROW } from '../../support/one-row-install.ts';

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

/** Numbers and names of the files of a row, in their order. */
const filesOf = (row: 'control' | 'data'): string[] =>
  readdirSync(new URL(`../../../install/${row}`, import.meta.url))
    .sort()
    .map((file) => file.replace('.sql', ''));
const ran = (row: 'control' | 'data', isMeant = (_file: string): boolean => true): string[] =>
  filesOf(row)
    .filter(isMeant)
    .map((file) => `ran install/${row}/${file}.sql`);

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
union all select format('%s has run', name) from wda.installed
union all select format('%s of control has run', name) from wda.installed_control
order by 1`;

const inventoryOf = async (connectionString: string): Promise<string[]> =>
  (await rowsOf(connectionString, INVENTORY)).map(({ line }) => line);

test('several processes that start at once install the control tables once', async () => {
  const connectionString = await createDatabase('race', "encoding 'UTF8'");
  const lines: string[] = [];
  await Promise.all(Array.from({ length: 4 }, () => install({ connectionString }, (line) => lines.push(line))));
  const files = [...ran('control'), ...ran('data')];
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

/** What is asked for in all states of an installation. */
const FACTS = `select o.slug as organization, w.slug, w.document::text, k.name as key, i.value
from wda.organization o join wda.workspace w on w.organization_id = o.id join wda.api_key k on k.workspace_id = w.id, wda.instance i`;

let freshInventory: Promise<string[]>;
before(() => {
  freshInventory = createDatabase('fresh', "encoding 'UTF8'").then(async (connectionString) => {
    await install({ connectionString }, () => undefined);
    return inventoryOf(connectionString);
  });
  return freshInventory;
});

const ALL = readdirSync(ONE_ROW).sort();
const number = (file: string): number => Number.parseInt(file, 10);

for (const last of [1, 2, 3, 7, 8, 12]) {
  test(`an installation that one row of files has brought to ${last} goes on with two rows, and runs nothing twice`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wda-install-'));
    try {
      for (const file of ALL) if (number(file) <= last) copyFileSync(join(ONE_ROW, file), join(folder, file));
      const connectionString = await createDatabase(`upgrade${last}`, "encoding 'UTF8'");
      await installOneRow({ connectionString }, folder);
      await rowsOf(
        connectionString,
        `insert into wda.organization (slug, name) values ('acme', 'Acme');
insert into wda.workspace (organization_id, slug, name, database_schema, document) select id, 'shop', 'Shop', 'ws1_shop', '{"entities":[]}' from wda.organization;
insert into wda.api_key (workspace_id, name, prefix, hash, permissions) select id, 'ci', 'wda_', '\\x01', 'OWNER' from wda.workspace;
insert into wda.instance (name, value) values ('operator', 'hash')`,
      );
      const facts = await rowsOf(connectionString, FACTS);
      assert.equal(facts.length, 1);
      const lines: string[] = [];
      await Promise.all([1, 2].map(() => install({ connectionString }, (line) => lines.push(line))));
      const isLater = (file: string): boolean => number(file) > last;
      assert.deepEqual(lines, [...ran('control', isLater), ...ran('data', isLater)]);
      assert.deepEqual(await rowsOf(connectionString, FACTS), facts);
      assert.deepEqual(await rowsOf(connectionString, 'select slug from wda.slug_holder'), [{ slug: 'shop' }]);
      assert.deepEqual(await inventoryOf(connectionString), await freshInventory);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

test('entities of workspaces that are there already get ids, each its own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wda-install-'));
  try {
    for (const file of ALL) copyFileSync(join(ONE_ROW, file), join(folder, file));
    const connectionString = await createDatabase('entity_ids', "encoding 'UTF8'");
    await installOneRow({ connectionString }, folder);
    await rowsOf(
      connectionString,
      `insert into wda.organization (slug, name) values ('acme', 'Acme');
insert into wda.workspace (organization_id, slug, name, database_schema, document) select wda.organization.id, w.slug, w.slug, w.slug, w.document::json
from wda.organization, (values ('one', '{"entities":{"a":{},"b":{}}}'), ('two', '{"entities":{"a":{}}}'), ('none', '{}')) w (slug, document)`,
    );
    await install({ connectionString }, () => undefined);
    const rows = await rowsOf(connectionString, 'select slug, entity_ids as ids from wda.workspace order by id');
    const found = rows.map(({ slug, ids }) => [slug, Object.keys(ids as object).join()]);
    assert.deepEqual(found, [
      ['one', 'a,b'],
      ['two', 'a'],
      ['none', ''],
    ]);
    assert.equal(new Set(rows.flatMap(({ ids }) => Object.values(ids as object))).size, 3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a server of the time of one row of files finds a new installation as it knows it', async () => {
  const connectionString = await createDatabase('earlier', "encoding 'UTF8'");
  await install({ connectionString }, () => undefined);
  assert.deepEqual(await installOneRow({ connectionString }), []);
});

for (const record of ['installed', 'installed_control']) {
  test(`a database that a newer version has installed is refused in words, and left as it is (${record})`, async () => {
    const connectionString = await createDatabase(`newer_${record}`, "encoding 'UTF8'");
    await install({ connectionString }, () => undefined);
    await rowsOf(
      connectionString,
      `insert into wda.${record} (name, run_on) values ('999998-clouds', now()), ('999999-rain', now())`,
    );
    // What this version would install again.
    await rowsOf(connectionString, "delete from wda.installed where name = '000016-import-outcomes'");
    await rowsOf(connectionString, 'drop table wda.import_outcome');
    const found = await inventoryOf(connectionString);
    await assert.rejects(
      install({ connectionString }, () => undefined),
      (error: Error) => {
        assert.ok(error instanceof InstallError);
        assert.match(error.message, /by a newer version \(999998-clouds, 999999-rain\): start that version/);
        return true;
      },
    );
    assert.deepEqual(await inventoryOf(connectionString), found);
  });
}

test('the control row needs nothing of the data row, which refers to it by one key', async () => {
  const connectionString = await createDatabase('control', "encoding 'UTF8'");
  const directory = fileURLToPath(new URL('../../../install/control', import.meta.url));
  assert.deepEqual(await installOneRow({ connectionString }, directory, 'installed_control'), filesOf('control'));
  const control = (await tablesOf(connectionString)).filter((table) => table !== 'installed_control');
  assert.deepEqual(control, ['instance', 'organization', 'signing_key', 'slug_holder']);
  const lines: string[] = [];
  await install({ connectionString }, (line) => lines.push(line));
  assert.deepEqual(lines, ran('data'));
  const keys = await rowsOf(
    connectionString,
    `select conname, conrelid::regclass::text as "table", confrelid::regclass::text as target from pg_constraint
where contype = 'f' and connamespace = 'wda'::regnamespace`,
  );
  const isControl = (table: string): boolean => control.includes(table.replace('wda.', ''));
  assert.deepEqual(
    keys.filter(({ table, target }) => isControl(table) !== isControl(target)).map(({ conname }) => conname),
    ['workspace_organization'],
  );
});
