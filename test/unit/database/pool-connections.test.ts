// Connections that die in the very moment in which they are opened.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Database, makeDatabase } from '../../../src/database/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { type FakeBackend, startFakeBackend } from '../../support/fake-backend.ts';

async function withDatabase(
  deadOnArrival: number,
  work: (database: Database, backend: FakeBackend) => Promise<void>,
): Promise<void> {
  const backend = await startFakeBackend({ deadOnArrival, answer: () => ['1'] });
  const database = makeDatabase({
    connection: { host: '127.0.0.1', port: backend.port, user: 'wda', database: 'wda', ssl: false },
    processes: 1,
    readConnections: 4,
    writeConnections: 6,
    slowConnections: 4,
    transferConnections: 4,
    batchConnections: 2,
    maxQueue: 100,
    statementTimeoutMs: 2000,
    maxResponseBytes: 1_048_576,
    onError: () => undefined,
  });
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
