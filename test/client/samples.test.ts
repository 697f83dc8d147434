// Ten samples of the client: each is typed as it says, and answered so by a server with the demo workspace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWdaError } from '../../client/src/index.ts';
import { infiniteOptions, listOptions, readOptions } from '../../client/src/query.ts';
import { useDemo } from './demo.ts';
import type { Shop } from './shop.ts';

type Eq<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only when both types are the same. */
const same = <A, B>(..._: Eq<A, B> extends true ? [] : [never]): void => undefined;

const demo = useDemo();

test('1: a list with a filter, a sort and two columns', async () => {
  const { data, meta } = await demo
    .client()
    .entity('orders')
    .list({
      filter: { status: 'open', total: { gte: 20 } },
      sort: 'placedAt,desc',
      fields: ['id', 'total'],
      size: 20,
    });
  same<typeof data, { id: number; total: number | null }[]>();
  assert.deepEqual(data, [
    { id: 5, total: 27.25 },
    { id: 2, total: 34 },
  ]);
  assert.deepEqual(meta, { page: 0, size: 20, totalElements: 2, totalPages: 1, nextCursor: null });
});

test('2: expansion of several levels, each with its columns and its part of the list', async () => {
  const { data } = await demo
    .client()
    .entity('orders')
    .list({
      fields: ['id'],
      size: 1,
      expand: {
        customer: { fields: ['name'] },
        items: {
          size: 1,
          sort: 'price,desc',
          filter: { quantity: { gte: 1 } },
          fields: ['quantity'],
          expand: { product: true },
        },
      },
    });
  type Item = { quantity: number; product: Shop['products']['row'] };
  same<typeof data, { id: number; customer: { name: string }; items: Item[] }[]>();
  const product = { id: 2, sku: 'TEA-02', title: 'Green tea, 100 g', price: 12.9, inStock: true };
  assert.deepEqual(data, [{ id: 1, customer: { name: 'Ada Lovelace' }, items: [{ quantity: 1, product }] }]);
});

test('3: one record with its customer', async () => {
  const { data, etag } = await demo
    .client()
    .entity('orders')
    .read(1, { expand: { customer: true } });
  same<typeof data.customer, Shop['customers']['row']>();
  assert.equal(data.customer.name, 'Ada Lovelace');
  assert.equal(data.note, 'Wrap it, please');
  assert.match(etag, /^"\d+-\w+\..+"$/);
});

test('4: every record, page by page', async () => {
  let sum = 0;
  for await (const item of demo
    .client()
    .entity('orderItems')
    .all({ fields: ['id', 'price'], size: 3 })) {
    same<typeof item, { id: number; price: number }>();
    sum += item.price;
  }
  assert.equal(sum.toFixed(2), '149.55');
});

test('5: create and update; a lost update is a 412', async () => {
  const orders = demo.client().entity('orders');
  const made = await orders.create({ customerId: 1, total: '12345.10' });
  same<typeof made.data, Shop['orders']['row']>();
  assert.equal(made.data.total, 12345.1);
  const paid = await orders.update(made.data.id, { status: 'paid' }, { ifMatch: made.etag });
  assert.equal(paid.data.status, 'paid');
  await assert.rejects(orders.update(made.data.id, { status: 'open' }, { ifMatch: made.etag }), { status: 412 });
  await orders.delete(made.data.id, { ifMatch: paid.etag });
  await assert.rejects(orders.read(made.data.id), { code: 'NOT_FOUND' });
});

test('6: read, change, write', async () => {
  const { data } = await demo
    .client()
    .entity('orders')
    .modify(2, (now) => ({ note: `was ${now.status}` }));
  assert.equal(data.note, 'was open');
});

test('7: errors by their code', async () => {
  try {
    await demo.client().entity('orders').create({ customerId: 99, total: -1 });
    assert.fail('it was refused');
  } catch (error) {
    if (!isWdaError(error, 'VALIDATION_FAILED')) throw error;
    same<typeof error.code, 'VALIDATION_FAILED'>();
    assert.equal(error.status, 400);
    assert.match(error.requestId ?? '', /./);
    assert.deepEqual(
      error.details.map(({ field, code }) => [field, code]),
      [
        ['total', 'OUT_OF_RANGE'],
        ['customerId', 'REFERENCE_NOT_FOUND'],
      ],
    );
  }
});

test('8: alternatives, and relations in a filter', async () => {
  const { data } = await demo
    .client()
    .entity('orders')
    .list({
      fields: ['id'],
      filter: { $or: [{ status: 'paid' }, { customer: { country: { in: ['SE', 'FR'] } } }], $not: { total: null } },
    });
  assert.deepEqual(data, [{ id: 1 }, { id: 3 }, { id: 4 }, { id: 5 }]);
});

test('9: files both ways', async () => {
  const shop = demo.client();
  const file = await shop
    .entity('orders')
    .export({ format: 'csv', filter: { status: 'open' }, fields: ['id', 'total'] });
  assert.equal(await new Response(file).text(), 'id,total\n2,34.00\n5,27.25\n');
  const { inserted, updated } = await shop
    .entity('customers')
    .import(new Blob(['Customer Name,email\nAda L.,ada@example.com\nBob,\n']), {
      format: 'csv',
      onConflict: 'update',
      conflictOn: 'email',
      map: { 'Customer Name': 'name' },
    });
  assert.deepEqual([inserted, updated], [1, 1]);
});

test('10: options for TanStack Query', async () => {
  const orders = demo.client().entity('orders');
  const page = listOptions(orders, { filter: { status: 'open' }, expand: { customer: true } });
  assert.deepEqual(page.queryKey, [
    'wda',
    'demo/shop',
    'orders',
    'list',
    { filter: { status: 'open' }, expand: { customer: true } },
  ]);
  const { data } = await page.queryFn({});
  same<(typeof data)[number]['customer'], Shop['customers']['row']>();
  assert.equal(data[0]?.customer.country, 'GB');

  const one = await readOptions(orders, 3, { fields: ['status'] }).queryFn({});
  assert.deepEqual(one.data, { status: 'shipped' });

  const feed = infiniteOptions(orders, { sort: 'placedAt,desc', size: 4, fields: ['id'] });
  const first = await feed.queryFn({ pageParam: feed.initialPageParam });
  const second = await feed.queryFn({ pageParam: feed.getNextPageParam(first) });
  same<typeof second.data, { id: number }[]>();
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => id),
    [6, 5, 4, 3, 2, 1],
  );
  assert.equal(feed.getNextPageParam(second), null);
});
