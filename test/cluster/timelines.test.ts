// A standby of a worker that takes over gives numbers of transactions anew: all versions are of another epoch then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { use, useDatabase, useServer } from '../support/resources.ts';
import { startTestServer } from '../support/server.ts';
import { makeShop } from '../support/shop.ts';
import { until } from '../support/wait-until.ts';

if (isCluster) onCluster();
else test('timelines of workers', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();
  const server = useServer({}, { database });
  const shop = use(() => makeShop(server));

  test('a worker on another timeline than it was gives all workspaces another epoch', async () => {
    const facts = () => database.query(`select name, value from wda.instance where name like 'timeline of node %'`);
    await until('the timelines of both workers are known', async () => (await facts()).length === 2);
    const before = (await shop.call('orders/1')).headers.get('etag');
    // As if this were what the first process knew before the failover: another one looks for itself.
    const [{ name }] = (await facts()) as [{ name: string }];
    await database.query(`update wda.instance set value = '00000000' where name = $1`, [name]);
    const other = await startTestServer({}, database);
    try {
      await until('versions are others', async () => (await shop.call('orders/1')).headers.get('etag') !== before);
    } finally {
      await other.stop();
    }
    const stale = { method: 'PUT', headers: { 'if-match': String(before) }, body: { note: 'late' } };
    assert.equal((await shop.call('orders/1', stale)).status, 412);
    assert.ok((await facts()).every(({ value }) => value !== '00000000'));
  });
}
