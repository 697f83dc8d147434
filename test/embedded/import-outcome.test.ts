// What an import is told whose COMMIT was not answered because PostgreSQL crashed, and is there again before anybody asks.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { findOutcome } from '../../src/data-api/import/run.ts';
import { install, runFiles } from '../../src/database/install.ts';
import { makeDatabase, type Session } from '../../src/database/pool.ts';
import { recordOutcome } from '../../src/sql/import.ts';
import { openProxy } from '../support/database-proxy.ts';
import { openFolder, postmasterPid, query, startHere, until, untilAnswers } from './support.ts';

const SCHEMA = 'ws1_shop';

async function start(t: TestContext) {
  const embedded = await startHere(t, openFolder(t));
  const { connection } = embedded;
  const { user, password, host, port, database } = connection;
  const url = new URL(`postgres://localhost:${port}/${database}`);
  url.username = user;
  url.password = password;
  url.searchParams.set('host', host);
  const proxy = await openProxy({
    url: url.href,
    query: () => Promise.reject(new Error('not used')),
    drop: () => Promise.resolve(),
  });
  await install(connection, () => undefined);
  const db = makeDatabase({
    ...readConfig({}),
    connection: { connectionString: proxy.database.url },
    processes: 1,
    onError: () => undefined,
  });
  await db.transaction(async (session) => {
    await session.execute(`create schema ${SCHEMA}`);
    await runFiles(session, 'workspace', SCHEMA);
  });
  t.after(async () => {
    await db.close();
    await proxy.close();
  });
  const number = async (): Promise<bigint> =>
    BigInt((await query(connection, 'select pg_current_xact_id()::text'))[0]?.[0] as string);

  /** PostgreSQL is killed and there again, and whoever is behind the wire has noticed no more than its end. */
  async function crash(): Promise<void> {
    proxy.cut();
    const before = postmasterPid(embedded.stateDirectory);
    process.kill(before, 'SIGKILL');
    await until('it was noticed', () => isGone(before));
    await untilAnswers(connection);
  }
  return { connection, proxy, db, number, crash };
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

test('it was not done, although another transaction has its number by now', async (t) => {
  const { connection, proxy, db, number, crash } = await start(t);
  for (let isGivenAgain = false; !isGivenAgain; ) {
    const token = randomUUID();
    let lost = 0n;
    const work = async (session: Session): Promise<void> => {
      await session.query(recordOutcome(SCHEMA, token));
      const [row] = await session.query<{ id: string }>({
        text: 'select pg_current_xact_id()::text as id',
        values: [],
      });
      lost = BigInt(row?.id as string);
      await crash();
    };
    await assert.rejects(db.transaction(work), /connection|ECONNRESET/i);
    while ((await number()) < lost);
    const [[status] = []] = await query(connection, `select pg_xact_status('${lost}'::xid8)`);
    isGivenAgain = status === 'committed';
    proxy.restore();
    assert.equal(await findOutcome(db, SCHEMA, token), 'aborted');
  }
});

test('it was done', async (t) => {
  const { proxy, db, crash } = await start(t);
  const token = randomUUID();
  await db.transaction((session) => session.query(recordOutcome(SCHEMA, token)));
  await crash();
  proxy.restore();
  assert.equal(await findOutcome(db, SCHEMA, token), 'committed');
});
