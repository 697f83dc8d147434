// Migrations that cannot be taken back wholly, as something of others hangs on what they have made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf } from '../support/migration.ts';
import { holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { startTestServer, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const NOTES = { entities: { notes: { fields: { text: { type: 'string' } } } } };

test('what hangs on the columns of a dead migration keeps neither the workspace nor others from going on', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { query } = server.database;
  const workspaces: TestWorkspace[] = [];
  for (const name of ['first', 'second']) {
    workspaces.push(await server.workspace(`acme/${name}`, NOTES));
    const [row] = await query('select id, database_schema as schema from wda.workspace where slug = $1', [name]);
    await query(`alter table "${row?.schema}".notes add column "text$9" int`);
    await query(`alter table "${row?.schema}".notes add constraint "notes$text$ck_length" check (true) not valid`);
    await query(`create table "${row?.schema}".people (id int)`);
    if (name === 'first') await query(`create view public.mine as select "text$9" from "${row?.schema}".notes`);
    const made = [
      { kind: 'column', table: 'notes', column: 'text$9' },
      { kind: 'table', table: 'people' },
    ];
    await query(
      `insert into wda.migration (workspace_id, state, strategy, steps, document, started_at, made)
       values ($1, 'running', 'online', '[]', $2, now(), $3)`,
      [row?.id, JSON.stringify(NOTES), JSON.stringify(made)],
    );
    await query(
      `update wda.workspace set version = version + 1,
       gates = '{"notes": {"blocksReads": true, "blocksWrites": true, "retryAfterSeconds": 7}}' where id = $1`,
      [row?.id],
    );
  }
  const errors: unknown[] = [];
  for (const workspace of workspaces) {
    await until('the migration has ended', async () => {
      const [migration] = (await workspace.admin('migrations?size=1')).json.data;
      if (migration.state === 'failed') errors.push(migration.error.code);
      return migration.state === 'failed';
    });
    await until('the entity is available', async () => (await workspace.call('notes')).status === 200);
    const more = { entities: { ...NOTES.entities, people: {} } };
    const { data } = (await workspace.admin('schema', { method: 'PUT', body: more })).json;
    assert.equal(data.state, 'succeeded', JSON.stringify(data.error));
  }
  assert.deepEqual(errors, ['DEPENDENT_OBJECTS', 'INTERRUPTED']);
});

test('what hangs on the columns of a migration that is cancelled keeps the workspace from nothing', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { query } = server.database;
  await prepareHolds(server.database);
  const workspace = await server.workspace('acme/third', NOTES);
  const table = `"${await schemaOf(server, workspace)}".notes`;
  await query(`insert into ${table} (text) select n::text from generate_series(1, 10) n`);
  await holdRecord(server.database, table, 5);
  const asked = { entities: { notes: { fields: { text: { type: 'integer' } } } } };
  const held = await holdAt(server.database, { kind: 'record' }, () =>
    workspace.admin('schema?wait=0', { method: 'PUT', body: asked }),
  );
  const [column] = await query(
    `select attname as name from pg_attribute where attrelid = '${table}'::regclass and attname like 'text$%'`,
  );
  await query(`create view public.mine as select "${column?.name}" from ${table}`);
  const { id } = (await workspace.admin('migrations?size=1')).json.data[0];
  const { json } = await workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
  await held.release();
  const { state, error } = json.data;
  assert.deepEqual([state, error?.code], ['failed', 'DEPENDENT_OBJECTS']);
  const more = { entities: { ...NOTES.entities, people: {} } };
  assert.equal((await workspace.admin('schema', { method: 'PUT', body: more })).json.data.state, 'succeeded');
});
