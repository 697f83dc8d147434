// Operators in updates: {"stock": {"$inc": -1}} changes the stored value.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';

const server = useServer();
const ITEMS = {
  fields: {
    name: { type: 'string', maxLength: 12, unique: true },
    stock: { type: 'integer', min: 0 },
    price: { type: 'decimal', precision: 20, scale: 2 },
    soldOn: { type: 'date' },
    soldAt: { type: 'datetime' },
    tags: { type: 'json' },
    owner: { type: 'integer' },
  },
  relations: { box: { kind: 'belongsTo', entity: 'boxes' } },
  timestamps: true,
};
const shop = use(() =>
  server.workspace('t/operators', {
    roles: ['seller', 'masked'],
    entities: {
      boxes: { fields: { label: { type: 'string' } } },
      items: { ...ITEMS, settings: { changes: 'feed' } },
      granted: {
        ...ITEMS,
        grants: [
          {
            role: 'seller',
            can: ['read', 'update'],
            where: { field: 'owner', op: 'eq', value: { claim: 'owner' } },
            fields: ['id', 'name', 'stock', 'tags'],
            write: ['stock', 'price', 'tags', 'owner'],
          },
          { role: 'masked', can: ['read', 'update'], fields: ['id', 'name'], write: ['stock'] },
          { role: 'masked', can: ['read'], where: { field: 'name', op: 'eq', value: 'open' }, fields: ['stock'] },
        ],
      },
    },
  }),
);

const call = (path: string, method: string, body: unknown, options: object = {}): Promise<Answer> =>
  shop.call(path, { method, body, ...options });
const patch = (id: number, body: unknown, options: object = {}): Promise<Answer> =>
  call(`items/${id}`, 'PATCH', body, options);
const read = async (id: number) => (await shop.call(`items/${id}`)).json.data;
const makeItem = async (values: Record<string, unknown> = {}): Promise<number> =>
  (await shop.create('items', [values]))[0].id;

