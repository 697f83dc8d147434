// Connections that die in the very moment in which they are opened.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../../src/database/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { openDatabase } from '../../support/database.ts';
import { type FakeBackend, startFakeBackend } from '../../support/fake-backend.ts';

async function withDatabase(
  deadOnArrival: number,
  work: (database: Database, backend: FakeBackend) => Promise<void>,
): Promise<void> {
  const backend = await startFakeBackend({ deadOnArrival, answer: () => ['1'] });
  const database = openDatabase(
    { host: '127.0.0.1', port: backend.port, user: 'wda', database: 'wda', ssl: false },
    { statementTimeoutMs: 2000 },
  );
  try {
    await work(database, backend);
  } finally {
    await database.close();
    await backend.close();
  }
}

const one = toQuery(sql`select 1`, 'one');
const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

test('a pipelined connection that ends in the bytes that open it never joins the lane', () =>
  withDatabase(1, async (database) => {
    await assert.rejects(database.run(one, 'read'), { code: 'SERVICE_UNAVAILABLE' });
    await wait();
    for (let round = 0; round < 20; round++) assert.deepEqual(await database.run(one, 'read'), [['1']]);
  }));

test('many statements at once meet it, too, and go on', () =>
  withDatabase(1, async (database) => {
    await Promise.allSettled(Array.from({ length: 30 }, () => database.run(one, 'write')));
    await wait();
    const answers = await Promise.all(Array.from({ length: 30 }, () => database.run(one, 'write')));
    assert.deepEqual(
      answers,
      Array.from({ length: 30 }, () => [['1']]),
    );
  }));

test('an ordinary connection that ends in the bytes that open it does not end the process', () =>
  withDatabase(1, async (database) => {
    await assert.rejects(database.query(one));
    await wait();
    assert.equal((await database.query(one)).length, 1);
  }));
