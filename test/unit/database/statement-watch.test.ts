// A statement that has to end ends, whenever PostgreSQL is told so.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeConnect } from '../../../src/database/connect.ts';
import { getSqlState } from '../../../src/database/errors.ts';
import { getPrepared } from '../../../src/database/prepared-statements.ts';
import { runWatched } from '../../../src/database/statement-watch.ts';
import { useDatabase } from '../../support/resources.ts';

const database = useDatabase();
const LIMITS = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };

test('a backend that was told to stop before it had begun the statement is told again', async () => {
  const connection = await makeConnect({ connectionString: database.url })(LIMITS);
  after(() => connection.client.end());
  let told = 0;
  const cancel = async ({ pid }: { readonly pid: number }): Promise<void> => {
    // PostgreSQL forgets the first one, as it does for a backend that is idle.
    if (++told > 1) await database.query(`select pg_cancel_backend(${pid})`);
  };
  const query = { text: 'select pg_sleep(60)', values: [] };
  const run = (): Promise<unknown> =>
    runWatched(connection, query, getPrepared(connection.client), cancel, { deadline: performance.now() + 10 });
  // The database has ended it; the connection is sound, so the outcome is known.
  await assert.rejects(run, (error) => getSqlState(error) === '57014');
  assert.equal((await connection.client.query('select 1 as one')).rows[0].one, 1);
});
