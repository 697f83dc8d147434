// Relationship expansion: every kind of relation, nesting, narrowing of lists, and what is refused.
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
    name: 'several relationships',
    path: 'orders/1?expand=customer,tags',
    status: 200,
    data: { ...order(1), customer: customer(1), tags: [{ id: 1, name: 'gift' }] },
  },
  {
    name: 'dots expand a relationship of a related record, through to-one',
    path: 'orders/1?expand=customer.country',
    status: 200,
    data: { ...order(1), customer: { ...customer(1), country: country(1) } },
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
    name: 'paths that share their beginning are one expansion',
    path: 'customers/4?expand=referrer.country,referrer.referrer',
    status: 200,
    data: { ...customer(4), referrer: { ...customer(2), country: country(2), referrer: customer(1) } },
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
    name: 'expand given twice is joined',
    path: 'customers/1?expand=country&expand=profile',
    status: 200,
    data: { ...customer(1), country: country(1), profile: { id: 1, bio: 'Wrote the first program', customerId: 1 } },
  },
  {
    name: 'naming a relationship twice is naming it',
    path: 'customers/1?expand=country,country',
    status: 200,
    data: { ...customer(1), country: country(1) },
  },
  {
    name: 'spaces around names do not matter',
    path: 'customers/1?expand=%20country%20',
    status: 200,
    data: { ...customer(1), country: country(1) },
  },
  { name: 'an empty expand expands nothing', path: 'customers/1?expand=', status: 200, data: customer(1) },
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
    name: 'a nested relationship that does not exist is named with the entity it was looked for on',
    path: 'orders/1?expand=customer.nothing',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown relation nothing on entity customers\./,
  },
  {
    name: 'a field is no relationship',
    path: 'orders/1?expand=total',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown relation total on entity orders\./,
  },
  {
    name: 'a foreign key is no relationship',
    path: 'orders/1?expand=customerId',
    status: 400,
    code: 'BAD_REQUEST',
    message: /Did you mean customer\?/,
  },
  { name: 'names are case-sensitive', path: 'orders/1?expand=Customer', status: 400, code: 'BAD_REQUEST' },
  {
    name: 'the relationships that exist are those of that entity',
    path: 'countries/1?expand=orders',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Unknown relation orders on entity countries. Known: customers',
  },
  {
    name: 'four levels are too deep, and the message has the path',
    path: 'customers?expand=referrer.referrer.referrer.country',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 3: referrer.referrer.referrer.country',
  },
  {
    name: 'the path that is too deep is the one named',
    path: 'orders/1?expand=tags,customer.orders.items.product,customer.country',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 3: customer.orders.items.product',
  },
  {
    name: 'a path of five levels is named whole',
    path: 'orders/1?expand=customer.orders.items.product.items',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 3: customer.orders.items.product.items',
  },
]);

for (const expand of ['country,', ',country', 'country,,orders', 'country.', '.country', 'a..b', '.', ',']) {
  runScenarios(shop, [
    {
      name: `expand=${expand} is malformed`,
      path: `customers?expand=${expand}`,
      status: 400,
      code: 'BAD_REQUEST',
      message: /^expand is malformed: /,
    },
  ]);
}

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
  {
    name: 'narrow names what can be narrowed',
    method: 'POST',
    path: 'customers/_query',
    body: { expand: ['orders.items', 'country'], narrow: { country: { size: 1 } } },
    status: 400,
    code: 'BAD_REQUEST',
    message:
      'country cannot be narrowed: it is no to-many relation that this request expands and returns. Known: orders, orders.items',
  },
  {
    name: 'a narrowing is about fields of the list',
    method: 'POST',
    path: 'customers/_query',
    body: { expand: ['orders'], narrow: { orders: { filter: { field: 'vip', op: 'eq', value: true } } } },
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown field vip on entity orders\./,
  },
  {
    name: 'a to-one relation is not narrowed',
    path: 'orders?expand=customer&customer.size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^customer cannot be narrowed/,
  },
  {
    name: 'a relation that is not expanded is not narrowed',
    path: 'customers?orders.size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^orders cannot be narrowed/,
  },
  {
    name: 'a relation that is not selected is not narrowed',
    path: 'customers?expand=orders&fields=id&orders.size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^orders cannot be narrowed/,
  },
  {
    name: 'a relation that does not exist is not narrowed',
    path: 'customers?expand=orders&order.size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown relation order on entity customers\. Did you mean orders\?/,
  },
  {
    name: 'the size of a list has the bounds of a page',
    path: 'customers?expand=orders&orders.size=1001',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'orders.size must be an integer from 1 to 1000',
  },
  {
    name: 'the size of a list is no less than one',
    path: 'customers?expand=orders&orders.size=0',
    status: 400,
    code: 'BAD_REQUEST',
  },
  {
    name: 'the size of a list is given once',
    path: 'customers?expand=orders&orders.size=1&orders.size=2',
    status: 400,
    code: 'BAD_REQUEST',
  },
  {
    name: 'the sort of a list names fields of the related entity',
    path: 'customers?expand=orders&orders.sort=name',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown field name on entity orders\./,
  },
  {
    name: 'the filter of a list names fields of the related entity',
    path: 'customers?expand=orders&orders.filter=name,eq,x',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown field name on entity orders\./,
  },
  {
    name: 'a list has no other parameters',
    path: 'customers?expand=orders&orders.page=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter orders\.page/,
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
