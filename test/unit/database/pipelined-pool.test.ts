// Statements that share pipelined connections: those of one tenant leave connections to others, and a slow one is run again
// on a connection of its own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Database } from '../../../src/database/pool.ts';
import { type Query, sql, toQuery } from '../../../src/sql/fragment.ts';
import { createTestDatabase, openDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/wait-until.ts';

let database: TestDatabase;
let db: Database;
let timeouts = 0;
before(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url, {
    readConnections: 2,
    writeConnections: 2,
    maxQueue: 50,
    statementTimeoutMs: 20_000,
    onTimeout: () => void timeouts++,
  });
});
after(async () => {
  await db?.close();
  await database?.drop();
});

const sleep = (seconds: number, name: string): Query => toQuery(sql`select pg_sleep(${seconds}::float8)::text`, name);
const one = toQuery(sql`select 1`, 'one');

for (const pool of ['read', 'write'] as const) {
  test(`${pool}s of one tenant keep half of the connections free for another`, async () => {
    // Both connections are open before, and both tenants have come. Nothing is expected, so nothing is learned.
    const short = sleep(0.02, `short ${pool}`);
    await until('both connections are open', async () => {
      await Promise.all(Array.from({ length: 8 }, () => db.run(short, pool, { tenant: 'a' })));
      return db.stats().connections[pool] === 2;
    });
    await db.run(one, pool, { tenant: 'b' });
    const answered: string[] = [];
    const run = (query: Query, tenant: string): Promise<unknown> =>
      db.run(query, pool, { tenant }).then(() => answered.push(tenant));
    const slow = Array.from({ length: 8 }, () => run(short, 'a'));
    await Promise.all([...slow, run(one, 'b')]);
    assert.ok(answered.indexOf('b') < 4, answered.join());
  });
}

test('a statement that is ended by the short timeout is answered all the same, and the next one is not begun there', async () => {
  const before = timeouts;
  const slow = sleep(0.3, 'long');
  assert.deepEqual(await db.run(slow, 'read', { tenant: 'a', expected: 'quick' }), [['']]);
  assert.equal(timeouts, before + 1);
  assert.deepEqual(await db.run(slow, 'read', { tenant: 'a', expected: 'quick' }), [['']]);
  assert.equal(timeouts, before + 1);
});

test('what waits behind a statement that is ended is answered elsewhere', async () => {
  const answers = await Promise.all([
    db.run(sleep(0.3, 'longer'), 'read', { tenant: 'c', expected: 'quick' }),
    ...Array.from({ length: 5 }, () => db.run(one, 'read', { tenant: 'd', expected: 'quick' })),
  ]);
  assert.deepEqual(answers, [[['']], ...Array.from({ length: 5 }, () => [['1']])]);
});

test('more statements than may wait are refused, and one tenant leaves a fifth of the queue to others', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 80 }, () => db.run(sleep(0.02, 'queued'), 'write', { tenant: 'e', expected: 'quick' })),
  );
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
  assert.ok(refused.length >= 30, String(refused.length));
  assert.deepEqual(new Set(refused), new Set(['SERVICE_UNAVAILABLE']));
});
