// Refusals of requests that no credential carries leave at a bounded pace, ask the database for as little as can be, and
// are counted against the credential that they come with. What anybody may ask of the database has the same pace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeKey } from '../../../src/auth/api-key.ts';
import { askToken, basic, createClient } from '../../support/oauth.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call, startTestServer } from '../../support/server.ts';

const SCHEMA = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const GRANT = { grant_type: 'client_credentials' } as const;

// A hang is a failure, long before the runner's own patience ends.
const LIMIT = { timeout: 300_000 };

const server = useServer();
const workspace = use(() => server.workspace('acme/notes', SCHEMA));
const other = use(() => server.workspace('acme/other', SCHEMA));
const client = use(() => createClient(workspace));

const turns = async (): Promise<number> =>
  Number(/^wda_throttled_errors_total (\d+)$/m.exec(await server.metrics())?.[1]);

/** How many turns of refusals the request took. */
async function turnsOf(ask: () => Promise<Answer>, status: number): Promise<number> {
  const before = await turns();
  const answer = await ask();
  assert.equal(answer.status, status, answer.text);
  return (await turns()) - before;
}

const admin = '/api/admin/v1/organizations';
const junk = { credential: 'junk' };
const STRANGERS: readonly (readonly [what: string, ask: () => Promise<Answer>, status: number])[] = [
  ['no credential', () => workspace.call('notes', { credential: null }), 401],
  ['a credential that is none', () => workspace.call('notes', junk), 401],
  ['a key that does not exist', () => workspace.call('notes', { credential: makeKey().key }), 401],
  ['a valid key of another workspace', () => workspace.call('notes', { credential: other.key }), 401],
  ['a valid key of a workspace at one that does not exist', () => get('/api/v1/a/b/c', { credential: other.key }), 401],
  ['no credential for a workspace that does not exist', () => get('/api/v1/a/b/c'), 401],
  ['no credential for the admin API', () => get(admin), 401],
  ['an invalid one for the admin API', () => get(admin, junk), 401],
  ['an invalid one, and an unknown parameter', () => get(`${admin}?x=1`, junk), 401],
  ['an unknown path', () => get('/nothing'), 404],
  ['an unknown path of the admin API', () => get('/api/admin/v1/nothing', { credential: ADMIN_KEY }), 404],
  ['a method that is not allowed', () => get('/healthz', { method: 'DELETE' }), 405],
  ['a path that does not decode', () => get('/%zz'), 400],
  ['a wrong secret', () => askToken(server, GRANT, basic({ ...client, clientSecret: 'x' })), 401],
  ['a client that does not exist', () => askToken(server, GRANT, basic({ ...client, clientId: 'x' })), 401],
  ['no form at the token endpoint', () => askToken(server, 'x'), 400],
  ['another method at the token endpoint', () => get('/oauth/token'), 405],
  // No refusals, but anybody may ask them of the database.
  ['who gives tokens for a workspace', () => metadata('acme/notes'), 200],
  ['who gives tokens for a workspace that does not exist', () => metadata('a/b'), 200],
];
for (const [what, ask, status] of STRANGERS) {
  test(`${what} is answered in turn`, async () => {
    assert.equal(await turnsOf(ask, status), 1);
  });
}

const get = (path: string, call: Call = {}): Promise<Answer> => server.call(path, call);
const metadata = (path: string): Promise<Answer> => get(`/.well-known/oauth-protected-resource/api/v1/${path}/_mcp`);

const KNOWN: readonly (readonly [what: string, ask: () => Promise<Answer>, status: number])[] = [
  ['a record', () => workspace.call('notes'), 200],
  ['a record that does not exist', () => workspace.call('notes/99'), 404],
  ['an entity that does not exist', () => workspace.call('nothing'), 404],
  ['a mistake in a parameter', () => workspace.call('notes?x=1'), 400],
  [
    'what may not be done',
    () => workspace.call('notes/1', { method: 'DELETE', credential: workspace.readOnlyKey }),
    403,
  ],
  ['the health', () => get('/healthz'), 200],
  ['a workspace that does not exist, for the operator', () => workspace.admin('../nothing/schema'), 404],
  ['a token', () => askToken(server, GRANT, basic(client)), 200],
];
for (const [what, ask, status] of KNOWN) {
  test(`${what} is answered at once`, async () => {
    assert.equal(await turnsOf(ask, status), 0);
  });
}

