// A server that is stopped in good order in the middle of a migration: it ends soon, with code 0, and what it began is
// taken back, by itself or by whoever comes next.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { applySchemaTo, assertTidy, type Json, schemaOf, withClient } from '../support/migration.ts';
import { type Hold, holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { prepare, useServer } from '../support/resources.ts';
import type { Answer, TestWorkspace } from '../support/server.ts';
import { startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';

const document = (type: string): Json => ({
  entities: { notes: { fields: { text: { type: 'string' }, size: { type, index: true } } } },
});

let count = 0;
const server = useServer();
prepare(() => prepareHolds(server.database));

async function workspaceWith(records: number): Promise<{ workspace: TestWorkspace; slug: string; table: string }> {
  const slug = `close${++count}`;
  const workspace = await server.workspace(`acme/${slug}`, document('string'));
  const table = `"${await schemaOf(server, workspace)}".notes`;
  await server.database.query(
    `insert into ${table} (text, size) select 'x', n::text from generate_series(1, ${records}) n`,
  );
  await holdRecord(server.database, table, 50);
  return { workspace, slug, table };
}

const HOLDS: Readonly<Record<string, Hold>> = {
  'a batch of values': { kind: 'record' },
  'an index that is not yet valid': { kind: 'snapshot' },
  'the switch': { kind: 'ddl', like: '%drop column if exists "size"' },
};

for (const [where, hold] of Object.entries(HOLDS)) {
  test(`SIGTERM at ${where}: the client is told, the process ends with 0, nothing is left`, async (t) => {
    const { workspace, slug, table } = await workspaceWith(100);
    const other = await startServerProcess({ DATABASE_URL: server.database.url });
    let answer: Promise<Answer> | undefined;
    const held = await holdAt(server.database, hold, async () => {
      answer = applySchemaTo(other.url, workspace, document('bigint'), '?wait=60');
    });
    t.after(held.release);
    const exited = once(other.child, 'exit');
    other.child.kill('SIGTERM');
    const [code, signal] = await exited;
    assert.deepEqual([code, signal], [0, null]);
    const { status, json } = await (answer as Promise<Answer>);
    const { data } = json;
    assert.deepEqual([status, data.state, data.error.code], [200, 'failed', 'INTERRUPTED']);
    await held.release();
    await server.database.query(`drop trigger hold on ${table}`);
    await assertTidy(server, slug);
    assert.equal((await workspace.call('notes/1')).json.data.size, '1');
  });
}

test('SIGTERM while nothing can be taken back: the process ends all the same, and another one tidies up', async () => {
  const { workspace, slug, table } = await workspaceWith(100);
  const other = await startServerProcess({ DATABASE_URL: server.database.url });
  await withClient(server, async (reader) => {
    const held = await holdAt(server.database, { kind: 'record' }, () =>
      applySchemaTo(other.url, workspace, document('bigint'), '?wait=0'),
    );
    // As pg_dump does: no column can go while it reads.
    await reader.query(`begin; select from ${table} limit 1`);
    const exited = once(other.child, 'exit');
    other.child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    await held.release();
    const [migration] = (await workspace.admin('migrations?size=1')).json.data;
    assert.equal(migration.state, 'running');
    assert.equal((await workspace.call('notes/1')).json.data.size, '1');
    await reader.query('rollback');
  });
  await until(
    'it is taken back',
    async () => (await workspace.admin('migrations?size=1')).json.data[0].state === 'failed',
  );
  assert.equal((await workspace.admin('migrations?size=1')).json.data[0].error.code, 'INTERRUPTED');
  await server.database.query(`drop trigger hold on ${table}`);
  await assertTidy(server, slug);
});
