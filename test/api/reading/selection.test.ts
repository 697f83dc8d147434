// What of a record is returned: expansions of every kind of relation, their narrowing, and fields. What is refused, defaults and
// other forms of the same are in test/unit/plan/projection.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { COUNTRIES, CUSTOMERS, makeShop, ORDERS } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const country = (id: number) => ({ id, ...COUNTRIES[id - 1] });
const customer = (id: number) => ({ id, ...CUSTOMERS[id - 1] });
const order = (id: number) => ({ id, ...ORDERS[id - 1] });
const ids = (records: readonly { readonly id: number }[]): number[] => records.map((record) => record.id);

runScenarios(shop, [
  {
    name: 'without expand a relationship is its foreign key alone',
    path: 'customers/1',
    status: 200,
    data: customer(1),
  },
  {
    name: 'belongsTo adds the related record, and the foreign key stays',
    path: 'customers/1?expand=country',
    status: 200,
    data: { ...customer(1), country: country(1) },
  },
  {
    name: 'belongsTo without a record is null',
    path: 'customers/4?expand=country',
    status: 200,
    data: { ...customer(4), country: null },
  },
  {
    name: 'a belongsTo with a column of its own',
    path: 'customers/2?expand=referrer',
    status: 200,
    data: { ...customer(2), referrer: customer(1) },
  },
  {
    name: 'hasMany adds an array, ordered by id',
    path: 'customers/1?expand=orders',
    status: 200,
    data: { ...customer(1), orders: [order(1), order(2), order(7)] },
  },
  {
    name: 'hasMany without records is an empty array',
    path: 'customers/6?expand=orders',
    status: 200,
    data: { ...customer(6), orders: [] },
  },
  {
    name: 'hasOne adds the record',
    path: 'customers/1?expand=profile',
    status: 200,
    data: { ...customer(1), profile: { id: 1, bio: 'Wrote the first program', customerId: 1 } },
  },
  {
    name: 'hasOne without a record is null',
    path: 'customers/3?expand=profile',
    status: 200,
    data: { ...customer(3), profile: null },
  },
  {
    name: 'manyToMany adds the records of the other side, ordered by id',
    path: 'orders/3?expand=tags',
    status: 200,
    data: {
      ...order(3),
      tags: [
        { id: 1, name: 'gift' },
        { id: 2, name: 'express' },
      ],
    },
  },
  {
    name: 'manyToMany works from the other side',
    path: 'tags/1?expand=orders',
    status: 200,
    data: { id: 1, name: 'gift', orders: [order(1), order(3)] },
  },
  {
    name: 'manyToMany without records is an empty array',
    path: 'tags/4?expand=orders',
    status: 200,
    data: { id: 4, name: 'unused', orders: [] },
  },
  {
    name: 'a relation of an entity to itself, both ways',
    path: 'customers/2?expand=referrer,referrals',
    status: 200,
    data: { ...customer(2), referrer: customer(1), referrals: [customer(4)] },
  },
  {
    name: 'flat and nested forms are mixed',
    path: 'orders/3?expand=items.order,customer',
    status: 200,
    data: {
      ...order(3),
      items: [
        { id: 4, quantity: 2, orderId: 3, productId: 2, order: order(3) },
        { id: 5, quantity: 1, orderId: 3, productId: 3, order: order(3) },
      ],
      customer: customer(2),
    },
  },
  {
    name: 'three levels, the default maximum',
    path: 'customers/4?expand=referrer.referrer.country',
    status: 200,
    data: { ...customer(4), referrer: { ...customer(2), referrer: { ...customer(1), country: country(1) } } },
  },
  {
    name: 'null ends a path, in any record',
    path: 'customers/3?expand=referrer.referrer.referrer',
    status: 200,
    data: { ...customer(3), referrer: { ...customer(1), referrer: null } },
  },
  {
    name: 'lists expand as records do',
    path: 'customers?expand=country,orders&size=2&sort=id,desc',
    status: 200,
    data: [
      { ...customer(6), country: country(2), orders: [] },
      { ...customer(5), country: country(1), orders: [order(6)] },
    ],
    meta: { page: 0, size: 2, totalElements: 6, totalPages: 3 },
  },
  {
    name: 'expansions do not touch the counts of meta',
    path: 'tags?expand=orders.items&size=1',
    status: 200,
    meta: { page: 0, size: 1, totalElements: 4, totalPages: 4 },
  },
]);

