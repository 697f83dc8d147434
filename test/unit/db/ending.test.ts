// A server that tells of an error and then says nothing more, as the coordinator of a cluster does that waits for a node: what
// comes after it on any lane goes elsewhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lane, makeDatabase } from '../../../src/db/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { startFakeBackend } from '../../support/fake-backend.ts';

const STATEMENT_MS = 20_000;

const stuck = toQuery(sql`select 'stuck'`, 'stuck');
const sound = toQuery(sql`select 'sound'`, 'sound');

for (const lane of ['read', 'write'] as const satisfies readonly Lane[]) {
  test(`a connection of the lane of ${lane}s that does not go on after an error keeps nobody waiting`, async () => {
    const backend = await startFakeBackend({
      deadOnArrival: 0,
      answer: () => ['1'],
      sticksAt: (statement) => statement.includes('stuck'),
    });
    // One connection of each kind. Who is given one that is stuck would wait for longer than the test may take.
    const database = makeDatabase({
      connection: { host: '127.0.0.1', port: backend.port, user: 'wda', database: 'wda', ssl: false },
      processes: 1,
      readConnections: 1,
      writeConnections: 1,
      slowConnections: 1,
      transferConnections: 1,
      batchConnections: 1,
      maxQueue: 100,
      statementTimeoutMs: STATEMENT_MS,
      maxResponseBytes: 1_048_576,
      onError: () => undefined,
    });
    try {
      const failed = assert.rejects(database.run(stuck, lane, { tenant: 'a', expected: 'quick' }), { code: '57014' });
      const others = [1, 2, 3].map(() => database.run(sound, lane, { tenant: 'b', expected: 'unknown' }));
      assert.deepEqual(await Promise.all(others), [[['1']], [['1']], [['1']]]);
      await failed;
      assert.deepEqual(await database.run(sound, lane, { tenant: 'b', expected: 'quick' }), [['1']]);
    } finally {
      await database.close(0);
      await backend.close();
    }
  });
}
