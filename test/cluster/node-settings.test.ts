// Sessions that the coordinator opens on workers have the settings of ours, or the server does not serve.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { makeObserver } from '../../src/observe.ts';
import { isCluster } from '../support/citus.ts';
import { ADMIN_KEY, startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { useDatabase } from '../support/use.ts';

if (isCluster) onCluster();
else test('settings on the nodes of a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();

  /** On the worker alone. */
  async function onWorker(...statements: string[]): Promise<Record<string, unknown>[]> {
    const [row] = await database.query(
      "select nodename || ':' || nodeport as host from pg_dist_node where groupid > 0 order by nodeport limit 1",
    );
    const url = Object.assign(new URL(database.url), { host: row?.host });
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  }

  test('the role of the server has them after the first start, on workers as well', async () => {
    await (await startTestServer({}, database)).stop();
    const [row] = await onWorker(
      "select current_setting('TimeZone') as zone, current_setting('synchronous_commit') as commit",
    );
    assert.deepEqual(row, { zone: 'UTC', commit: 'on' });
  });

  test('while a worker has others the server does not serve, says which, and goes on once it has ours', async () => {
    const set = (words: string): Promise<unknown> =>
      onWorker('set citus.enable_ddl_propagation to off', `alter role current_user in database "${name}" ${words}`);
    const name = new URL(database.url).pathname.slice(1);
    await set("set timezone = 'Europe/Berlin'");
    const config = readConfig({
      PORT: '0',
      DATABASE_URL: database.url,
      WDA_ADMIN_KEY: ADMIN_KEY,
      WDA_DEMO: 'off',
      LOG_LEVEL: 'silent',
    });
    const app = makeApp(config, { connectionString: database.url }, makeObserver(config, false));
    try {
      const url = `http://127.0.0.1:${await app.listen()}/readyz`;
      const prepared = app.prepare();
      await until('the reason is told', async () =>
        /TimeZone = Europe\/Berlin, which has to be UTC/.test(await (await fetch(url)).text()),
      );
      assert.equal((await fetch(url)).status, 503);
      await set("set timezone = 'UTC'");
      await prepared;
      assert.equal((await fetch(url)).status, 200);
    } finally {
      await app.close(0);
    }
  });
}
