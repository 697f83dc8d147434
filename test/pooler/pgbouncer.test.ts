// Behind a pooler that takes our settings away, or gives connections from hand to hand, one workspace could be answered
// another's records and datetimes would be wrong by a zone: the server does not become ready, and its log says why. Where
// WDA_POOLER says what stands there, and it does that, the server works.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatched } from '../support/logged-server.ts';
import {
  type PgBouncerOptions,
  startPgBouncer,
  withoutNewerPgBouncer,
  withoutPgBouncer,
} from '../support/pgbouncer.ts';
import { makePostgres, type OwnPostgres } from '../support/postgres.ts';
import { ADMIN_KEY, clientOf, type TestClient } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const skip = withoutPgBouncer;
const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' }, at: { type: 'datetime' } } } } };

let postgres: OwnPostgres;
let credential: string;
before(async () => {
  if (skip !== false) return;
  // Another zone than ours, as many a database has.
  postgres = await makePostgres({ settings: `timezone = 'Europe/Berlin'` });
  await postgres.start();
  // The workspace is there already: a server that answered through the pooler would show its records.
  const server = await startWatched({ DATABASE_URL: postgres.url });
  try {
    await server.ready();
    const workspace = await clientOf(server.url).workspace('acme/pooled', SCHEMA);
    await workspace.create('notes', [{ text: 'kept', at: '2026-01-31T12:00:00Z' }]);
    credential = workspace.key;
  } finally {
    await server.stop();
  }
});
after(() => postgres?.remove());

interface Pooler extends PgBouncerOptions {
  readonly what: string;
  /** In a line of the log. */
  readonly says: RegExp;
  /** Settings of the server; default: none, as if PostgreSQL itself stood there. */
  readonly settings?: () => Readonly<Record<string, string>>;
}

const transaction = (direct: string) => () => ({ WDA_POOLER: 'transaction', DATABASE_DIRECT_URL: direct });

const POOLERS: readonly Pooler[] = [
  {
    what: 'as it is shipped, which refuses our settings',
    poolMode: 'session',
    says: /unsupported startup parameter/,
  },
  {
    what: 'that ignores our settings',
    poolMode: 'session',
    ignored: 'extra_float_digits,options',
    says: /pooler.*settings|settings.*pooler/i,
  },
  {
    what: 'that gives each transaction another connection',
    poolMode: 'transaction',
    ignored: 'extra_float_digits,options',
    says: /pooler.*settings|settings.*pooler/i,
  },
];
const UNFIT: readonly Pooler[] = [
  {
    what: 'that is said to keep sessions, and gives each transaction another connection',
    poolMode: 'transaction',
    settings: () => ({ WDA_POOLER: 'session' }),
    says: /WDA_POOLER=session says that it does not/,
  },
  {
    what: 'in transaction mode that loses prepared statements',
    poolMode: 'transaction',
    settings: () => transaction(postgres.url)(),
    says: /loses prepared statements.*PgBouncer 1\.21/,
  },
  {
    what: 'in transaction mode of another database than the direct way',
    poolMode: 'transaction',
    settings: () => transaction(postgres.url.replace(/postgres$/, 'template1'))(),
    says: /DATABASE_DIRECT_URL leads to another server or database/,
  },
  {
    what: 'in transaction mode with a single connection',
    poolMode: 'transaction',
    size: 1,
    settings: () => transaction(postgres.url)(),
    says: /it needs more connections to the database/,
  },
];
const NEWER: readonly Pooler[] = [
  {
    what: 'in transaction mode that may keep prepared statements and is set not to',
    poolMode: 'transaction',
    isNewer: true,
    maxPrepared: 0,
    settings: () => transaction(postgres.url)(),
    says: /loses prepared statements.*max_prepared_statements/,
  },
];
const CASES = [
  ...POOLERS.flatMap((pooler) => ['1', '2'].map((workers) => ({ pooler, workers, skip }))),
  ...UNFIT.map((pooler) => ({ pooler, workers: '1', skip })),
  ...NEWER.map((pooler) => ({ pooler, workers: '1', skip: withoutNewerPgBouncer })),
];

