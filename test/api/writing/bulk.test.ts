// Many records in one request: all of them or none, in the order sent, each with what it gives and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { makeShop, TYPES_SCHEMA } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const call = (path: string, method: string, body?: unknown): Promise<Answer> =>
  shop.call(path, { method, ...(body === undefined ? {} : { body }) });
const create = (entity: string, data: readonly unknown[], query = ''): Promise<Answer> =>
  call(`${entity}/_bulk${query}`, 'POST', { data });
const update = (entity: string, data: readonly unknown[], query = ''): Promise<Answer> =>
  call(`${entity}/_bulk${query}`, 'PUT', { data });

function refused(answer: Answer, status: number, code: string): { message: string; details: Detail[] } {
  assert.deepEqual([answer.status, answer.json?.error?.code], [status, code], answer.text);
  assert.ok(answer.text.length < 100_000);
  return answer.json.error;
}
interface Detail {
  readonly index: number;
  readonly field: string;
  readonly code: string;
  readonly message: string;
}
const places = (details: readonly Detail[]) => details.map(({ index, field, code }) => [index, field, code]);
const countOf = async (entity: string): Promise<number> =>
  (await shop.call(`${entity}?size=1`)).json.meta.totalElements;

test('created records come back whole, in the order sent, with the defaults of what they do not give', async () => {
  const answer = await create('customers', [
    { name: 'One', email: 'one@example.com', vip: null },
    { name: 'Two', countryId: 2, rating: 1.5, joinedOn: '2026-02-28' },
    { vip: true, name: 'Three' },
  ]);
  assert.equal(answer.status, 201, answer.text);
  const [one, two, three] = answer.json.data;
  const none = { email: null, joinedOn: null, rating: null, countryId: null, referredBy: null };
  assert.deepEqual(one, { id: one.id, ...none, name: 'One', email: 'one@example.com', vip: null });
  assert.deepEqual(two, {
    id: one.id + 1,
    ...none,
    name: 'Two',
    vip: false,
    joinedOn: '2026-02-28',
    rating: 1.5,
    countryId: 2,
  });
  assert.deepEqual(three, { id: one.id + 2, ...none, name: 'Three', vip: true });
  assert.deepEqual((await shop.call(`customers/${two.id}`)).json.data, two);
  assert.deepEqual(Object.keys(answer.json), ['data']);
});

test('a thousand records keep their order, and one more is too many', async () => {
  const names = Array.from({ length: 1000 }, (_, index) => ({ name: `tag ${index}` }));
  const answer = await create('tags', names);
  assert.deepEqual(
    answer.json.data.map(({ name }: { name: string }) => ({ name })),
    names,
  );
  const { message } = refused(await create('tags', [...names, { name: 'x' }]), 413, 'PAYLOAD_TOO_LARGE');
  assert.match(message, /1001 records, and 1000 are the most/);
});

test('an empty list is done at once', async () => {
  for (const [answer, status] of [
    [await create('tags', []), 201],
    [await update('tags', []), 200],
  ] as const) {
    assert.equal(answer.status, status);
    assert.equal(answer.text, '{"data":[]}');
  }
  assert.equal((await call('tags/_bulk?ids=', 'DELETE')).status, 204);
  assert.equal((await call('tags/_bulk/delete', 'POST', { ids: [] })).status, 204);
});

test('return=minimal answers with ids', async () => {
  const made = await create('tags', [{ name: 'a' }, { name: 'b' }], '?return=minimal');
  const [a, b] = made.json.data;
  assert.deepEqual(made.json, { data: [{ id: a.id }, { id: a.id + 1 }] });
  const changed = await update('tags', [{ id: b.id, name: 'B' }, { id: a.id }], '?return=minimal');
  assert.deepEqual(changed.json, { data: [{ id: b.id }, { id: a.id }] });
});

