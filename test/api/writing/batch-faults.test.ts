// A batch whose connection to the database is lost: before its commit nothing of it is there, at its commit nobody knows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { prepare, use, useDatabase, useDatabaseProxy, useServer } from '../../support/use.ts';

const database = useDatabase();
const proxy = useDatabaseProxy(database);
const server = useServer({}, proxy);
const lines = use(() =>
  server.workspace('acme/commits', { entities: { lines: { fields: { text: { type: 'text' } } } } }),
);

prepare(async () => {
  const [row] = await database.query("select database_schema from wda.workspace where slug = 'commits'");
  const schema = `"${row?.database_schema}"`;
  await database.query(`create function ${schema}.linger() returns trigger language plpgsql as
    'begin perform pg_sleep(1); return null; end'`);
  await database.query(`create constraint trigger linger after insert on ${schema}.lines
    deferrable initially deferred for each row execute function ${schema}.linger()`);
});

/** The answer to a batch whose connection is cut when `query` runs there. */
async function cutAt(query: string): Promise<Answer> {
  const operations = [{ method: 'POST', entity: 'lines', body: { text: 'A' } }];
  const answer = lines.call('_batch', { method: 'POST', body: { operations } });
  await until('the batch is that far', async () => {
    const rows = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '${query}'`,
    );
    return rows.length > 0;
  });
  proxy.cut();
  const told = await answer;
  proxy.restore();
  return told;
}

test('a batch that is lost at its commit is told as unknown, with no word to repeat it', async () => {
  const told = await cutAt('commit');
  assert.deepEqual([told.status, told.json?.error?.code], [503, 'OUTCOME_UNKNOWN'], told.text);
  assert.equal(told.headers.get('retry-after'), null);
});
