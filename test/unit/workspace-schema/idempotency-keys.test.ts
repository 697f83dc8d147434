// Keys of requests that have expired are removed, in every workspace, and no others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runFiles } from '../../../src/database/install.ts';
import { makeIdempotencyKeys } from '../../../src/workspace-schema/idempotency-keys.ts';
import { openDatabase } from '../../support/database.ts';
import { useServer } from '../../support/resources.ts';

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
    const keys = makeIdempotencyKeys(db, 1);
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
