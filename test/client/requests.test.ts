// Every call of the client against a server: what is sent, and what is made of the answer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientCredentials, isWdaError, WdaError } from '../../client/src/index.ts';
import { DETAIL_CODES } from '../../src/api-error.ts';
import { ERROR_CODES } from '../../src/errors.ts';
import { useDemo, watchedFetch } from './demo.ts';

const demo = useDemo();

test('a list is a GET where a URL can say it, a query always a POST', async () => {
  const { fetch, requests } = watchedFetch();
  const orders = demo.client({ fetch }).entity('orders');
  const query = { filter: { status: 'open' }, fields: ['id'] } as const;
  const found = { data: [{ id: 2 }, { id: 5 }], ids: [2, 5] };
  assert.deepEqual((await orders.list(query)).data, found.data);
  assert.deepEqual((await orders.query(query)).data, found.data);
  const many = Array.from({ length: 900 }, (_, index) => index + 1);
  assert.equal((await orders.list({ filter: { id: { in: many } } })).data.length, 6);
  assert.deepEqual(
    requests.map(({ method, url }) => [method, new URL(url).pathname.split('/').at(-1)]),
    [
      ['GET', 'orders'],
      ['POST', '_query'],
      ['POST', '_query'],
    ],
  );
  // What only reads takes no key.
  assert.equal(requests[1]?.headers.get('idempotency-key'), null);
});

test('empty alternatives and conditions mean what they say', async () => {
  const tags = demo.client().entity('tags');
  assert.equal((await tags.list({ filter: {} })).data.length, 3);
  assert.equal((await tags.list({ filter: { $and: [] } })).data.length, 3);
  assert.equal((await tags.list({ filter: { $or: [] } })).data.length, 0);
  assert.equal((await tags.list({ filter: { id: { in: [] } } })).data.length, 0);
});

test('a read by id takes what a URL can hold', async () => {
  const orders = demo.client().entity('orders');
  await assert.rejects(
    orders.read(1, { expand: { items: { filter: { $not: { quantity: 1 } } } } }),
    /does not fit into a URL/,
  );
});

test('an id leads nowhere else, and a number that is none is not stored', async () => {
  const orders = demo.client().entity('orders');
  await assert.rejects(orders.read('../customers/1' as never), { code: 'BAD_REQUEST' });
  await assert.rejects(orders.delete('1?x=1' as never), { code: 'BAD_REQUEST' });
  await assert.rejects(orders.update(1, { total: Number.NaN }), /total is NaN/);
});

test('versions, previews, searches that are refused', async () => {
  const orders = demo.client().entity('orders');
  const { meta } = await orders.list({ fields: ['id', 'note'], size: 1, versions: true, preview: 4 });
  assert.equal(meta.versions?.length, 1);
  assert.deepEqual(meta.previews, [{ index: 0, field: 'note', length: 15 }]);
  await assert.rejects(orders.list({ search: 'tea' }), { code: 'BAD_REQUEST' });
});

test('create or change', async () => {
  const products = demo.client().entity('products');
  const lid = { sku: 'LID-07', title: 'Lid', price: 1.5 };
  const made = await products.upsert(lid, { onConflict: 'sku' });
  const changed = await products.upsert({ ...lid, price: 2 }, { onConflict: ['sku'] });
  const skipped = await products.upsert({ ...lid, price: 3 }, { onConflict: 'sku', conflict: 'skip' });
  assert.deepEqual([made.created, changed.created, skipped.created], [true, false, false]);
  assert.deepEqual([made.data.price, changed.data.price, skipped.data.price], [1.5, 2, 2]);
  await products.delete(made.data.id);
});

test('many records: created, changed, deleted, or none of them', async () => {
  const products = demo.client().entity('products');
  const { data } = await products.createMany([
    { sku: 'A-1', title: 'A', price: 1 },
    { sku: 'B-1', title: 'B', price: '2.50' },
  ]);
  const ids = data.map(({ id }) => id);
  const { meta } = await products.createMany([{ sku: 'A-1', title: 'A', price: 3 }], { onConflict: 'sku' });
  assert.deepEqual(meta, { inserted: 0, updated: 1 });
  const minimal = await products.updateMany(
    ids.map((id) => ({ id, inStock: false })),
    { return: 'minimal' },
  );
  assert.deepEqual(
    minimal.data,
    ids.map((id) => ({ id })),
  );
  await assert.rejects(products.updateMany([{ id: ids[0] ?? 0, $version: '1', price: 5 }]), {
    code: 'PRECONDITION_FAILED',
  });
  await assert.rejects(products.deleteMany([...ids, 999]), /Records not found: 999/);
  await products.deleteMany(ids, { dryRun: true });
  assert.equal((await products.list({ filter: { id: { in: ids } } })).data.length, 2);
  await products.deleteMany(ids);
  assert.equal((await products.list({ filter: { id: { in: ids } } })).data.length, 0);
});

