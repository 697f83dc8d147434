// The server of an embedded PostgreSQL works as a role that owns the database and can do nothing outside it; data that
// an earlier version made, as the superuser, change hands at the next start.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { type EmbeddedConnection, type EmbeddedDatabase, startEmbedded } from '../../src/embedded/embedded.ts';
import type { TestDatabase } from '../support/database.ts';
import { startTestServer } from '../support/server.ts';
import { makeShop } from '../support/shop.ts';
import { keepLog, openFolder, query } from './support.ts';

test('the role of the server owns its database, and is no superuser', async (t) => {
  const database = await startEmbedded(optionsFor(openFolder(t)));
  t.after(() => database.stop());
  const { connection } = database;
  const rights = 'rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls';
  assert.deepEqual(await query(connection, `select ${rights} from pg_roles where rolname = current_user`), [
    [false, false, false, false, false],
  ]);
  assert.deepEqual(
    await query(connection, 'select count(*)::int from pg_auth_members where member = current_user::regrole'),
    [[0]],
  );
  await query(connection, 'create schema own create table kept (n int)');
  for (const statement of [
    `copy own.kept from program 'echo 1'`,
    `copy own.kept to '/tmp/wda-rights-test'`,
    `select pg_read_file('PG_VERSION')`,
    `alter system set shared_buffers = '1GB'`,
    'create role other superuser',
    'create database other',
    `alter role ${connection.user} superuser`,
    'set session_replication_role = replica',
    'set role wda',
    'update pg_authid set rolsuper = true',
    'checkpoint',
  ]) {
    await assert.rejects(query(connection, statement), { code: '42501' }, statement);
  }
});

test('data of an earlier version change hands, with all that is in them', async (t) => {
  const options = optionsFor(openFolder(t));
  let database = await startEmbedded(options);
  t.after(() => database.stop());
  await asEarlier(database);

  const old = await startTestServer({}, testDatabase(database.superuser));
  const shop = await makeShop(old);
  const before = await shop.call('orders?expand=items,customer');
  assert.equal(before.status, 200);
  await old.stop();
  for (const statement of OBJECTS) await query(database.superuser, statement);
  assert.notDeepEqual(await query(database.superuser, OWNED_BY_SUPERUSER), []);
  await database.stop();
  forget(database);

  database = await startEmbedded(options);
  const { connection } = database;
  assert.equal(connection.user, 'wda_app');
  assert.deepEqual(await query(database.superuser, OWNED_BY_SUPERUSER), [['extension pg_trgm']]);
  assert.deepEqual(
    await query(connection, `select datdba::regrole::text from pg_database where datname = current_database()`),
    [['wda_app']],
  );
  for (const [statement, expected] of USES) assert.deepEqual(await query(connection, statement), expected, statement);

  const server = await startTestServer({}, testDatabase(connection));
  t.after(() => server.stop());
  const call = (path: string, more: object = {}) =>
    server.call(`/api/v1/${shop.path}/${path}`, { credential: shop.key, ...more });
  const after = await call('orders?expand=items,customer');
  assert.deepEqual(after.json, before.json);
  assert.equal((await call('tags', { method: 'POST', body: { name: 'new' } })).status, 201);
  // What a migration alters it has to own.
  const schema = (
    await server.call(`/api/admin/v1/organizations/${organizationOf(shop.path)}/schema`, { credential: shop.key })
  ).json.data;
  schema.entities.tags.fields.name.maxLength = 77;
  schema.entities.tags.fields.colour = { type: 'string' };
  const changed = await server.call(`/api/admin/v1/organizations/${organizationOf(shop.path)}/schema`, {
    method: 'PUT',
    credential: shop.key,
    body: schema,
  });
  assert.ok(changed.status < 300, changed.text);
});

test('data of an earlier version that are put in the place of newer ones change hands, too', async (t) => {
  const options = optionsFor(openFolder(t));
  let database = await startEmbedded(options);
  t.after(() => database.stop());
  await asEarlier(database);
  await query(database.superuser, 'create table kept as select 42 as answer');
  await database.stop();
  rmSync(join(database.stateDirectory, 'data', 'wda_rights'));
  const { password } = database.connection;
  database = await startEmbedded(options);
  assert.equal(database.connection.password, password);
  assert.deepEqual(await query(database.connection, 'update kept set answer = answer returning answer'), [[42]]);
});

const optionsFor = (dataDir: string) => ({ dataDir, log: keepLog(), stateRoot: join(dataDir, 'unused-state') });

/** Takes the role away, as if it had never been made: everything belongs to the superuser. */
async function asEarlier({ superuser }: EmbeddedDatabase): Promise<void> {
  for (const statement of [
    'alter database wda owner to wda',
    'reassign owned by wda_app to wda',
    'drop owned by wda_app',
    'drop role wda_app',
  ]) {
    await query(superuser, statement);
  }
}

function forget({ stateDirectory }: EmbeddedDatabase): void {
  rmSync(join(stateDirectory, 'app-password'));
  rmSync(join(stateDirectory, 'data', 'wda_rights'));
}