for (const { pooler: one, workers, skip: without } of CASES) {
  const { what, says, settings, ...options } = one;
  test(`a pooler ${what}: not ready, and the log says why (${workers} processes)`, { skip: without }, async () => {
    const pooler = await startPgBouncer(postgres.port, options);
    const server = await startWatched({ DATABASE_URL: pooler.url('postgres'), WDA_WORKERS: workers, ...settings?.() });
    try {
      await until('the log says why', () => server.log.some((line) => says.test(line))).catch((error) => {
        throw new Error(`${error.message}\n${server.log.join('\n')}`);
      });
      await until('it listens', async () => (await server.status('/healthz')) === 200);
      const client = clientOf(server.url);
      for (let look = 0; look < 15; look++, await sleep(100)) {
        const ready = await client.call('/readyz');
        assert.equal(ready.status, 503, ready.text);
        // Those who watch may know which setting it is, but not where the database is.
        assert.doesNotMatch(ready.text, /127\.0\.0\.1|localhost|postgres:\/\//);
        const answer = await client.call('/api/v1/acme/pooled/notes', { credential });
        assert.equal(answer.status, 503, answer.text);
        assert.doesNotMatch(answer.text, /127\.0\.0\.1|localhost|postgres:\/\/|\bkept\b/);
        assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
      }
      const administered = await client.call('/api/admin/v1/organizations', { credential: ADMIN_KEY });
      assert.equal(administered.status, 503, administered.text);
      assert.equal(await server.status('/healthz'), 200);
      assert.equal(server.child.exitCode, null);
    } finally {
      await server.stop();
      await pooler.stop();
    }
  });
}

test('a pooler in session mode: settings, locks and notifications are as without it', { skip }, async () => {
  const pooler = await startPgBouncer(postgres.port, { poolMode: 'session', size: 60 });
  const env = { DATABASE_URL: pooler.url('postgres'), WDA_POOLER: 'session' };
  const servers = [await startWatched(env), await startWatched(env)] as const;
  try {
    for (const server of servers) await server.ready();
    const [first, second] = servers.map(({ url }) => clientOf(url)) as [TestClient, TestClient];
    const { key } = await first.workspace('acme/kept', SCHEMA);
    const path = '/api/v1/acme/kept/notes';
    const record = { text: 'kept', at: '2026-01-31T12:00:00Z' };
    const made = await first.call(path, { method: 'POST', credential: key, body: record });
    assert.deepEqual(made.json.data, { id: 1, ...record });
    const place = '/api/admin/v1/organizations/acme/workspaces/kept/schema';
    for (const name of ['one', 'two']) {
      const current = (await first.call(place, { credential: ADMIN_KEY })).json.data;
      current.entities.notes.fields[name] = { type: 'integer', default: 7 };
      const changed = await first.call(`${place}?wait=30`, { method: 'PUT', credential: ADMIN_KEY, body: current });
      assert.equal(changed.json.data?.state, 'succeeded', changed.text);
      const elsewhere = await second.call(`${path}/1`, { credential: key });
      assert.equal(elsewhere.json.data?.[name], 7, elsewhere.text);
    }
    const listening = await postgres.query(
      `select count(*)::int as count from pg_stat_activity where application_name = 'workspace-data-api listening'`,
    );
    assert.deepEqual(listening, [{ count: 2 }]);
  } finally {
    for (const server of servers) await server.stop();
    await pooler.stop();
  }
});

test('beside a server with a connection of its own, one behind such a pooler answers nothing', { skip }, async () => {
  const pooler = await startPgBouncer(postgres.port, {
    poolMode: 'transaction',
    ignored: 'extra_float_digits,options',
  });
  const direct = await startWatched({ DATABASE_URL: postgres.url });
  const pooled = await startWatched({ DATABASE_URL: pooler.url('postgres') });
  try {
    await direct.ready();
    await until('the other listens', async () => (await pooled.status('/healthz')) === 200);
    for (let look = 0; look < 40; look++, await sleep(50)) {
      const call = { credential };
      const [own, other] = await Promise.all([
        clientOf(direct.url).call('/api/v1/acme/pooled/notes/1', call),
        clientOf(pooled.url).call('/api/v1/acme/pooled/notes/1', call),
      ]);
      assert.deepEqual(own.json.data, { id: 1, text: 'kept', at: '2026-01-31T12:00:00Z' });
      assert.equal(other.status, 503, other.text);
    }
  } finally {
    await direct.stop();
    await pooled.stop();
    await pooler.stop();
  }
});
