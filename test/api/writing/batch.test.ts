// Operations on several entities in one request: one transaction, references between its records, all of it or nothing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeNotes } from '../../support/notes-fixture.ts';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { makeShop, TYPES_SCHEMA } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const batch = (operations: readonly unknown[], query = '', options: Call = {}): Promise<Answer> =>
  shop.call(`_batch${query}`, { method: 'POST', body: { operations }, ...options });

function refused(answer: Answer, status: number, code: string, operation?: number): { message: string } {
  const { error } = answer.json;
  assert.deepEqual([answer.status, error?.code, error?.operation], [status, code, operation], answer.text);
  assert.ok(answer.text.length < 100_000);
  return error;
}
const countOf = async (entity: string): Promise<number> =>
  (await shop.call(`${entity}?size=1`)).json.meta.totalElements;

test('an order with its items and its customer is one request, and a read sees what came before it', async () => {
  const answer = await batch([
    { ref: 'customer', method: 'POST', entity: 'customers', body: { name: 'Batch', email: 'batch@example.com' } },
    { ref: 'order', method: 'POST', entity: 'orders', body: { customerId: { $ref: 'customer.id' }, total: 1.5 } },
    { method: 'POST', entity: 'items', body: { orderId: { $ref: 'order.id' }, quantity: 2 } },
    { method: 'PUT', entity: 'customers', id: { $ref: 'customer.id' }, body: { vip: true } },
    { method: 'GET', entity: 'orders', id: { $ref: 'order.id' }, query: 'expand=items,customer' },
    { method: 'GET', entity: 'items', query: 'fields=quantity&sort=id,desc&size=1' },
    { method: 'DELETE', entity: 'orders', id: { $ref: 'order.id' } },
    { method: 'GET', entity: 'customers', query: 'filter=email,eq,batch@example.com&fields=vip' },
  ]);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.json), ['data']);
  const all = answer.json.data;
  assert.deepEqual(
    all.map(({ status }: { status: number }) => status),
    [201, 201, 201, 200, 200, 200, 204, 200],
  );
  const customer = all[0].data;
  assert.equal(all[1].data.customerId, customer.id);
  assert.equal(all[3].data.vip, true);
  assert.equal(all[4].data.customer.name, 'Batch');
  assert.equal(all[4].data.items[0].quantity, 2);
  assert.deepEqual(all[5].data, [{ quantity: 2 }]);
  assert.deepEqual(all[6], { status: 204 });
  assert.deepEqual(all[7].data, [{ vip: true }]);
  assert.deepEqual((await shop.call(`customers/${customer.id}`)).json.data, all[3].data);
  assert.equal((await shop.call(`orders/${all[1].data.id}`)).status, 404);
});

test('a create may change the record that is there', async () => {
  const put = (name: string) => ({
    method: 'POST',
    entity: 'customers',
    onConflict: 'email',
    body: { name, email: 'again@example.com' },
  });
  const answer = await batch([put('First'), put('Second'), { ...put('Third'), conflict: 'skip' }]);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    answer.json.data.map((one: { status: number; data: { name: string } }) => [one.status, one.data.name]),
    [
      [201, 'First'],
      [200, 'Second'],
      [200, 'Second'],
    ],
  );
});

test('an empty batch is done at once', async () => {
  const answer = await batch([]);
  assert.deepEqual([answer.status, answer.json], [200, { data: [] }]);
});

test('digits of referred values stay, and in a json field what looks like a reference is data', async () => {
  const types = await server.workspace('acme/types', TYPES_SCHEMA);
  const aDecimal = '12345678901234567890.0123456789';
  const body = `{"operations": [
    {"ref": "a", "method": "POST", "entity": "samples", "body": {"aDecimal": ${aDecimal}, "aBigint": 9223372036854775807, "aString": null}},
    {"method": "POST", "entity": "samples", "body": {"aDecimal": {"$ref": "a.aDecimal"}, "aBigint": {"$ref": "a.aBigint"}, "aString": {"$ref": "a.aString"}, "aJson": {"$ref": "nothing.here"}}}
  ]}`;
  const answer = await types.call('_batch', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.text.split(aDecimal).length, 3);
  assert.equal(answer.text.split('9223372036854775807').length, 3);
  assert.deepEqual(answer.json.data[1].data.aJson, { $ref: 'nothing.here' });
  assert.equal(answer.json.data[1].data.aString, null);
});

