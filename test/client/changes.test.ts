// The feed of changes in the client: pages and cursors, typed events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWdaError } from '../../client/src/index.ts';
import { prepare } from '../support/resources.ts';
import { useDemo } from './demo.ts';
import type { Shop } from './shop.ts';

type Eq<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only when both types are the same. */
const same = <A, B>(..._: Eq<A, B> extends true ? [] : [never]): void => undefined;

const demo = useDemo();
prepare(async () => {
  for (const entity of ['orders', 'customers', 'tags']) {
    const body = { changes: 'feed' };
    assert.equal((await demo.workspace.admin(`entities/${entity}/settings`, { method: 'PUT', body })).status, 200);
  }
});

/** Takes all pages that are there. */
async function drain<T>(pages: AsyncIterable<{ readonly data: readonly T[]; readonly cursor: string }>) {
  const events: T[] = [];
  let cursor = '';
  for await (const page of pages) {
    events.push(...page.data);
    cursor = page.cursor;
  }
  return { events, cursor };
}

test('pages go on from a cursor to the last event, with types by fields', async () => {
  const orders = demo.client().entity('orders');
  const { events: none, cursor } = await drain(orders.changes());
  assert.deepEqual(none, []);
  const { data: order } = await orders.create({ customerId: 1, total: 5 });
  await orders.update(order.id, { status: 'paid' });
  await orders.update(order.id, { note: 'not selected' });
  await orders.delete(order.id);
  const options = { fields: ['id', 'status', 'total'], previous: true, size: 1 } as const;
  const start = (await drain(orders.changes(options))).cursor;
  assert.deepEqual((await drain(orders.changes({ ...options, after: start }))).events, []);

  const { events } = await drain(orders.changes({ after: cursor, previous: true }));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['created', 'updated', 'updated', 'removed'],
  );
  for await (const page of orders.changes({ ...options, after: 'oldest', types: ['updated'] })) {
    for (const event of page.data) {
      if (event.type !== 'updated') continue;
      same<typeof event.record, { id: number; status: Shop['orders']['row']['status']; total: number | null }>();
      same<typeof event.changed, readonly ('id' | 'status' | 'total')[]>();
      assert.deepEqual(event.record, { id: order.id, status: 'paid', total: 5 });
      assert.deepEqual([event.changed, event.previous, event.actor?.kind], [['status'], { status: 'open' }, 'key']);
    }
  }
});

test('records come into a filter and leave it', async () => {
  const orders = demo.client().entity('orders');
  const filter = { $or: [{ status: 'paid' }, { total: { gte: 100 } }] } as const;
  const { cursor } = await drain(orders.changes({ filter }));
  const { data: order } = await orders.create({ customerId: 1, total: 5 });
  await orders.update(order.id, { total: 100 });
  await orders.update(order.id, { total: 99 });
  const { events } = await drain(orders.changes({ filter, after: cursor }));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['created', 'removed'],
  );
  await assert.rejects(drain(orders.changes({ filter: { $or: [{ total: { in: [] } }] } })), TypeError);
});

test('changes follow a list without a gap, under the same filter and fields', async () => {
  const orders = demo.client().entity('orders');
  const view = { filter: { status: 'shipped' }, fields: ['id', 'note'] } as const;
  const { data, meta } = await orders.list({ ...view, changes: true });
  assert.ok(data.length > 0);
  const { data: order } = await orders.create({ customerId: 1, status: 'shipped', note: 'later' });
  const { events } = await drain(orders.changes({ ...view, after: meta.changes }));
  assert.deepEqual(
    events.map((event) => event.type === 'created' && event.record),
    [{ id: order.id, note: 'later' }],
  );
  const { meta: whole } = await orders.list({ changes: true, size: 1 });
  assert.deepEqual((await drain(orders.changes({ after: whole.changes }))).events, []);
});

test('a workspace has the events of several entities, narrowed by entity', async () => {
  const shop = demo.client();
  const entities = ['orders', 'customers'] as const;
  const { cursor } = await drain(shop.changes({ entities }));
  const { data: customer } = await shop.entity('customers').create({ name: 'Grace' });
  await shop.entity('orders').create({ customerId: customer.id, total: 1 });
  await shop.entity('tags').create({ name: 'not asked for' });
  const seen: unknown[] = [];
  for (const event of (await drain(shop.changes({ entities, after: cursor }))).events) {
    if (event.type !== 'created') continue;
    if (event.entity === 'customers') {
      same<typeof event.record, { [K in keyof Shop['customers']['row']]: Shop['customers']['row'][K] }>();
      seen.push(event.record.name);
    } else seen.push(event.record.total);
  }
  assert.deepEqual(seen, ['Grace', 1]);
  const since = new Date(Date.now() - 60_000).toISOString();
  assert.ok((await drain(shop.changes({ since }))).events.some(({ entity }) => entity === 'tags'));
});

test('an entity without changes says so', async () => {
  const products = demo.client().entity('products');
  await assert.rejects(drain(products.changes()), (error) => isWdaError(error, 'CHANGES_OFF'));
  await assert.rejects(products.watch()[Symbol.asyncIterator]().next(), (error) => isWdaError(error, 'CHANGES_OFF'));
});