test('a page with expansions has the order of the page without', async () => {
  for (const sort of ['customer.name,desc', 'total', 'placedAt,desc', 'note', 'id,desc', 'status&sort=total,desc']) {
    const plain = await shop.call(`orders?sort=${sort}`);
    for (const more of ['', '&count=none', '&count=none&size=8', '&count=none&size=5']) {
      const expanded = await shop.call(`orders?sort=${sort}&expand=items.product,customer.orders,tags${more}`);
      const wanted = ids(plain.json.data).slice(0, more.endsWith('5') ? 5 : 8);
      assert.deepEqual(ids(expanded.json.data), wanted, `${sort}${more}`);
    }
  }
});

runScenarios(shop, [
  {
    name: 'a relationship that does not exist is named with its entity and what there is',
    path: 'customers?expand=contry',
    status: 400,
    code: 'BAD_REQUEST',
    message:
      'Unknown relation contry on entity customers. Did you mean country? Known: country, referrer, referrals, profile, orders',
  },
  {
    name: 'four levels are too deep, and the message has the path',
    path: 'customers?expand=referrer.referrer.referrer.country',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 3: referrer.referrer.referrer.country',
  },
]);

runScenarios(shop, [
  {
    name: 'an expanded list is cut to its size, sorted and filtered by its own parameters',
    path: 'customers/1?expand=orders&fields=orders.id&orders.sort=total,desc&orders.filter=total,gt,0&orders.size=1',
    status: 200,
    data: { orders: [{ id: 2 }] },
  },
  {
    name: 'narrowing applies to each record of a list',
    path: 'customers?expand=orders&fields=id,orders.id&orders.size=1&orders.sort=id,desc',
    status: 200,
    data: [7, 8, 4, 5, 6, undefined].map((last, index) => ({
      id: index + 1,
      orders: last === undefined ? [] : [{ id: last }],
    })),
    meta: { totalElements: 6 },
  },
  {
    name: 'a nested list is narrowed by its whole path',
    path: 'customers/2?expand=orders.items.product&fields=orders.items.product.sku&orders.items.filter=quantity,gte,2',
    status: 200,
    data: { orders: [{ items: [{ product: { sku: 'TEA-02' } }] }, { items: [] }] },
  },
  {
    name: 'a many-to-many list is narrowed',
    path: 'orders/3?expand=tags&fields=tags.name&tags.sort=name&tags.size=1',
    status: 200,
    data: { tags: [{ name: 'express' }] },
  },
  {
    name: 'a list is sorted by a to-one path of its own',
    path: 'tags/1?expand=orders&fields=orders.id&orders.sort=customer.name,desc',
    status: 200,
    data: { orders: [{ id: 3 }, { id: 1 }] },
  },
  {
    name: 'a list is filtered across relations, several filters are all met',
    path: 'customers/1?expand=orders&fields=orders.id&orders.filter=items.product.sku,startsWith,t&orders.filter=status,eq,paid',
    status: 200,
    data: { orders: [{ id: 1 }] },
  },
  {
    name: '_query narrows lists by narrow',
    method: 'POST',
    path: 'customers/_query',
    body: {
      filter: { field: 'id', op: 'lte', value: 2 },
      expand: ['orders.items'],
      fields: ['id', 'orders.id', 'orders.items.quantity'],
      narrow: {
        orders: { sort: ['total,desc'], size: 1, filter: { field: 'items.product.sku', op: 'notNull' } },
        'orders.items': { sort: ['quantity,desc'], size: 1 },
      },
    },
    status: 200,
    check: async ({ json }) => {
      const { json: same } = await shop.call(
        'customers?filter=id,lte,2&expand=orders.items&fields=id,orders.id,orders.items.quantity&orders.sort=total,desc&orders.size=1&orders.filter=items.product.sku,notNull&orders.items.sort=quantity,desc&orders.items.size=1',
      );
      assert.deepEqual(json, same);
      assert.deepEqual(
        json.data.map((one: { orders: readonly { items: readonly unknown[] }[] }) => one.orders[0]?.items.length),
        [1, 1],
      );
    },
  },
]);

test('what is written is in the next expansion', async () => {
  const [made] = await shop.create('orders', [{ customerId: 6, total: '1.10' }]);
  await shop.create('orderTags', [{ orderId: made.id, tagId: 4 }]);
  const read = await shop.call(`customers/6?expand=orders.tags&fields=orders.tags.name`);
  assert.deepEqual(read.json.data, { orders: [{ tags: [{ name: 'unused' }] }] });
  assert.equal((await shop.call(`orders/${made.id}`, { method: 'DELETE' })).status, 204);
  const after = await shop.call(`customers/6?expand=orders.tags&fields=orders.tags.name`);
  assert.deepEqual(after.json.data, { orders: [] });
});

