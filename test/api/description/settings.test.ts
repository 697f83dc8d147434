// Settings of entities: the document says what they allow, and requests that do what it says are answered as it says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(async () => {
  const made = await makeShop(server);
  const settings = { customers: { expandable: [] }, orders: { maxExpandDepth: 1, defaultFields: ['id', 'status'] } };
  for (const [entity, body] of Object.entries(settings)) {
    const { status, text } = await made.admin(`entities/${entity}/settings`, { method: 'PUT', body });
    assert.equal(status, 200, text);
  }
  return made;
});

test('relations that may not be expanded are not described', async () => {
  const { components, paths } = (await shop.call('_openapi.json')).json;
  const { properties, 'x-wda': told } = components.schemas['customers.Read'];
  assert.deepEqual([told.relations, properties.orders, properties.country], [{}, undefined, undefined]);
  const own = Object.keys(components.parameters).filter((name) => name.startsWith('customers.'));
  assert.deepEqual(own.sort(), ['customers.fields', 'customers.filter', 'customers.onConflict', 'customers.sort']);
  assert.doesNotMatch(JSON.stringify(paths['/customers']), /expand/);
});

test('the levels that may be expanded are described', async () => {
  const { components } = (await shop.call('_openapi.json')).json;
  assert.equal(components.schemas['orders.Read']['x-wda'].expandDepth, 1);
  assert.match(components.parameters['orders.expand'].description, /one level deep/);
});

test('columns outside of the default selection are not certain', async () => {
  const { components } = (await shop.call('_openapi.json?selection=fixed')).json;
  assert.deepEqual(components.schemas['orders.Read'].required, ['id', 'status']);
});

// The answers are held against the document, as those of all tests are.
runScenarios(shop, [
  { name: 'records without relations', path: 'customers', status: 200 },
  { name: 'a relation that may not be expanded', path: 'customers?expand=orders', status: 400, code: 'BAD_REQUEST' },
  { name: 'one level', path: 'orders?expand=customer,items,tags', status: 200 },
  { name: 'a level more', path: 'orders?expand=items.product', status: 400, code: 'BAD_REQUEST' },
  { name: 'a record with its default selection', path: 'orders/1', status: 200 },
]);
