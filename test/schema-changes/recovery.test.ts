// Migrations whose process is gone, where something of others hangs on what they have made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/until.ts';

const NOTES = { entities: { notes: { fields: { text: { type: 'string' } } } } };

test('what hangs on the columns of a dead migration keeps neither the workspace nor others from going on', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { query } = server.database;
  const workspaces: TestWorkspace[] = [];
  for (const name of ['first', 'second']) {
    workspaces.push(await server.workspace(`acme/${name}`, NOTES));
    const [row] = await query('select id, database_schema as schema from wda.workspace where slug = $1', [name]);
    await query(
      `alter table "${row?.schema}".notes add column "text$9" int, add constraint "notes$text$ck_length" check (true) not valid`,
    );
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
