// A server that takes no writes any more is left, with every connection to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeReconnect } from '../../../src/database/pool.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { createTestDatabase, openDatabase } from '../../support/database.ts';
import { until } from '../../support/wait-until.ts';

test('a write that meets a read-only server leaves all connections for new ones', async () => {
  const { url, query, drop } = await createTestDatabase();
  const told: string[] = [];
  const database = openDatabase(url, { onError: (message) => told.push(message) });
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  try {
    const [{ name }] = (await query('select current_database() as name')) as [{ name: string }];
    const look = toQuery(sql`select pg_backend_pid()`, 'look');
    const write = toQuery(sql`create table if not exists public.written (a int)`);
    // Its sessions are read-only from here on, as those of a primary that was demoted.
    await query(`alter database "${name}" set default_transaction_read_only = on`);
    const before = await database.run(look, 'read');
    await assert.rejects(database.run(write, 'write'), { code: '25006' });
    assert.deepEqual(told, ['the database takes no writes: all connections are replaced']);
    // Now the address is that of a server that takes writes.
    await owner.query(
      `set default_transaction_read_only = off; alter database "${name}" reset default_transaction_read_only`,
    );
    await until(
      'a write succeeds again',
      async () =>
        (await database.run(write, 'write').then(
          () => true,
          () => false,
        )) === true,
    );
    assert.notDeepEqual(await database.run(look, 'read'), before);
  } finally {
    await owner.end();
    await database.close();
    await drop();
  }
});

test('connections are left at once, and those of a moment later with the pause', async () => {
  let count = 0;
  makeReconnect(() => void count++, 20).onReadOnly();
  assert.equal(count, 1);
  await until('those that came since are left, too', () => count === 2);
});

test('many writes in a pause leave connections once', () => {
  let count = 0;
  const reconnect = makeReconnect(() => void count++, 60_000);
  for (let write = 0; write < 10; write++) reconnect.onReadOnly();
  assert.equal(count, 1);
  reconnect.stop();
});