test('every mistake of every record is told with its place, and nothing is stored', async () => {
  const before = await countOf('customers');
  const { details, message } = refused(
    await create('customers', [
      { name: 'Good' },
      { name: 5, email: 'x' },
      { nam: 'Typo' },
      { name: 'Lost', countryId: 999 },
      'text',
      { id: 3, name: 'Mine' },
    ]),
    400,
    'VALIDATION_FAILED',
  );
  assert.deepEqual(places(details), [
    [1, 'name', 'TYPE_MISMATCH'],
    [2, 'nam', 'UNKNOWN_FIELD'],
    [2, 'name', 'REQUIRED'],
    [4, null, 'TYPE_MISMATCH'],
    [5, 'id', 'READ_ONLY'],
  ]);
  assert.match(message, /^Validation failed: record 1, name: /);
  const lost = refused(
    await create('customers', [
      { name: 'Good' },
      { name: 'x'.repeat(41) },
      { name: 'Lost', countryId: 999, referredBy: 1 },
    ]),
    400,
    'VALIDATION_FAILED',
  );
  assert.deepEqual(places(lost.details), [
    [1, 'name', 'TOO_LONG'],
    [2, 'countryId', 'REFERENCE_NOT_FOUND'],
  ]);
  const dangling = refused(
    await create('orders', [{ customerId: 1 }, { customerId: 998 }, { customerId: 2 }, { customerId: 999 }]),
    400,
    'VALIDATION_FAILED',
  );
  assert.deepEqual(places(dangling.details), [
    [1, 'customerId', 'REFERENCE_NOT_FOUND'],
    [3, 'customerId', 'REFERENCE_NOT_FOUND'],
  ]);
  assert.equal(await countOf('customers'), before);
});

test('of a thousand wrong records a hundred mistakes are told', async () => {
  const wrong = Array.from({ length: 1000 }, () => ({ name: 1, what: 2 }));
  assert.equal(refused(await create('tags', wrong), 400, 'VALIDATION_FAILED').details.length, 100);
});

test('a value that is taken names the records, those of the request both', async () => {
  const taken = refused(await create('countries', [{ code: 'AA' }, { code: 'SE' }, { code: 'BB' }]), 409, 'CONFLICT');
  assert.deepEqual(places(taken.details), [[1, 'code', 'NOT_UNIQUE']]);
  const twice = refused(await create('countries', [{ code: 'AA' }, { code: 'BB' }, { code: 'AA' }]), 409, 'CONFLICT');
  assert.deepEqual(places(twice.details), [
    [0, 'code', 'NOT_UNIQUE'],
    [2, 'code', 'NOT_UNIQUE'],
  ]);
  assert.match(twice.details[0]?.message ?? '', /record 2 of the request/);
  assert.equal((await shop.call('countries?filter=code,in,AA,BB')).json.data.length, 0);
});

test('an update that gives a part of what must be unique names the records, too', async () => {
  const fields = { room: { type: 'string' }, slot: { type: 'integer' }, note: { type: 'string' } };
  const indexes = [{ fields: ['room', 'slot'], unique: true }];
  const rooms = await server.workspace('acme/rooms', { entities: { rooms: { fields, indexes } } });
  const write = (method: string, data: readonly unknown[]): Promise<Answer> =>
    rooms.call('rooms/_bulk', { method, body: { data } });
  const slots = [1, 2, 3].map((slot) => ({ room: 'a', slot }));
  assert.equal((await write('POST', [...slots, { room: 'b', slot: 1 }])).status, 201);
  const taken = [
    { id: 2, note: 'x' },
    { id: 1, slot: 3 },
    { id: 4, room: 'c' },
  ];
  const { details, message } = refused(await write('PUT', taken), 409, 'CONFLICT');
  assert.deepEqual(places(details), [[1, 'room, slot', 'NOT_UNIQUE']]);
  assert.equal(message, 'A record with this room, slot exists already');
  const twice = [
    { id: 1, slot: 7 },
    { id: 2, slot: 7 },
    { id: 4, slot: 7 },
  ];
  assert.deepEqual(places(refused(await write('PUT', twice), 409, 'CONFLICT').details), [
    [0, 'room, slot', 'NOT_UNIQUE'],
    [1, 'room, slot', 'NOT_UNIQUE'],
  ]);
});

test('records of a tree are deleted together, and those whose children stay are named', async () => {
  const relations = { parent: { kind: 'belongsTo', entity: 'leaves' } };
  const tree = await server.workspace('acme/tree', { entities: { leaves: { fields: {}, relations } } });
  const write = (method: string, data: readonly unknown[]): Promise<Answer> =>
    tree.call('leaves/_bulk', { method, body: { data } });
  assert.equal((await write('POST', [{}, {}, {}])).status, 201);
  const parents = [
    { id: 2, parentId: 1 },
    { id: 3, parentId: 2 },
  ];
  assert.equal((await write('PUT', parents)).status, 200);
  const held = refused(await tree.call('leaves/_bulk?ids=1,2', { method: 'DELETE' }), 409, 'CONFLICT');
  assert.deepEqual(places(held.details), [[1, 'leaves.parent', 'STILL_REFERENCED']]);
  assert.equal((await tree.call('leaves/_bulk?ids=1,2,3', { method: 'DELETE' })).status, 204);
});

