// Servers behind a PgBouncer in transaction mode: what they answer, take and change is what it would be without it, though
// each transaction may meet another backend and two servers share the few that there are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { getSqlState } from '../../src/database/errors.ts';
import { makeDatabase } from '../../src/database/pool.ts';
import { startWatched, type WatchedServer } from '../support/logged-server.ts';
import { type PgBouncer, startPgBouncer, withoutNewerPgBouncer } from '../support/pgbouncer.ts';
import { makePostgres, type OwnPostgres } from '../support/postgres.ts';
import { clientOf, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const skip = withoutNewerPgBouncer;
const SCHEMA = {
  entities: {
    notes: { fields: { text: { type: 'string', unique: true }, at: { type: 'datetime' }, count: { type: 'integer' } } },
  },
};
// Fewer than the transactions that are under way at once.
const BACKENDS = 3;
const ROUNDS = 8;

let postgres: OwnPostgres;
let pooler: PgBouncer;
let servers: readonly WatchedServer[];
/** One of each server, of the same name: their statements have the same text but for the schema. */
let workspaces: readonly TestWorkspace[];

before(async () => {
  if (skip !== false) return;
  // Another zone, format and search path than ours: what a backend has where nobody says otherwise.
  const settings = `timezone = 'Europe/Berlin'\ndatestyle = 'German'\nsearch_path = 'public'`;
  postgres = await makePostgres({ settings });
  await postgres.start();
  pooler = await startPgBouncer(postgres.port, {
    poolMode: 'transaction',
    isNewer: true,
    maxPrepared: 500,
    size: BACKENDS,
  });
  const env = {
    DATABASE_URL: pooler.url('postgres'),
    WDA_POOLER: 'transaction',
    DATABASE_DIRECT_URL: postgres.url,
    WDA_STATEMENT_TIMEOUT_MS: '5000',
  };
  servers = [await startWatched(env), await startWatched(env)];
  for (const server of servers) await server.ready();
  workspaces = await Promise.all(servers.map(({ url }, index) => clientOf(url).workspace(`acme${index}/shop`, SCHEMA)));
});
after(async () => {
  for (const server of servers ?? []) await server.stop();
  await pooler?.stop();
  await postgres?.remove();
});

const at = (index: number): string => `2026-07-01T12:00:${String(index % 60).padStart(2, '0')}Z`;

const pick = ({ id, text, at, count }: Readonly<Record<string, unknown>>) => ({ id, text, at, count });

/** Creates, reads, changes, lists and batches of one workspace, each answer compared with what this client did. */
async function work(workspace: TestWorkspace, who: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const text = `${workspace.path} ${who} ${round}`;
    const made = await workspace.call('notes', { method: 'POST', body: { text, at: at(round), count: round } });
    assert.equal(made.status, 201, made.text);
    const { id } = made.json.data;
    assert.deepEqual(pick(made.json.data), { id, text, at: at(round), count: round });
    const etag = made.headers.get('etag') ?? '';
    const read = await workspace.call(`notes/${id}`);
    assert.deepEqual(read.json.data, made.json.data);
    const changed = await workspace.call(`notes/${id}`, {
      method: 'PATCH',
      headers: { 'if-match': etag },
      body: { count: 1000 + round },
    });
    assert.equal(changed.json.data?.count, 1000 + round, changed.text);
    const stale = await workspace.call(`notes/${id}`, {
      method: 'PATCH',
      headers: { 'if-match': etag },
      body: { count: 0 },
    });
    assert.equal(stale.status, 412, stale.text);
    const list = await workspace.call(
      `notes?filter=text,eq,${encodeURIComponent(text)}&sort=id,desc&fields=id,text,at,count`,
    );
    assert.deepEqual(list.json.data, [{ id, text, at: at(round), count: 1000 + round }]);
    const batch = await workspace.call('_batch', {
      method: 'POST',
      body: {
        operations: [
          { method: 'POST', entity: 'notes', body: { text: `${text} in a batch` } },
          { method: 'PATCH', entity: 'notes', id, body: { count: round } },
        ],
      },
    });
    assert.equal(batch.status, 200, batch.text);
    assert.match(batch.text, new RegExp(`${text} in a batch`));
  }
}

test('two servers over few backends: each client reads what it wrote, in its own workspace', { skip }, async () => {
  const clients = workspaces.flatMap((workspace) => ['a', 'b', 'c', 'd'].map((who) => work(workspace, who, ROUNDS)));
  await Promise.all(clients);
  for (const workspace of workspaces) {
    const list = await workspace.call('notes?size=1000');
    assert.equal(list.json.data.length, 4 * ROUNDS * 2);
    for (const { text } of list.json.data) assert.ok(text.startsWith(workspace.path), text);
  }
});

