// Statements by the lanes of a database and by one session: the same rows, the same errors, the same limits.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isStaleSnapshot } from '../../../src/database/errors.ts';
import type { Database, Executor, Row } from '../../../src/database/pool.ts';
import { type Fragment, type Query, sql, toQuery } from '../../../src/sql/fragment.ts';
import { createTestDatabase, openDatabase, type TestDatabase } from '../../support/database.ts';

const STATEMENT_TIMEOUT_MS = 2000;

let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase();
  await database.query('create schema work');
  await database.query('create table work.places (id int primary key, name text not null)');
  await database.query("insert into work.places values (1, 'one'), (2, 'two')");
  db = openDatabase(database.url, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
});
after(async () => {
  await db?.close();
  await database?.drop();
});

/** Runs the work on the lanes, and in a transaction. */
async function onBoth(work: (executor: Executor) => Promise<void>): Promise<void> {
  await work(db);
  await db.transaction(({ executor }) => work(executor));
}

const VALUES: readonly Fragment[] = [
  sql`select 1, 9007199254740993::int8, 0.10::numeric, 1e300::float8, true, null, ''`,
  sql`select '2026-01-02'::date, '2026-01-02T03:04:05.678Z'::timestamptz, '{"a": 1.0}'::json, '\\x00ff'::bytea, '{1,2}'::int[]`,
  sql`select ${'a'}, ${7}::int8 + 1, ${['x', 'y"z', null]}::text[], ${false}::bool`,
  sql`select id, name from work.places where id > ${0} order by id`,
  sql`select where false`,
];

test('a session gives rows as the lanes give them: each column as text', async () => {
  const seen: (readonly Row[])[][] = [];
  await onBoth(async (executor) => {
    const rows: (readonly Row[])[] = [];
    for (const value of VALUES) {
      const query = toQuery(value, `value ${VALUES.indexOf(value)}`);
      rows.push(await executor.run(query, 'read'), await executor.run(query, 'write'));
    }
    seen.push(rows);
  });
  const [byLanes, bySession] = seen;
  assert.deepEqual(bySession, byLanes);
  assert.deepEqual(bySession?.[0], [['1', '9007199254740993', '0.10', '1e+300', 't', null, '']]);
  assert.deepEqual(bySession?.[6], [
    ['1', 'one'],
    ['2', 'two'],
  ]);
  assert.deepEqual(bySession?.[8], []);
});

const ERRORS: readonly [state: string, statement: Fragment][] = [
  ['23505', sql`insert into work.places values (1, 'again')`],
  ['23502', sql`insert into work.places values (3, null)`],
  ['42P01', sql`select * from work.gone`],
  ['22003', sql`select ${'9999999999999999999'}::int8`],
  ['22P02', sql`select ${'x'}::int8`],
];

for (const [state, statement] of ERRORS) {
  test(`${state} is the same error on a session and on a lane`, async () => {
    const query = toQuery(statement);
    await assert.rejects(db.run(query, 'write'), { code: state });
    const bySession = db.transaction(({ executor }) => executor.run(query, 'write'));
    await assert.rejects(bySession, { code: state });
  });
}

test('what a session writes it sees, and nobody else; what is thrown undoes it', async () => {
  const count = toQuery(sql`select count(*) from work.places`, 'count');
  const change = new Error('changed its mind');
  await assert.rejects(
    db.transaction(async ({ executor }) => {
      assert.deepEqual(
        await executor.run(toQuery(sql`insert into work.places values (${3}, 'three') returning id`, 'add'), 'write'),
        [['3']],
      );
      assert.deepEqual(await executor.run(count, 'read'), [['3']]);
      assert.deepEqual(await db.run(count, 'read'), [['2']]);
      throw change;
    }),
    change,
  );
  assert.deepEqual(await db.run(count, 'read'), [['2']]);
});

test('after an error of the database a session answers nothing more', () =>
  assert.rejects(
    db.transaction(async ({ executor }) => {
      await assert.rejects(executor.run(toQuery(sql`select 1 / 0`), 'read'), { code: '22012' });
      return executor.run(toQuery(sql`select 1`), 'read');
    }),
    { code: '25P02' },
  ));

test('a quick statement that the database held up once goes on being run as a quick one, however often', async () => {
  await database.query('create table work.stall (seconds float8, everywhere bool)');
  await database.query(`create function work.wait(timeout text) returns text language plpgsql volatile as $$
begin perform pg_sleep(seconds) from work.stall where everywhere or timeout = '200ms'; return timeout; end $$`);
  const query = toQuery(sql`select work.wait(current_setting('statement_timeout'))`, 'held up');
  const run = async () => (await db.run(query, 'read', { expected: 'quick', tenant: 'one' }))[0]?.[0];
  for (let stall = 0; stall < 4; stall++) {
    for (let quick = 0; quick < 5; quick++) assert.equal(await run(), '200ms');
    await database.query('insert into work.stall values (60, false)');
    assert.notEqual(await run(), '200ms');
    await database.query('delete from work.stall');
  }
  // What takes as long alone is slow.
  await database.query('insert into work.stall values (0.5, true)');
  assert.notEqual(await run(), '200ms');
  await database.query('delete from work.stall');
  assert.notEqual(await run(), '200ms');
});