describe('the first failure ends all, and nothing is stored', () => {
  const tag = (name: unknown) => ({ method: 'POST', entity: 'tags', body: { name } });

  for (const [name, failing, status, code] of [
    ['a mistake in a body', tag(5), 400, 'VALIDATION_FAILED'],
    ['an unknown entity', { method: 'GET', entity: 'nothings' }, 404, 'NOT_FOUND'],
    ['a record that is not there', { method: 'DELETE', entity: 'tags', id: 99999999 }, 404, 'NOT_FOUND'],
    ['an id beyond 64 bits', { method: 'GET', entity: 'tags', id: '9'.repeat(30) }, 404, 'NOT_FOUND'],
    [
      'an older version',
      { method: 'PUT', entity: 'tags', id: 1, body: { name: 'x' }, ifMatch: '"1.x"' },
      412,
      'PRECONDITION_FAILED',
    ],
    [
      'a dangling reference',
      { method: 'POST', entity: 'items', body: { orderId: 99999999, quantity: 1 } },
      400,
      'VALIDATION_FAILED',
    ],
    ['an unknown parameter', { method: 'GET', entity: 'tags', query: 'sizes=1' }, 400, 'BAD_REQUEST'],
    ['a body that is missing', { method: 'POST', entity: 'tags' }, 400, 'BAD_REQUEST'],
    [
      'a taken value',
      { method: 'POST', entity: 'customers', body: { name: 'x', email: { $ref: 'c.email' } } },
      409,
      'CONFLICT',
    ],
  ] as const) {
    test(name, async () => {
      const before = [await countOf('tags'), await countOf('customers')];
      const email = `${name.replaceAll(' ', '.')}@example.com`;
      const first = { ref: 'c', method: 'POST', entity: 'customers', body: { name: 'c', email } };
      refused(await batch([tag('one'), first, failing, tag('two')]), status, code, 2);
      assert.deepEqual([await countOf('tags'), await countOf('customers')], before);
    });
  }

  test('details of the operation are told', async () => {
    const answer = await batch([tag('one'), { method: 'POST', entity: 'items', body: { quantity: 0, orderid: 1 } }]);
    refused(answer, 400, 'VALIDATION_FAILED', 1);
    assert.deepEqual(
      answer.json.error.details.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [
        ['quantity', 'OUT_OF_RANGE'],
        ['orderid', 'UNKNOWN_FIELD'],
        ['orderId', 'REQUIRED'],
      ],
    );
  });
});

