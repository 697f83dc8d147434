// Settings of an entity, made by its administrator: what reads expand and select by default, what may be expanded, how deep.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { COUNTRIES, CUSTOMERS, makeShop, ORDERS } from '../../support/shop.ts';

const server = useServer();
const workspace = use(() => makeShop(server));

const NONE = { defaultExpand: null, expandable: null, maxExpandDepth: null, defaultFields: null, label: null };
const country = (id: number) => ({ id, ...COUNTRIES[id - 1] });
const customer = (id: number) => ({ id, ...CUSTOMERS[id - 1] });
const order = (id: number) => ({ id, ...ORDERS[id - 1] });

/** Puts exactly these settings in force. */
function settings(name: string, entity: string, given: Readonly<Record<string, unknown>>): void {
  test(name, async () => {
    const put = await workspace.admin(`entities/${entity}/settings`, { method: 'PUT', body: { ...NONE, ...given } });
    assert.equal(put.status, 200, put.text);
    assert.deepEqual(put.json.data, { ...NONE, ...given });
    assert.deepEqual((await workspace.admin(`entities/${entity}/settings`)).json, put.json);
  });
}

settings('[with a default expansion of orders]', 'orders', { defaultExpand: ['customer.country', 'tags'] });
runScenarios(workspace, [
  {
    name: 'defaultExpand holds without an expand parameter',
    path: 'orders/1',
    status: 200,
    data: { ...order(1), customer: { ...customer(1), country: country(1) }, tags: [{ id: 1, name: 'gift' }] },
  },
  {
    name: 'in lists, too',
    path: 'orders?filter=id,eq,2',
    status: 200,
    data: [{ ...order(2), customer: { ...customer(1), country: country(1) }, tags: [] }],
  },
  {
    name: 'an explicit expand overrides it',
    path: 'orders/1?expand=tags',
    status: 200,
    data: { ...order(1), tags: [{ id: 1, name: 'gift' }] },
  },
  { name: 'an empty expand expands nothing', path: 'orders/1?expand=', status: 200, data: order(1) },
  {
    name: 'fields may name what is expanded by default',
    path: 'orders/1?fields=id,customer.name',
    status: 200,
    data: { id: 1, customer: { name: 'Ada Lovelace' } },
  },
  {
    name: 'what is expanded by default is narrowed',
    path: 'orders/3?fields=tags.name&tags.size=1',
    status: 200,
    data: { tags: [{ name: 'gift' }] },
  },
  {
    name: 'it holds for the entity itself, not for those that expand it',
    path: 'tags/3?expand=orders',
    status: 200,
    data: { id: 3, name: 'wholesale', orders: [order(4)] },
  },
  {
    name: 'a write answers with the record alone',
    method: 'PUT',
    path: 'orders/2',
    body: {},
    status: 200,
    data: order(2),
  },
  {
    name: '_query expands by default',
    method: 'POST',
    path: 'orders/_query',
    body: { size: 1, fields: ['tags.name'] },
    status: 200,
    data: [{ tags: [{ name: 'gift' }] }],
  },
  {
    name: '_query overrides it by an empty array',
    method: 'POST',
    path: 'orders/_query',
    body: { size: 1, expand: [] },
    status: 200,
    data: [order(1)],
  },
]);

