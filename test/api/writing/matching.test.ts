// `_update` and `_delete`: changes of all records that match a filter, or of none.
import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('t/matching', {
    roles: ['seller'],
    entities: {
      boxes: {
        fields: {
          label: { type: 'string' },
          weight: { type: 'integer' },
          lid: { type: 'string' },
          memo: { type: 'text' },
          size: { type: 'enum', values: ['small', 'large'] },
        },
        relations: { items: { kind: 'hasMany', entity: 'items', inverse: 'box' } },
      },
      items: {
        fields: {
          name: { type: 'string', maxLength: 8 },
          other: { type: 'string' },
          stock: { type: 'integer', min: 0 },
          position: { type: 'integer', unique: true },
          data: { type: 'json' },
          owner: { type: 'integer' },
        },
        relations: { box: { kind: 'belongsTo', entity: 'boxes' } },
        timestamps: true,
        settings: { changes: 'feed' },
      },
      granted: {
        fields: { name: { type: 'string' }, stock: { type: 'integer', min: 0 }, owner: { type: 'integer' } },
        grants: [
          { role: 'seller', can: ['read'] },
          {
            role: 'seller',
            can: ['update', 'delete'],
            where: { field: 'owner', op: 'eq', value: { claim: 'owner' } },
            write: ['stock'],
          },
        ],
      },
    },
  }),
);

const post = (path: string, body: unknown, options: object = {}): Promise<Answer> =>
  shop.call(path, { method: 'POST', body, ...options });
const update = (filter: unknown, set: unknown, max: unknown = 100): Promise<Answer> =>
  post('items/_update', { filter, set, max });
const is = (field: string, value: unknown, op = 'eq') => ({ field, op, value });
const ALL = { all: true };

type Item = Record<string, unknown> & { readonly id: number };
const items = async (): Promise<readonly Item[]> => (await shop.call('items?size=1000&sort=id')).json.data;
const values = async (field: string) => (await items()).map((item) => item[field]);
let made: readonly Item[];
let cursor: string;

beforeEach(async () => {
  await post('items/_delete', { filter: ALL, max: 100_000 });
  await post('boxes/_delete', { filter: ALL, max: 100 });
  const [big, small] = await shop.create('boxes', [{ label: 'big', weight: 10 }, { label: 'small' }]);
  made = await shop.create('items', [
    { name: 'a', stock: 1, position: 1, boxId: big.id },
    { name: 'b', stock: 2, position: 2, boxId: small.id },
    { name: 'c', stock: 3, position: 3 },
  ]);
  cursor = (await shop.call('items/_changes')).json.meta.cursor;
});