test('records that give nothing take their defaults, which may be taken, too', async () => {
  const schema = { entities: { slots: { fields: { place: { type: 'string', unique: true, default: 'here' } } } } };
  const slots = await server.workspace('acme/slots', schema);
  const post = (data: readonly unknown[]): Promise<Answer> =>
    slots.call('slots/_bulk', { method: 'POST', body: { data } });
  const { message, details } = refused(await post([{}, {}]), 409, 'CONFLICT');
  assert.match(message, /place/);
  assert.deepEqual(places(details), [
    [0, 'place', 'NOT_UNIQUE'],
    [1, 'place', 'NOT_UNIQUE'],
  ]);
  assert.deepEqual((await post([{}])).json, { data: [{ id: 3, place: 'here' }] });
});

test('an update changes what each record gives, and keeps the rest', async () => {
  const made = (
    await create('products', [
      { sku: 'U1', title: 'One', price: 1 },
      { sku: 'U2', title: 'Two', price: 2, details: { a: 1 } },
      { sku: 'U3', title: 'Three', price: 3 },
    ])
  ).json.data;
  const [one, two, three] = made;
  const answer = await update('products', [
    { id: three.id, price: null },
    { id: String(one.id), title: 'Uno' },
    { id: two.id },
  ]);
  assert.equal(answer.status, 200, answer.text);
  const [third, first, second] = answer.json.data;
  assert.deepEqual({ ...third, updatedAt: null }, { ...three, price: null, updatedAt: null });
  assert.deepEqual({ ...first, updatedAt: null }, { ...one, title: 'Uno', updatedAt: null });
  assert.notEqual(first.updatedAt, one.updatedAt);
  // Nothing was asked of it, so nothing was written.
  assert.deepEqual(second, two);
  assert.deepEqual((await call('products/_bulk', 'PATCH', { data: [{ id: two.id }] })).json.data, [two]);
});

test('an update of records that are not there changes none of them', async () => {
  const [tag] = (await create('tags', [{ name: 'there' }])).json.data;
  const { message } = refused(
    await update('tags', [
      { id: tag.id, name: 'changed' },
      { id: 999_999, name: 'x' },
      { id: '99999999999999999999', name: 'y' },
      { id: '-099999999999999999998', name: 'z' },
    ]),
    404,
    'NOT_FOUND',
  );
  assert.match(message, /^Records not found: 999999, 99999999999999999999, -99999999999999999998$/);
  assert.equal((await shop.call(`tags/${tag.id}`)).json.data.name, 'there');
});

test('an id is given once', async () => {
  const twice = refused(
    await update('tags', [
      { id: 1, name: 'x' },
      { id: '01', name: 'y' },
    ]),
    400,
    'VALIDATION_FAILED',
  );
  assert.deepEqual(places(twice.details), [[1, 'id', 'INVALID']]);
});

test('$version guards the records that name one', async () => {
  const made = (await create('tags', [{ name: 'g1' }, { name: 'g2' }])).json.data;
  const [a, b] = made;
  const etag = (await shop.call(`tags/${b.id}`)).headers.get('etag') ?? '';
  const version = etag.slice(1, etag.indexOf('.'));
  const body = [
    { id: a.id, name: 'A' },
    { id: b.id, name: 'B', $version: version },
  ];
  assert.equal((await update('tags', body)).status, 200);
  const { details } = refused(await update('tags', body), 412, 'PRECONDITION_FAILED');
  assert.deepEqual(places(details), [[1, null, 'STALE_VERSION']]);
  assert.equal(
    (await call('tags/_bulk/delete', 'POST', { ids: [a.id, b.id], versions: { [b.id]: version } })).status,
    412,
  );
  const now = (await shop.call(`tags/${b.id}`)).headers.get('etag') ?? '';
  const current = { [b.id]: now.slice(1, now.indexOf('.')) };
  assert.equal((await call('tags/_bulk/delete', 'POST', { ids: [a.id, b.id], versions: current })).status, 204);
});

