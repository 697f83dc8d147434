// What /metrics tells of migrations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf } from '../support/migration.ts';
import { holdAt, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const server = useServer();
prepare(() => prepareHolds(server.database));
const workspace = use(() => server.workspace('acme/shop', withTotal('string')));
prepare(async () => {
  await server.database.query(
    `insert into "${await schemaOf(server, workspace)}".orders (total) select n::text from generate_series(1, 700) n`,
  );
});

const withTotal = (type: string, more = {}): unknown => ({
  entities: { orders: { fields: { total: { type, ...more } } } },
});

async function figures(): Promise<Record<string, number>> {
  const text = await server.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith('wda_migration'));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]));
}

test('metrics tell of migrations that run, of records filled, and of how migrations ended', async () => {
  const put = (document: unknown) => workspace.admin('schema?wait=0', { method: 'PUT', body: document });
  const none = await figures();
  assert.deepEqual(none, {
    wda_migrations_running: 0,
    'wda_migrations_total{kind="succeeded"}': none['wda_migrations_total{kind="succeeded"}'],
    'wda_migrations_total{kind="failed"}': 0,
    'wda_migrations_total{kind="cancelled"}': 0,
    wda_migration_records_filled_total: 0,
  });
  const succeeded = none['wda_migrations_total{kind="succeeded"}'] as number;
  const held = await holdAt(server.database, { kind: 'ddl', like: '%drop column if exists "total"' }, () =>
    put(withTotal('integer')),
  );
  assert.equal((await figures()).wda_migrations_running, 1);
  assert.equal((await figures()).wda_migration_records_filled_total, 700);
  await held.release();
  await until('it has ended', async () => (await figures()).wda_migrations_running === 0);
  assert.equal((await figures())['wda_migrations_total{kind="succeeded"}'], succeeded + 1);
  await put(withTotal('integer', { max: 5 }));
  await until('it has failed', async () => (await figures())['wda_migrations_total{kind="failed"}'] === 1);
});
