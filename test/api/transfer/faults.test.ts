// Imports whose database connection is lost at their commit.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type DatabaseProxy, openProxy } from '../../support/database-proxy.ts';
import { INTERNALS } from '../../support/scenario.ts';
import { type Answer, startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { CSV, until } from '../../support/transfer-faults.ts';

function unavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.json.error.code, 'SERVICE_UNAVAILABLE');
  assert.doesNotMatch(answer.text, INTERNALS);
}

describe('a database connection that is lost at the commit of an import', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let behind: TestServer;
  let lines: TestWorkspace;

  before(async () => {
    database = await createTestDatabase();
    proxy = await openProxy(database);
    behind = await startTestServer({}, proxy.database);
    lines = await behind.workspace('acme/commits', { entities: { lines: { fields: { text: { type: 'text' } } } } });
    const [row] = await database.query("select database_schema from wda.workspace where slug = 'commits'");
    const schema = `"${row?.database_schema}"`;
    await database.query('set citus.enable_unsafe_triggers = on');
    await database.query(`create function ${schema}.linger() returns trigger language plpgsql as
      'begin perform pg_sleep(1); return null; end'`);
    await database.query(`create constraint trigger linger after insert on ${schema}.lines
      deferrable initially deferred for each row execute function ${schema}.linger()`);
  });
  after(async () => {
    await behind?.stop();
    await proxy?.close();
    await database?.drop();
  });

  /** An import whose COMMIT has begun; in an object, as a promise in a promise would be waited for. */
  async function importing(headers = {}): Promise<{ readonly answer: Promise<Answer> }> {
    const answer = lines.call('lines/_import', { method: 'POST', headers: { ...CSV, ...headers }, body: 'text\nA\n' });
    await until('the import commits', async () => {
      const rows = await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query = 'commit'",
      );
      return rows.length > 0;
    });
    return { answer };
  }
  const count = async (): Promise<number> => (await lines.call('lines')).json.meta.totalElements;

  test('is answered by what became of it: done', async () => {
    const { answer } = await importing();
    proxy.cut();
    proxy.restore();
    const { status, text, json } = await answer;
    assert.equal(status, 200, text);
    assert.deepEqual(json.data, { inserted: 1, updated: 0, skipped: 0 });
    assert.equal(await count(), 1);
  });

  test('is answered by what became of it: not done', async () => {
    const before = await count();
    const { answer } = await importing();
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = 'commit'",
    );
    unavailable(await answer);
    assert.equal(await count(), before);
  });

  test('is told as unknown when the database does not come back', async () => {
    const before = await count();
    const { answer } = await importing();
    proxy.cut();
    const told = await answer;
    proxy.restore();
    assert.deepEqual([told.status, told.json.error.code], [503, 'OUTCOME_UNKNOWN'], told.text);
    assert.equal(told.headers.get('retry-after'), null);
    await until('it is there', async () => (await count().catch(() => before)) === before + 1);
  });

  test('may be sent again when it had an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'unknown' };
    const { answer } = await importing(key);
    proxy.cut();
    const told = await answer;
    proxy.restore();
    unavailable(told);
    assert.equal(told.headers.get('retry-after'), '1');
    let replay = told;
    await until('it is answered as done', async () => {
      replay = await lines.call('lines/_import', { method: 'POST', headers: { ...CSV, ...key }, body: 'text\nA\n' });
      return replay.status === 200;
    });
    assert.deepEqual(replay.json.data, { inserted: 1, updated: 0, skipped: 0 });
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
  });
});