describe('one record', () => {
  for (const [stored, body, expected] of [
    [{ stock: 5 }, { stock: { $inc: -2 } }, { stock: 3 }],
    [{}, { stock: { $inc: 2 }, name: 'new' }, { stock: 2, name: 'new' }],
    [{ price: 12.5 }, { price: { $inc: 0.1 } }, { price: 12.6 }],
    [{ name: 'abc' }, { name: { $append: 'd' } }, { name: 'abcd' }],
    [{ tags: ['a', 'b'] }, { tags: { $add: ['c'], $remove: ['a'] } }, { tags: ['b', 'c'] }],
    [{ tags: [1] }, { tags: { $value: { $inc: 1 } } }, { tags: { $inc: 1 } }],
    [{ tags: [1] }, { tags: { $other: 1 } }, { tags: { $other: 1 } }],
  ]) {
    test(`${JSON.stringify(stored)} with ${JSON.stringify(body)}`, async () => {
      for (const method of ['PATCH', 'PUT']) {
        const id = await makeItem(stored);
        const answer = await call(`items/${id}`, method, body);
        assert.equal(answer.status, 200, answer.text);
        const record = await read(id);
        assert.deepEqual(record, { ...record, ...expected });
        assert.deepEqual(answer.json.data, record);
        assert.equal(answer.headers.get('etag'), (await shop.call(`items/${id}`)).headers.get('etag'));
        assert.equal((await shop.call(`items/${id}`, { method: 'DELETE' })).status, 204);
      }
    });
  }

  test('$now is the time of the transaction, as updatedAt', async () => {
    const { soldAt, soldOn, updatedAt } = (
      await patch(await makeItem(), { soldAt: { $now: true }, soldOn: { $now: true } })
    ).json.data;
    assert.equal(soldAt, updatedAt);
    assert.equal(soldOn, updatedAt.slice(0, 10));
  });

  for (const [stored, body, code, field, message] of [
    [{ stock: 1 }, { stock: { $inc: -2 } }, 'OUT_OF_RANGE', 'stock', 'must be at least 0'],
    [{ stock: 1 }, { stock: { $inc: 0.5 } }, 'TYPE_MISMATCH', 'stock', 'must be an integer'],
    [
      { name: 'twelve chars' },
      { name: { $append: '!' } },
      'TOO_LONG',
      'name',
      'must have at most 12 characters, has 13',
    ],
    [{ tags: 'text' }, { tags: { $add: [1] } }, 'TYPE_MISMATCH', 'tags', 'is no array, which $add and $remove change'],
    [{}, { stock: { $append: 'x' } }, 'INVALID', 'stock', 'does not take $append. stock takes $inc'],
    [{}, { boxId: { $inc: 1 } }, 'INVALID', 'boxId', 'does not take $inc. boxId takes no operator'],
    [{}, { id: { $inc: 1 } }, 'READ_ONLY', 'id', 'is set by the server'],
    [{}, { updatedAt: { $now: true } }, 'READ_ONLY', 'updatedAt', 'is set by the server'],
  ] as const) {
    test(`refuses ${JSON.stringify(body)} on ${JSON.stringify(stored)}`, async () => {
      const id = await makeItem(stored);
      const first = await read(id);
      const { status, json } = await patch(id, body);
      assert.deepEqual([status, json.error.details], [400, [{ field, code, message }]]);
      assert.deepEqual(await read(id), first);
      await shop.call(`items/${id}`, { method: 'DELETE' });
    });
  }

  test('tells all mistakes of a body at once', async () => {
    const { json } = await patch(1, { stock: { $inc: 'x' }, nme: 1, boxId: 99 });
    assert.deepEqual(
      json.error.details.map(({ field }: { field: string }) => field),
      ['stock', 'nme', 'boxId'],
    );
  });

  test('a create takes no operator', async () => {
    const { status, json } = await call('items', 'POST', { stock: { $inc: 1 }, tags: { $add: [1] } });
    assert.equal(status, 400);
    assert.deepEqual(
      json.error.details.map(({ field, code }: Record<string, string>) => [field, code]),
      [['stock', 'TYPE_MISMATCH']],
    );
  });

  test('an absent record is 404, one with another version 412, and neither is written', async () => {
    assert.equal((await patch(999_999, { stock: { $inc: 1 } })).status, 404);
    const id = await makeItem({ stock: 1 });
    const etag = (await shop.call(`items/${id}`)).headers.get('etag') ?? '';
    assert.equal((await patch(id, { stock: { $inc: 1 } }, { headers: { 'If-Match': etag } })).status, 200);
    assert.equal((await patch(id, { stock: { $inc: 1 } }, { headers: { 'If-Match': etag } })).status, 412);
    assert.equal((await read(id)).stock, 2);
  });

  test('an unknown reference beside an operator is refused, and nothing is written', async () => {
    const id = await makeItem({ stock: 1 });
    const { status, json } = await patch(id, { stock: { $inc: 1 }, boxId: 99 });
    assert.deepEqual([status, json.error.details[0].code], [400, 'REFERENCE_NOT_FOUND']);
    assert.equal((await read(id)).stock, 1);
  });

  test('a unique value that is taken is 409', async () => {
    await makeItem({ name: 'taken' });
    const id = await makeItem({ name: 'take' });
    assert.equal((await patch(id, { name: { $append: 'n' } })).status, 409);
  });

  test('a request that is sent again with its Idempotency-Key changes nothing more', async () => {
    const id = await makeItem({ stock: 1 });
    const headers = { 'Idempotency-Key': 'once' };
    const first = await patch(id, { stock: { $inc: 1 } }, { headers });
    const second = await patch(id, { stock: { $inc: 1 } }, { headers });
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.deepEqual(second.json, first.json);
    assert.equal((await read(id)).stock, 2);
  });

  test('many at once lose no change', async () => {
    const id = await makeItem({ stock: 0, tags: [] });
    const writes = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? patch(id, { stock: { $inc: 1 }, tags: { $add: [index] } })
        : call('items/_bulk', 'PATCH', { data: [{ id, stock: { $inc: 1 }, tags: { $add: [index] } }] }),
    );
    for (const { status, text } of await Promise.all(writes)) assert.equal(status, 200, text);
    const { stock, tags } = await read(id);
    assert.deepEqual([stock, tags.length], [40, 40]);
  });

  test('its event has the new values and names who wrote', async () => {
    const id = await makeItem({ stock: 1 });
    const { cursor } = (await shop.call('items/_changes?after=now')).json.meta;
    await patch(id, { stock: { $inc: 1 } });
    const { data } = (await shop.call(`items/_changes?after=${cursor}&previous=true`)).json;
    assert.equal(data.length, 1);
    assert.deepEqual(
      [data[0].previous.stock, data[0].record.stock, data[0].actor.kind, data[0].changed],
      [1, 2, 'key', ['stock', 'updatedAt']],
    );
  });
});

