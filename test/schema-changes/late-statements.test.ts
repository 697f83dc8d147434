// Statements about a migration that a slow network delivers when it has ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { makeDatabase } from '../../src/database/pool.ts';
import type { Operation } from '../../src/migrations/operation.ts';
import { AlreadyEndedError, makeProgress } from '../../src/migrations/run.ts';
import { findMigration } from '../../src/store/migrations.ts';
import { applySchema, assertTidy, ended, type Json } from '../support/migration.ts';
import { holdAt, prepareHolds } from '../support/paused-migration.ts';
import { prepare, useDatabase, useDatabaseProxy, useServer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const BEFORE = { entities: { notes: { fields: { title: { type: 'string' }, body: { type: 'text' } } } } };
const AFTER = {
  entities: {
    notes: {
      fields: {
        title: { type: 'string' },
        body: { type: 'text', searchable: true },
        extra: { type: 'string', required: true, default: 'none' },
      },
    },
  },
};

const database = useDatabase();
const server = useServer({}, { database });
const wire = useDatabaseProxy(database);
const behind = useServer({}, wire);
prepare(() => prepareHolds(database));

/** A workspace whose migration, with work before the switch, has ended. */
async function migrated(slug: string): Promise<{ readonly workspace: TestWorkspace; readonly id: string }> {
  const workspace = await server.workspace(`acme/${slug}`, BEFORE);
  await workspace.create('notes', [{ title: 'a', body: 'b' }]);
  const { data } = (await applySchema(workspace, AFTER, '?wait=60')).json;
  assert.equal(data.state, 'succeeded', JSON.stringify(data));
  await workspace.create('notes', [{ title: 'x', body: 'needle', extra: 'precious' }]);
  return { workspace, id: String(data.id) };
}

const made = async (id: string): Promise<Json> =>
  (await server.database.query('select made from wda.migration where id = $1', [id]))[0]?.made;

const idOf = async (slug: string): Promise<string> =>
  String((await server.database.query('select id from wda.workspace where slug = $1', [slug]))[0]?.id);

async function assertAllIsThere(workspace: TestWorkspace, slug: string): Promise<void> {
  await assertTidy(server, slug);
  const found = await workspace.call('notes?search=needle');
  assert.equal(found.status, 200, found.text);
  assert.deepEqual(found.json.data, [{ id: 2, title: 'x', body: 'needle', extra: 'precious' }]);
}

test('progress that is stored when the migration has ended changes nothing', async (t) => {
  const { workspace, id } = await migrated('progress');
  const config = readConfig({ DATABASE_URL: server.database.url });
  const connection = { connectionString: server.database.url };
  const db = makeDatabase({ ...config, connection, processes: 1, onError: () => undefined });
  t.after(() => db.close());
  const before = await findMigration(db, await idOf('progress'), id);
  assert.ok(before !== undefined);
  const operation = { entity: 'notes' } as Operation;
  await db.session(
    async (session) => {
      const late = makeProgress(session, { ...before, operations: [operation] });
      await late.build(db, operation, 0.5);
      await late.startStep(operation);
      await assert.rejects(late.succeed(), AlreadyEndedError);
      await late.conclude({ how: 'cancelled' });
    },
    { purpose: 'migration', tenant: 'progress' },
  );
  assert.deepEqual(await findMigration(db, await idOf('progress'), id), before);
  await assertAllIsThere(workspace, 'progress');
});

test('a migration that is open again although its document is in force has succeeded', async () => {
  const { workspace, id } = await migrated('again');
  assert.ok((await made(id)).length > 0);
  await server.database.query("update wda.migration set state = 'running', finished_at = null where id = $1", [id]);
  assert.equal((await ended(workspace, Number(id))).state, 'succeeded');
  await assertAllIsThere(workspace, 'again');
});

test('a failed migration that is open again takes nothing back that a later one has made anew', async () => {
  const { workspace, id } = await migrated('anew');
  const later = structuredClone(AFTER) as Json;
  later.entities.more = { fields: {} };
  assert.equal((await applySchema(workspace, later)).json.data.state, 'succeeded');
  await server.database.query("update wda.migration set state = 'running', finished_at = null where id = $1", [id]);
  const { state, error } = await ended(workspace, Number(id));
  assert.deepEqual([state, error.code], ['failed', 'INTERRUPTED']);
  await assertAllIsThere(workspace, 'anew');
});

const gatesOf = async (slug: string): Promise<unknown> =>
  (await server.database.query('select gates from wda.workspace where slug = $1', [slug]))[0]?.gates;

test('the time left of a blocking migration that comes late holds nothing up and closes no gate', async () => {
  const workspace = await behind.workspace('acme/blocked', BEFORE);
  await workspace.create('notes', [{ title: '1' }]);
  const asked = { entities: { notes: { fields: { title: { type: 'integer' }, body: { type: 'text' } } } } };
  let id = 0;
  const held = await holdAt(server.database, { kind: 'ddl', like: '%alter column "title%type %using%' }, async () => {
    id = (await applySchema(workspace, asked, '?strategy=blocking&wait=0')).json.data.id;
  });
  const late = wire.hold(`and gates <> '{}'`);
  try {
    await until('the countdown is on its way', late.isHeld);
  } finally {
    await held.release();
  }
  assert.equal((await ended(workspace, id)).state, 'succeeded');
  assert.deepEqual(await gatesOf('blocked'), {});
  await late.release();
  assert.deepEqual(await gatesOf('blocked'), {});
  assert.equal((await workspace.call('notes/1')).json.data.title, 1);
});

test('a gate that is closed without a migration is opened', async () => {
  const workspace = await server.workspace('acme/shut', BEFORE);
  await server.database.query(
    `update wda.workspace set version = version + 1,
     gates = '{"notes": {"blocksReads": true, "blocksWrites": true, "retryAfterSeconds": 7}}' where slug = 'shut'`,
  );
  await until('the entity is available', async () => (await workspace.call('notes')).status === 200);
  assert.deepEqual(await gatesOf('shut'), {});
});