describe('an update', () => {
  test('sets values and operators in the records that match, and tells how many', async () => {
    const { status, json, text } = await update(is('stock', 2, 'gte'), { stock: { $inc: 10 }, other: 'x' });
    assert.deepEqual([status, json], [200, { data: { matched: 2, updated: 2 } }], text);
    assert.deepEqual(
      [await values('stock'), await values('other')],
      [
        [1, 12, 13],
        [null, 'x', 'x'],
      ],
    );
  });

  test('is one transaction of the feed, with the actor', async () => {
    await update(ALL, { other: 'x' });
    const { data } = (await shop.call(`items/_changes?after=${cursor}`)).json;
    assert.equal(data.length, 3);
    assert.equal(new Set(data.map(({ transaction }: Item) => transaction)).size, 1);
    assert.equal(data[0].actor.kind, 'key');
  });

  test('leaves records alone that have the values already', async () => {
    const { json } = await update(ALL, { name: 'b', stock: { $inc: 0 } });
    assert.deepEqual(json.data, { matched: 3, updated: 2 });
    assert.equal((await items())[1]?.updatedAt, made[1]?.updatedAt);
  });

  test('filters across relations, and takes values of other fields and records', async () => {
    const { json, text } = await update(is('box.label', 'big'), {
      other: { $field: 'box.label' },
      owner: { $field: 'box.weight' },
      name: { $field: 'other' },
    });
    assert.deepEqual(json.data, { matched: 1, updated: 1 }, text);
    const [first] = await items();
    assert.deepEqual([first?.other, first?.owner, first?.name], ['big', 10, null]);
    assert.deepEqual((await update(ALL, { other: { $field: 'box.label' } })).json.data, { matched: 3, updated: 1 });
    assert.deepEqual(await values('other'), ['big', 'small', null]);
  });

  test('records exchange unique values', async () => {
    const { status, text } = await update(ALL, { position: { $inc: 1 } });
    assert.equal(status, 200, text);
    assert.deepEqual(await values('position'), [2, 3, 4]);
  });

  test('one record that would be wrong refuses all, by its id', async () => {
    const { status, json } = await update(ALL, { stock: { $inc: -2 } });
    const detail = { id: made[0]?.id, field: 'stock', code: 'OUT_OF_RANGE', message: 'must be at least 0' };
    assert.deepEqual([status, json.error.details], [400, [detail]]);
    assert.deepEqual(await values('stock'), [1, 2, 3]);
    const copied = await update(ALL, { name: { $field: 'box.lid' }, other: 'y' });
    assert.equal(copied.status, 200, copied.text);
  });

  test('a unique value for several records is a 409 that names one of them', async () => {
    const { status, json } = await update(ALL, { position: 7 });
    assert.equal(status, 409);
    assert.equal(json.error.reason, 'NOT_UNIQUE');
    assert.ok(
      json.error.details.every(({ id, index }: Record<string, unknown>) => Number(id) > 0 && index === undefined),
    );
    assert.deepEqual(await values('position'), [1, 2, 3]);
  });

  test('a reference to no record is a 400 with ids', async () => {
    const { status, json } = await update(is('name', 'a'), { boxId: 999_999 });
    assert.deepEqual(
      [status, json.error.details[0].code, json.error.details[0].id],
      [400, 'REFERENCE_NOT_FOUND', made[0]?.id],
    );
  });

  test('a dry run says the same, and writes nothing', async () => {
    const body = { filter: ALL, set: { stock: { $inc: 1 } }, max: 3 };
    const { json } = await post('items/_update?dryRun=true', body);
    assert.deepEqual(json, { data: { matched: 3, updated: 3 }, meta: { dryRun: true } });
    assert.deepEqual(await values('stock'), [1, 2, 3]);
    const wrong = await post('items/_update?dryRun=true', { ...body, set: { stock: { $inc: -3 } } });
    assert.equal(wrong.status, 400);
  });

  test('more matches than max are refused with their number', async () => {
    const { status, json } = await update(ALL, { other: 'x' }, 2);
    assert.deepEqual(
      [status, json.error.reason, json.error.message],
      [409, 'TOO_MANY_MATCHES', '3 records match, and max is 2. Nothing was written'],
    );
    assert.deepEqual(await values('other'), [null, null, null]);
    assert.equal((await update(ALL, { other: 'x' }, 3)).status, 200);
  });

  test('nothing that matches is no mistake', async () => {
    assert.deepEqual((await update(is('name', 'none'), { other: 'x' })).json.data, { matched: 0, updated: 0 });
  });

  test('is done once with an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'matching' };
    const body = { filter: ALL, set: { stock: { $inc: 1 } }, max: 10 };
    const [first, second] = [
      await post('items/_update', body, { headers }),
      await post('items/_update', body, { headers }),
    ];
    assert.deepEqual(second.json, first.json);
    assert.deepEqual(await values('stock'), [2, 3, 4]);
  });

  test('many at once lose no change', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => update(ALL, { stock: { $inc: 1 } })));
    for (const { status, text } of answers) assert.equal(status, 200, text);
    assert.deepEqual(await values('stock'), [13, 14, 15]);
  });

  test('a record that matches no more when its turn comes is left alone', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => update({ field: 'other', op: 'isNull' }, { other: 'x', stock: { $inc: 1 } })),
    );
    const updated = answers.reduce((sum, { json }) => sum + json.data.updated, 0);
    assert.deepEqual([updated, await values('stock')], [3, [2, 3, 4]]);
  });

  for (const [body, reason, message] of [
    [{ set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter is required; \{"all": true\}/],
    [{ filter: {}, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter is empty; \{"all": true\}/],
    [{ filter: { and: [] }, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter has a node without a condition/],
    [{ filter: { not: { or: [] } }, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /node without a condition/],
    [{ filter: { and: [ALL] }, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter is malformed/],
    [{ filter: { ...ALL, and: [] }, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter is malformed/],
    [{ filter: { all: false }, set: { other: 'x' }, max: 1 }, 'INVALID_FILTER', /^filter is malformed/],
    [{ filter: is('nme', 1), set: { other: 'x' }, max: 1 }, 'UNKNOWN_FIELD', /nme/],
    [{ filter: ALL, set: {}, max: 1 }, 'INVALID_BODY', /^set must be an object/],
    [{ filter: ALL, search: 1, set: { other: 'x' }, max: 1 }, 'INVALID_BODY', /^search must be a text/],
    [{ filter: ALL, search: '-x', set: { other: 'x' }, max: 1 }, 'INVALID_SEARCH', /must have a word to look for/],
    [{ filter: ALL, max: 1 }, 'INVALID_BODY', /^set must be an object/],
    [{ filter: ALL, set: { other: 'x' } }, 'INVALID_BODY', /^max must be a number/],
    [{ filter: ALL, set: { other: 'x' }, max: 0 }, 'INVALID_PARAMETER', /^max must be an integer from 1 to 1000000/],
    [{ filter: ALL, set: { other: 'x' }, max: 1, maxx: 1 }, 'UNKNOWN_MEMBER', /maxx/],
    [{ filter: ALL, set: { othr: 'x' }, max: 1 }, 'VALIDATION_FAILED', /othr/],
    [{ filter: ALL, set: { id: { $field: 'stock' } }, max: 1 }, 'VALIDATION_FAILED', /is set by the server/],
    [
      { filter: ALL, set: { stock: { $field: 'name' } }, max: 1 },
      'INVALID_PATH',
      /is of type string, and stock of type/,
    ],
    [{ filter: ALL, set: { stock: { $field: 'nothing' } }, max: 1 }, 'UNKNOWN_FIELD', /nothing/],
    [{ filter: ALL, set: { stock: { $field: 1 } }, max: 1 }, 'INVALID_PATH', /^\$field takes the name/],
  ] as const) {
    test(`refuses ${JSON.stringify(body)}`, async () => {
      const { status, json } = await post('items/_update', body);
      assert.deepEqual([status, json.error.reason], [400, reason]);
      assert.match(json.error.message, message);
      assert.deepEqual(await values('other'), [null, null, null]);
    });
  }

  test('$field copies texts of all types into string and text, and none into an enum', async () => {
    const filter = is('id', (await shop.create('boxes', [{ label: 'L', size: 'large' }]))[0]?.id);
    const set = { memo: { $field: 'label' }, lid: { $field: 'size' } };
    const { json } = await post('boxes/_update', { filter, set, max: 1 });
    assert.deepEqual(json.data, { matched: 1, updated: 1 });
    const { memo, lid } = (await post('boxes/_query', { filter })).json.data[0];
    assert.deepEqual([memo, lid], ['L', 'large']);
    const refused = await post('boxes/_update', { filter, set: { size: { $field: 'label' } }, max: 1 });
    assert.match(refused.json.error.message, /is of type string, and size of type enum/);
  });

  test('$field across a relation to many is refused', async () => {
    const { status, json } = await post('boxes/_update', {
      filter: ALL,
      set: { label: { $field: 'items.name' } },
      max: 9,
    });
    assert.deepEqual([status, json.error.reason], [400, 'INVALID_PATH']);
  });

  test('an unknown parameter, If-Match and a key that only reads are refused', async () => {
    const body = { filter: ALL, set: { other: 'x' }, max: 9 };
    assert.equal((await post('items/_update?size=1', body)).json.error.reason, 'UNKNOWN_PARAMETER');
    const guarded = await post('items/_update', body, { headers: { 'If-Match': '"1-2"' } });
    assert.equal(guarded.json.error.message, 'If-Match is for one record, and a filter finds many');
    assert.equal((await post('items/_update', body, { credential: shop.readOnlyKey })).status, 403);
    assert.equal((await shop.call('items/_update')).status, 405);
  });
});

describe('a delete', () => {
  test('deletes what matches, and tells how much', async () => {
    const { status, json } = await post('items/_delete', { filter: is('stock', 2, 'gte'), max: 5 });
    assert.deepEqual([status, json], [200, { data: { matched: 2, deleted: 2 } }]);
    assert.deepEqual(await values('name'), ['a']);
  });

  test('a dry run deletes nothing, more matches than max are refused, and so is an empty filter', async () => {
    const dry = await post('items/_delete?dryRun=true', { filter: ALL, max: 5 });
    assert.deepEqual(dry.json, { data: { matched: 3, deleted: 3 }, meta: { dryRun: true } });
    assert.equal((await post('items/_delete', { filter: ALL, max: 2 })).json.error.reason, 'TOO_MANY_MATCHES');
    assert.equal((await post('items/_delete', { filter: { or: [] }, max: 2 })).status, 400);
    assert.equal((await post('items/_delete', { filter: ALL, max: 2, set: {} })).json.error.reason, 'UNKNOWN_MEMBER');
    assert.equal((await items()).length, 3);
  });

  test('records that others refer to refuse all, by their ids', async () => {
    const { status, json } = await post('boxes/_delete', { filter: ALL, max: 5 });
    assert.deepEqual([status, json.error.reason], [409, 'STILL_REFERENCED']);
    assert.ok(
      json.error.details.every(({ id, index }: Record<string, unknown>) => Number(id) > 0 && index === undefined),
    );
  });
});

describe('under grants', () => {
  let seller = '';
  before(async () => {
    const body = { name: 'seller', permissions: 'GRANTS', roles: ['seller'], claims: { owner: 1 } };
    seller = (await shop.admin('api-keys', { method: 'POST', body })).json.data.key;
    await shop.create('granted', [
      { name: 'own', owner: 1, stock: 1 },
      { name: 'foreign', owner: 2, stock: 1 },
    ]);
  });
  const write = (action: string, body: object, key?: string) => {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    return post(`granted/${action}`, { max: 9, ...body }, { credential: seller, headers });
  };

  test('what may be read and not changed refuses all; what may be is changed', async () => {
    const refused = await write('_update', { filter: ALL, set: { stock: { $inc: 1 } } });
    assert.deepEqual([refused.status, refused.json.error.details.length], [403, 1], refused.text);
    const own = await write('_update', { filter: is('owner', 1), set: { stock: { $inc: 1 } } });
    assert.deepEqual(own.json.data, { matched: 1, updated: 1 });
    assert.equal((await write('_update', { filter: is('owner', 1), set: { owner: 2 } })).status, 403);
    assert.equal((await write('_delete', { filter: ALL })).status, 403);
    assert.deepEqual((await write('_delete', { filter: is('owner', 1) })).json.data, { matched: 1, deleted: 1 });
  });

  test('a write with an Idempotency-Key is answered again with its counts', async () => {
    await shop.create('granted', [{ name: 'again', owner: 1, stock: 1 }]);
    const filter = is('name', 'again');
    for (const [action, set] of [
      ['_update', { set: { stock: { $inc: 1 } } }],
      ['_delete', {}],
    ] as const) {
      const first = await write(action, { filter, ...set }, `granted${action}`);
      const second = await write(action, { filter, ...set }, `granted${action}`);
      assert.deepEqual([second.status, second.text], [200, first.text]);
      assert.equal(second.json.data.matched, 1);
      assert.equal(second.headers.get('idempotent-replayed'), 'true');
    }
  });
});
