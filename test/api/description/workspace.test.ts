// The index of a workspace: what is there, for whom; and settings of entities, as the document describes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS } from '../../../src/request/operations.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { makeShop, SHOP_SCHEMA } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));
const described = use(() =>
  server.workspace('acme/club', { entities: { members: { description: 'Who pays', fields: {} } } }),
);

const READS = ['list', 'query', 'aggregate', 'summarize', 'export', 'read'];

test('an owner is shown every entity with every operation', async () => {
  const { data } = (await shop.call('')).json;
  assert.deepEqual([data.organization, data.workspace], ['acme', 'shop']);
  assert.deepEqual(
    data.entities.map(({ name }: { name: string }) => name),
    Object.keys(SHOP_SCHEMA.entities),
  );
  for (const { operations } of data.entities)
    assert.deepEqual(
      operations,
      Object.keys(OPERATIONS).filter((name) => !/^(changes|history|restore|forget)/.test(name)),
    );
});

test('who may only read is shown the operations that read', async () => {
  const { data } = (await shop.call('', { credential: shop.readOnlyKey })).json;
  for (const { operations } of data.entities) assert.deepEqual(operations, READS);
});

test('the index leads to the document', async () => {
  const { json, headers } = await shop.call('');
  assert.match(json.data.openapi, /\/api\/v1\/acme\/shop\/_openapi\.json$/);
  assert.equal(json.data.mcp, json.data.openapi.replace('_openapi.json', '_mcp'));
  assert.equal(headers.get('link'), `<${json.data.openapi}>; rel="service-desc"; type="application/json"`);
});

test('a description is that of the schema', async () => {
  const [members] = (await described.call('')).json.data.entities;
  assert.deepEqual([members.name, members.description], ['members', 'Who pays']);
});

runScenarios(shop, [
  { name: 'the index takes a slash or none', path: '../shop', status: 200 },
  {
    name: 'the index takes no parameter',
    path: '?size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter size/,
  },
  { name: 'HEAD of the index', method: 'HEAD', path: '', status: 200 },
  {
    name: 'the index is only read',
    method: 'POST',
    path: '',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    check: ({ headers }) => assert.equal(headers.get('allow'), 'GET, HEAD, OPTIONS'),
  },
  { name: 'the index needs a credential', as: 'none', path: '', status: 401, code: 'UNAUTHORIZED' },
  {
    name: 'an operation that a workspace does not have',
    path: '_batches',
    status: 404,
    code: 'NOT_FOUND',
    message:
      'There is no operation _batches here. Did you mean _batch? Known of a workspace: _openapi.json, _schema, _changes, _batch, _jobs, _mcp',
  },
  {
    name: 'an operation of a workspace has nothing below it',
    method: 'POST',
    path: '_batch/5',
    status: 404,
    code: 'NOT_FOUND',
    message:
      'There is no operation _batch here. Known of a workspace: _openapi.json, _schema, _changes, _batch, _jobs, _mcp',
  },
]);

const narrowed = use(async () => {
  const made = await makeShop(server, 'acme/narrowed');
  const settings = { customers: { expandable: [] }, orders: { maxExpandDepth: 1, defaultFields: ['id', 'status'] } };
  for (const [entity, body] of Object.entries(settings)) {
    const { status, text } = await made.admin(`entities/${entity}/settings`, { method: 'PUT', body });
    assert.equal(status, 200, text);
  }
  return made;
});

test('relations that may not be expanded are not described', async () => {
  const { components, paths } = (await narrowed.call('_openapi.json')).json;
  const { properties, 'x-wda': told } = components.schemas['customers.Read'];
  assert.deepEqual([told.relations, properties.orders, properties.country], [{}, undefined, undefined]);
  const own = Object.keys(components.parameters).filter((name) => name.startsWith('customers.'));
  assert.deepEqual(own.sort(), ['customers.fields', 'customers.filter', 'customers.onConflict', 'customers.sort']);
  assert.doesNotMatch(JSON.stringify(paths['/customers']), /expand/);
});

test('the levels that may be expanded are described', async () => {
  const { components } = (await narrowed.call('_openapi.json')).json;
  assert.equal(components.schemas['orders.Read']['x-wda'].expandDepth, 1);
  assert.match(components.parameters['orders.expand'].description, /one level deep/);
});

test('columns outside of the default selection are not certain', async () => {
  const { components } = (await narrowed.call('_openapi.json?selection=fixed')).json;
  assert.deepEqual(components.schemas['orders.Read'].required, ['id', 'status']);
});

// The answers are held against the document, as those of all tests are.
runScenarios(narrowed, [
  { name: 'records without relations', path: 'customers', status: 200 },
  { name: 'a relation that may not be expanded', path: 'customers?expand=orders', status: 400, code: 'BAD_REQUEST' },
  { name: 'one level', path: 'orders?expand=customer,items,tags', status: 200 },
  { name: 'a level more', path: 'orders?expand=items.product', status: 400, code: 'BAD_REQUEST' },
  { name: 'a record with its default selection', path: 'orders/1', status: 200 },
]);