test('a version that PostgreSQL cannot store is that of no record', async () => {
  const [{ id }] = (await create('tags', [{ name: 'nul' }])).json.data;
  for (const version of ['\0', '\ud800', '1\0.x']) {
    refused(await update('tags', [{ id, name: 'x', $version: version }]), 412, 'PRECONDITION_FAILED');
    refused(
      await call('tags/_bulk/delete', 'POST', { ids: [id], versions: { [id]: version } }),
      412,
      'PRECONDITION_FAILED',
    );
    const operations = [{ method: 'DELETE', entity: 'tags', id, ifMatch: `"${version}"` }];
    refused(await call('_batch', 'POST', { operations }), 412, 'PRECONDITION_FAILED');
  }
});

test('deletes are of all or of none', async () => {
  const made = (
    await create(
      'tags',
      Array.from({ length: 5 }, (_, index) => ({ name: `d${index}` })),
    )
  ).json.data;
  const ids = made.map(({ id }: { id: number }) => id);
  const { message } = refused(
    await call(`tags/_bulk?ids=${ids.slice(0, 2)},888888,888889`, 'DELETE'),
    404,
    'NOT_FOUND',
  );
  assert.equal(message, 'Records not found: 888888, 888889');
  const beyond = ['99999999999999999999', '99999999999999999998'];
  const never = await call('tags/_bulk/delete', 'POST', { ids: [...beyond, ids[0]] });
  assert.equal(refused(never, 404, 'NOT_FOUND').message, `Records not found: ${beyond.join(', ')}`);
  assert.equal((await call(`tags/_bulk?ids=${ids[0]},${ids[1]},${ids[0]}`, 'DELETE')).status, 204);
  assert.equal((await call('tags/_bulk/delete', 'POST', { ids: ids.slice(2) })).status, 204);
  assert.equal((await shop.call(`tags?filter=id,in,${ids}`)).json.data.length, 0);
  const held = refused(await call('customers/_bulk?ids=6,1', 'DELETE'), 409, 'CONFLICT');
  assert.equal(held.message, 'Records cannot be deleted, as others refer to them by orders.customer: 1');
  assert.deepEqual(places(held.details), [[1, 'orders.customer', 'STILL_REFERENCED']]);
  assert.equal((await shop.call('customers/6')).status, 200);
});

for (const [name, path, method, body, message] of [
  [
    'another member of the body',
    'tags/_bulk',
    'POST',
    { data: [], dat: 1 },
    /Unknown member dat of the body. Did you mean data\? Known: data/,
  ],
  ['ids with a hole', 'tags/_bulk?ids=1,,2', 'DELETE', undefined, /ids must be integers, and an empty text is none/],
] as const)
  test(`a bulk request is refused: ${name}`, async () => {
    assert.match(refused(await call(path, method, body), 400, 'BAD_REQUEST').message, message);
  });

test('If-Match, which guards one record, is refused with what guards many', async () => {
  const headers = { 'if-match': '"1.a"' };
  for (const [path, method, body, words] of [
    ['tags/_bulk', 'PUT', { data: [{ id: 1, name: 'overwritten' }] }, /"\$version"/],
    ['tags/_bulk', 'PATCH', { data: [] }, /"\$version"/],
    ['tags/_bulk?ids=1', 'DELETE', undefined, /"versions"/],
    ['tags/_bulk/delete', 'POST', { ids: [1] }, /"versions"/],
    ['_batch', 'POST', { operations: [{ method: 'DELETE', entity: 'tags', id: 1 }] }, /"ifMatch"/],
  ] as const) {
    const answer = await shop.call(path, { method, headers, ...(body === undefined ? {} : { body }) });
    assert.match(refused(answer, 400, 'BAD_REQUEST').message, words);
  }
  assert.notEqual((await shop.call('tags/1')).json.data.name, 'overwritten');
});

test('paths below _bulk, and methods that it does not take', async () => {
  assert.equal((await call('tags/_bulk/remove', 'POST', { ids: [] })).status, 404);
  assert.equal((await call('tags/_bulk%2Fdelete', 'POST', { ids: [] })).status, 404);
  assert.equal((await call('tags/%5Fbulk/delete', 'POST', { ids: [] })).status, 204);
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    const mistaken = refused(await call('tags/_bluk', method, method === 'GET' ? undefined : {}), 404, 'NOT_FOUND');
    assert.match(mistaken.message, /^There is no operation _bluk. Known: .*_bulk/);
  }
  assert.equal((await call('tags/_bulk', 'GET')).headers.get('allow'), 'POST, PUT, PATCH, DELETE, OPTIONS');
  assert.equal((await call('tags/_bulk/delete', 'DELETE')).headers.get('allow'), 'POST, OPTIONS');
});

