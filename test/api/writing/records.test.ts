// Create, read, update and delete: envelopes, statuses, headers, and what is refused; then conditional requests: entity tags,
// 304 for what the client has, 412 for what has changed meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import type { Answer, Call } from '../../support/server.ts';
import { CUSTOMERS, makeShop, SHOP_SCHEMA } from '../../support/shop.ts';

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

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await shop.call(path);
  assert.equal(status, 200);
  const tag = headers.get('etag') ?? '';
  assert.match(tag, /^"[!-~]+"$/);
  return tag;
}

const put = (path: string, body: unknown, headers: Call['headers'] = {}): Promise<Answer> =>
  shop.call(path, { method: 'PUT', body, headers });

async function newTag(name: string): Promise<{ readonly path: string; readonly etag: string }> {
  const made = await shop.call('tags', { method: 'POST', body: { name } });
  return { path: `tags/${made.json.data.id}`, etag: made.headers.get('etag') ?? '' };
}

function refused(answer: Answer): void {
  assert.equal(answer.status, 412, answer.text);
  assert.equal(answer.json.error.code, 'PRECONDITION_FAILED');
}

test('the tag of a record is the same until the record changes', async () => {
  const { path, etag } = await newTag('one');
  assert.equal(await tagOf(path), etag);
  assert.equal(await tagOf(path), etag);
  const changed = await put(path, { name: 'two' });
  const after = changed.headers.get('etag');
  assert.notEqual(after, etag);
  assert.equal(await tagOf(path), after);
  assert.equal((await put(path, {})).headers.get('etag'), after);
});

test('two records, and two selections of one record, have different tags', async () => {
  const tags = await Promise.all(
    ['tags/1', 'tags/2', 'tags/1?fields=id', 'tags/1?fields=name', 'tags/1?expand=orders'].map(tagOf),
  );
  assert.equal(new Set(tags).size, 5);
});

test('a list carries no tag', async () => {
  assert.equal((await shop.call('tags')).headers.get('etag'), null);
});

test('If-None-Match answers 304 without a body for what the client has', async () => {
  const tag = await tagOf('customers/1');
  for (const value of [tag, `"other", W/${tag}`, '*']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await shop.call('customers/1', { method, headers: { 'if-none-match': value } });
      assert.equal(answer.status, 304, `${method} ${value}`);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.get('etag'), tag);
    }
  }
});

test('If-None-Match answers in full what the client does not have', async () => {
  const tag = await tagOf('customers/1');
  for (const value of [
    '"other"',
    tag.replace('"', '"x'),
    tag.slice(1, -1),
    '',
    await tagOf('customers/1?fields=id'),
    await tagOf('customers/2'),
  ]) {
    const answer = await shop.call('customers/1', { headers: { 'if-none-match': value } });
    assert.equal(answer.status, 200, value);
    assert.equal(answer.json.data.id, 1);
  }
  assert.equal((await shop.call('customers/99', { headers: { 'if-none-match': '*' } })).status, 404);
});

test('a change of a related record changes the tag of the record that shows it', async () => {
  const toOne = await tagOf('profiles/1?expand=customer');
  const toMany = await tagOf('customers/1?expand=profile,orders.tags');
  await put('customers/1', { rating: 1 });
  assert.notEqual(await tagOf('profiles/1?expand=customer'), toOne);
  const changed = await tagOf('customers/1?expand=profile,orders.tags');
  assert.notEqual(changed, toMany);
  await put('tags/1', { name: 'present' });
  assert.notEqual(await tagOf('customers/1?expand=profile,orders.tags'), changed);
});

test('If-Match lets a change through while the record is the same', async () => {
  const { path, etag } = await newTag('guarded');
  const first = await put(path, { name: 'first' }, { 'if-match': etag });
  assert.equal(first.status, 200, first.text);
  const second = await shop.call(path, {
    method: 'PATCH',
    body: { name: 'second' },
    headers: { 'if-match': `"x", ${first.headers.get('etag')}` },
  });
  assert.equal(second.status, 200, second.text);
  const gone = await shop.call(path, { method: 'DELETE', headers: { 'if-match': second.headers.get('etag') ?? '' } });
  assert.equal(gone.status, 204, gone.text);
});

