// Sessions that the coordinator opens on workers have the settings of ours, or the server does not serve.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { makeObserver } from '../../src/observer.ts';
import { isCluster } from '../support/citus.ts';
import { useDatabase } from '../support/resources.ts';
import { ADMIN_KEY, startTestServer } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

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

  /** A server that is being prepared with the database at the URL, and what its /readyz says. */
  async function preparing(
    url: string,
    work: (ready: () => Promise<Response>, prepared: Promise<unknown>) => Promise<void>,
  ) {
    const config = readConfig({
      PORT: '0',
      DATABASE_URL: url,
      WDA_ADMIN_KEY: ADMIN_KEY,
      WDA_DEMO: 'off',
      LOG_LEVEL: 'silent',
    });
    const app = makeApp(config, { connectionString: url }, makeObserver(config, false));
    try {
      const ready = `http://127.0.0.1:${await app.listen()}/readyz`;
      await work(() => fetch(ready), app.prepare());
    } finally {
      await app.close(0);
    }
  }

  test('while a worker has others the server does not serve, says which, and goes on once it has ours', async () => {
    const set = (words: string): Promise<unknown> =>
      onWorker('set citus.enable_ddl_propagation to off', `alter role current_user in database "${name}" ${words}`);
    const name = new URL(database.url).pathname.slice(1);
    await set("set timezone = 'Europe/Berlin'");
    await preparing(database.url, async (ready, prepared) => {
      await until('the reason is told', async () =>
        /TimeZone = Europe\/Berlin, which has to be UTC/.test(await (await ready()).text()),
      );
      assert.equal((await ready()).status, 503);
      await set("set timezone = 'UTC'");
      await prepared;
      assert.equal((await ready()).status, 200);
    });
  });

  test('a server whose role Citus does not know says how its extension is to be made', async () => {
    const role = `wda_stranger_${process.pid}`;
    await database.query(`set citus.enable_create_role_propagation = off; create role ${role} superuser login`);
    const url = Object.assign(new URL(database.url), { username: role }).href;
    await preparing(url, async (ready, prepared) => {
      prepared.catch(() => undefined);
      await until('the reason is told', async () =>
        /role of DATABASE_URL is none that Citus knows.* run CREATE EXTENSION citus on each node as this role/.test(
          await (await ready()).text(),
        ),
      );
    });
    await database.query(`drop role ${role}`);
  });
}
