// Settings of an entity, as reads meet them; how they are changed and refused is in admin/settings.test.ts, and what they
// mean for an expansion in test/unit/plan/projection.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { COUNTRIES, CUSTOMERS, makeShop, ORDERS } from '../../support/shop.ts';

const server = useServer();
const workspace = use(() => makeShop(server));

const NONE = {
  defaultExpand: null,
  expandable: null,
  maxExpandDepth: null,
  defaultFields: null,
  label: null,
  changes: null,
  historyDays: null,
  historyForUsers: null,
  changesOmit: null,
};
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
    name: 'an explicit expand overrides it',
    path: 'orders/1?expand=tags',
    status: 200,
    data: { ...order(1), tags: [{ id: 1, name: 'gift' }] },
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
    name: 'filters and sorts are not expansions',
    path: 'orders?filter=tags.name,eq,gift&fields=id',
    status: 200,
    data: [{ id: 1 }, { id: 3 }],
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
  {
    name: 'an update answers with the full record',
    method: 'PUT',
    path: 'orders/1',
    body: { status: 'paid' },
    status: 200,
    data: order(1),
  },
]);
