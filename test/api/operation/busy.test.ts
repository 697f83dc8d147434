// Many requests at once, locks and slow statements: each request gets its own true answer, and waits are bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { isCluster } from '../../support/citus.ts';
import { lockWhole } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';
import { type Answer, startTestServer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const post = (path: string, body: unknown): Promise<Answer> => shop.call(path, { method: 'POST', body });
const statuses = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** Holds a lock by SQL, quoting the workspace's schema as `here`, while the work runs. */
async function whileLocked(statement: string, work: (release: () => Promise<void>) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    const { rows } = await client.query('select database_schema from wda.workspace');
    for (const text of [`set search_path to "${rows[0].database_schema}"`, 'begin', statement])
      await client.query(text);
    await work(async () => void (await client.query('rollback')));
  } finally {
    await client.end();
  }
}

test('creates at once have an id each', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => post('tags', { name: `tag ${index}` })));
  assert.deepEqual(statuses(answers), { 201: 60 });
  assert.equal(new Set(answers.map((answer) => answer.json.data.id)).size, 60);
});

test('of many creates with one unique value exactly one is made', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => post('countries', { code: 'XX' })));
  assert.deepEqual(statuses(answers), { 201: 1, 409: 29 });
});

test('updates of different fields of one record at once are all kept', async () => {
  const fields = {
    name: 'All',
    email: 'all@example.com',
    vip: true,
    joinedOn: '2026-01-01',
    rating: 5,
    countryId: 1,
    referredBy: 1,
  };
  const [made] = await shop.create('customers', [{ name: 'None' }]);
  const answers = await Promise.all(
    Object.entries(fields).map(([name, value]) =>
      shop.call(`customers/${made.id}`, { method: 'PUT', body: { [name]: value } }),
    ),
  );
  assert.deepEqual(statuses(answers), { 200: 7 });
  assert.deepEqual((await shop.call(`customers/${made.id}`)).json.data, { id: made.id, ...fields });
});

test('of many deletes of one record exactly one finds it', async () => {
  const [made] = await shop.create('countries', [{ code: 'YY' }]);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => shop.call(`countries/${made.id}`, { method: 'DELETE' })),
  );
  assert.deepEqual(statuses(answers), { 204: 1, 404: 19 });
});

test('a delete and creates that refer to the record never leave a reference to nothing', async () => {
  for (let round = 0; round < 10; round++) {
    const [customer] = await shop.create('customers', [{ name: 'Racer' }]);
    const [gone, ...made] = await Promise.all([
      shop.call(`customers/${customer.id}`, { method: 'DELETE' }),
      ...Array.from({ length: 5 }, () => post('orders', { customerId: customer.id })),
    ]);
    const counts = statuses(made);
    if (gone.status === 204) assert.deepEqual(counts, { 400: 5 });
    else {
      assert.equal(gone.json.error.code, 'CONFLICT');
      assert.ok((counts['201'] ?? 0) > 0, JSON.stringify(counts));
    }
    for (const answer of made)
      if (answer.status === 400) assert.equal(answer.json.error.details[0].code, 'REFERENCE_NOT_FOUND');
  }
});