test('counts and sums by groups', async () => {
  const { data } = await demo
    .client()
    .entity('orders')
    .aggregate({
      select: ['count', 'sum:total'],
      group: ['customer.country'],
      filter: { status: { ne: 'open' }, $not: { customer: { country: 'TR' } } },
      having: ['sum:total,gt,30'],
      sort: 'sum:total,desc',
    });
  assert.deepEqual(data, [
    { 'customer.country': 'US', count: 1, 'sum:total': 95 },
    { 'customer.country': 'SE', count: 1, 'sum:total': 46.9 },
  ]);
});

test('any other request', async () => {
  const shop = demo.client();
  assert.deepEqual((await shop.request('GET', 'orders/1', { query: { fields: 'id' } })).data, { id: 1 });
  const { data } = await shop.request('POST', '_batch', {
    body: { operations: [{ method: 'GET', entity: 'orders', id: 2, query: 'fields=id' }] },
  });
  assert.deepEqual(data, [{ status: 200, data: { id: 2 } }]);
  const schema = await shop.request('GET', '/api/admin/v1/organizations/demo/workspaces/shop/schema');
  assert.ok('entities' in (schema.data as object));
});

test('errors say what the server said', async () => {
  const orders = demo.client().entity('orders');
  await assert.rejects(orders.read(99), (error) => {
    assert.ok(error instanceof WdaError && isWdaError(error) && isWdaError(error, 'NOT_FOUND'));
    assert.ok(!isWdaError(error, 'CONFLICT') && !isWdaError(new Error('no')));
    assert.deepEqual([error.status, error.message, error.details], [404, 'Record not found', []]);
    return true;
  });
  await assert.rejects(demo.client({ url: 'http://127.0.0.1:1', retries: 0 }).entity('orders').list(), {
    code: 'UNREACHABLE',
    status: 0,
  });
  const proxy = watchedFetch(() => new Response('<html>Bad gateway</html>', { status: 502 }));
  await assert.rejects(demo.client({ fetch: proxy.fetch }).entity('orders').list(), { code: 'NO_API', status: 502 });
  const page = watchedFetch(() => new Response('<html>Sign in</html>'));
  await assert.rejects(demo.client({ fetch: page.fetch }).entity('orders').list(), { code: 'NO_API', status: 200 });
});

test('the codes are those of the server', () => {
  const text = readFileSync(join(import.meta.dirname, '../../client/src/error.ts'), 'utf8');
  const union = (source: string, name: string): string[] =>
    [...(new RegExp(`type ${name} =([^;]*);`).exec(source)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(
      ([, code = '']) => code,
    );
  assert.deepEqual(union(text, 'ErrorCode'), Object.keys(ERROR_CODES));
  assert.deepEqual(union(text, 'DetailCode').sort(), [...DETAIL_CODES].sort());
});

test('a function gives the credential, and another one after a 401', async () => {
  const asked: (string | undefined)[] = [];
  const shop = demo.client({
    credential: async ({ refused }) => {
      asked.push(refused);
      return refused === undefined ? 'wda_old' : demo.workspace.key;
    },
  });
  assert.equal((await shop.entity('tags').list()).data.length, 3);
  assert.deepEqual(asked, [undefined, 'wda_old']);
  await assert.rejects(
    demo
      .client({ credential: () => 'wda_old' })
      .entity('tags')
      .list(),
    { code: 'UNAUTHORIZED' },
  );
});

test('an OAuth client gets one token for many requests, and another one when it was refused', async () => {
  const made = await demo.workspace.admin('oauth-clients', {
    method: 'POST',
    body: { name: 'sync', permissions: 'READ_ONLY' },
  });
  const { clientId, clientSecret } = made.json.data;
  const { fetch, requests } = watchedFetch();
  const shop = demo.client({ fetch, credential: clientCredentials({ clientId, clientSecret }) });
  await Promise.all([1, 2, 3].map((id) => shop.entity('orders').read(id)));
  await shop.entity('orders').read(4);
  const tokens = (): number => requests.filter(({ url }) => url.endsWith('/oauth/token')).length;
  assert.equal(tokens(), 1);
  await assert.rejects(shop.entity('tags').create({ name: 'x' }), { code: 'FORBIDDEN' });
  const stranger = demo.client({ credential: clientCredentials({ clientId, clientSecret: 'wrong' }) });
  await assert.rejects(stranger.entity('orders').read(1), { code: 'UNAUTHORIZED', status: 401 });

  let isOld = true;
  const revoked = watchedFetch((request) => {
    if (!isOld || request.url.endsWith('/oauth/token')) return undefined;
    isOld = request.headers.get('authorization') === null;
    return Response.json({ error: { code: 'UNAUTHORIZED', message: 'Token has expired' } }, { status: 401 });
  });
  const again = demo.client({ fetch: revoked.fetch, credential: clientCredentials({ clientId, clientSecret }) });
  await again.entity('orders').read(1);
  assert.equal(revoked.requests.filter(({ url }) => url.endsWith('/oauth/token')).length, 2);
});
