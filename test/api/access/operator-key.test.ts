// The operator's key: generated when none is set, and over for good when one is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeApp } from '../../../src/app.ts';
import { readConfig } from '../../../src/config.ts';
import { makeObserver } from '../../../src/observer.ts';
import { postSession, signIn } from '../../support/console-client.ts';
import type { TestDatabase } from '../../support/database.ts';
import { useDatabase } from '../../support/resources.ts';
import { ADMIN_KEY, clientOf } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const database = useDatabase();
const another = useDatabase();

/** A server that runs on, and the key that it has generated. */
async function open(adminKey: string | undefined, { url }: TestDatabase = database) {
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: url,
    WDA_WORKERS: '1',
    LOG_LEVEL: 'silent',
    ...(adminKey === undefined ? {} : { WDA_ADMIN_KEY: adminKey }),
  });
  const app = makeApp(config, { connectionString: url }, makeObserver(config, false));
  const client = clientOf(`http://127.0.0.1:${await app.listen()}`);
  const close = (): Promise<void> => app.close(1000);
  try {
    const { operatorKey } = await app.prepare();
    const statusOf = async (key: string): Promise<number> =>
      (await client.call('/api/admin/v1/organizations', { credential: key })).status;
    return { operatorKey, client, statusOf, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts a server; gives the key that it has generated, and what each key is told. */
async function start(adminKey: string | undefined, keys: readonly string[]) {
  const { operatorKey, statusOf, close } = await open(adminKey);
  try {
    const statuses: number[] = [];
    for (const key of [...keys, ...(operatorKey === undefined ? [] : [operatorKey])])
      statuses.push(await statusOf(key));
    return { operatorKey, statuses };
  } finally {
    await close();
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

test('a server that runs on takes the generated key no more, nor a session of it, once another server has ended it', async (t) => {
  const running = await open(undefined, another);
  t.after(running.close);
  const generated = running.operatorKey as string;
  const session = await signIn(running.client, generated);
  const ofSession = async (): Promise<number> => (await session.call('/admin/v1/organizations')).status;
  assert.deepEqual([await running.statusOf(generated), await ofSession()], [200, 200]);

  const other = await open(ADMIN_KEY, another);
  t.after(other.close);
  assert.equal(await other.statusOf(generated), 401);
  await until('the key has ended everywhere', async () => (await running.statusOf(generated)) === 401);
  assert.equal(await ofSession(), 401);
  assert.equal((await postSession(running.client, { key: generated })).status, 401);

  const third = await open(undefined, another);
  t.after(third.close);
  const next = third.operatorKey as string;
  await until('the next key is taken everywhere', async () => (await running.statusOf(next)) === 200);
  assert.deepEqual([await running.statusOf(generated), await ofSession()], [401, 401]);
});
