// A server that tells of an error and then says nothing more, as the coordinator of a cluster does that waits for a node: what
// comes after it on any lane goes elsewhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, PoolName } from '../../../src/database/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { openDatabase } from '../../support/database.ts';
import { type FakeBackend, type FakeOptions, startFakeBackend } from '../../support/fake-backend.ts';

const STATEMENT_MS = 20_000;

const stuck = toQuery(sql`select 'stuck'`, 'stuck');
const failing = toQuery(sql`select 'failing'`, 'failing');
const sound = toQuery(sql`select 'sound'`, 'sound');

/** With one connection of each kind. Who is given one that is stuck would wait for longer than the test may take. */
async function withDatabase(
  options: Partial<FakeOptions>,
  work: (database: Database, backend: FakeBackend) => Promise<void>,
): Promise<void> {
  const backend = await startFakeBackend({ deadOnArrival: 0, answer: () => ['1'], ...options });
  const database = openDatabase(
    { host: '127.0.0.1', port: backend.port, user: 'wda', database: 'wda', ssl: false },
    { readConnections: 1, writeConnections: 1, slowConnections: 1, statementTimeoutMs: STATEMENT_MS },
  );
  try {
    await work(database, backend);
  } finally {
    await database.close(0);
    await backend.close();
  }
}

for (const pool of ['read', 'write'] as const satisfies readonly PoolName[]) {
  test(`a connection of the lane of ${pool}s that does not go on after an error keeps nobody waiting`, () =>
    withDatabase({ sticksAt: (statement) => statement.includes('stuck') }, async (database) => {
      const failed = assert.rejects(database.run(stuck, pool, { tenant: 'a', expected: 'quick' }), { code: '57014' });
      const others = [1, 2, 3].map(() => database.run(sound, pool, { tenant: 'b', expected: 'unknown' }));
      assert.deepEqual(await Promise.all(others), [[['1']], [['1']], [['1']]]);
      await failed;
      assert.deepEqual(await database.run(sound, pool, { tenant: 'b', expected: 'quick' }), [['1']]);
    }));

  test(`a connection of the lane of ${pool}s that goes on is not left for an error of a later statement`, () => {
    // The first is stopped, the other fails and takes until after the moment at which the first would have been too late.
    const failsAt = (statement: string) =>
      statement.includes('stuck')
        ? { state: '57014', restMs: 0 }
        : statement.includes('failing')
          ? { state: '23505', restMs: 400 }
          : undefined;
    return withDatabase({ failsAt }, async (database, backend) => {
      const quick = { tenant: 'a', expected: 'quick' } as const;
      await assert.rejects(database.run(stuck, pool, quick), { code: '57014' });
      const opened = backend.connections();
      await sleep(250);
      const failed = assert.rejects(database.run(failing, pool, quick), { code: '23505' });
      const behind = database.run(sound, pool, { tenant: 'b', expected: 'quick' });
      await failed;
      assert.deepEqual(await behind, [['1']]);
      assert.equal(backend.connections(), opened);
    });
  });
}

test('nobody is sent behind a statement with long values', () =>
  withDatabase({ sticksAt: (statement) => statement.includes('stuck') }, async (database) => {
    for (const long of ['x'.repeat(200_000), ['x'.repeat(100_000), 'y'.repeat(100_000)]]) {
      const quick = { tenant: 'b', expected: 'quick' } as const;
      const slow = toQuery(sql`select 'stuck', ${long}`, 'stuck with values');
      const failed = assert.rejects(database.run(slow, 'write', { ...quick, tenant: 'a' }), { code: '57014' });
      assert.deepEqual(await database.run(sound, 'write', quick), [['1']]);
      await failed;
    }
  }));
