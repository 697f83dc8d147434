// A workspace of before its database became a cluster stays on the coordinator, and goes on there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { createTestDatabase, joinDatabase } from '../support/database.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY, startTestServer } from '../support/server.ts';
import { makeShop, ORDERS, SHOP_SCHEMA } from '../support/shop.ts';

if (isCluster) onCluster();
else test('workspaces of before the cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = use(
    () => createTestDatabase({ apart: true }),
    (made) => made.drop(),
  );
  const shop = use(async () => {
    const before = await startTestServer({}, database);
    const made = await makeShop(before);
    await before.stop();
    await joinDatabase(database);
    return made;
  });
  const server = useServer({}, { database });
  const call = (path: string, options: object = {}) =>
    server.call(`/api/v1/acme/shop/${path}`, { credential: shop.key, ...options });

  test('its records are read and written', async () => {
    const listed = await call('orders?expand=customer,items.product&sort=customer.name&size=100');
    assert.equal(listed.json.meta.totalElements, ORDERS.length, listed.text);
    const read = await call('orders/1');
    const changed = await call('orders/1', {
      method: 'PUT',
      headers: { 'if-match': read.headers.get('etag') },
      body: { note: 'changed' },
    });
    assert.equal(changed.status, 200, changed.text);
    const created = await call('tags', {
      method: 'POST',
      headers: { 'idempotency-key': 'one' },
      body: { name: 'created' },
    });
    assert.equal(created.status, 201, created.text);
    const imported = await call('tags/_import', {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: 'name\nimported\n',
    });
    assert.equal(imported.status, 200, imported.text);
    assert.match((await call('tags/_export')).text, /created.*imported/s);
  });

  test('its schema is changed', async () => {
    const { orders, ...others } = SHOP_SCHEMA.entities;
    const fields = { ...orders.fields, note: { type: 'string', index: true }, weight: { type: 'decimal', min: 0 } };
    const extra = { fields: { name: { type: 'string', unique: true } } };
    const schema = { entities: { ...others, orders: { ...orders, fields }, extra } };
    const answer = await server.call('/api/admin/v1/organizations/acme/workspaces/shop/schema?wait=60', {
      method: 'PUT',
      credential: ADMIN_KEY,
      body: schema,
    });
    assert.equal(answer.json?.data?.state, 'succeeded', answer.text);
    assert.equal((await call('orders/1')).json.data.note, 'changed');
    assert.equal((await call('extra', { method: 'POST', body: { name: 'new' } })).status, 201);
  });

  test('its size is told', async () => {
    const answer = await server.call('/api/admin/v1/organizations/acme/workspaces/shop/statistics', {
      credential: ADMIN_KEY,
    });
    const orders = answer.json.data.find(({ entity }: { entity: string }) => entity === 'orders');
    assert.equal(orders?.records, ORDERS.length, answer.text);
    assert.ok(orders.tableBytes > 0 && orders.indexBytes > 0, answer.text);
  });
}
