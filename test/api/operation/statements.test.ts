// One request is one statement: what goes over the wire to PostgreSQL is heard and counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { isCluster } from '../../support/citus.ts';
import { judgeNothing } from '../../support/openapi-conformance.ts';
import { use, useDatabase, useDatabaseProxy, useServer } from '../../support/resources.ts';
import { type Answer, type Call, startTestServer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';
import { until } from '../../support/wait-until.ts';

// Answers are not judged here: their documents are requests, too, and in the time that it takes statements look slow.
judgeNothing();

const database = useDatabase();
const proxy = useDatabaseProxy(database);
// What goes straight to a node of a cluster does not come by.
const FAR = { WDA_NODE_READS: 'off' };
const server = useServer(FAR, proxy);
const shop = use(() => makeShop(server));

/**
 * Statements on the tables of the workspace; those on control tables (keys, versions) are the server's own housekeeping,
 * but for the kept totals and the bounds of answers, which belong to requests, and so is what a new connection is asked,
 * the connection that listens to other processes, and the looks at the order of texts, at the timeline and at the nodes of a
 * cluster a second after the start.
 */
const onRecords = (texts: readonly string[]): string[] =>
  texts.filter(
    (text) =>
      !/\bwda\.(?!total\b|bounded_text\b|goes_on\b)|pg_backend_pid|pg_collation|pg_current_wal_lsn|^set idle_session_timeout/.test(
        text,
      ) && !(isCluster && /\bpg_dist_|\bcitus\.|pg_extension|^(begin|commit)\b/.test(text)),
  );

const requests: readonly (readonly [what: string, path: string, call: Call, statements: number])[] = [
  ['a list', 'orders', {}, 1],
  [
    'a list with expansions, a total, a sort and filters',
    'orders?expand=customer.country,items.product,tags&sort=customer.name&filter=items.product.sku,eq,TEA-02&or=status,eq,open;total,gt,1&size=2&page=1&items.size=1',
    {},
    1,
  ],
  ['a list without a total', 'orders?count=none&expand=items', {}, 1],
  ['an expansion of three levels', 'countries?expand=customers.orders.items', {}, 1],
  [
    'a query',
    'orders/_query',
    { method: 'POST', body: { filter: { not: { field: 'tags.name', op: 'eq', value: 'gift' } }, expand: ['tags'] } },
    1,
  ],
  ['a total', 'orders/_aggregate?select=count', {}, 1],
  [
    'an aggregate with groups across relations, conditions and an order',
    'orders/_aggregate?select=count,avg:total,max:customer.name&group=customer.country.name,placedAt:month&tz=Europe/Berlin&filter=items.quantity,gt,0&having=count,gte,1&sort=count,desc&size=2&page=1',
    {},
    1,
  ],
  [
    'an aggregate with a body',
    'orders/_aggregate',
    { method: 'POST', body: { select: ['count'], group: ['status'] } },
    1,
  ],
  ['a refusal of an aggregate', 'orders/_aggregate?select=sum:note', {}, 0],
  ['a record', 'orders/1', {}, 1],
  ['a record with expansions', 'orders/1?expand=customer.country,items.product,tags', {}, 1],
  ['a record that does not exist', 'orders/99?expand=items', {}, 1],
  ['a create', 'tags', { method: 'POST', body: { name: 'new' } }, 1],
  ['a create with references', 'orderTags', { method: 'POST', body: { orderId: 2, tagId: 4 } }, 1],
  ['an update', 'orders/1', { method: 'PUT', body: { status: 'open', customerId: 2 } }, 1],
  ['an update of nothing', 'orders/1', { method: 'PUT', body: {} }, 1],
  ['a delete', 'orders/8', { method: 'DELETE' }, 1],
  ['a refusal of parameters', 'orders?sort=nothing', {}, 0],
  ['a refusal of a body', 'orders', { method: 'POST', body: { status: 'none' } }, 0],
  ['an unknown entity', 'nothing', {}, 0],
];
for (const [what, path, call, statements] of requests) {
  test(`${what}: ${statements === 1 ? 'one statement' : 'no statement'}`, async () => {
    proxy.statements();
    const { status, text } = await shop.call(path, call);
    assert.ok(status < 500, text);
    const heard = onRecords(proxy.statements());
    assert.equal(heard.length, statements, heard.join('\n'));
  });
}

test('the statements of a batch do not wait for each other, but for the records that they refer to', async () => {
  const heardSince = () => onRecords(proxy.statements()).filter((text) => /^(with|insert|select)/.test(text));
  const customer = { ref: 'c', method: 'POST', entity: 'customers', body: { name: 'Batch' } };
  const order = { ref: 'o', method: 'POST', entity: 'orders', body: { customerId: { $ref: 'c.id' } } };
  const tag = (name: string) => ({ method: 'POST', entity: 'tags', body: { name } });
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  try {
    await locker.query('begin; lock table ws1_shop.customers in share mode');
    proxy.statements();
    const operations = [customer, tag('a'), tag('b'), order, tag('c')];
    const answer = shop.call('_batch', { method: 'POST', body: { operations } });
    const heard: string[] = [];
    await until('three statements are sent', () => heard.push(...heardSince()) > 2);
    assert.equal(heard.length, 3, heard.join('\n'));
    await locker.query('rollback');
    assert.equal((await answer).status, 200);
    heard.push(...heardSince());
    assert.deepEqual(
      heard.map((text) => /insert into "\w+"\."(\w+)"/.exec(text)?.[1]),
      ['customers', 'tags', 'tags', 'orders', 'tags'],
    );
  } finally {
    await locker.end();
  }
});

test('an estimated count asks the planner beside the list', async () => {
  proxy.statements();
  await shop.call('orders?count=estimated');
  const heard = onRecords(proxy.statements());
  assert.equal(heard.length, 2);
  assert.ok(heard.some((text) => /^explain /.test(text)));
});

test('a second request with the same words prepares nothing anew, whatever its values', async () => {
  // The first run may take its time and is in careful words; it tells that the read is quick.
  await shop.call('orders/1?expand=tags');
  proxy.statements();
  for (const id of [1, 2, 3]) await shop.call(`orders/${id}?expand=tags`);
  const texts = onRecords(proxy.statements());
  assert.equal(texts.length, 3);
  assert.equal(new Set(texts).size, 1);
});

test('no value of a request is ever part of a statement', async () => {
  proxy.statements();
  const secret = 'needle';
  await shop.call(
    `orders?filter=note,contains,${secret}&filter=note,in,${secret},x&or=note,eq,${secret};customer.name,startsWith,${secret}`,
  );
  await shop.call('orders/_query', {
    method: 'POST',
    body: { filter: { field: 'note', op: 'endsWith', value: secret } },
  });
  await shop.call('tags', { method: 'POST', body: { name: secret } });
  await shop.call('tags/1', { method: 'PUT', body: { name: secret } });
  const first = await shop.call(`tags?filter=name,eq,${secret}&sort=name&size=1`);
  await shop.call(`tags?filter=name,eq,${secret}&sort=name&size=1&after=${first.json.meta.nextCursor}`);
  const heard = proxy.statements();
  assert.ok(onRecords(heard).length >= 6);
  for (const text of heard) assert.ok(!text.includes(secret), text);
});

test('more shapes than a connection keeps prepared are all answered, and the oldest are given up', async () => {
  const narrow = await startTestServer(
    { ...FAR, WDA_READ_CONNECTIONS: '1', WDA_MAX_PAGE_SIZE: '20000' },
    proxy.database,
  );
  try {
    const list = (size: number): Promise<Answer> =>
      narrow.call(`/api/v1/${shop.path}/countries?size=${size}&count=none`, { credential: shop.key });
    proxy.statements();
    // Shapes whose first run looks slow, as on a busy machine, go to connections that keep 100.
    const kept: number[] = [];
    for (let first = 1; kept.length < 50 && first < 20_000; first += 20) {
      // The first time tells that it is quick, the second prepares it.
      for (const _turn of [1, 2]) {
        const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => list(first + index)));
        for (const { status, text } of answers) assert.equal(status, 200, text);
      }
      const closed = proxy.statements().flatMap((text) => /^close w[\w-]+ of (\d+)$/.exec(text)?.[1] ?? []);
      kept.push(...closed.map(Number).filter((count) => count > 1000));
    }
    assert.ok(kept.length >= 50, `${kept.length} were given up`);
    // What is asked for next is parsed before the oldest is closed, or after.
    assert.ok(
      kept.every((count) => count >= 2000 && count <= 2020),
      kept.join(),
    );
    // One of them is prepared anew, one of the others is not.
    assert.equal((await list(1)).status, 200);
    assert.equal((await list(1000)).status, 200);
  } finally {
    await narrow.stop();
  }
});