describe('a refusal is the one that operations get one after the other', () => {
  const stale = '"1.x"';
  const add = (email: string) => ({ method: 'POST', entity: 'customers', body: { name: 'x', email } });
  const item = (orderId: unknown) => ({ method: 'POST', entity: 'items', body: { orderId, quantity: 1 } });
  for (const [name, operations, status, code, operation] of [
    [
      'another version, of a record that is deleted later',
      [
        { method: 'PUT', entity: 'tags', id: 2, body: { name: 'x' }, ifMatch: stale },
        { method: 'DELETE', entity: 'tags', id: 2 },
      ],
      412,
      'PRECONDITION_FAILED',
      0,
    ],
    [
      'a record that is not there, before one that is made with its id',
      [
        { method: 'PUT', entity: 'countries', id: 777, body: { name: 'Later' } },
        { method: 'POST', entity: 'countries', body: { id: 777, name: 'Later' } },
      ],
      404,
      'NOT_FOUND',
      0,
    ],
    [
      'a reference to a record that is made later',
      [
        { method: 'POST', entity: 'orders', body: { customerId: 778, status: 'none' } },
        { method: 'POST', entity: 'customers', body: { id: 778, name: 'Later' } },
      ],
      400,
      'VALIDATION_FAILED',
      0,
    ],
    [
      'a taken value before a mistake in a body',
      [add('ada@example.com'), { ...add('b@example.com'), body: {} }],
      409,
      'CONFLICT',
      0,
    ],
    [
      'a mistake in a body before a taken value',
      [{ ...add('b@example.com'), body: { vip: 'no' } }, add('ada@example.com')],
      400,
      'VALIDATION_FAILED',
      0,
    ],
    [
      'two that are taken',
      [add('new@example.com'), add('ada@example.com'), add('zoe@example.com')],
      409,
      'CONFLICT',
      1,
    ],
    [
      'a value that the batch itself has taken',
      [add('twice@example.com'), { method: 'GET', entity: 'tags' }, add('twice@example.com'), item(99999999)],
      409,
      'CONFLICT',
      2,
    ],
    [
      'a reference to a record that was deleted before',
      [{ method: 'DELETE', entity: 'orders', id: 8 }, item(8), item(1)],
      400,
      'VALIDATION_FAILED',
      1,
    ],
    [
      'a field that the answer of the operation does not show',
      [{ ref: 'o', method: 'GET', entity: 'orders', id: 1, query: 'fields=note' }, item({ $ref: 'o.id' }), item(1)],
      400,
      'BAD_REQUEST',
      1,
    ],
  ] as const) {
    test(name, async () => {
      const before = await Promise.all(['customers', 'countries', 'orders', 'items', 'tags'].map(countOf));
      const answer = await batch(operations);
      refused(answer, status, code, operation);
      assert.deepEqual(await Promise.all(['customers', 'countries', 'orders', 'items', 'tags'].map(countOf)), before);
    });
  }

  test('a read that is too long for the limit of all answers', async () => {
    const big = { ref: 'big', method: 'POST', entity: 'orders', body: { customerId: 1, note: 'x'.repeat(900_000) } };
    const read = { method: 'GET', entity: 'orders', id: { $ref: 'big.id' } };
    const answer = await batch([big, ...Array(99).fill(read)]);
    refused(answer, 400, 'BAD_REQUEST', answer.json.error?.operation);
    assert.ok(answer.json.error.operation > 10);
  });
});

describe('what is no batch is refused before anything runs', () => {
  const order = { ref: 'order', method: 'POST', entity: 'orders', body: { customerId: 1 } };
  const item = (orderId: unknown) => ({ method: 'POST', entity: 'items', body: { orderId, quantity: 1 } });
  for (const [name, operations, message, operation] of [
    ['a misspelt ref', [order, item({ $ref: 'ordr.id' })], /^No earlier operation has the ref ordr\. Did you mean/, 1],
    ['a forward ref', [item({ $ref: 'order.id' }), order], /not the ref of an earlier operation/, 0],
    ['a ref of itself', [{ ...item({ $ref: 'me.id' }), ref: 'me' }], /not the ref of an earlier operation/, 0],
    ['a misspelt field', [order, item({ $ref: 'order.idd' })], /^Unknown field idd on entity orders\. Did you mean/, 1],
    ['a ref without a field', [order, item({ $ref: 'order' })], /must be a text such as/, 1],
    ['a ref that is no text', [order, item({ $ref: 5 })], /must be a text such as/, 1],
    [
      'a ref to a list',
      [
        { ref: 'l', method: 'GET', entity: 'orders' },
        { method: 'DELETE', entity: 'orders', id: { $ref: 'l.id' } },
      ],
      /answers with no record/,
      1,
    ],
    ['a ref that is used twice', [order, order], /used twice/, 1],
    ['a ref with a point', [{ ...order, ref: 'a.b' }], /^ref a\.b must be/, 0],
    ['an unknown member', [{ ...order, boddy: {} }], /^Unknown member boddy of the operation\. Did you mean body/, 0],
    ['an unknown method', [{ ...order, method: 'post' }], /^method must be one of GET, POST/, 0],
    ['no entity', [{ method: 'GET' }], /^entity is missing/, 0],
    ['an id of a create', [{ ...order, id: 1 }], /whose id the server gives/, 0],
    ['an update without an id', [{ method: 'PUT', entity: 'orders', body: {} }], /^PUT needs an id/, 0],
    ['a word in place of an id', [{ method: 'GET', entity: 'orders', id: '_export' }], /^id must be an integer/, 0],
    ['a body of a read', [{ method: 'GET', entity: 'orders', body: {} }], /^GET takes no body/, 0],
    ['an operation that is no object', ['GET orders'], /must be a JSON object/, 0],
    ['an operation that is a list', [[order]], /must be a JSON object/, 0],
  ] as const) {
    test(name, async () => {
      const before = await countOf('orders');
      assert.match(refused(await batch(operations), 400, 'BAD_REQUEST', operation).message, message);
      assert.equal(await countOf('orders'), before);
    });
  }

  test('a malformed id, with the error of a single request', async () => {
    for (const [id, path] of [
      ['abc', 'abc'],
      [1.5, '1.5'],
    ] as const) {
      const { operation, ...error } = refused(
        await batch([{ method: 'GET', entity: 'orders', id }]),
        400,
        'BAD_REQUEST',
        0,
      ) as { operation?: number };
      assert.equal(operation, 0);
      assert.deepEqual(error, (await shop.call(`orders/${path}`)).json.error);
    }
  });

  test('a body of another form, and another method', async () => {
    for (const body of [[], {}, { operations: {} }, { operation: [] }, 5]) {
      refused(await shop.call('_batch', { method: 'POST', body }), 400, 'BAD_REQUEST');
    }
    const get = await shop.call('_batch');
    refused(get, 405, 'METHOD_NOT_ALLOWED');
    assert.equal(get.headers.get('allow'), 'POST, OPTIONS');
    assert.equal((await shop.call('_batches', { method: 'POST', body: {} })).status, 404);
  });

  test('more operations than allowed, and more bytes', async () => {
    const read = { method: 'GET', entity: 'tags', query: 'size=1' };
    assert.equal((await batch(Array(100).fill(read))).status, 200);
    const { message } = refused(await batch(Array(101).fill(read)), 413, 'PAYLOAD_TOO_LARGE');
    assert.match(message, /has 101 operations, and 100 are the most/);
    const big = { method: 'POST', entity: 'orders', body: { note: 'x'.repeat(11 * 1024 * 1024) } };
    refused(await batch([big]), 413, 'PAYLOAD_TOO_LARGE');
  });
});