test('every type and every default is stored as a single create stores it', async () => {
  const types = await server.workspace('acme/bulk-types', TYPES_SCHEMA);
  const text = fc
    .string({ unit: 'binary', maxLength: 8 })
    .filter((value) => !value.includes('\0') && value.isWellFormed());
  const sample = fc.record(
    {
      aString: fc.option(text),
      aText: fc.option(text),
      anInteger: fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
      aDecimal: fc.option(fc.integer({ min: -1e9, max: 1e9 }).map((value) => value / 100)),
      aFloat: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
      aBoolean: fc.option(fc.boolean()),
      aDate: fc.constantFrom('2024-02-29', null),
      aDatetime: fc.constantFrom('2024-02-29T12:00:00.5+02:00', null),
      aJson: fc.option(fc.json().map((value) => JSON.parse(value))),
      anEnum: fc.constantFrom('a,b', 'grün', null),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 6 }), async (records) => {
      const single = [];
      for (const body of records) single.push((await types.call('samples', { method: 'POST', body })).json.data);
      const many = await types.call('samples/_bulk', { method: 'POST', body: { data: records } });
      assert.equal(many.status, 201, many.text);
      const bare = (record: Readonly<Record<string, unknown>>) => ({ ...record, id: null });
      assert.deepEqual(many.json.data.map(bare), single.map(bare));
      const ids: number[] = many.json.data.map(({ id }: { id: number }) => id);
      const turned = records.toReversed().map((fields, index) => ({ ...fields, id: ids[index] }));
      const changed = await types.call('samples/_bulk', { method: 'PUT', body: { data: turned } });
      assert.equal(changed.status, 200, changed.text);
      for (const [index, body] of turned.entries()) {
        const alone = await types.call(`samples/${single[index].id}`, {
          method: 'PUT',
          body: { ...body, id: undefined },
        });
        assert.deepEqual(bare(changed.json.data[index]), bare(alone.json.data));
      }
    }),
    { numRuns: 30 },
  );
  const [plain, given] = (
    await types.call('defaults/_bulk', { method: 'POST', body: { data: [{}, { anInteger: null, aString: 'x' }] } })
  ).json.data;
  const alone = (await types.call('defaults', { method: 'POST', body: {} })).json.data;
  const lasting = ({ id, aUuid, aDatetime, ...rest }: Readonly<Record<string, unknown>>) => rest;
  assert.deepEqual(lasting(plain), lasting(alone));
  assert.deepEqual(lasting(given), { ...lasting(alone), anInteger: null, aString: 'x' });
  assert.notEqual(plain.aUuid, given.aUuid);
});

test('two bulk updates of the same records in opposite order both succeed', async () => {
  const ids: number[] = (
    await create(
      'tags',
      Array.from({ length: 200 }, (_, index) => ({ name: `o${index}` })),
    )
  ).json.data.map(({ id }: { id: number }) => id);
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all([
      update(
        'tags',
        ids.map((id) => ({ id, name: 'up' })),
      ),
      update(
        'tags',
        ids.toReversed().map((id) => ({ id, name: 'down' })),
      ),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const names = new Set(
      (await shop.call(`tags?size=1000&filter=id,gte,${ids[0]}`)).json.data.map(({ name }: { name: string }) => name),
    );
    assert.equal(names.size, 1);
  }
});

test('bodies of nothing but brackets, or of records with a million names, are refused before anything is made of them', async () => {
  const headers = { 'content-type': 'application/json' };
  const send = (body: string) => shop.call('tags/_bulk', { method: 'POST', body, headers });
  const empty = refused(await send(`{"data":[${Array(3_000_000).fill('{}').join()}]}`), 400, 'BAD_REQUEST');
  assert.match(empty.message, /has more than \d+ values/);
  const names = Array.from({ length: 700_000 }, (_, index) => `"k${index}":1`).join();
  const wide = refused(await send(`{"data":[{${names}}]}`), 400, 'BAD_REQUEST');
  assert.match(wide.message, /has more than 5000 members/);
});

test('many long bodies at once wait for room, and each is answered', async () => {
  const note = 'x'.repeat(1_000_000);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () =>
      create(
        'orders',
        Array.from({ length: 9 }, () => ({ customerId: 1, note })),
        '?return=minimal',
      ),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
});

test('a credential that may only read writes nothing', async () => {
  const answer = await shop.call('tags/_bulk?ids=1', { method: 'DELETE', credential: shop.readOnlyKey });
  refused(answer, 403, 'FORBIDDEN');
});
