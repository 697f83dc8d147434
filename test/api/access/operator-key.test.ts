// The operator's key: generated when none is set, and over for good when one is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeApp } from '../../../src/app.ts';
import { readConfig } from '../../../src/config.ts';
import { makeObserver } from '../../../src/observe.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { useDatabase } from '../../support/use.ts';

const database = useDatabase();

/** Starts a server; gives the key that it has generated, and what each key is told. */
async function start(adminKey: string | undefined, keys: readonly string[]) {
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: database.url,
    WDA_WORKERS: '1',
    LOG_LEVEL: 'silent',
    ...(adminKey === undefined ? {} : { WDA_ADMIN_KEY: adminKey }),
  });
  const app = makeApp(config, { connectionString: database.url }, makeObserver(config, false));
  const url = `http://127.0.0.1:${await app.listen()}/api/admin/v1/organizations`;
  try {
    const { operatorKey } = await app.prepare();
    const statuses: number[] = [];
    for (const key of [...keys, ...(operatorKey === undefined ? [] : [operatorKey])]) {
      statuses.push((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status);
    }
    return { operatorKey, statuses };
  } finally {
    await app.close(1000);
  }
}

test('a generated key ends when another is set, and does not come back when that is taken away', async () => {
  const first = await start(undefined, []);
  const generated = first.operatorKey as string;
  assert.deepEqual(first.statuses, [200]);
  assert.deepEqual(await start(undefined, [generated]), { operatorKey: undefined, statuses: [200] });
  assert.deepEqual(await start(ADMIN_KEY, [generated, ADMIN_KEY]), { operatorKey: undefined, statuses: [401, 200] });
  const again = await start(undefined, [generated, ADMIN_KEY]);
  assert.deepEqual(again.statuses, [401, 401, 200]);
  assert.notEqual(again.operatorKey, generated);
});
