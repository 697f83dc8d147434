// Keys and clients that reach some entities alone: to them the others do not exist, on any path.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, tokenOf } from '../../support/oauth.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios, type Scenario } from '../../support/scenario.ts';
import { keyFor } from '../../support/scopes.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));
/** Not customers, countries, profiles, products, and not orderTags between orders and tags. */
const REACHED = ['orders', 'items', 'tags'];
const key = use(() => keyFor(shop, REACHED).then((text) => ({ text })));
const OUTSIDE = ['countries', 'customers', 'profiles', 'products', 'orderTags'];

const ways: readonly (readonly [method: string, tail: string, body?: unknown])[] = [
  ['GET', ''],
  ['GET', '/1'],
  ['GET', '/_export'],
  ['GET', '/_aggregate?select=count'],
  ['POST', '/_query', {}],
  ['POST', '/_aggregate', { select: ['count'] }],
  ['POST', '', { name: 'x' }],
  ['PUT', '/1', { name: 'x' }],
  ['PATCH', '/1', { name: 'x' }],
  ['DELETE', '/1'],
  ['POST', '/_bulk', { data: [{ name: 'x' }] }],
  ['PUT', '/_bulk', { data: [{ id: 1, name: 'x' }] }],
  ['DELETE', '/_bulk?ids=1'],
  ['POST', '/_import', [{ name: 'x' }]],
];

for (const [method, tail, body] of ways) {
  test(`${method} …${tail} of an entity outside is answered as one that does not exist`, async () => {
    const ask = (entity: string) =>
      shop.call(`${entity}${tail}`, { method, credential: key.text, ...(body === undefined ? {} : { body }) });
    const missing = await ask('zzzzz');
    assert.equal(missing.status, 404, missing.text);
    for (const entity of OUTSIDE) {
      const answer = await ask(entity);
      assert.equal(answer.status, 404, answer.text);
      const hint = / Did you mean \w+\?/;
      assert.equal(answer.text.replace(entity, 'zzzzz').replace(hint, ''), missing.text);
      assert.ok(REACHED.includes(hint.exec(answer.text)?.[0]?.slice(14, -1) ?? 'orders'), answer.text);
    }
  });
}

const tree = (field: string) => ({ filter: { field, op: 'notNull' } });
const unknown: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', 'orders?expand=customer'],
  ['GET', 'orders?expand=items,tags'],
  ['GET', 'orders/1?expand=customer.country'],
  ['GET', 'orders?fields=id,customer.name'],
  ['GET', 'orders?fields=customer.*'],
  ['GET', 'orders?sort=customer.name'],
  ['GET', 'orders?filter=customer.name,startsWith,A'],
  ['GET', 'orders?or=customer.name,eq,x;status,eq,open'],
  ['GET', 'orders?filter=tags.name,eq,gift'],
  ['GET', 'orders?expand=items&items.filter=product.sku,eq,MUG-01'],
  ['GET', 'orders?expand=items&items.sort=product.sku'],
  ['GET', 'orders/_export?filter=customer.name,notNull'],
  ['GET', 'orders/_aggregate?select=count&group=customer.name'],
  ['GET', 'orders/_aggregate?select=max:customer.rating'],
  ['POST', 'orders/_query', tree('customer.country.code')],
  ['POST', 'orders/_query', { expand: ['items'], narrow: { items: tree('product.sku') } }],
  ['POST', 'orders/_aggregate', { select: ['count'], ...tree('customer.name') }],

  ['POST', 'items?onConflict=product', { quantity: 1, orderId: 1 }],
  ['POST', 'orders', { customerId: 1, customer: { name: 'x' } }],
];
runScenarios(
  shop,
  unknown.map(
    ([method, path, body]): Scenario => ({
      name: `${method} ${path} ${JSON.stringify(body) ?? ''} leads nowhere`,
      method,
      path,
      ...(body === undefined ? {} : { body }),
      status: 400,
      // What was asked for is repeated, and what is there is listed: nothing of what lies behind.
      absent: ['customers', 'countries', 'products', 'orderTags', 'Ada', 'population'],
      get as() {
        return key.text;
      },
    }),
  ),
);

test('a relation outside is refused in the words of one that does not exist', async () => {
  const ask = async (name: string) => (await shop.call(`orders?expand=${name}`, { credential: key.text })).text;
  assert.equal((await ask('customer')).replace('customer', 'zzzzz'), await ask('zzzzz'));
});

test('what is planned for one credential is not used for another', async () => {
  const other = await keyFor(shop, ['orders', 'customers']);
  for (const [path, statuses] of [
    ['orders?expand=customer&fields=id,customer.name&sort=id', [200, 400, 200]],
    ['orders?filter=items.quantity,gt,1', [200, 200, 400]],
    ['orders/1?expand=items', [200, 200, 400]],
    ['orders/_aggregate?select=count&group=customer.name', [200, 400, 200]],
    ['customers/1', [200, 404, 200]],
  ] as const) {
    for (let round = 0; round < 2; round++) {
      const found = [];
      for (const credential of [shop.key, key.text, other]) found.push((await shop.call(path, { credential })).status);
      assert.deepEqual(found, statuses, path);
    }
  }
});

test('the columns of an entity are there, those that store keys of others as numbers', async () => {
  const { json } = await shop.call('orders/1?expand=items', { credential: key.text });
  assert.equal(json.data.customerId, 1);
  assert.deepEqual(
    json.data.items.map(({ productId }: { productId: number }) => productId),
    [1, 2],
  );
});