describe('many records', () => {
  let ids: number[];
  before(async () => {
    ids = (await shop.create('items', [{ stock: 1, tags: ['a'] }, { stock: 2 }, { stock: 3, name: 'third' }])).map(
      ({ id }) => id,
    );
  });
  const stocks = async () => Promise.all(ids.map(async (id) => (await read(id)).stock));

  test('operators, values and records without a change in one request', async () => {
    const [a, b, c] = ids;
    const data = [{ id: c, stock: { $inc: 10 } }, { id: a, stock: 7, tags: { $add: ['b'] } }, { id: b }];
    const answer = await call('items/_bulk?versions=true', 'PATCH', { data });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      answer.json.data.map(({ id, stock }: { id: number; stock: number }) => [id, stock]),
      [
        [c, 13],
        [a, 7],
        [b, 2],
      ],
    );
    assert.equal(answer.json.meta.versions.length, 3);
    assert.deepEqual((await read(a as number)).tags, ['a', 'b']);
  });

  test('one new value that is wrong refuses all, with its index', async () => {
    const earlier = await stocks();
    const data = ids.map((id) => ({ id, stock: { $inc: id === ids[1] ? -100 : 1 } }));
    const { status, json } = await call('items/_bulk', 'PATCH', { data });
    assert.deepEqual(
      [status, json.error.details],
      [400, [{ index: 1, field: 'stock', code: 'OUT_OF_RANGE', message: 'must be at least 0' }]],
    );
    assert.deepEqual(await stocks(), earlier);
  });

  test('an absent record refuses all', async () => {
    const earlier = await stocks();
    const data = [...ids, 999_999].map((id) => ({ id, stock: { $inc: 1 } }));
    assert.equal((await call('items/_bulk', 'PATCH', { data })).status, 404);
    assert.deepEqual(await stocks(), earlier);
  });

  test('a dry run answers with the new values and stores nothing', async () => {
    const earlier = await stocks();
    const data = ids.map((id) => ({ id, stock: { $inc: 1 } }));
    const { status, json } = await call('items/_bulk?dryRun=true', 'PATCH', { data });
    assert.deepEqual([status, json.meta], [200, { dryRun: true }]);
    assert.deepEqual(
      json.data.map(({ stock }: { stock: number }) => stock),
      earlier.map((stock) => stock + 1),
    );
    assert.deepEqual(await stocks(), earlier);
  });

  test('a batch changes one record twice', async () => {
    const [id] = ids;
    const [earlier = 0] = await stocks();
    const operation = { method: 'PATCH', entity: 'items', id, body: { stock: { $inc: 1 } } };
    const { status, text } = await call('_batch', 'POST', { operations: [operation, operation] });
    assert.equal(status, 200, text);
    assert.equal((await stocks())[0], earlier + 2);
  });
});

describe('under grants', () => {
  const makeKey = async (workspace: TestWorkspace, role: string) => {
    const body = { name: role, permissions: 'GRANTS', roles: [role], claims: { owner: 1 } };
    return (await workspace.admin('api-keys', { method: 'POST', body })).json.data.key as string;
  };
  let [seller, masked] = ['', ''];
  let ids: number[];
  before(async () => {
    [seller, masked] = [await makeKey(shop, 'seller'), await makeKey(shop, 'masked')];
    const records = [
      { owner: 1, stock: 1, price: 5, name: 'mine' },
      { owner: 2, stock: 1, name: 'open' },
    ];
    ids = (await shop.create('granted', records)).map(({ id }) => id);
  });
  const write = (id: number | undefined, body: unknown, credential: string) =>
    call(`granted/${id}`, 'PATCH', body, { credential });

  test('a field that is shown is changed, in one record and in many', async () => {
    const [own] = ids;
    assert.equal((await write(own, { stock: { $inc: 1 } }, seller)).json.data.stock, 2);
    const data = [{ id: own, stock: { $inc: 1 }, tags: { $add: ['x'] } }];
    const answer = await call('granted/_bulk', 'PATCH', { data }, { credential: seller });
    assert.equal(answer.json.data[0].stock, 3, answer.text);
  });

  test('a hidden record does not exist', async () => {
    assert.equal((await write(ids[1], { stock: { $inc: 1 } }, seller)).status, 404);
  });

  test('a field that is not shown, or not in every record, takes no operator', async () => {
    for (const [body, credential, field] of [
      [{ price: { $inc: 1 } }, seller, 'price'],
      [{ stock: { $inc: 1 } }, masked, 'stock'],
    ] as const) {
      const { status, json } = await write(ids[0], body, credential);
      assert.deepEqual([status, json.error.message], [403, `You may not write ${field} of granted`]);
    }
    assert.equal((await write(ids[0], { stock: 9 }, masked)).status, 200);
  });

  test('a change that the grant does not allow afterwards is refused', async () => {
    const { status } = await write(ids[0], { stock: { $inc: 1 }, owner: 2 }, seller);
    assert.equal(status, 403);
  });
});
