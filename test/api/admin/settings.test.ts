// Settings and row rules of one entity: read, changed, refused with every mistake, in force at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/settings', {
    entities: {
      orders: {
        fields: { total: { type: 'decimal' }, owner: { type: 'string' }, extra: { type: 'json' } },
        relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
      },
      customers: {
        fields: { name: { type: 'string' } },
        relations: { orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' } },
      },
    },
  }),
);
prepare(async () => {
  await workspace.create('customers', [{ name: 'Ann' }]);
  await workspace.create('orders', [{ total: 5, owner: 'ann', customerId: 1 }]);
});

const settings = (body?: unknown): Promise<Answer> =>
  workspace.admin('entities/orders/settings', body === undefined ? {} : { method: 'PUT', body });
const rules = (body?: unknown): Promise<Answer> =>
  workspace.admin('entities/orders/row-rules', body === undefined ? {} : { method: 'PUT', body });
const details = ({ json }: Answer): string[] =>
  json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

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

test('settings that are not configured are null', async () => {
  assert.deepEqual((await settings()).json, { data: NONE });
});

test('settings are in force at once, change what is given, and null takes them back', async () => {
  const first = await settings({ defaultExpand: ['customer'], defaultFields: ['id', 'customer'] });
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(first.json.data, { ...NONE, defaultExpand: ['customer'], defaultFields: ['id', 'customer'] });
  const record = (await workspace.call('orders/1')).json.data;
  assert.deepEqual(Object.keys(record), ['id', 'customer']);
  const second = await settings({ expandable: ['customer'], defaultFields: null });
  assert.deepEqual(second.json.data, { ...NONE, defaultExpand: ['customer'], expandable: ['customer'] });
  assert.deepEqual((await settings()).json, second.json);
  const third = await settings({ defaultExpand: null, expandable: null });
  assert.deepEqual(third.json.data, NONE);
});

test('settings that name what does not exist are refused with every mistake', async () => {
  const before = (await settings()).text;
  const answer = await settings({
    defaultExpand: ['custmer', 'customer.orders.customer.orders'],
    expandable: ['total', 5],
    maxExpandDepth: 0,
    defaultFields: ['nope', 'customer.nope'],
    defaltFields: [],
  });
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
  assert.deepEqual(details(answer), [
    'defaultExpand.0 REFERENCE_NOT_FOUND',
    'defaultExpand.1 OUT_OF_RANGE',
    'expandable.0 REFERENCE_NOT_FOUND',
    'expandable.1 TYPE_MISMATCH',
    'maxExpandDepth OUT_OF_RANGE',
    'defaultFields.0 REFERENCE_NOT_FOUND',
    'defaultFields.1 REFERENCE_NOT_FOUND',
    'defaltFields UNKNOWN_FIELD',
  ]);
  for (const body of [null, [], 5]) assert.equal((await settings(body)).status, 400);
  assert.equal((await settings()).text, before);
});

test('a whitelist that forbids a default of another entity is refused by the path of that default', async () => {
  const other = (body: unknown): Promise<Answer> =>
    workspace.admin('entities/customers/settings', { method: 'PUT', body });
  assert.equal((await other({ defaultExpand: ['orders.customer'] })).status, 200);
  const answer = await settings({ expandable: [] });
  assert.equal(answer.status, 400);
  assert.deepEqual(details(answer), ['entities.customers.settings.defaultExpand.0 INVALID']);
  assert.equal((await other({ defaultExpand: null })).status, 200);
});

test('row rules are replaced as a whole, and their columns are indexed', async () => {
  assert.deepEqual((await rules()).json, { data: [] });
  const set = await rules([
    { column: 'owner', claim: 'sub' },
    { column: 'customerId', claim: 'customer.id', enabled: false },
  ]);
  assert.equal(set.status, 200, set.text);
  assert.deepEqual(set.json.data, [
    { column: 'owner', claim: 'sub', enabled: true },
    { column: 'customerId', claim: 'customer.id', enabled: false },
  ]);
  assert.deepEqual((await rules()).json, set.json);
  const indexed = await server.database.query("select 1 from pg_indexes where indexname = 'orders$owner$ix'");
  assert.equal(indexed.length, 1);
  // They are for external users: owners see everything.
  assert.equal((await workspace.call('orders')).json.meta.totalElements, 1);
  assert.deepEqual((await rules([])).json, { data: [] });
});

test('row rules that cannot hold are refused with every mistake', async () => {
  const answer = await rules([
    { column: 'nope', claim: 'sub' },
    { column: 'customer', claim: '' },
    { column: 'extra', claim: 'sub', enabled: 'yes' },
    { claim: 'sub', colunm: 'owner' },
  ]);
  assert.equal(answer.status, 400);
  assert.deepEqual(details(answer), [
    '0.column REFERENCE_NOT_FOUND',
    '1.column REFERENCE_NOT_FOUND',
    '1.claim INVALID',
    '2.column INVALID',
    '2.enabled TYPE_MISMATCH',
    '3.colunm UNKNOWN_FIELD',
  ]);
  for (const body of [null, {}, 5]) assert.equal((await rules(body)).status, 400);
});

test('an entity that does not exist is 404 with what exists', async () => {
  for (const path of ['entities/order/settings', 'entities/order/row-rules']) {
    for (const method of ['GET', 'PUT']) {
      const answer = await workspace.admin(path, method === 'GET' ? {} : { method, body: 5 });
      assert.equal(answer.status, 404, answer.text);
      assert.match(answer.json.error.message, /Entity order does not exist\. Did you mean orders\?/);
    }
  }
});