test('an expanded record has the digits and forms that it has when read alone', async () => {
  const alone = await shop.call('orders/2');
  const within = await shop.call('customers/1?expand=orders&fields=orders');
  const record = alone.text.slice('{"data":'.length, -1);
  assert.match(record, /"total":34\.00,"placedAt":"2026-02-11T17:05:00\.250Z"/);
  assert.ok(within.text.includes(record), within.text);
});

runScenarios(shop, [
  { name: 'without fields every column comes back', path: 'customers/1', status: 200, data: customer(1) },
  {
    name: 'fields returns only what it names',
    path: 'customers/1?fields=name,email',
    status: 200,
    data: { name: 'Ada Lovelace', email: 'ada@example.com' },
  },
  {
    name: 'lists select as records do',
    path: 'tags?fields=name&size=2',
    status: 200,
    data: [{ name: 'gift' }, { name: 'express' }],
  },
  {
    name: 'a relationship without a dot is all of the expanded record',
    path: 'customers/1?expand=country&fields=id,country',
    status: 200,
    data: { id: 1, country: country(1) },
  },
  {
    name: 'with a dot it is limited to the named fields',
    path: 'customers/1?expand=country&fields=id,country.code',
    status: 200,
    data: { id: 1, country: { code: 'GB' } },
  },
  {
    name: 'fields of lists',
    path: 'customers/1?expand=orders&fields=name,orders.status,orders.id',
    status: 200,
    data: {
      name: 'Ada Lovelace',
      orders: [
        { status: 'paid', id: 1 },
        { status: 'open', id: 2 },
        { status: 'open', id: 7 },
      ],
    },
  },
  {
    name: 'fields of a many-to-many relationship',
    path: 'orders/3?expand=tags&fields=tags.name',
    status: 200,
    data: { tags: [{ name: 'gift' }, { name: 'express' }] },
  },
  {
    name: 'fields at every level',
    path: 'orders/1?expand=customer.country,items.product&fields=id,customer.name,customer.country.code,items.product.sku',
    status: 200,
    data: {
      id: 1,
      customer: { name: 'Ada Lovelace', country: { code: 'GB' } },
      items: [{ product: { sku: 'MUG-01' } }, { product: { sku: 'TEA-02' } }],
    },
  },
  {
    name: 'a null relationship stays null',
    path: 'customers/4?expand=country&fields=country.code',
    status: 200,
    data: { country: null },
  },
  {
    name: 'lists page, sort, filter and select at once',
    path: 'orders?filter=status,eq,open&sort=placedAt,desc&size=2&page=1&expand=customer&fields=id,customer.name',
    status: 200,
    data: [{ id: 2, customer: { name: 'Ada Lovelace' } }],
    meta: { page: 1, size: 2, totalElements: 3, totalPages: 2 },
  },
  {
    name: 'sort, filter and cursor need no selected field',
    path: 'orders?fields=note&sort=total,desc&size=1&filter=total,lt,100&count=none',
    status: 200,
    data: [{ note: null }],
    check: ({ json }) => assert.equal(typeof json.meta.nextCursor, 'string'),
  },
]);

test('fields come in the order asked for', async () => {
  const { text } = await shop.call('customers/1?expand=country&fields=vip,country.name,country.code,id');
  assert.equal(text, '{"data":{"vip":true,"country":{"name":"United Kingdom","code":"GB"},"id":1}}');
});

test('a whole record has its columns in the order of the schema, id first', async () => {
  const { text } = await shop.call('orders/1');
  assert.equal(
    text,
    '{"data":{"id":1,"status":"paid","total":22.40,"placedAt":"2026-01-05T09:30:00Z","note":"Wrap it, please","customerId":1}}',
  );
});

runScenarios(shop, [
  {
    name: 'an unknown field is named with its entity, a suggestion and what there is',
    path: 'customers?fields=nmae',
    status: 400,
    code: 'BAD_REQUEST',
    message:
      'Unknown field nmae on entity customers. Did you mean name? Known: id, name, email, vip, joinedOn, rating, countryId, referredBy, country, referrer, referrals, profile, orders',
  },
]);

test('columns of PostgreSQL and members of objects are no fields', async () => {
  for (const name of ['xmin', 'ctid', 'tableoid', '$row', 'id"', '__proto__', 'constructor']) {
    for (const parameter of ['fields', 'expand', 'sort', 'filter']) {
      const value = encodeURIComponent(parameter === 'filter' ? `${name},eq,1` : name);
      for (const path of [
        `customers?${parameter}=${value}`,
        `orders?expand=customer&${parameter}=${encodeURIComponent('customer.')}${value}`,
      ]) {
        const { status, json } = await shop.call(path);
        assert.equal(status, 400, path);
        assert.match(json.error.message, /^Unknown (field|relation) /);
      }
    }
  }
});
