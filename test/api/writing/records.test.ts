// Create, read, update and delete: envelopes, statuses, headers, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { CUSTOMERS, makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const ADA = { id: 1, ...CUSTOMERS[0] };

runScenarios(shop, [
  {
    name: 'a list is data and meta, and nothing else',
    path: 'customers',
    status: 200,
    data: CUSTOMERS.map((customer, index) => ({ id: index + 1, ...customer })),
    check: ({ json, headers }) => {
      assert.deepEqual(Object.keys(json), ['data', 'meta']);
      assert.deepEqual(json.meta, { page: 0, size: 20, totalElements: 6, totalPages: 1, nextCursor: null });
      assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    },
  },
  {
    name: 'a record is data alone, its relations as plain foreign keys',
    path: 'customers/1',
    status: 200,
    check: ({ json }) => assert.deepEqual(json, { data: ADA }),
  },
  { name: 'a list of an entity without records is empty', path: 'profiles?filter=id,gt,99', status: 200, data: [] },
  {
    name: 'a record that does not exist',
    path: 'customers/99',
    status: 404,
    code: 'NOT_FOUND',
    message: 'Record not found',
  },
]);

runScenarios(shop, [
  {
    name: 'create answers 201 with the record, its Location and its ETag',
    method: 'POST',
    path: 'customers',
    body: { name: 'Linus', countryId: 2, joinedOn: '2024-02-29' },
    status: 201,
    data: {
      id: 7,
      name: 'Linus',
      email: null,
      vip: false,
      joinedOn: '2024-02-29',
      rating: null,
      countryId: 2,
      referredBy: null,
    },
    check: async ({ headers, json }) => {
      assert.equal(headers.get('location'), '/api/v1/acme/shop/customers/7');
      const read = await shop.call('customers/7');
      assert.deepEqual(read.json, json);
      assert.equal(headers.get('etag'), read.headers.get('etag'));
    },
  },
  {
    name: 'fields left out become null, or their default',
    method: 'POST',
    path: 'countries/',
    body: {},
    status: 201,
    data: { id: 4, code: null, name: null, population: null },
  },
  {
    name: 'an explicit null wins over a default',
    method: 'POST',
    path: 'orders',
    body: { customerId: 7, status: null },
    status: 201,
    data: { id: 9, status: null, total: null, placedAt: null, note: null, customerId: 7 },
  },
  {
    name: 'an id in the body of a create is refused',
    method: 'POST',
    path: 'countries',
    body: { id: 70, code: 'XX' },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['id READ_ONLY'],
  },
  {
    name: 'timestamps are read-only',
    method: 'POST',
    path: 'products',
    body: { sku: 'T', title: 'T', createdAt: '2020-01-01T00:00:00Z', updatedAt: null },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['createdAt READ_ONLY', 'updatedAt READ_ONLY'],
  },
  {
    name: 'every mistake of a body is told at once',
    method: 'POST',
    path: 'customers',
    body: {
      emial: 'x',
      vip: 'yes',
      joinedOn: '2024-02-30',
      rating: '5',
      countryId: 99,
      orders: [],
      name: 'n'.repeat(41),
    },
    status: 400,
    code: 'VALIDATION_FAILED',
    message: /^Validation failed: .+ \(and 6 more\)$/,
    details: [
      'emial UNKNOWN_FIELD',
      'vip TYPE_MISMATCH',
      'joinedOn INVALID',
      'rating TYPE_MISMATCH',
      'countryId REFERENCE_NOT_FOUND',
      'orders UNKNOWN_FIELD',
      'name TOO_LONG',
    ],
    check: ({ json }) => {
      const unknown = json.error.details.find((detail: { field: string }) => detail.field === 'emial');
      assert.match(unknown.message, /Did you mean email\? Known: name, email,/);
    },
  },
  {
    name: 'a required field that is left out',
    method: 'POST',
    path: 'items',
    body: { orderId: 1 },
    status: 400,
    code: 'VALIDATION_FAILED',
    message: 'Validation failed: quantity: is required',
    details: ['quantity REQUIRED'],
  },
  {
    name: 'a required field that is null',
    method: 'POST',
    path: 'tags',
    body: { name: null },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['name REQUIRED'],
  },
  {
    name: 'every reference that points nowhere is told',
    method: 'POST',
    path: 'orderTags',
    body: { orderId: 99, tagId: -1 },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['orderId REFERENCE_NOT_FOUND', 'tagId REFERENCE_NOT_FOUND'],
  },
  {
    name: 'a value that must be unique',
    method: 'POST',
    path: 'customers',
    body: { name: 'Another', email: 'ada@example.com' },
    status: 409,
    code: 'CONFLICT',
    details: ['email NOT_UNIQUE'],
    absent: ['ada@example.com'],
  },
  {
    name: 'a relation that must be unique',
    method: 'POST',
    path: 'profiles',
    body: { customerId: 1 },
    status: 409,
    code: 'CONFLICT',
    details: ['customerId NOT_UNIQUE'],
  },
  { name: 'nothing refused was kept', path: 'customers?size=1', status: 200, meta: { totalElements: 7 } },
]);

