// Several operations in one transaction, each typed by its step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batch, ref, steps } from '../../client/src/batch.ts';
import { isWdaError } from '../../client/src/index.ts';
import { useDemo, watchedFetch } from './demo.ts';

const demo = useDemo();

test('an order with its items, in one request that may be repeated', async () => {
  const { fetch, requests } = watchedFetch((_, index) =>
    index === 0 ? Response.json({}, { status: 503, headers: { 'Retry-After': '0.01' } }) : undefined,
  );
  const shop = demo.client({ fetch });
  const [orders, items] = [steps(shop.entity('orders')), steps(shop.entity('orderItems'))];
  const [order, item, found, open, gone] = await batch(shop, [
    orders.create({ customerId: 1, placedAt: '2026-03-01T12:00:00Z' }, { ref: 'order' }),
    items.create({ orderId: ref('order.id'), productId: 2, quantity: 3, price: 12.9 }),
    orders.read(ref('order.id'), { fields: ['id'], expand: { items: { fields: ['quantity'] } } }),
    orders.list({ filter: { status: 'open' }, fields: ['id'], sort: 'id,desc', size: 1 }),
    orders.delete(ref('order.id')),
  ]);
  const { id, status }: { id: number; status: 'open' | 'paid' | 'shipped' | null } = order.data;
  assert.deepEqual([order.status, status, item.data.orderId], [201, 'open', id]);
  assert.deepEqual(found.data, { id, items: [{ quantity: 3 }] });
  assert.deepEqual([open.data, open.meta.totalElements], [[{ id }], 3]);
  assert.equal(gone.status, 204);
  assert.equal(requests.length, 2);
  assert.equal(requests[0]?.headers.get('idempotency-key'), requests[1]?.headers.get('idempotency-key'));
});

test('a new record is linked by the reference to another new one', async () => {
  const shop = demo.client();
  const [tags, orders] = [steps(shop.entity('tags')), steps(shop.entity('orders'))];
  const [tag, order] = await batch(
    shop,
    [
      tags.create({ name: 'by reference' }, { ref: 'tag' }),
      orders.create({ customerId: 1, tags: [1, ref('tag.id')] }, { ref: 'order' }),
      orders.read(ref('order.id'), { expand: { tags: { fields: ['id'] } } }),
    ],
    { dryRun: true },
  );
  assert.equal(order.data.customerId, 1);
  assert.ok(tag.data.id > 3);
});

test('what fails undoes all, and says which operation it was', async () => {
  const shop = demo.client();
  const tags = steps(shop.entity('tags'));
  const before = (await shop.entity('tags').list()).meta.totalElements;
  await assert.rejects(batch(shop, [tags.create({ name: 'new' }), tags.update(99, { name: 'x' })]), (error) => {
    assert.ok(isWdaError(error, 'NOT_FOUND'));
    assert.equal(error.operation, 1);
    return true;
  });
  const [made] = await batch(shop, [tags.upsert({ name: 'gift' }, { onConflict: 'name', conflict: 'skip' })], {
    dryRun: true,
  });
  assert.equal(made.data.id, 1);
  assert.equal((await shop.entity('tags').list()).meta.totalElements, before);
  // @ts-expect-error: an unknown column
  assert.equal(tags.create({ nam: 'x' }).entity, 'tags');
});

test('operators change stored values, in one record, in many and in a batch', async () => {
  const shop = demo.client();
  const orders = shop.entity('orders');
  const { data: order } = await orders.create({ customerId: 1, placedAt: '2026-03-01T12:00:00Z', total: 1, note: 'a' });
  await orders.update(order.id, { total: { $inc: 0.5 }, note: { $append: 'b' } });
  await orders.updateMany([{ id: order.id, total: { $inc: 1 } }]);
  await batch(shop, [steps(orders).update(order.id, { total: { $inc: 1 }, placedAt: { $now: true } })]);
  const { data } = await orders.read(order.id);
  assert.deepEqual([data.total, data.note], [3.5, 'ab']);
  assert.notEqual(data.placedAt, order.placedAt);
  await orders.delete(order.id);
});

test('records that match a filter are changed and deleted, all of them or none', async () => {
  const tags = demo.client().entity('tags');
  await tags.createMany([{ name: 'old-1' }, { name: 'old-2' }]);
  const old = { name: { startsWith: 'old-' } };
  assert.deepEqual((await tags.updateWhere(old, { name: { $append: '!' } }, { max: 2, dryRun: true })).data, {
    matched: 2,
    updated: 2,
  });
  await tags.updateWhere(old, { name: { $append: '!' } }, { max: 2 });
  await assert.rejects(tags.deleteWhere('all', { max: 1 }), (error) => isWdaError(error, 'CONFLICT'));
  await assert.rejects(tags.deleteWhere({}, { max: 1000 }), (error) => isWdaError(error, 'BAD_REQUEST'));
  assert.deepEqual((await tags.deleteWhere(old, { max: 2 })).data, { matched: 2, deleted: 2 });
});

test('a job is waited for, and tells how far it is', async () => {
  const tags = demo.client().entity('tags');
  await tags.import(`name\n${Array.from({ length: 10_001 }, (_, index) => `many-${index}`).join('\n')}\n`, {
    format: 'csv',
  });
  const many = { name: { startsWith: 'many-' } };
  const dry = await tags.deleteWhere(many, { max: 20_000, dryRun: true });
  assert.deepEqual([dry.data, dry.meta.job], [{ matched: 10_001 }, true]);
  // Records exchange no unique values across batches: the last one has that of the first.
  const wrong = tags.updateWhere(many, { name: 'many-10000' }, { max: 20_000 });
  await assert.rejects(
    wrong,
    (error) => isWdaError(error, 'CONFLICT') && error.job?.state === 'failed' && error.details.length > 0,
  );
  const seen: number[] = [];
  const { data } = await tags.deleteWhere(many, { max: 20_000, onProgress: ({ processed }) => seen.push(processed) });
  assert.deepEqual([data.matched, data.deleted, seen.at(-1)], [10_001, 10_001, 10_001]);
  assert.deepEqual((await tags.deleteWhere(many, { max: 20_000, wait: false })).data, { matched: 0, deleted: 0 });
});
