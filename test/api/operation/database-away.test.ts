// While the database is away requests get a 503 that says when to come again, and all is well once it is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeApp } from '../../../src/app.ts';
import { readConfig } from '../../../src/config.ts';
import { makeObserver } from '../../../src/observer.ts';
import { createTestDatabase } from '../../support/database.ts';
import { openProxy } from '../../support/database-proxy.ts';
import { use, useDatabase, useDatabaseProxy, useServer } from '../../support/resources.ts';
import { INTERNALS } from '../../support/scenario.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const database = useDatabase();
const proxy = useDatabaseProxy(database);
// On a cluster the workers, which are not away, would go on answering reads for a while.
const server = useServer({ WDA_STATEMENT_TIMEOUT_MS: '1000', WDA_NODE_READS: 'off' }, proxy);
const shop = use(() => makeShop(server));

// So that a broken test ends.
const LIMITED = { timeout: 300_000 };

const MESSAGE = 'The database is not reachable at the moment; retry';

function unavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.json.error.code, 'SERVICE_UNAVAILABLE');
  assert.ok(Number.isInteger(answer.json.retryAfterSeconds) && answer.json.retryAfterSeconds >= 1, answer.text);
  assert.equal(answer.headers.get('retry-after'), String(answer.json.retryAfterSeconds));
  assert.doesNotMatch(answer.text, INTERNALS);
  assert.doesNotMatch(answer.text, /ECONN|127\.0\.0\.1|localhost|terminat/i);
}

/** A write that was sent before the connection was lost may have been done; one that was not may be repeated. */
function unavailableWrite(answer: Answer): void {
  if (answer.json?.error?.code !== 'OUTCOME_UNKNOWN') {
    unavailable(answer);
    return;
  }
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.headers.get('retry-after'), null);
  assert.doesNotMatch(answer.text, INTERNALS);
}

/** Asks until it works again; a server that does not recover by itself never ends this. */
async function recovered(ask: () => Promise<Answer>): Promise<void> {
  for (let answer = await ask(); answer.status !== 200; answer = await ask()) {
    unavailable(answer);
    await sleep(50);
  }
}

const REQUESTS = [
  ['tags', {}],
  ['tags/1?expand=orders', {}],
  ['tags/_query', { method: 'POST', body: {} }],
  ['tags/_export', {}],
  ['tags', { method: 'POST', body: { name: 'lost' } }],
  ['tags/1', { method: 'PUT', body: { name: 'lost' } }],
  ['tags/4', { method: 'DELETE' }],
] as const;

const isWrite = ([path, call]: (typeof REQUESTS)[number]): boolean => 'method' in call && !path.endsWith('_query');

test('away: every request gets 503 with Retry-After, health tells the process from the database', async () => {
  assert.equal((await shop.call('tags')).status, 200);
  proxy.cut();
  for (const [path, call] of REQUESTS) {
    const answer = await shop.call(path, call);
    unavailable(answer);
    assert.equal(answer.json.error.message, MESSAGE);
  }
  unavailable(await shop.admin('schema'));
  unavailable(await shop.call('tags', { credential: shop.readWriteKey }));
  assert.equal((await server.call('/healthz')).status, 200);
  unavailable(await server.call('/readyz'));
  assert.equal((await server.call('/metrics')).status, 200);
  assert.equal((await shop.call('tags', { credential: null })).status, 401);
});

test('back: everything works again without a restart, and nothing was half done', async () => {
  proxy.restore();
  await recovered(() => shop.call('tags'));
  await recovered(() => server.call('/readyz'));
  const { json } = await shop.call('tags?fields=name');
  assert.deepEqual(json.data, [{ name: 'gift' }, { name: 'express' }, { name: 'wholesale' }, { name: 'unused' }]);
  assert.equal((await shop.call('tags', { method: 'POST', body: { name: 'kept' } })).status, 201);
  assert.equal((await shop.admin('schema')).status, 200);
});

