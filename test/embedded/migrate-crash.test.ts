// PostgreSQL itself dies in the middle of a migration: it comes back, and soon nothing of the migration is left.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import type { TestDatabase } from '../support/database.ts';
import { LASTING_TRIGGERS } from '../support/migration.ts';
import { type Hold, holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { startTestServer } from '../support/server.ts';
import { openFolder, postmasterPid, startHere, until, untilAnswers } from './support.ts';

const withTotal = (total: unknown): unknown => ({ entities: { orders: { fields: { total } } } });
const BEFORE = withTotal({ type: 'string' });
const AFTER = withTotal({ type: 'integer', min: 0, required: true, unique: true });

const STEPS: readonly (readonly [step: string, strategy: string, hold: Hold])[] = [
  ['a batch of values', 'online', { kind: 'record' }],
  ['an index that is not yet valid', 'online', { kind: 'snapshot' }],
  ['the middle of the switch', 'online', { kind: 'ddl', like: '%drop column if exists "total"' }],
  ['the rewriting of a locked table', 'blocking', { kind: 'ddl', like: '%alter column "total"%using%' }],
];

test('PostgreSQL that is killed leaves nothing of a migration behind', async (t) => {
  const embedded = await startHere(t, openFolder(t));
  const reasons: string[] = [];
  embedded.onExit((reason) => reasons.push(reason));
  // Holding a migration takes event triggers, and these a superuser.
  const { host, port, user, password, database: name } = embedded.superuser;
  const url = `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`;
  /** A connection each: they end with PostgreSQL. */
  const database: TestDatabase = {
    url,
    async query(text, values = []) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query(text, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    drop: async () => undefined,
  };
  const server = await startTestServer({}, database);
  t.after(() => server.stop());
  await prepareHolds(database);
  const workspace = await server.workspace('acme/shop', BEFORE);
  const [row] = await database.query('select database_schema as name from wda.workspace');
  const table = `"${row?.name}".orders`;
  await database.query(`insert into ${table} (total) select n::text from generate_series(1, 3000) n`);
  await holdRecord(database, table, 2000);

  const traces = async (): Promise<unknown> => {
    const rows = await database.query(
      `select
  (select json_agg(attname || ' ' || attnotnull order by attnum) from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped) as columns,
  (select json_agg(conname || pg_get_constraintdef(oid) order by conname) from pg_constraint where conrelid = $1::regclass) as constraints,
  (select json_agg(indexrelid::regclass || ' ' || indisvalid order by indexrelid::regclass::text) from pg_index where indrelid = $1::regclass) as indexes,
  (select json_agg(tgname order by tgname) from pg_trigger where tgrelid = $1::regclass and tgname <> all($2)) as triggers,
  (select json_agg(proname order by proname) from pg_proc where pronamespace = (select relnamespace from pg_class where oid = $1::regclass)) as functions,
  (select count(*)::int from "${row?.name}"."$migration_conflict") as conflicts,
  (select json_agg(gates) from wda.workspace) as gates,
  (select count(*)::int from wda.migration where state in ('pending', 'running')) as running`,
      [table, LASTING_TRIGGERS],
    );
    return rows[0];
  };
  const blank = await traces();

  for (const [step, strategy, hold] of STEPS) {
    await t.test(`at ${step}`, async () => {
      let id = 0;
      const held = await holdAt(database, hold, async () => {
        const answer = await workspace.admin(`schema?wait=0&strategy=${strategy}`, { method: 'PUT', body: AFTER });
        assert.equal(answer.status, 202, answer.text);
        id = answer.json.data.id;
      });
      const made = strategy === 'online' ? await workspace.create('orders', [{ total: `${10_000 + id}` }]) : [];
      const deaths = reasons.length;
      process.kill(postmasterPid(embedded.stateDirectory), 'SIGKILL');
      await until('it was noticed', () => reasons.length > deaths);
      await untilAnswers(embedded.connection);
      await held.release();
      let state = '';
      await until('the migration has ended', async () => {
        state = (await workspace.admin(`migrations/${id}`)).json.data?.state ?? 'running';
        return state !== 'running' && state !== 'pending';
      });
      const { error } = (await workspace.admin(`migrations/${id}`)).json.data;
      assert.deepEqual([state, error.code], ['failed', 'INTERRUPTED']);
      assert.deepEqual(await traces(), blank);
      assert.deepEqual((await workspace.call('orders/7')).json.data, { id: 7, total: '7' });
      for (const { id: kept, total } of made) {
        assert.equal((await workspace.call(`orders/${kept}`)).json.data.total, total);
      }
    });
  }

  const last = await workspace.admin('schema?wait=30', { method: 'PUT', body: AFTER });
  assert.equal(last.json.data?.state, 'succeeded', last.text);
  assert.equal((await workspace.call('orders/7')).json.data.total, 7);
});