/** Holds a table of the control tables against everybody while the work runs. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  const locker = new pg.Client({ connectionString: server.database.url });
  await locker.connect();
  try {
    await locker.query(`begin; lock table wda.${table} in access exclusive mode`);
    await work();
  } finally {
    await locker.end();
  }
}

test('whoever has no credential asks the database nothing, whatever the path', LIMIT, async () => {
  await whileLocked('organization', async () => {
    for (const credential of [null, 'opaque', 'wda_nonsense', makeKey().key]) {
      assert.equal((await get('/api/v1/some/where/notes', { credential })).status, 401);
    }
  });
});

test('a crowd of strangers is looked up a few at a time', LIMIT, async () => {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const credential = `${encoded({ alg: 'RS256' })}.${encoded({ iss: 'https://idp.example.com', sub: 'x' })}.c2ln`;
  const crowd: Promise<Answer>[] = [];
  await whileLocked('organization', async () => {
    for (let at = 0; at < 200; at++) crowd.push(get(`/api/v1/some/where-${at}/notes`, { credential }));
    let most = 0;
    for (let look = 0; look < 20; look++) {
      await get('/api/v1/nothing', { credential: null });
      const pending = [...(await server.metrics()).matchAll(/^wda_db_pool_pending\{[^}]*\} (\d+)$/gm)];
      most = Math.max(most, ...pending.map(([, count]) => Number(count)));
    }
    // The server asks for itself as well, a statement or two.
    assert.ok(most > 10 && most < 80, `${most} look-ups at a time`);
  });
  for (const { status } of await Promise.all(crowd)) assert.ok([401, 503].includes(status), String(status));
});

test('a key at a workspace that is not its own is counted, and so is one for the admin API', async () => {
  const limited = await startTestServer({ WDA_RATE_LIMIT: '3' }, server.database);
  try {
    for (const [path, status] of [
      ['/api/v1/acme/notes/notes', 401],
      ['/api/v1/acme/nothing/notes', 401],
      [`${admin}?x=1`, 403],
    ] as const) {
      assert.equal((await limited.call(path, { credential: other.key })).status, status);
    }
    for (const path of ['/api/v1/acme/notes/notes', '/api/v1/acme/other/notes', `${admin}?x=1`]) {
      assert.equal((await limited.call(path, { credential: other.key })).status, 429, path);
    }
    assert.equal((await limited.call('/api/v1/acme/notes/notes', { credential: workspace.key })).status, 200);
  } finally {
    await limited.stop();
  }
});

test('whoever knows the id of a client cannot use up its requests for tokens', async () => {
  const limited = await startTestServer({ WDA_RATE_LIMIT: '3' }, server.database);
  try {
    for (let asked = 0; asked < 10; asked++) {
      const answer = await askToken(limited, GRANT, basic({ ...client, clientSecret: 'wrong' }));
      assert.equal(answer.status, 401, answer.text);
    }
    const statuses: number[] = [];
    for (let asked = 0; asked < 4; asked++) statuses.push((await askToken(limited, GRANT, basic(client))).status);
    assert.deepEqual(statuses, [200, 200, 200, 429]);
  } finally {
    await limited.stop();
  }
});

test('metrics and readiness are put together once for all who ask at the same time', LIMIT, async () => {
  const texts = await Promise.all(Array.from({ length: 40 }, async () => (await get('/metrics')).text));
  assert.ok(new Set(texts).size < 20, `${new Set(texts).size} different texts`);
  const ready = await Promise.all(Array.from({ length: 40 }, () => get('/readyz')));
  assert.deepEqual(new Set(ready.map(({ status }) => status)), new Set([200]));
});
