// Roles of PostgreSQL that write to tables of a workspace directly: what our triggers do for them gives them no rights,
// and misses no write, however it comes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { ended } from '../support/migration.ts';
import { type Held, holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const RECORDS = 6000;
const schemaWith = (type: object) => ({ entities: { things: { fields: { size: type } } } });
const DECIMAL = { type: 'decimal', precision: 9, scale: 2 };
const TABLE = '"ws1_roles".things';
const SOME = { int8: '1', bool: 'true', text: "'x'" };

const server = useServer();
const workspace = use(() => server.workspace('acme/roles', schemaWith(DECIMAL)));
prepare(async () => {
  await prepareHolds(server.database);
  const lines = Array.from({ length: RECORDS }, (_, index) => `${index}.5`);
  const { status } = await workspace.call('things/_import', {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: `size\n${lines.join('\n')}\n`,
  });
  assert.equal(status, 200);
});

const query = (text: string, values?: unknown[]) => server.database.query(text, values);

async function as<T>(role: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const url = new URL(server.database.url);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(`set session authorization ${role}`);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A role that may insert into the table, delete and has a schema of its own, in it operators that make it superuser. */
async function makeIntruder(role: string): Promise<void> {
  await query(`drop role if exists ${role}; create role ${role} login`);
  await query(`create schema ${role} authorization ${role}`);
  await query(`grant usage on schema "ws1_roles" to ${role}; grant select, insert, delete on ${TABLE} to ${role}`);
  const operators = [
    ...['int4,int8', 'int8,int8', 'int8,int4'].flatMap((types) => [`+ ${types} int8`, `> ${types} bool`]),
    '- none,int8 int8',
    '|| text,text text',
    '= oid,oid bool',
    '= numeric,numeric bool',
    '< numeric,numeric bool',
  ];
  await as(role, async (client) => {
    for (const [index, operator] of operators.entries()) {
      const [name, types = '', result] = operator.split(' ');
      const [left, right] = types.split(',');
      const own = `${role}.f${index}`;
      await client.query(`create function ${own}(${left === 'none' ? right : types}) returns ${result}
language plpgsql as $$ begin execute 'alter role ${role} superuser'; return ${SOME[result as keyof typeof SOME]}; end $$`);
      await client.query(
        `create operator ${role}.${name} (function = ${own}${left === 'none' ? '' : `, leftarg = ${left}`}, rightarg = ${right})`,
      );
    }
  });
}

async function attack(role: string): Promise<void> {
  await makeIntruder(role);
  await as(role, async (client) => {
    await client.query(`set search_path = ${role}, pg_catalog`);
    await client.query(`insert into ${TABLE} (size) values (7)`);
    await client.query(`delete from ${TABLE} where id operator(pg_catalog.=) 2::bigint`);
  });
  const [row] = await query('select rolsuper from pg_roles where rolname = $1', [role]);
  assert.equal(row?.rolsuper, false);
  await query(`drop owned by ${role}; drop role ${role}`);
}

async function assertPinned(): Promise<void> {
  const functions = await query(`select p.oid::regprocedure::text as name, array_to_string(proconfig, '; ') as settings
from pg_proc p join pg_namespace n on n.oid = pronamespace where prosecdef and nspname <> 'holding'`);
  assert.ok(functions.length > 0);
  for (const { name, settings } of functions) assert.equal(settings, 'search_path=pg_catalog, pg_temp', String(name));
}

test('a role that may write to a table of which a total is kept gets no further', async () => {
  await until('the total is kept', async () => {
    await workspace.call('things?size=1');
    return (await query(`select from "ws1_roles"."$total"`)).length > 0;
  });
  await attack('intruder_of_totals');
  await assertPinned();
});

test('nor does one while a type changes, and writes past the triggers of the session are not lost', async () => {
  await holdRecord(server.database, TABLE, RECORDS);
  let id = 0;
  const held: Held = await holdAt(server.database, { kind: 'record' }, async () => {
    const { status, json, text } = await workspace.admin('schema?wait=0', {
      method: 'PUT',
      body: schemaWith({ ...DECIMAL, precision: 12, scale: 3 }),
    });
    assert.equal(status, 202, text);
    id = json.data.id;
  });
  try {
    await attack('intruder_of_types');
    await assertPinned();
    await query('set session_replication_role = replica');
    await query(`insert into ${TABLE} (id, size) values (100000, 77.25)`);
    await query(`update ${TABLE} set size = 88.75 where id = 5`);
    await query('set session_replication_role = origin');
  } finally {
    await held.release();
  }
  const { state, error } = await ended(workspace, id);
  assert.equal(state, 'succeeded', JSON.stringify(error));
  assert.match((await workspace.call('things/100000')).text, /"size":77\.25/);
  assert.match((await workspace.call('things/5')).text, /"size":88\.75/);
});