settings('[with a whitelist on orders]', 'orders', { expandable: ['customer', 'items'] });
settings('[and one on customers]', 'customers', { expandable: ['orders', 'country'] });
runScenarios(workspace, [
  {
    name: 'a relationship on the whitelist is expanded',
    path: 'orders/1?expand=customer&fields=customer.id',
    status: 200,
    data: { customer: { id: 1 } },
  },
  {
    name: 'one outside it is refused in the words of the specification',
    path: 'orders?expand=tags',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Relationship tags is not expandable. Allowed: customer, items',
  },
  {
    name: 'for a single record, too',
    path: 'orders/1?expand=customer,tags',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Relationship tags is not expandable. Allowed: customer, items',
  },
  {
    name: 'also in _query',
    method: 'POST',
    path: 'orders/_query',
    body: { expand: ['tags'] },
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Relationship tags is not expandable. Allowed: customer, items',
  },
  {
    name: 'each level is checked on its own entity',
    path: 'orders/1?expand=customer.country&fields=customer.country.code',
    status: 200,
    data: { customer: { country: { code: 'GB' } } },
  },
  {
    name: 'and refused on its own entity',
    path: 'orders/1?expand=customer.profile',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Relationship profile is not expandable. Allowed: orders, country',
  },
  {
    name: 'coming back to an entity brings back its whitelist',
    path: 'orders/1?expand=customer.orders.tags',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Relationship tags is not expandable. Allowed: customer, items',
  },
  {
    name: 'an entity without a whitelist expands everything',
    path: 'tags/1?expand=orders.items&fields=id',
    status: 200,
    data: { id: 1 },
  },
  {
    name: 'a relationship that does not exist is unknown, not forbidden',
    path: 'orders?expand=tag',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown relation tag on entity orders\./,
  },
  {
    name: 'filters and sorts are not expansions',
    path: 'orders?filter=tags.name,eq,gift&fields=id',
    status: 200,
    data: [{ id: 1 }, { id: 3 }],
  },
]);

settings('[with an empty whitelist]', 'orders', { expandable: [] });
runScenarios(workspace, [
  {
    name: 'an empty whitelist expands nothing',
    path: 'orders?expand=customer',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Relationship customer is not expandable\. Allowed:/,
  },
  { name: 'reads without expand work', path: 'orders/1', status: 200, data: order(1) },
]);

settings('[with a depth of 1]', 'orders', { maxExpandDepth: 1 });
settings('[and 5 on customers]', 'customers', { maxExpandDepth: 5 });
runScenarios(workspace, [
  {
    name: 'one level',
    path: 'orders/1?expand=customer,tags&fields=customer.id',
    status: 200,
    data: { customer: { id: 1 } },
  },
  {
    name: 'two levels are too deep, in the words of the specification',
    path: 'orders/1?expand=tags,customer.country',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 1: customer.country',
  },
  {
    name: 'the depth is that of the root entity',
    path: 'customers/1?expand=orders.items.order.customer.orders&fields=id',
    status: 200,
    data: { id: 1 },
  },
  {
    name: 'a depth above the default is a limit, too',
    path: 'customers/1?expand=referrer.referrer.referrer.referrer.referrer.country',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Expand depth exceeds maximum of 5: referrer.referrer.referrer.referrer.referrer.country',
  },
]);

settings('[with stars in a default selection]', 'orders', { defaultFields: ['*', 'customer.*', 'tags.name'] });
runScenarios(workspace, [
  {
    name: 'a star in defaultFields is every column',
    path: 'orders/3?expand=tags.orders',
    status: 200,
    data: { ...order(3), tags: [{ name: 'gift' }, { name: 'express' }] },
  },
  {
    name: 'that of a relationship holds when it is expanded',
    path: 'orders/3?expand=customer',
    status: 200,
    data: { ...order(3), customer: customer(2) },
  },
]);

settings('[with a default selection]', 'orders', { defaultFields: ['id', 'total', 'customer', 'tags.name'] });
runScenarios(workspace, [
  {
    name: 'defaultFields holds without a fields parameter, without relationships that are not expanded',
    path: 'orders/3',
    status: 200,
    data: { id: 3, total: 46.9 },
  },
  { name: 'in lists, too', path: 'orders?size=1', status: 200, data: [{ id: 1, total: 22.4 }] },
  {
    name: 'its relationships come when they are expanded',
    path: 'orders/3?expand=customer,tags',
    status: 200,
    data: { id: 3, total: 46.9, customer: customer(2), tags: [{ name: 'gift' }, { name: 'express' }] },
  },
  { name: 'an explicit fields overrides it', path: 'orders/1?fields=status', status: 200, data: { status: 'paid' } },
  { name: 'an empty fields returns all columns', path: 'orders/1?fields=', status: 200, data: order(1) },
  {
    name: '_query overrides it by an empty array',
    method: 'POST',
    path: 'orders/_query',
    body: { size: 1, fields: [] },
    status: 200,
    data: [order(1)],
  },
  {
    name: 'an update answers with the full record',
    method: 'PUT',
    path: 'orders/1',
    body: { status: 'paid' },
    status: 200,
    data: order(1),
  },
  {
    name: 'it holds for the entity itself, not for those that expand it',
    path: 'tags/3?expand=orders',
    status: 200,
    data: { id: 3, name: 'wholesale', orders: [order(4)] },
  },
]);

