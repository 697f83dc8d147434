// A migration of a workspace on a worker of a Citus cluster: whoever is in its way there is told, although the coordinator
// knows nothing of them, and so is how far an index is there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { connected, dataNodes, isCluster } from '../support/citus.ts';

import { applySchema, assertTidy, ended, type Json, schemaOf } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

if (isCluster) onCluster();
else
  test('whom migrations wait for on a worker', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const server = useServer();

  const document = (type: string, more: object = {}): Json => ({
    entities: { notes: { fields: { size: { type, ...more } } } },
  });

  async function workspaceWith(slug: string, records: number): Promise<{ workspace: TestWorkspace; schema: string }> {
    const workspace = await server.workspace(`acme/${slug}`, document('string'));
    const schema = await schemaOf(server, workspace);
    await server.database.query(
      `insert into "${schema}".notes (size) select n::text from generate_series(1, ${records}) n`,
    );
    return { workspace, schema };
  }

  /** A session on the worker that holds the table; `begin` says what it does there, with the table's name on it. */
  async function onWorker(
    schema: string,
    begin: (table: string) => string,
  ): Promise<{ client: pg.Client; node: string; pid: number }> {
    for (const url of dataNodes(server.database.url)) {
      const [row] = await connected(
        url,
        async (client) =>
          (
            (await client.query(
              `set citus.override_table_visibility = off; select '"${schema}".' || quote_ident(relname) as name from pg_class
where relnamespace = to_regnamespace('"${schema}"') and relname ~ '^notes_[0-9]+$'`,
            )) as unknown as readonly pg.QueryResult[]
          )[1]?.rows ?? [],
      );
      if (row === undefined) continue;
      const client = new pg.Client({ connectionString: url, application_name: 'a report' });
      await client.connect();
      await client.query(begin(row.name));
      const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0];
      return { client, node: new URL(url).host, pid };
    }
    throw new Error('no worker has the table');
  }

  async function waits(workspace: TestWorkspace): Promise<Json> {
    let migration: Json;
    await until('the migration says whom it waits for', async () => {
      [migration] = (await workspace.admin('migrations?size=1')).json.data;
      assert.ok(migration.state === 'pending' || migration.state === 'running', JSON.stringify(migration));
      return migration.waitingFor !== null;
    });
    return migration;
  }

  test('a session on the worker that reads the table is told with its node', async () => {
    const { workspace, schema } = await workspaceWith('locked', 100);
    const { client, node, pid } = await onWorker(schema, (table) => `begin; select from ${table} limit 1`);
    try {
      assert.equal((await applySchema(workspace, document('bigint'), '?wait=0')).status, 202);
      const { waitingFor } = await waits(workspace);
      assert.deepEqual([waitingFor.pid, waitingFor.application], [pid, `a report on ${node}`]);
      assert.ok(Math.abs(Date.parse(waitingFor.since) - Date.now()) < 600_000);
      const made = await workspace.call('notes', { method: 'POST', body: { size: '7' } });
      assert.equal(made.status, 201, made.text);
    } finally {
      await client.end();
    }
    const [{ id }] = (await workspace.admin('migrations?size=1')).json.data;
    assert.equal((await ended(workspace, id)).state, 'succeeded');
    await assertTidy(server, 'locked');
  });

  test('a session on the worker that an index waits for is told, and how much of the index is built', async () => {
    const { workspace, schema } = await workspaceWith('indexed', 1000);
    const { client, node, pid } = await onWorker(
      schema,
      (table) => `begin isolation level repeatable read; select from ${table} limit 1`,
    );
    let id = 0;
    try {
      const asked = document('string', { index: true });
      id = (await applySchema(workspace, asked, '?wait=0')).json.data.id;
      const { waitingFor } = await waits(workspace);
      assert.deepEqual([waitingFor.pid, waitingFor.application], [pid, `a report on ${node}`]);
      await until('the progress is that of the worker', async () => {
        const { steps } = (await workspace.admin(`migrations/${id}`)).json.data;
        return steps[0].progress > 0 && steps[0].progress < 1;
      });
    } finally {
      await client.end();
    }
    assert.equal((await ended(workspace, id)).state, 'succeeded');
    await assertTidy(server, 'indexed');
  });

  test('a prepared transaction that was left on the worker is told', async () => {
    const { workspace, schema } = await workspaceWith('left', 100);
    const name = `${schema}_left`;
    const { client, node } = await onWorker(
      schema,
      (table) => `begin; select from ${table} limit 1; prepare transaction '${name}'`,
    );
    let id = 0;
    try {
      id = (await applySchema(workspace, document('bigint'), '?wait=0')).json.data.id;
      const { waitingFor } = await waits(workspace);
      assert.deepEqual(waitingFor, { pid: null, application: `prepared transaction on ${node}`, since: null });
    } finally {
      await client.query(`rollback prepared '${name}'`);
      await client.end();
    }
    assert.equal((await ended(workspace, id)).state, 'succeeded');
    await assertTidy(server, 'left');
  });
}