test('the path of the workspace, and that of nothing, name what is reached', async () => {
  const index = await server.call('/api/v1/acme/shop', { credential: key.text });
  assert.deepEqual(index.json.data.entities.map(({ name }: { name: string }) => name).sort(), REACHED.toSorted());
  const nothing = await shop.call('orders/1/more/parts', { credential: key.text });
  assert.equal(nothing.status, 404);
  for (const name of OUTSIDE) assert.ok(!nothing.text.includes(name), nothing.text);
});

test('the document is one of what is reached, though an owner has asked for the same entities', async () => {
  const credential = await keyFor(shop, ['orders', 'tags']);
  const whole = await shop.call('_openapi.json?entities=orders,tags', { credential: shop.readWriteKey });
  const part = await shop.call('_openapi.json', { credential });
  assert.equal(part.status, 200, part.text);
  // Many-to-many, by an entity that the key does not reach.
  const tagsOf = ({ json }: typeof part) => json.components.schemas['orders.Read'].properties.tags;
  assert.ok(tagsOf(whole));
  assert.equal(tagsOf(part), undefined);
  assert.deepEqual(
    Object.keys(part.json.components.schemas).filter((name) => /^(customers|items|orderTags)/.test(name)),
    [],
  );
  for (const name of ['customers', 'countries', 'products', 'orderTags']) assert.ok(!part.text.includes(name), name);
});

test('a batch reaches no further', async () => {
  const body = {
    operations: [
      { method: 'POST', entity: 'tags', body: { name: 'batched' } },
      { method: 'PATCH', entity: 'customers', id: 1, body: { name: 'x' } },
    ],
  };
  const answer = await shop.call('_batch', { method: 'POST', credential: key.text, body });
  assert.equal(answer.status, 404, answer.text);
  assert.equal(answer.json.error.operation, 1);
  assert.equal((await shop.call('tags?filter=name,eq,batched')).json.meta.totalElements, 0);
});

runScenarios(shop, [
  {
    name: 'a write may store the key of a record outside',
    get as() {
      return key.text;
    },
    method: 'POST',
    path: 'orders',
    body: { customerId: 2, status: 'open' },
    status: 201,
    check: ({ json }) => assert.equal(json.data.customerId, 2),
  },
  {
    name: 'one of a record that does not exist is refused without saying of what',
    get as() {
      return key.text;
    },
    method: 'POST',
    path: 'orders',
    body: { customerId: 99 },
    status: 400,
    details: ['customerId REFERENCE_NOT_FOUND'],
    absent: ['customers'],
  },
]);

test('a deletion that would change records outside is refused, whatever the records', async () => {
  const credential = await keyFor(shop, ['customers', 'orders', 'items', 'products']);
  for (const [method, path] of [
    ['DELETE', 'customers/6'],
    ['DELETE', 'customers/_bulk?ids=6'],
    ['DELETE', 'orders/8'],
  ] as const) {
    const answer = await shop.call(path, { method, credential });
    assert.equal(answer.status, 403, answer.text);
    assert.equal(
      answer.json.error.message,
      `Deleting records of ${path.split('/')[0]} would change records that the credential does not reach`,
    );
  }
  assert.equal((await shop.call('customers/6')).status, 200);
});

test('a deletion of what records outside refer to is refused without naming them', async () => {
  const credential = await keyFor(shop, ['products']);
  const answer = await shop.call('products/1', { method: 'DELETE', credential });
  assert.equal(answer.status, 409, answer.text);
  assert.doesNotMatch(answer.text, /items|orders/);
  const [unused] = await shop.create('products', [{ sku: 'NEW-09', title: 'New' }]);
  assert.equal((await shop.call(`products/${unused.id}`, { method: 'DELETE', credential })).status, 204);
});

test('a deletion may reach what the credential reaches', async () => {
  const credential = await keyFor(shop, ['orders', 'items', 'orderTags']);
  const [order] = await shop.create('orders', [{ customerId: 1 }]);
  await shop.create('items', [{ quantity: 1, orderId: order.id }]);
  assert.equal((await shop.call(`orders/${order.id}`, { method: 'DELETE', credential })).status, 204);
});

test('settings that lead outside do not get in the way', async () => {
  const settings = { defaultExpand: ['customer.country', 'items'], defaultFields: ['*', 'customer.name', 'items.id'] };
  const stored = await shop.admin('entities/orders/settings', { method: 'PUT', body: settings });
  assert.equal(stored.status, 200, stored.text);
  const { json } = await shop.call('orders/2', { credential: key.text });
  assert.deepEqual(json.data.items, [{ id: 3 }]);
  assert.equal('customer' in json.data, false);
  await shop.admin('entities/orders/settings', { method: 'PUT', body: { defaultExpand: null, defaultFields: null } });
});

test('such a key has no admin API', async () => {
  for (const path of ['api-keys', 'schema', 'entities/orders/settings']) {
    assert.equal((await shop.admin(path, { credential: key.text })).status, 403, path);
  }
});

test('the tokens of a client reach what the client reaches', async () => {
  const body = { name: 'nightly export', permissions: 'READ_ONLY', entities: ['orders', 'items'] };
  const made = await shop.admin('oauth-clients', { method: 'POST', body });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.json.data.entities, ['items', 'orders']);
  const credential = await tokenOf(server, made.json.data);
  const status = async (path: string, call = {}) => (await shop.call(path, { credential, ...call })).status;
  assert.equal(await status('orders/_export?format=ndjson'), 200);
  assert.equal(await status('tags'), 404);
  assert.equal(await status('orders?expand=customer'), 400);
  assert.equal(await status('orders', { method: 'POST', body: { customerId: 1 } }), 403);
  const whole = await tokenOf(server, await createClient(shop));
  assert.equal((await shop.call('tags', { credential: whole })).status, 200);
});
