// Keys of requests that have expired are removed, and no others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKeys } from '../../../src/beside/keys.ts';
import { readConfig } from '../../../src/config.ts';
import { makeDatabase } from '../../../src/db/pool.ts';
import { useServer } from '../../support/use.ts';

const server = useServer();

test('a sweep removes what has expired, and tells how many', async () => {
  const { database } = server;
  await database.query(`insert into wda.idempotency_key (scope, fingerprint, workspace_id, created_at)
    select sha256(n::text::bytea), '', 1, now() - make_interval(mins => n) from generate_series(1, 6000) n`);
  const connection = { connectionString: database.url };
  const db = makeDatabase({ ...readConfig({}), connection, processes: 1, onError: () => undefined });
  try {
    const keys = makeKeys(db, 1);
    await keys.sweep();
    const [row] = await database.query('select count(*)::int4 as count from wda.idempotency_key');
    assert.equal(row?.count, 59);
    const figures = new Map(keys.figures().map(({ name, read }) => [name, read()]));
    assert.equal(figures.get('wda_idempotency_keys_removed_total'), 5941);
    await database.query('vacuum analyze wda.idempotency_key');
    await keys.sweep();
    const [kept] = keys.figures().filter(({ name }) => name === 'wda_idempotency_keys_kept');
    assert.equal(kept?.read(), 59);
  } finally {
    await db.close();
  }
});
