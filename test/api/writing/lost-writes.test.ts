// Writes whose connection to the database is lost: nobody knows whether they were done, unless they have a key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../../support/citus.ts';
import { prepare, use, useDatabase, useDatabaseProxy, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const database = useDatabase();
const proxy = useDatabaseProxy(database);
const server = useServer({}, proxy);
const lines = use(() =>
  server.workspace('acme/commits', { entities: { lines: { fields: { text: { type: 'text' } } } } }),
);

prepare(async () => {
  const [row] = await database.query("select database_schema from wda.workspace where slug = 'commits'");
  const schema = `"${row?.database_schema}"`;
  await database.query('set citus.enable_unsafe_triggers = on');
  await database.query(`create function ${schema}.linger() returns trigger language plpgsql as
    'begin perform pg_sleep(1); return null; end'`);
  await database.query(`create constraint trigger linger after insert on ${schema}.lines
    deferrable initially deferred for each row execute function ${schema}.linger()`);
});

/** The answer to a write whose connection is cut when `query` runs there. */
async function cutAt(query: string, path: string, body: unknown, key?: string): Promise<Answer> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const answer = lines.call(path, { method: 'POST', body, headers });
  await until('the write is that far', async () => {
    const rows = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '${query}'`,
    );
    return rows.length > 0;
  });
  proxy.cut();
  const told = await answer;
  proxy.restore();
  await until('the database is back', async () => (await lines.call('lines?size=1')).status === 200);
  return told;
}

test('a write that was done is not refused for its own key when nobody can look at it', async () => {
  const headers = { 'idempotency-key': 'own' };
  const send = () => lines.call('lines', { method: 'POST', body: { text: 'mine' }, headers });
  const done = await send();
  assert.equal(done.status, 201, done.text);
  const lookUp = proxy.hold('fingerprint::text from');
  const answer = send();
  await until('it is looked whether it was done before', lookUp.isHeld);
  proxy.cut();
  const told = await answer;
  proxy.restore();
  await until('the database is back', async () => (await lines.call('lines?size=1')).status === 200);
  assert.deepEqual([told.status, told.json?.error?.code], [503, 'SERVICE_UNAVAILABLE'], told.text);
  const again = await send();
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, 'true'], again.text);
  assert.equal(again.text, done.text);
});

const WRITES = [
  ['lines', { text: 'A' }, undefined],
  ['lines/_bulk', { data: [{ text: 'A' }] }, 'with %insert into%'],
  ['_batch', { operations: [{ method: 'POST', entity: 'lines', body: { text: 'A' } }] }, 'commit'],
] as const;

for (const [path, body, query] of WRITES) {
  // Of a single write the quick lane makes two runs, and between them it is known that it was not done.
  if (query !== undefined)
    test(`a write to ${path} that is lost before its answer is told as unknown, with no word to repeat it`, async () => {
      const told = await cutAt(query, path, body);
      assert.deepEqual([told.status, told.json?.error?.code], [503, 'OUTCOME_UNKNOWN'], told.text);
      assert.equal(told.headers.get('retry-after'), null);
    });

  test(`a write to ${path} that is lost is done once when its key is sent again`, async () => {
    const before = await countOf();
    // On a cluster the key of a single write is another statement, in one transaction with it.
    const isAlone = path === 'lines' && !isCluster;
    const told = await cutAt(isAlone ? 'with %insert into%' : 'commit', path, body, path);
    assert.deepEqual([told.status, told.json?.error?.code], [503, 'SERVICE_UNAVAILABLE'], told.text);
    assert.equal(told.headers.get('retry-after'), '1');
    await until('the key is answered', async () => {
      const again = await lines.call(path, { method: 'POST', body, headers: { 'idempotency-key': path } });
      assert.ok(again.status < 300 || again.status === 503, again.text);
      return again.status < 300;
    });
    assert.equal(await countOf(), before + 1);
  });
}

async function countOf(): Promise<number> {
  // What was cut off may still be on its way.
  await until('nothing runs', async () => {
    const rows = await database.query(
      "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()",
    );
    return rows.length === 0;
  });
  return (await lines.call('lines?size=1')).json.meta.totalElements;
}