test('a PUT of settings changes only what it names, and null lifts a setting', async () => {
  const put = async (body: unknown) => {
    const answer = await workspace.admin('entities/orders/settings', { method: 'PUT', body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data;
  };
  await put({ ...NONE, expandable: ['customer'], maxExpandDepth: 2 });
  assert.deepEqual(await put({ defaultExpand: ['customer'] }), {
    ...NONE,
    expandable: ['customer'],
    maxExpandDepth: 2,
    defaultExpand: ['customer'],
  });
  assert.deepEqual(await put({ ...NONE }), NONE);
  assert.deepEqual((await workspace.call('orders/1?expand=tags')).status, 200);
});

test('settings are in force for the next request', async () => {
  for (const depth of [1, 2, 1, 2]) {
    const put = await workspace.admin('entities/orders/settings', { method: 'PUT', body: { maxExpandDepth: depth } });
    assert.equal(put.status, 200);
    assert.equal((await workspace.call('orders/1?expand=customer.country')).status, depth === 1 ? 400 : 200);
  }
});

const refused: readonly (readonly [why: string, body: unknown, fields: readonly string[]])[] = [
  ['an unknown relationship to expand', { defaultExpand: ['nothing'] }, ['defaultExpand.0']],
  ['an unknown nested relationship', { defaultExpand: ['customer.nothing'] }, ['defaultExpand.0']],
  ['an unknown relationship on the whitelist', { expandable: ['customer', 'total'] }, ['expandable.1']],
  [
    'a star with something below it',
    { defaultFields: ['*.id', 'customer.*.id'] },
    ['defaultFields.0', 'defaultFields.1'],
  ],
  ['an unknown field to select', { defaultFields: ['id', 'nothing'] }, ['defaultFields.1']],
  ['a default outside the whitelist', { expandable: ['tags'], defaultExpand: ['customer'] }, ['defaultExpand.0']],
  ['a default deeper than the limit', { maxExpandDepth: 1, defaultExpand: ['customer.country'] }, ['defaultExpand.0']],
  ['a depth of zero', { maxExpandDepth: 0 }, ['maxExpandDepth']],
  ['a depth that is no integer', { maxExpandDepth: '3' }, ['maxExpandDepth']],
  ['an unknown setting', { depth: 3 }, ['depth']],
  [
    'several mistakes',
    { expandable: ['x'], defaultFields: ['y', 'z'] },
    ['defaultFields.0', 'defaultFields.1', 'expandable.0'],
  ],
];
for (const [why, body, fields] of refused) {
  test(`settings with ${why} are refused, every mistake listed`, async () => {
    const before = (await workspace.admin('entities/orders/settings')).json.data;
    const answer = await workspace.admin('entities/orders/settings', { method: 'PUT', body });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
    assert.deepEqual(answer.json.error.details.map((detail: { field: string }) => detail.field).sort(), fields);
    assert.deepEqual((await workspace.admin('entities/orders/settings')).json.data, before);
  });
}

test('settings of an entity that does not exist', async () => {
  assert.equal((await workspace.admin('entities/nothing/settings')).status, 404);
  assert.equal((await workspace.admin('entities/nothing/settings', { method: 'PUT', body: NONE })).status, 404);
});