/** The database as those of other tests, whose end leaves it alone. */
function testDatabase(connection: EmbeddedConnection): TestDatabase {
  const { host, port, user, password, database } = connection;
  const url = `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  return {
    url,
    async query(text, values = []) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query(text, values)).rows;
      } finally {
        await client.end();
      }
    },
    drop: async () => undefined,
  };
}

function organizationOf(path: string): string {
  const [organization, slug] = path.split('/');
  return `${organization}/workspaces/${slug}`;
}

// What people may have made beside the server's own tables, by psql as the superuser of that time.
const OBJECTS = [
  'create schema "Reports, by hand"',
  'set search_path = "Reports, by hand"; create table serials (id serial, n int generated always as identity, t text)',
  'set search_path = "Reports, by hand"; insert into serials (t) values (\'a\')',
  'set search_path = "Reports, by hand"; create view "the view" as select * from serials',
  'set search_path = "Reports, by hand"; create materialized view stored as select * from serials',
  'set search_path = "Reports, by hand"; create sequence alone',
  'set search_path = "Reports, by hand"; create table parts (n int) partition by range (n)',
  'set search_path = "Reports, by hand"; create table parts_1 partition of parts for values from (0) to (10)',
  'set search_path = "Reports, by hand"; create table child () inherits (serials)',
  "set search_path = \"Reports, by hand\"; create type mood as enum ('good', 'bad')",
  'set search_path = "Reports, by hand"; create type pair as (a int, b int)',
  'set search_path = "Reports, by hand"; create domain positive as int check (value > 0)',
  'set search_path = "Reports, by hand"; create type span as range (subtype = int)',
  'set search_path = "Reports, by hand"; create function twice(n int) returns int language sql as $$ select n * 2 $$',
  'set search_path = "Reports, by hand"; create procedure nothing() language sql as $$ select 1 $$',
  'set search_path = "Reports, by hand"; create aggregate total(int) (sfunc = int4pl, stype = int)',
  'set search_path = "Reports, by hand"; create statistics related (dependencies) on id, n from serials',
  'set search_path = "Reports, by hand"; create collation "german" (provider = icu, locale = \'de\')',
  'select lo_create(424242)',
  'create extension pg_trgm schema public',
];

const OWNED_BY_SUPERUSER = `select distinct case when x.deptype = 'e' or o.class = 'pg_extension'::regclass then 'extension pg_trgm'
  else o.class::text || ' ' || o.name end
from (
  select 'pg_class'::regclass as class, oid, relname::text as name, relowner as owner from pg_class where relkind not in ('t', 'i', 'I')
  union all select 'pg_proc'::regclass, oid, proname, proowner from pg_proc
  union all select 'pg_type'::regclass, oid, typname, typowner from pg_type
  union all select 'pg_namespace'::regclass, oid, nspname, nspowner from pg_namespace where nspname !~ '^pg_'
  union all select 'pg_collation'::regclass, oid, collname, collowner from pg_collation
  union all select 'pg_statistic_ext'::regclass, oid, stxname, stxowner from pg_statistic_ext
  union all select 'pg_largeobject_metadata'::regclass, oid, oid::text, lomowner from pg_largeobject_metadata
  union all select 'pg_extension'::regclass, oid, extname, extowner from pg_extension where extname <> 'plpgsql'
) o
left join pg_depend x on x.classid = o.class and x.objid = o.oid and x.deptype = 'e'
left join pg_type array_of on o.class = 'pg_type'::regclass and array_of.typarray = o.oid
left join pg_depend y on y.classid = 'pg_type'::regclass and y.objid = array_of.oid and y.deptype = 'e'
where o.owner = 10 and o.oid >= 16384 and y.objid is null`;

const USES: readonly (readonly [statement: string, expected: unknown[][]])[] = [
  ['insert into "Reports, by hand".serials (t) values (\'b\') returning id, n', [[2, 2]]],
  ['alter table "Reports, by hand".serials add column more int', []],
  ['alter view "Reports, by hand"."the view" rename to seen', []],
  ['refresh materialized view "Reports, by hand".stored', []],
  ['drop sequence "Reports, by hand".alone', []],
  ['insert into "Reports, by hand".parts values (5) returning n', [[5]]],
  ['alter table "Reports, by hand".parts_1 set (fillfactor = 50)', []],
  ['alter table "Reports, by hand".child set (fillfactor = 50)', []],
  ['alter type "Reports, by hand".mood add value \'so so\'', []],
  ['alter type "Reports, by hand".pair add attribute c int', []],
  ['alter domain "Reports, by hand".positive set default 1', []],
  ['drop type "Reports, by hand".span', []],
  ['drop function "Reports, by hand".twice(int)', []],
  ['drop procedure "Reports, by hand".nothing()', []],
  ['drop aggregate "Reports, by hand".total(int)', []],
  ['drop statistics "Reports, by hand".related', []],
  ['drop collation "Reports, by hand".german', []],
  ['select lo_unlink(424242)', [[1]]],
  ["select similarity('one', 'one')", [[1]]],
];