test('connections that end under a crowd of writes take with them only what was sent on them', async () => {
  const before = (await shop.call('tags?size=1')).json.meta.totalElements;
  const crowd = 200;
  const answers: Answer[] = [];
  await whileLocked('lock table tags in exclusive mode', async (release) => {
    const creates = Promise.all(Array.from({ length: crowd }, (_, index) => post('tags', { name: `crowd ${index}` })));
    const killed = async (): Promise<number> =>
      (
        await server.database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where wait_event_type = 'Lock' and application_name = 'workspace-data-api'`,
        )
      ).length;
    while ((await killed()) === 0);
    await release();
    answers.push(...(await creates));
  });
  const counts = statuses(answers);
  assert.deepEqual(Object.keys(counts).toSorted(), ['201', '503'], JSON.stringify(counts));
  assert.ok((counts['201'] as number) > crowd / 4, JSON.stringify(counts));
  assert.equal((await shop.call('tags?size=1')).json.meta.totalElements, before + (counts['201'] as number));
});

test('random writes on few records are never an error of the server', async () => {
  const calls = Array.from({ length: 400 }, (_, index) => {
    const at = (index * 7) % 5;
    switch ((index * 13) % 7) {
      case 0:
        return post('orders', { customerId: 1 + at });
      case 1:
        return shop.call(`orders/${1 + at}`, { method: 'DELETE' });
      case 2:
        return post('orderTags', { orderId: 1 + at, tagId: 1 + (index % 4) });
      case 3:
        return shop.call(`tags/${1 + (index % 4)}`, { method: 'DELETE' });
      case 4:
        return shop.call(`orders/${1 + at}`, { method: 'PUT', body: { customerId: 1 + (index % 6), total: index } });
      case 5:
        return shop.call(`customers/${1 + at}`, { method: 'PUT', body: { referredBy: 1 + (index % 6) } });
      default:
        return shop.call(`countries/${1 + (index % 3)}`, { method: 'PATCH', body: { name: String(index) } });
    }
  });
  const counts = statuses(await Promise.all(calls));
  for (const status of Object.keys(counts)) assert.ok(Number(status) < 500, JSON.stringify(counts));
});

test('a statement that takes too long is stopped with 503 QUERY_TIMEOUT', async () => {
  const impatient = await startTestServer({ WDA_STATEMENT_TIMEOUT_MS: '1000' }, server.database);
  try {
    const call = (path: string, options = {}) =>
      impatient.call(`/api/v1/${shop.path}/${path}`, { credential: shop.key, ...options });
    await call('products');
    await whileLocked(lockWhole('products'), async (release) => {
      const answers = await Promise.all([
        call('products'),
        call('products/1'),
        call('products/1', { method: 'PUT', body: { title: 'late' } }),
      ]);
      for (const answer of answers) {
        assert.equal(answer.status, 503, answer.text);
        assert.equal(answer.json.error.code, 'QUERY_TIMEOUT', answer.text);
        assert.equal(answer.headers.get('retry-after'), String(answer.json.retryAfterSeconds));
      }
      await release();
    });
    assert.equal((await call('products/1')).json.data.title, 'Mug');
  } finally {
    await impatient.stop();
  }
});

test('a query that waits for a lock is a read, also to one who may only read', async () => {
  await whileLocked(lockWhole('products'), async (release) => {
    const answer = await shop.call('products/_query', {
      method: 'POST',
      body: {},
      credential: shop.readOnlyKey,
    });
    assert.equal(answer.status, 503, answer.text);
    await release();
  });
});

test('a record that somebody else has locked is 503 after a while, and other records are not', async () => {
  await whileLocked('update products set title = title where id = 2', async (release) => {
    const waiting = shop.call('products/2', { method: 'PUT', body: { title: 'Tea' } });
    assert.equal((await shop.call('products/2')).json.data.title, 'Green tea, 100 g');
    assert.equal((await shop.call('products/1', { method: 'PUT', body: { title: 'Cup' } })).status, 200);
    const answer = await waiting;
    assert.equal(answer.status, 503, answer.text);
    // Citus does not tell workers how long to wait for a lock: there the time of the statement counts.
    assert.equal(answer.json.error.code, isCluster ? 'QUERY_TIMEOUT' : 'SERVICE_UNAVAILABLE');
    if (!isCluster)
      assert.equal(answer.json.error.message, 'The record is locked by other changes at the moment; retry');
    await release();
  });
  assert.equal((await shop.call('products/2', { method: 'PUT', body: { title: 'Tea' } })).status, 200);
});

test('beyond the queue requests get 503 at once, those in it their answer', async () => {
  const small = await startTestServer(
    { WDA_MAX_QUEUE: '10', WDA_READ_CONNECTIONS: '1', WDA_WRITE_CONNECTIONS: '1', WDA_SLOW_CONNECTIONS: '2' },
    server.database,
  );
  try {
    const call = (path: string) => small.call(`/api/v1/${shop.path}/${path}`, { credential: shop.key });
    for (let warm = 0; warm < 3; warm++) assert.equal((await call('products/1')).status, 200);
    await whileLocked(lockWhole('products'), async (release) => {
      const flood = Array.from({ length: 40 }, () => call('products/1'));
      const first = await Promise.any(
        flood.map((one) => one.then((answer) => (answer.status === 503 ? answer : Promise.reject(answer)))),
      );
      assert.equal(first.json.error.code, 'SERVICE_UNAVAILABLE');
      assert.equal(first.json.error.message, 'Too many requests wait for the database; retry');
      await release();
      const counts = statuses(await Promise.all(flood));
      assert.ok((counts['200'] ?? 0) >= 1 && (counts['503'] ?? 0) >= 1, JSON.stringify(counts));
      assert.deepEqual(Object.keys(counts).sort(), ['200', '503']);
    });
    assert.equal((await call('products/1')).status, 200);
  } finally {
    await small.stop();
  }
});