runScenarios(shop, [
  {
    name: 'PUT changes only what the body has, and answers with the whole record',
    method: 'PUT',
    path: 'customers/7',
    body: { rating: 2 },
    status: 200,
    data: {
      id: 7,
      name: 'Linus',
      email: null,
      vip: false,
      joinedOn: '2024-02-29',
      rating: 2,
      countryId: 2,
      referredBy: null,
    },
  },
  {
    name: 'PATCH does the same',
    method: 'PATCH',
    path: 'customers/7/',
    body: { joinedOn: null, referredBy: 7 },
    status: 200,
    data: { id: 7, name: 'Linus', email: null, vip: false, joinedOn: null, rating: 2, countryId: 2, referredBy: 7 },
  },
  {
    name: 'PUT of nothing changes nothing',
    method: 'PUT',
    path: 'tags/1',
    body: {},
    status: 200,
    data: { id: 1, name: 'gift' },
  },
  {
    name: 'PUT of nothing to a record that does not exist',
    method: 'PUT',
    path: 'tags/99',
    body: {},
    status: 404,
    code: 'NOT_FOUND',
  },
  {
    name: 'the id of the path is accepted in the body',
    method: 'PUT',
    path: 'tags/1',
    body: { id: 1, name: 'gift' },
    status: 200,
    data: { id: 1, name: 'gift' },
  },
  {
    name: 'the id of the path as a numeric string, too',
    method: 'PUT',
    path: 'tags/1',
    body: { id: '1' },
    status: 200,
  },
  {
    name: 'another id is refused',
    method: 'PUT',
    path: 'tags/1',
    body: { id: 2 },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['id READ_ONLY'],
  },
  {
    name: 'a null id is refused',
    method: 'PUT',
    path: 'tags/1',
    body: { id: null },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['id READ_ONLY'],
  },
  {
    name: 'a required field cannot be set to null',
    method: 'PUT',
    path: 'tags/1',
    body: { name: null },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['name REQUIRED'],
  },
  {
    name: 'an update tells every mistake at once',
    method: 'PATCH',
    path: 'items/1',
    body: { quantity: 0, orderId: 'one', productId: 99, sku: 1 },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['quantity OUT_OF_RANGE', 'orderId TYPE_MISMATCH', 'productId REFERENCE_NOT_FOUND', 'sku UNKNOWN_FIELD'],
  },
  {
    name: 'an update of a reference that points nowhere',
    method: 'PUT',
    path: 'items/1',
    body: { productId: 99 },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['productId REFERENCE_NOT_FOUND'],
  },
  {
    name: 'an update that breaks uniqueness',
    method: 'PUT',
    path: 'countries/2',
    body: { code: 'GB' },
    status: 409,
    code: 'CONFLICT',
    details: ['code NOT_UNIQUE'],
  },
  {
    name: 'a body is checked before the record is looked for',
    method: 'PUT',
    path: 'tags/99',
    body: { nmae: 'x' },
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['nmae UNKNOWN_FIELD'],
  },
  {
    name: 'a refused update changed nothing',
    path: 'items/1',
    status: 200,
    data: { id: 1, quantity: 1, orderId: 1, productId: 1 },
  },
]);

test('createdAt and updatedAt are set by the server', async () => {
  const [made] = await shop.create('products', [{ sku: 'NEW-05', title: 'New' }]);
  assert.match(made.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
  assert.equal(made.updatedAt, made.createdAt);
  const changed = await shop.call(`products/${made.id}`, { method: 'PUT', body: { title: 'Newer' } });
  assert.equal(changed.json.data.createdAt, made.createdAt);
  assert.ok(Date.parse(changed.json.data.updatedAt) >= Date.parse(made.updatedAt));
  const same = await shop.call(`products/${made.id}`, { method: 'PUT', body: {} });
  assert.deepEqual(same.json, changed.json);
});

test('a deleted record is gone, and its id is never used again', async () => {
  const [first] = await shop.create('tags', [{ name: 'short-lived' }]);
  const gone = await shop.call(`tags/${first.id}`, { method: 'DELETE' });
  assert.equal(gone.status, 204);
  assert.equal(gone.text, '');
  assert.equal(gone.headers.get('content-type'), null);
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const again = await shop.call(`tags/${first.id}`, { method, ...(method === 'PUT' ? { body: {} } : {}) });
    assert.equal(again.status, 404);
    assert.equal(again.json.error.code, 'NOT_FOUND');
  }
  const [second] = await shop.create('tags', [{ name: 'next' }]);
  assert.ok(second.id > first.id);
});

runScenarios(shop, [
  {
    name: 'restrict refuses to delete what others refer to, and says who',
    method: 'DELETE',
    path: 'customers/1',
    status: 409,
    code: 'CONFLICT',
    message: 'The record cannot be deleted: records of orders refer to this one by customer',
    details: ['orders.customer STILL_REFERENCED'],
  },
  { name: 'a record that is still there', path: 'customers/1', status: 200, data: ADA },
  { name: 'cascade deletes the records that refer to it', method: 'DELETE', path: 'orders/6', status: 204 },
  { name: 'an item of the deleted order', path: 'items/8', status: 404, code: 'NOT_FOUND' },
  { name: 'setNull forgets it', method: 'DELETE', path: 'countries/3', status: 204 },
  {
    name: 'a customer of the deleted country',
    path: 'customers/3?fields=id,countryId',
    status: 200,
    data: { id: 3, countryId: null },
  },
]);