test('a dry run answers as the batch would, and leaves nothing', async () => {
  const before = await countOf('tags');
  const operations = [
    { ref: 'tag', method: 'POST', entity: 'tags', body: { name: 'dry' } },
    { method: 'GET', entity: 'tags', id: { $ref: 'tag.id' } },
  ];
  const answer = await batch(operations, '?dryRun=true');
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.meta, { dryRun: true });
  assert.deepEqual(answer.json.data[1], { status: 200, data: { ...answer.json.data[0].data } });
  assert.equal(await countOf('tags'), before);
  const wrong = [...operations, { method: 'DELETE', entity: 'tags', id: 99999999 }];
  refused(await batch(wrong, '?dryRun=true'), 404, 'NOT_FOUND', 2);
});

test('batches that lock the same records crosswise are all done', async () => {
  const notes = await makeNotes(server, 'acme/crosswise');
  const put = (id: number, text: string) => ({ method: 'PUT', entity: 'notes', id, body: { text } });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => {
      const ids = index % 2 === 0 ? [1, 2] : [2, 1];
      const operations = [put(ids[0] as number, `${index}`), put(ids[1] as number, `${index}`)];
      return notes.call('_batch', { method: 'POST', body: { operations } });
    }),
  );
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const [one, two] = (await notes.call('notes?sort=id')).json.data;
  assert.equal(one.text, two.text);
});

test('a credential that may only read may read, and write nothing', async () => {
  const notes = await makeNotes(server, 'acme/readers');
  const credential = notes.readOnlyKey;
  const post = (operations: readonly unknown[]) =>
    notes.call('_batch', { method: 'POST', credential, body: { operations } });
  const read = { method: 'GET', entity: 'notes', id: 1 };
  assert.deepEqual((await post([read])).json, { data: [{ status: 200, data: { id: 1, text: 'one' } }] });
  refused(await post([read, { method: 'DELETE', entity: 'notes', id: 1 }]), 403, 'FORBIDDEN', 1);
  assert.equal((await notes.call('_batch', { method: 'POST', credential: 'none', body: {} })).status, 401);
});