test('schemas change beside requests, and their locks are given back', { skip }, async () => {
  const [workspace] = workspaces as [TestWorkspace];
  let isOver = false;
  const reading = (async () => {
    while (!isOver) assert.equal((await workspace.call('notes?size=5')).status, 200);
  })();
  for (const name of ['first', 'second', 'third']) {
    const current = (await workspace.admin('schema')).json.data;
    const fields = { ...current.entities.notes.fields, [name]: { type: 'integer', default: 1 } };
    const schema = { ...current, entities: { notes: { ...current.entities.notes, fields } } };
    const answer = await workspace.admin('schema?wait=30', { method: 'PUT', body: schema });
    assert.equal(answer.status, 200, answer.text);
    const read = await workspace.call('notes?size=1');
    assert.equal(read.json.data[0][name], 1, read.text);
  }
  isOver = true;
  await reading;
});

test('imports and exports', { skip }, async () => {
  const [workspace] = workspaces as [TestWorkspace];
  const lines = Array.from({ length: 3000 }, (_, index) => `imported ${index},${at(index)},${index}`);
  const imported = await workspace.call('notes/_import', {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: `text,at,count\n${lines.join('\n')}\n`,
  });
  assert.equal(imported.status, 200, imported.text);
  const exported = await workspace.call(
    'notes/_export?format=csv&fields=text,at,count&filter=text,startsWith,imported&sort=id',
  );
  assert.deepEqual(exported.text.trim().split(/\r?\n/).slice(1), lines);
});

test('a locked table is not waited for beyond the limit', { skip }, async () => {
  const [workspace] = workspaces as [TestWorkspace];
  const holder = new pg.Client({ connectionString: postgres.url });
  await holder.connect();
  try {
    const [table] = await postgres.query(
      `select oid::regclass::text as name from pg_class where relname = 'notes' limit 1`,
    );
    await holder.query(`begin; lock table ${table?.name}`);
    const answers = await Promise.all(workspaces.map((one) => one.call('notes?size=1')));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 503]);
    await holder.query('rollback');
    assert.equal((await workspace.call('notes?size=1')).status, 200);
  } finally {
    await holder.end();
  }
});

test('what another client of the pooler has set does not reach us, and nothing of ours is left behind', {
  skip,
}, async () => {
  // One after the other they meet the same backend, at once all of them.
  const others = Array.from({ length: BACKENDS }, () => new pg.Client({ connectionString: pooler.url('postgres') }));
  try {
    for (const other of others) await other.connect();
    for (const other of others) await other.query('begin');
    for (const other of others)
      await other.query(`set search_path = public; set extra_float_digits = 0; set statement_timeout = '7s'; commit`);
    await Promise.all(workspaces.map((workspace) => work(workspace, 'afterwards', 5)));
    for (const other of others) await other.query('begin');
    for (const other of others) {
      const { rows } = await other.query(
        `select current_setting('statement_timeout') as timeout, current_setting('lock_timeout') as lock,
  current_setting('search_path') as path, (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`,
      );
      assert.deepEqual(rows, [{ timeout: '7s', lock: '0', path: 'public', locks: 0 }]);
    }
    for (const other of others) await other.query('commit');
  } finally {
    for (const other of others) await other.end();
  }
});

test('a statement of a transaction is stopped by the pooler that knows its backend', { skip }, async () => {
  const db = makeDatabase({
    ...readConfig({}),
    connection: { connectionString: pooler.url('postgres'), pooler: 'transaction' },
    direct: { connectionString: postgres.url },
    processes: 1,
    onError: () => undefined,
  });
  try {
    const told = await db.transaction(
      async (session) => {
        setTimeout(() => void db.cancel(session), 200);
        const sleeping = session.query({ text: 'select pg_sleep(60)', values: [] });
        await assert.rejects(sleeping, (error) => getSqlState(error) === '57014');
        await session.execute('rollback; begin');
        return session.query<{ limit: string }>({
          text: `select current_setting('lock_timeout') as limit`,
          values: [],
        });
      },
      { purpose: 'transfer', statementTimeoutMs: 60_000 },
    );
    // What was set for the transaction has ended with it.
    assert.deepEqual(told, [{ limit: '0' }]);
    // A statement that is a transaction of its own is stopped at its deadline.
    const late = db.run({ text: 'select pg_sleep(60)', values: [] }, 'read', {
      tenant: 'a',
      expected: 'unknown',
      deadline: performance.now() + 500,
    });
    await assert.rejects(late, (error) => getSqlState(error) === '57014');
  } finally {
    await db.close();
  }
});

test('when the backends are ended, new ones are as the first', { skip }, async () => {
  const [workspace] = workspaces as [TestWorkspace];
  await postgres.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  await until('it answers again', async () => (await workspace.call('notes?size=1')).status === 200);
  await Promise.all(workspaces.map((one) => work(one, 'at the end', 3)));
});