test('statements that are given at once are done in the order given, and none after the one that fails', async () => {
  const inBatch = { purpose: 'batch' } as const;
  const add = (id: number): Query =>
    toQuery(sql`insert into work.places values (${id}::int, 'new') returning id`, 'new');
  const count = toQuery(sql`select count(*) from work.places where name = 'new'`, 'new ones');
  const confirm = async (): Promise<boolean> => {
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    return true;
  };
  await assert.rejects(
    db.transaction(async ({ executor }) => {
      const first = executor.run(add(10), 'write', { isStale: () => true, confirm });
      const others = [executor.run(add(11), 'write'), executor.run(count, 'read')];
      assert.deepEqual(await Promise.all([first, ...others]), [[['10']], [['11']], [['2']]]);
      const after = [add(12), add(12), add(13), count].map((query) => executor.run(query, 'write'));
      const outcomes = await Promise.allSettled(after);
      assert.deepEqual(
        outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.code)),
        [[['12']], '23505', '25P02', '25P02'],
      );
      throw new Error('enough');
    }, inBatch),
    /enough/,
  );
  await db.transaction(async ({ executor }) => assert.deepEqual(await executor.run(count, 'read'), [['0']]), inBatch);
});

test('only the executor of a transaction says that it is one', async () => {
  assert.equal(db.isTransaction, false);
  await db.transaction(async ({ executor }) => assert.equal(executor.isTransaction, true));
});

test('a statement of a session is prepared once, and again after it has failed to be parsed', async () => {
  const named = (): Promise<readonly unknown[]> =>
    db.transaction(async ({ executor }) => {
      const count = sql`select count(*) from pg_prepared_statements where statement like '%work.later%'`;
      await executor.run(toQuery(sql`select ${1}::int8 from work.later`, 'later'), 'read');
      await executor.run(toQuery(sql`select ${2}::int8 from work.later`, 'later'), 'read');
      return executor.run(toQuery(count, 'count them'), 'read');
    });
  await assert.rejects(named(), { code: '42P01' });
  await database.query('create table work.later as select 1 as id');
  // The second is the statement that counts.
  assert.deepEqual(await named(), [['2']]);
});

test('a statement ends at its deadline, and one whose deadline is over is not sent', async () => {
  await assert.rejects(
    db.transaction(({ executor }) =>
      executor.run(toQuery(sql`select pg_sleep(60)`), 'read', { deadline: performance.now() + 50 }),
    ),
    { code: '57014' },
  );
  await db.transaction(async ({ executor }) => {
    const late = executor.run(toQuery(sql`select no_such_function()`), 'read', { deadline: performance.now() - 1 });
    await assert.rejects(late, { code: 'QUERY_TIMEOUT' });
    assert.deepEqual(await executor.run(toQuery(sql`select 1`), 'read'), [['1']]);
  });
});

function makeSignal() {
  const listeners = new Set<() => void>();
  let isAborted = false;
  return {
    isAborted: () => isAborted,
    onAbort(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    abort() {
      isAborted = true;
      for (const listener of listeners) listener();
    },
    listening: () => listeners.size,
  };
}

test('a read ends when its caller leaves, a write that was begun does not, and nothing is begun for who has left', async () => {
  const reader = makeSignal();
  await assert.rejects(
    db.transaction(({ executor }) => {
      setTimeout(reader.abort, 50);
      return executor.run(toQuery(sql`select pg_sleep(60)`), 'read', { signal: reader });
    }),
    { code: '57014' },
  );
  assert.equal(reader.listening(), 0);
  const writer = makeSignal();
  await db.transaction(async ({ executor }) => {
    setTimeout(writer.abort, 20);
    const write = sql`insert into work.places select 4, pg_sleep(0.2)::text returning id`;
    assert.deepEqual(await executor.run(toQuery(write), 'write', { signal: writer }), [['4']]);
    const next = executor.run(toQuery(sql`delete from work.places`), 'write', { signal: writer });
    await assert.rejects(next, { code: 'SERVICE_UNAVAILABLE' });
  });
  assert.deepEqual(await database.query('delete from work.places where id = 4 returning id'), [{ id: 4 }]);
});

test('a statement that was made for a schema of the past is not sent', () =>
  db.transaction(async ({ executor }) => {
    const statement = toQuery(sql`select no_such_function()`);
    await assert.rejects(executor.run(statement, 'read', { isStale: () => true }), isStaleSnapshot);
    const confirm = async (): Promise<boolean> => true;
    const asked = executor.run(toQuery(sql`select 1`), 'read', { isStale: () => true, confirm });
    assert.deepEqual(await asked, [['1']]);
  }));

test('in a transaction, which has no second turn, the words are the careful ones where there are some', () =>
  db.transaction(async ({ executor }) => {
    const plain = { ...toQuery(sql`select 'plain'`), bounded: () => toQuery(sql`select 'careful'`) };
    assert.deepEqual(await executor.run(plain, 'read', { expected: 'quick' }), [['careful']]);
    assert.deepEqual(await db.run(plain, 'read', { expected: 'quick' }), [['plain']]);
  }));

test('a connection that breaks is a 503, and nobody is given it after that', async () => {
  let pid = 0;
  await assert.rejects(
    db.transaction(async (transaction) => {
      pid = transaction.pid;
      await Promise.all([
        assert.rejects(transaction.executor.run(toQuery(sql`select pg_sleep(60)`), 'write'), {
          code: 'SERVICE_UNAVAILABLE',
          status: 503,
        }),
        database.query('select pg_terminate_backend($1)', [pid]),
      ]);
      // What is made of the error changes nothing.
      throw new Error('something else');
    }),
    /something else/,
  );
  for (let round = 0; round < 5; round++) {
    await db.transaction(async (transaction) => {
      assert.notEqual(transaction.pid, pid);
      assert.deepEqual(await transaction.executor.run(toQuery(sql`select 1`), 'read'), [['1']]);
    });
  }
});
