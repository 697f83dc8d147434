// Keys of requests that have expired are removed, in every workspace, and no others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { runFiles } from '../../../src/database/install.ts';
import { makeKeyBudget } from '../../../src/workspace-schema/idempotency-budget.ts';
import { makeIdempotencyKeys } from '../../../src/workspace-schema/idempotency-keys.ts';
import { openDatabase } from '../../support/database.ts';
import { useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer();
const SCHEMAS = ['ws1_shop', 'ws2_shop'];
const TABLES = SCHEMAS.map((schema) => `${schema}."$idempotency_key"`);

test('a sweep removes what has expired, and tells how many', async () => {
  const { database } = server;
  const db = openDatabase(database.url);
  const count = async (table: string): Promise<unknown> =>
    (await database.query(`select count(*)::int4 as count from ${table}`))[0]?.count;
  try {
    for (const schema of SCHEMAS) {
      await db.transaction(async (session) => {
        await session.execute(`create schema ${schema}`);
        await runFiles(session, 'workspace', schema);
      });
    }
    for (const table of TABLES) {
      await database.query(`insert into ${table} (scope, fingerprint, created_at)
    select sha256(n::text::bytea), '', now() - make_interval(mins => n) from generate_series(1, 6000) n`);
    }
    const keys = makeIdempotencyKeys(db, 1, { maxBytes: 1e6, maxKeys: 1e6 });
    await keys.sweep();
    assert.deepEqual(await Promise.all(TABLES.map(count)), [59, 59]);
    const figures = new Map(keys.getMetrics().map(({ name, read }) => [name, read()]));
    assert.equal(figures.get('wda_idempotency_keys_removed_total'), 2 * 5941);
    for (const table of TABLES) await database.query(`vacuum analyze ${table}`);
    await keys.sweep();
    const [kept] = keys.getMetrics().filter(({ name }) => name === 'wda_idempotency_keys_kept');
    assert.equal(kept?.read(), 118);
  } finally {
    await db.close();
  }
});

test('a budget follows what the table has, and what the process adds at once', async () => {
  const { database } = server;
  const db = openDatabase(database.url);
  const schema = 'ws3_shop';
  const table = { schema, tenant: '3' };
  let now = 0;
  try {
    await db.transaction(async (session) => {
      await session.execute(`create schema ${schema}`);
      await runFiles(session, 'workspace', schema);
    });
    await database.query(`insert into ${schema}."$idempotency_key" (scope, fingerprint, body)
    select sha256(n::text::bytea), '', repeat('x', 100) from generate_series(1, 8) n`);
    const budget = makeKeyBudget(db, { maxBytes: 1000, maxKeys: 10 }, () => now);
    assert.deepEqual([budget.isFull(table), budget.hasBytes(table)], [false, true]);
    await until('a count', () => budget.getBytes() === 800);
    budget.add(table, 150);
    budget.add(table, 0);
    assert.deepEqual([budget.isFull(table), budget.hasBytes(table)], [true, true]);
    budget.add(table, 50);
    assert.equal(budget.hasBytes(table), false);
    await database.query(`delete from ${schema}."$idempotency_key"`);
    assert.equal(budget.isFull(table), true);
    now = 31_000;
    await until('another count', () => !budget.isFull(table) && budget.hasBytes(table));
    assert.equal(budget.getBytes(), 0);
  } finally {
    await db.close();
  }
});

test('a count that fails is not repeated for every key', async () => {
  const { database } = server;
  const db = openDatabase(database.url);
  const table = { schema: 'ws4_shop', tenant: '4' };
  let counts = 0;
  let finished: Promise<unknown> = Promise.resolve();
  const watched: typeof db = {
    ...db,
    run: (...query) => {
      counts++;
      const result = db.run(...query);
      finished = result.catch(() => undefined);
      return result;
    },
  };
  let now = 0;
  try {
    const budget = makeKeyBudget(watched, { maxBytes: 1000, maxKeys: 100 }, () => now);
    const add = async (bytes: number): Promise<void> => {
      budget.add(table, bytes);
      await finished;
      await setImmediate();
    };
    await add(300);
    for (let key = 1; key <= 5; key++) await add(1);
    // The first count, and one of the bytes that were added meanwhile.
    assert.equal(counts, 2);
    assert.equal(budget.getBytes(), 305);
    await add(700);
    assert.equal(budget.hasBytes(table), false);
    now = 31_000;
    await add(0);
    assert.equal(counts, 3);
    assert.equal(budget.hasBytes(table), false);
  } finally {
    await db.close();
  }
});
