// Migrations that take their time: watched, cancelled, interrupted, and one at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, type Json, applySchema as put, schemaOf, withClient } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';

let count = 0;
const server = useServer();

const NOTES = { entities: { notes: { fields: { text: { type: 'string' } } } } };
/** A field, an index that is built concurrently, and a new entity. */
const MORE = {
  entities: {
    notes: { fields: { text: { type: 'string', index: true }, extra: { type: 'string', default: 'x' } } },
    people: {},
  },
};

async function workspaceWithRecords(): Promise<TestWorkspace> {
  const workspace = await server.workspace(`acme/m${++count}`, NOTES);
  await workspace.create('notes', [{ text: 'a' }, { text: 'b' }]);
  return workspace;
}

/** While a transaction with an old snapshot is open, no index is finished concurrently. */
const holdingBack = <T>(work: () => Promise<T>): Promise<T> =>
  withClient(server, async (client) => {
    await client.query('begin isolation level repeatable read; select count(*) from wda.instance');
    return work();
  });

/** Everything that the workspace's PostgreSQL schema holds. */
async function contents(): Promise<string[]> {
  const rows = await server.database.query(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname like '%\\_m${count}'
     union all
     select table_name || '.' || column_name from information_schema.columns where table_schema like '%\\_m${count}' order by 1`,
  );
  return rows.map(({ name }) => String(name));
}

test('a change that outlasts the wait is 202 with the place to watch it', async () => {
  const workspace = await workspaceWithRecords();
  const id = await holdingBack(async () => {
    const answer = await put(workspace, MORE, '?wait=0');
    assert.equal(answer.status, 202, answer.text);
    const { data } = answer.json;
    assert.ok(data.state === 'pending' || data.state === 'running');
    assert.equal(data.finishedAt, null);
    const location = answer.headers.get('location') ?? '';
    assert.equal(location, `/api/admin/v1/organizations/acme/workspaces/m${count}/migrations/${data.id}`);
    // Requests go on: the old shape is in force until the new one is.
    assert.deepEqual((await workspace.call('notes/1')).json.data, { id: 1, text: 'a' });
    assert.equal((await workspace.call('notes', { method: 'POST', body: { text: 'c' } })).status, 201);
    assert.equal((await workspace.call('people')).status, 404);
    return data.id;
  });
  const migration = await ended(workspace, id);
  assert.equal(migration.state, 'succeeded');
  assert.deepEqual((await workspace.call('notes/3')).json.data, { id: 3, text: 'c', extra: 'x' });
  assert.equal((await workspace.call('people')).status, 200);
});

test('while one runs, other changes of the workspace are 409, plans and other workspaces are not', async () => {
  const other = await workspaceWithRecords();
  const workspace = await workspaceWithRecords();
  const id = await holdingBack(async () => {
    const running = (await put(workspace, MORE, '?wait=0')).json.data.id;
    for (const answer of [
      await put(workspace, NOTES),
      await workspace.admin('entities/notes/settings', { method: 'PUT', body: { maxExpandDepth: 1 } }),
      await workspace.admin('entities/notes/row-rules', { method: 'PUT', body: [] }),
      await server.call(`/api/admin/v1/organizations/acme/workspaces/m${count}?confirm=m${count}`, {
        method: 'DELETE',
        credential: 'operator-key-of-the-tests-0123456789',
      }),
    ]) {
      assert.equal(answer.status, 409, answer.text);
      assert.equal(answer.json.error.code, 'SCHEMA_MIGRATION_IN_PROGRESS');
    }
    assert.equal((await workspace.admin('schema/plan', { method: 'POST', body: MORE })).status, 200);
    assert.equal((await put(other, { entities: { ...NOTES.entities, more: {} } })).json.data.state, 'succeeded');
    const key = await workspace.admin('api-keys', { method: 'POST', body: { name: 'meanwhile' } });
    assert.equal(key.status, 201);
    return running;
  });
  assert.equal((await ended(workspace, id)).state, 'succeeded');
});

test('cancelling takes everything back', async () => {
  const workspace = await workspaceWithRecords();
  const before = await contents();
  await holdingBack(async () => {
    const { id } = (await put(workspace, MORE, '?wait=0')).json.data;
    while (!(await contents()).includes('notes$text$ix')) await sleep(10);
    const answer = await workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
    assert.equal(answer.status, 200, answer.text);
    const migration = await ended(workspace, id);
    assert.equal(migration.state, 'cancelled');
    assert.equal(migration.error, null);
    assert.ok(migration.steps.every((step: Json) => step.state === 'cancelled'));
    const again = await workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
    assert.equal(again.status, 409);
    assert.equal(again.json.error.code, 'CONFLICT');
  });
  assert.deepEqual(await contents(), before);
  assert.equal((await put(workspace, MORE)).json.data.state, 'succeeded');
});

test('a cancel that arrives while the switch commits is never followed by success', async () => {
  const workspace = await workspaceWithRecords();
  const before = [await contents(), (await workspace.admin('schema')).json.data];
  // Inside the last attempt, behind all of its checks: waits until the cancel is stored, by a statement whose signal
  // finds nothing to interrupt.
  await server.database.query(`create function wda.hold_switch() returns trigger language plpgsql as $$
begin
  while not exists (select from wda.migration where workspace_id = new.workspace_id and cancel_requested) loop
    perform pg_sleep(0.01);
  end loop;
  return new;
end $$;
create trigger hold before insert on wda.activity for each row when (new.action = 'schema.update')
execute function wda.hold_switch()`);
  try {
    const { id } = (await put(workspace, MORE, '?wait=0')).json.data;
    const sleeping = "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    while ((await server.database.query(sleeping)).length === 0) await sleep(10);
    const cancel = 'update wda.migration set cancel_requested = true where id = $1';
    await server.database.query(cancel, [id]);
    const { state, error } = await ended(workspace, id);
    assert.deepEqual([state, error], ['cancelled', null]);
  } finally {
    await server.database.query('drop function wda.hold_switch() cascade');
  }
  assert.deepEqual([await contents(), (await workspace.admin('schema')).json.data], before);
});

test('what a dead process left behind is taken back by the next change', async () => {
  const workspace = await workspaceWithRecords();
  const { query } = server.database;
  const schema = await schemaOf(server, workspace);
  const before = await contents();
  const subject = `${schema}.notes.text$9`;
  const made = [
    { kind: 'column', table: 'notes', column: 'text$9' },
    { kind: 'sync', table: 'notes', name: 'notes$text$9$sync', subject },
    // Listed, but the process did not come so far.
    { kind: 'index', table: 'places', index: 'places$name$ix' },
  ];
  await query(`alter table "${schema}".notes add column "text$9" int4`);
  await query(
    `insert into "${schema}"."$migration_conflict" (subject, record_id) values ($1, 1), ('of another migration', 1)`,
    [subject],
  );
  // From here on a sweep may take it back, too.
  await query(
    `insert into wda.migration (workspace_id, state, strategy, steps, document, started_at, made)
     select id, 'running', 'online', '[]', $1, now(), $2 from wda.workspace where slug = 'm${count}'`,
    [JSON.stringify(MORE), JSON.stringify(made)],
  );
  assert.equal((await put(workspace, NOTES)).json.data.state, 'succeeded');
  assert.deepEqual(await contents(), before);
  const [, dead] = (await workspace.admin('migrations')).json.data;
  assert.deepEqual([dead.state, dead.error.code], ['failed', 'INTERRUPTED']);
  assert.deepEqual(await query(`select subject from "${schema}"."$migration_conflict"`), [
    { subject: 'of another migration' },
  ]);
});

test('a default that comes with a demand is there before it, and gone again with it', async () => {
  const workspace = await workspaceWithRecords();
  const asked = {
    entities: { notes: { fields: { text: { type: 'string', required: true, default: 'x', index: true } } } },
  };
  const id = await holdingBack(async () => {
    const running = (await put(workspace, asked, '?wait=0')).json.data.id;
    for (let constraints = 0; constraints === 0; await sleep(10)) {
      const rows = await server.database.query(`select 1 from pg_constraint where conname = 'notes$text$ck_null'`);
      constraints = rows.length;
    }
    assert.equal((await workspace.call('notes', { method: 'POST', body: {} })).status, 201);
    assert.equal((await workspace.admin(`migrations/${running}/cancel`, { method: 'POST' })).status, 200);
    return running;
  });
  assert.equal((await ended(workspace, id)).state, 'cancelled');
  const made = await workspace.call('notes', { method: 'POST', body: {} });
  assert.equal(made.json.data.text, null);
});

test('values are filled in the records that were there, however many come meanwhile', async () => {
  const workspace = await workspaceWithRecords();
  const { query } = server.database;
  const schema = await schemaOf(server, workspace);
  // Whatever is filled, another record comes. On a cluster the table has another name where the trigger runs.
  await query(`create function "${schema}".come() returns trigger language plpgsql as $$ begin
  execute format('insert into %I.%I (id, text) select max(id) + 1, ''7'' from %1$I.%2$I', tg_table_schema, tg_table_name);
  return null;
end $$`);
  await query(
    `create trigger come after update on "${schema}".notes for each statement execute function "${schema}".come()`,
  );
  await query(`update "${schema}".notes set text = id::text`);
  const answer = await put(workspace, { entities: { notes: { fields: { text: { type: 'integer' } } } } }, '?wait=20');
  await query(`drop function "${schema}".come() cascade`);
  assert.equal(answer.json.data.state, 'succeeded', answer.text);
  assert.equal((await workspace.call('notes?filter=text,isNull&size=1')).json.meta.totalElements, 0);
});

test('what was made outside of the API is neither taken over nor dropped', async () => {
  const workspace = await workspaceWithRecords();
  const schema = await schemaOf(server, workspace);
  await server.database.query(`create table "${schema}".people (x int)`);
  await server.database.query(`update "${schema}".notes set text = id::text`);
  await server.database.query(`create view "${schema}".v as select text from "${schema}".notes`);
  const taken = (await put(workspace, MORE)).json.data;
  assert.deepEqual([taken.state, taken.error.code], ['failed', 'NAME_TAKEN']);
  const typed = { entities: { notes: { fields: { text: { type: 'integer' } } } } };
  for (const [document, query] of [
    [{ entities: {} }, '?allowDestructive=true'],
    [typed, ''],
    [typed, '?strategy=blocking'],
  ] as const) {
    const { state, error } = (await put(workspace, document, query)).json.data;
    assert.deepEqual([state, error.code], ['failed', 'DEPENDENT_OBJECTS'], query);
  }
  assert.ok((await contents()).includes('people') && (await contents()).includes('v'));
  assert.equal((await workspace.call('notes/1')).status, 200);
});

test('migrations are listed newest first', async () => {
  const workspace = await workspaceWithRecords();
  await put(workspace, MORE);
  await put(workspace, MORE);
  const { data, meta } = (await workspace.admin('migrations?size=1')).json;
  assert.equal(data.length, 1);
  assert.deepEqual(data[0].steps, []);
  assert.deepEqual(meta, { page: 0, size: 1, totalElements: 2, totalPages: 2 });
});