test('requests in flight when the connections are cut are answered, each by itself', async () => {
  for (const pause of [1, 5, 10, 15]) {
    await Promise.all(Array.from({ length: 20 }, () => shop.call('orders?expand=items')));
    const flying = Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        index % 3 === 0
          ? shop.call('tags', { method: 'POST', body: { name: `flight ${index}` } })
          : // New words each time: statements that are not known to be quick have connections of their own.
            shop.call(`orders?expand=items.product&fields=id,items.id&filter=total,ne,${pause}.${index}&sort=note`),
      ),
    );
    await sleep(pause);
    proxy.cut();
    const answers = await flying;
    proxy.restore();
    for (const [index, answer] of answers.entries()) {
      if (answer.status >= 300) (index % 3 === 0 ? unavailableWrite : unavailable)(answer);
    }
    await recovered(() => shop.call('tags'));
  }
});

test('connections ended by the database are replaced', async () => {
  await Promise.all(Array.from({ length: 20 }, () => shop.call('orders?expand=items')));
  await database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await recovered(() => shop.call('tags'));
  const made = await shop.call('tags', { method: 'POST', body: { name: 'after' } });
  if (made.status !== 201) unavailable(made);
  await recovered(() => shop.call('orders?expand=items.product'));
});

test('a database that falls silent without a word is given up, by every kind of request', async () => {
  await recovered(() => shop.call('tags'));
  proxy.freeze();
  const asked = REQUESTS.filter(([path]) => !path.includes('_export'));
  const written = Promise.all(asked.filter(isWrite).map(([path, call]) => shop.call(path, call)));
  const answers = await Promise.all([
    ...asked.filter((one) => !isWrite(one)).map(([path, call]) => shop.call(path, call)),
    shop.call('orders?sort=total&filter=note,contains,new'),
    shop.admin('api-keys'),
    server.call('/readyz'),
  ]);
  for (const answer of answers) unavailable(answer);
  for (const answer of await written) unavailableWrite(answer);
  proxy.restore();
  await recovered(() => shop.call('tags'));
});

for (const part of ['insert into', 'begin isolation', 'commit\0', 'rollback\0']) {
  const word = part.split(/[ \0]/)[0]?.toUpperCase();
  test(`a batch whose ${word} is never answered ends, and leaves the connections to others`, LIMITED, async () => {
    const create = (name: string, entity = 'tags') => ({ method: 'POST', entity, body: { name } });
    const send = (...operations: readonly unknown[]) => shop.call('_batch', { method: 'POST', body: { operations } });
    assert.equal((await send(create(`${word} before`))).status, 200);
    const held = proxy.hold(part);
    const wrong = part.startsWith('rollback') ? [{ method: 'DELETE', entity: 'tags', id: 999_999 }] : [];
    const answer = await send(create(`${word} held`, 'customers'), ...wrong);
    assert.ok(held.isHeld());
    if (wrong.length > 0) assert.equal(answer.status, 404, answer.text);
    else unavailableWrite(answer);
    assert.equal((await send(create(`${word} after`))).status, 200);
  });
}

test('it goes away and comes back many times', async () => {
  for (let round = 0; round < 5; round++) {
    proxy.cut();
    unavailable(await shop.call('tags'));
    proxy.restore();
    await recovered(() => shop.call('tags'));
  }
});

test('a server that starts without its database listens, says so, and serves once it is there', async () => {
  const late = await createTestDatabase();
  const wire = await openProxy(late);
  wire.cut();
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: wire.database.url,
    WDA_ADMIN_KEY: ADMIN_KEY,
    WDA_DEMO: 'off',
    LOG_LEVEL: 'silent',
  });
  const app = makeApp(config, { connectionString: wire.database.url }, makeObserver(config, false));
  try {
    const url = `http://127.0.0.1:${await app.listen()}`;
    let isPrepared = false;
    const prepared = app.prepare().then(() => {
      isPrepared = true;
    });
    const ask = async (path: string): Promise<Answer> => {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
    };
    for (let round = 0; round < 3; round++) {
      assert.equal((await ask('/healthz')).status, 200);
      for (const path of ['/readyz', '/api/v1/acme/shop/tags', '/api/admin/v1/organizations'])
        unavailable(await ask(path));
      await sleep(20);
    }
    assert.equal(isPrepared, false);
    wire.restore();
    await prepared;
    assert.equal((await ask('/readyz')).status, 200);
    assert.deepEqual((await ask('/api/admin/v1/organizations')).json.data, []);
  } finally {
    wire.restore();
    await app.close(1000);
    await wire.close();
    await late.drop();
  }
});
