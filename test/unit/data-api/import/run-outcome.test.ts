// How an import has ended is asked for while it is under way, and told the same to everybody.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { findOutcome } from '../../../../src/data-api/import/run.ts';
import { runFiles } from '../../../../src/database/install.ts';
import type { Database } from '../../../../src/database/pool.ts';
import { recordOutcome } from '../../../../src/sql/import.ts';
import { openDatabase } from '../../../support/database.ts';
import { prepare, useServer } from '../../../support/resources.ts';

const SCHEMA = 'ws1_shop';
const server = useServer();
prepare(() =>
  withDatabase((db) =>
    db.transaction(async (session) => {
      await session.execute(`create schema ${SCHEMA}`);
      await runFiles(session, 'workspace', SCHEMA);
    }),
  ),
);

async function withDatabase(work: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(server.database.url);
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

test('the answer waits for an import that is at its end', () =>
  withDatabase(async (db) => {
    for (const [kept, told] of [
      [true, 'committed'],
      [false, 'aborted'],
    ] as const) {
      const token = randomUUID();
      let asked: Promise<unknown> = Promise.resolve();
      const undone = new Error('undone');
      await db
        .transaction(
          async (session) => {
            await session.query(recordOutcome(SCHEMA, token));
            let isTold = false;
            asked = findOutcome(db, SCHEMA, token).finally(() => {
              isTold = true;
            });
            await session.query({ text: 'select pg_sleep(0.5)', values: [] });
            assert.equal(isTold, false);
            if (!kept) throw undone;
          },
          { purpose: 'transfer' },
        )
        .catch((error) => assert.equal(error, undone));
      assert.equal(await asked, told);
    }
  }));

test('an import that was told as not done cannot be done any more', () =>
  withDatabase(async (db) => {
    const token = randomUUID();
    assert.equal(await findOutcome(db, SCHEMA, token), 'aborted');
    await assert.rejects(
      db.transaction((session) => session.query(recordOutcome(SCHEMA, token))),
      (error: { code?: string }) => error.code === '23505',
    );
    assert.equal(await findOutcome(db, SCHEMA, token), 'aborted');
  }));

test('nothing is asked of a node that is away', () =>
  withDatabase(async (db) => {
    const token = randomUUID();
    assert.equal(await findOutcome(db, SCHEMA, token, { isUnavailable: () => true }), 'unknown');
    // Whoever had asked would have taken the token.
    await db.transaction((session) => session.query(recordOutcome(SCHEMA, token)));
    assert.equal(await findOutcome(db, SCHEMA, token, { isUnavailable: () => false }), 'committed');
  }));

test('an import removes tokens of a day ago, some at a time, and no others', () =>
  withDatabase(async (db) => {
    const { database } = server;
    const left = async (): Promise<unknown> => {
      const [row] =
        await database.query(`select count(*) filter (where created_at < now() - interval '1 day')::int4 as old,
      count(*) filter (where created_at between now() - interval '1 day' and now() - interval '1 hour')::int4 as new
      from ${SCHEMA}."$import_outcome"`);
      return row;
    };
    await database.query(`insert into ${SCHEMA}."$import_outcome" (token, is_done, created_at)
    select gen_random_uuid(), true, now() - make_interval(mins => n, secs => 30) from generate_series(61, 2939) n`);
    assert.deepEqual(await left(), { old: 1500, new: 1379 });
    await db.query(recordOutcome(SCHEMA, randomUUID()));
    assert.deepEqual(await left(), { old: 500, new: 1379 });
    await db.query(recordOutcome(SCHEMA, randomUUID()));
    assert.deepEqual(await left(), { old: 0, new: 1379 });
  }));
