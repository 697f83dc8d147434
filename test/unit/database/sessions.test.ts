// Transactions leave their connection as they found it, whatever they met.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../../src/database/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { openDatabase } from '../../support/database.ts';
import { useDatabase } from '../../support/resources.ts';

const database = useDatabase();

/** With one connection for batches. */
async function withOne(work: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(database.url, { batchConnections: 1 });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

const PID = toQuery(sql`select pg_backend_pid() as pid`);
const pidOf = (db: Database): Promise<unknown> =>
  db.transaction(async (session) => (await session.query<{ pid: number }>(PID))[0]?.pid, { purpose: 'batch' });

test('a transaction whose opening fails after its BEGIN leaves nothing open to the next', () =>
  withOne(async (db) => {
    const pid = await pidOf(db);
    // PostgreSQL refuses it; a cancelling comes there, too, now and then.
    const begun = db.transaction(async () => assert.fail('it has not begun'), {
      purpose: 'batch',
      statementTimeoutMs: -1,
    });
    await assert.rejects(begun, { code: 'VALIDATION_FAILED' });
    assert.equal(await pidOf(db), pid);
  }));

test('a connection that is given back in a transaction is not used again', () =>
  withOne(async (db) => {
    const pid = await db.session(async (session) => {
      await session.execute('begin');
      return session.pid;
    });
    assert.notEqual(await db.session(async (session) => session.pid), pid);
  }));