test('If-Match refuses a change of a record that has changed, and nothing is changed', async () => {
  const { path, etag } = await newTag('guarded');
  await put(path, { name: 'meanwhile' });
  refused(await put(path, { name: 'late' }, { 'if-match': etag }));
  refused(await put(path, {}, { 'if-match': etag }));
  refused(await shop.call(path, { method: 'PATCH', body: { name: 'late' }, headers: { 'if-match': etag } }));
  refused(await shop.call(path, { method: 'DELETE', headers: { 'if-match': etag } }));
  refused(await put(path, { name: 'late' }, { 'if-match': '"never given"' }));
  assert.equal((await shop.call(path)).json.data.name, 'meanwhile');
});

test('If-Match takes the tag of any selection of the record', async () => {
  const { path } = await newTag('selected');
  for (const selection of ['?fields=name', '?expand=orders', '?fields=id,orders.id&expand=orders']) {
    const answer = await put(path, { name: selection }, { 'if-match': await tagOf(`${path}${selection}`) });
    assert.equal(answer.status, 200, answer.text);
  }
});

test('If-Match: * asks only that the record exists', async () => {
  const { path } = await newTag('any');
  assert.equal((await put(path, { name: 'x' }, { 'if-match': '*' })).status, 200);
  assert.equal((await put('tags/9999', { name: 'x' }, { 'if-match': '*' })).status, 404);
});

test('a record that is gone is 404, whatever its tag', async () => {
  const { path, etag } = await newTag('gone');
  await shop.call(path, { method: 'DELETE' });
  assert.equal((await put(path, { name: 'x' }, { 'if-match': etag })).status, 404);
  assert.equal((await shop.call(path, { method: 'DELETE', headers: { 'if-match': etag } })).status, 404);
});

test('If-Match without an entity tag in quotes is refused', async () => {
  for (const method of ['PUT', 'DELETE']) {
    const body = method === 'PUT' ? { body: {} } : {};
    const { status, json } = await shop.call('tags/2', { method, headers: { 'if-match': 'abc' }, ...body });
    assert.equal(status, 400);
    assert.match(json.error.message, /^If-Match is malformed/);
  }
});

test('mistakes of the body come before the condition', async () => {
  const answer = await put('tags/2', { name: 7 }, { 'if-match': '"stale"' });
  assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
});

test('of many changes with one tag exactly one is made', async () => {
  const { path, etag } = await newTag('contested');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => put(path, { name: `writer ${index}` }, { 'if-match': etag })),
  );
  const made = answers.filter((answer) => answer.status === 200);
  assert.equal(made.length, 1);
  for (const answer of answers) if (answer.status !== 200) refused(answer);
  assert.equal((await shop.call(path)).json.data.name, made[0]?.json.data.name);
});

test('a change of the schema changes the tags of records that it shows otherwise', async () => {
  const whole = await tagOf('tags/1');
  const part = await tagOf('tags/1?fields=id');
  const { tags } = SHOP_SCHEMA.entities;
  const schema = {
    entities: { ...SHOP_SCHEMA.entities, tags: { ...tags, fields: { ...tags.fields, colour: { type: 'string' } } } },
  };
  const changed = await shop.admin('schema', { method: 'PUT', body: schema });
  assert.equal(changed.status, 200, changed.text);
  assert.notEqual(await tagOf('tags/1'), whole);
  assert.equal(await tagOf('tags/1?fields=id'), part);
});

test('a change behind the back of the server is seen', async () => {
  const before = await tagOf('tags/3');
  const [row] = await server.database.query('select database_schema from wda.workspace');
  await server.database.query(`update "${row?.database_schema}".tags set name = 'changed' where id = 3`);
  assert.notEqual(await tagOf('tags/3'), before);
  refused(await put('tags/3', { name: 'x' }, { 'if-match': before }));
});
