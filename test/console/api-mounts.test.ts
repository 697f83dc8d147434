// The two mounts of the handlers of the API: /api for credentials, /console/api for sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_HEADERS, postSession, signIn } from '../support/console-client.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const OTHER_KEY = 'another-operator-key-of-the-tests-0123456789';

const server = useServer({ WDA_SIGN_IN_RATE_LIMIT: '0' });
const second = useServer({}, server);
const otherOperator = useServer({ WDA_ADMIN_KEY: OTHER_KEY }, server);
const https = useServer({ PUBLIC_URL: 'https://data.example.com' }, server);
const off = useServer({ WDA_CONSOLE: 'off' }, server);
const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' } } } } };
const shop = use(() => server.workspace('acme/shop', SCHEMA));
prepare(() => shop.create('notes', [{ text: 'one' }]));

const refused = (answer: Answer, status: number, words: RegExp): void => {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.json.error.message, words);
};

test('a key is exchanged for a cookie that no script reads and no other site sends', async () => {
  const { setCookie, call } = await signIn(server, ADMIN_KEY);
  assert.match(
    setCookie,
    /^wda_[\w-]{8}=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/,
    'no prefix and no Secure over http',
  );
  const { status, json } = await call('/admin/v1/organizations');
  assert.equal(status, 200);
  assert.deepEqual(
    json.data.map(({ slug }: { slug: string }) => slug),
    ['acme'],
  );
});

test('with https the cookie is bound to its host, and sent over https alone', async () => {
  const { setCookie } = await signIn(https, ADMIN_KEY);
  assert.match(setCookie, /^__Host-wda_[\w-]{8}=[\w-]{43}; .*; SameSite=Strict; Secure$/);
});

test('the requests of a session are uses of its key', async () => {
  const { json } = await shop.admin('api-keys', { method: 'POST', body: { name: 'used', permissions: 'READ_ONLY' } });
  const { call } = await signIn(server, json.data.key);
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
  await until('it is noted', async () => {
    const { data } = (await shop.admin('api-keys?size=100')).json;
    return data.some(
      ({ name, lastUsedAt }: { name: string; lastUsedAt: string | null }) => name === 'used' && lastUsedAt !== null,
    );
  });
});

test('the answers of both mounts are the same', async () => {
  const { call } = await signIn(server, shop.key);
  const through = await call('/v1/acme/shop/notes?fields=text');
  const direct = await shop.call('notes?fields=text');
  assert.equal(through.status, 200, through.text);
  assert.equal(through.text, direct.text);
  assert.equal(through.headers.get('cache-control'), 'no-store');
  const made = await call('/v1/acme/shop/notes', { method: 'POST', body: { text: 'two' } });
  assert.equal(made.status, 201, made.text);
});

test('a session may what its key may', async () => {
  const reader = await signIn(server, shop.readOnlyKey);
  refused(await reader.call('/v1/acme/shop/notes', { method: 'POST', body: { text: 'x' } }), 403, /READ_ONLY/);
  refused(await reader.call('/admin/v1/organizations'), 403, /no right|Only the operator/);
});

test('a session elsewhere is refused, and has not ended: whether there is a workspace is not told', async () => {
  await server.workspace('acme/other', SCHEMA);
  const { call } = await signIn(server, shop.key);
  const [other, nowhere] = [await call('/v1/acme/other/notes'), await call('/v1/acme/nowhere/notes')];
  refused(other, 403, /not valid here/);
  assert.equal(
    nowhere.text.replace(nowhere.json.error.requestId, ''),
    other.text.replace(other.json.error.requestId, ''),
  );
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
});

test('/api takes no cookies, and /console/api no Authorization', async () => {
  const { cookie, call } = await signIn(server, ADMIN_KEY);
  refused(await server.call('/api/admin/v1/organizations', { headers: { ...PAGE_HEADERS, cookie } }), 401, /needed/);
  const id = cookie.slice(cookie.indexOf('=') + 1);
  refused(await server.call('/api/admin/v1/organizations', { credential: id }), 401, /not valid/);
  refused(await call('/admin/v1/organizations', { credential: ADMIN_KEY }), 401, /Authorization is for/);
  refused(await server.call('/console/api/admin/v1/organizations', { credential: ADMIN_KEY }), 401, /Authorization/);
  refused(await server.call('/console/api/v1/acme/shop/notes', { headers: PAGE_HEADERS }), 401, /sign in again/);
});

test('a wrong key is refused, and so is all that is no key', async () => {
  refused(await postSession(server, { key: `${ADMIN_KEY}x` }), 401, /not valid/);
  for (const body of [{}, { key: 1 }, { key: 'a', code: 'b' }, [], '"text"', { code: null }]) {
    refused(await postSession(server, body), 400, /The body must be/);
  }
});

test('pages of other origins reach nothing', async () => {
  const { call } = await signIn(server, ADMIN_KEY);
  const make = (headers: Record<string, string>, method = 'POST'): Promise<Answer> =>
    call('/admin/v1/organizations', {
      method,
      ...(method === 'GET' ? {} : { body: '{"slug":"evil","name":"Evil"}' }),
      headers,
    });
  for (const site of ['same-site', 'cross-site', 'none']) {
    refused(await make({ 'sec-fetch-site': site }), 403, /only the page/);
    refused(await make({ 'sec-fetch-site': site }, 'GET'), 403, /only the page/);
  }
  refused(await make({ 'x-console': '' }), 403, /X-Console/);
  refused(await make({ 'content-type': 'text/plain' }), 415, /application\/json/);
  const organizations = await server.call('/api/admin/v1/organizations', { credential: ADMIN_KEY });
  assert.equal(organizations.json.data.length, 1);
  const preflight = await call('/admin/v1/organizations', { method: 'OPTIONS', headers: { origin: 'http://evil' } });
  assert.equal(preflight.status, 404);
  assert.equal(preflight.headers.get('access-control-allow-origin'), null);
});

test('signed out is signed out', async () => {
  const { cookie, call } = await signIn(server, shop.key);
  const out = await call('/session', { method: 'DELETE' });
  assert.equal(out.status, 204, out.text);
  assert.match(out.headers.get('set-cookie') ?? '', /^wda_[\w-]{8}=; Max-Age=0; /);
  refused(await call('/v1/acme/shop/notes', { headers: { cookie } }), 401, /sign in again/);
});

test('signing out without a session is refused as any request without one', async () => {
  const { cookie, call } = await signIn(server, shop.key);
  const name = cookie.split('=')[0];
  const madeUp = { cookie: `${name}=${'x'.repeat(43)}` };
  refused(await call('/session', { method: 'DELETE', headers: madeUp }), 401, /sign in again/);
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
});

test('of several cookies of the name the last counts, and all of them end', async () => {
  const theirs = await signIn(server, shop.readOnlyKey);
  const { cookie, call } = await signIn(server, shop.key);
  const headers = { cookie: `${theirs.cookie}; ${cookie}` };
  assert.equal((await call('/admin/v1/session', { headers })).json.data.permissions, 'OWNER');
  assert.equal((await call('/session', { method: 'DELETE', headers })).status, 204);
  refused(await call('/admin/v1/session'), 401, /sign in again/);
  refused(await theirs.call('/admin/v1/session'), 401, /sign in again/);
});

test('a session of a key that expires ends with it, and says so', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { json } = await shop.admin('api-keys', { method: 'POST', body: { name: 'hour', expiresAt } });
  const answer = await postSession(server, { key: json.data.key });
  assert.equal(answer.json.data.expiresAt, expiresAt);
  assert.ok(Number(/Max-Age=(\d+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1]) <= 3600);
});

test('a session ends with its key, at once and in every process', async () => {
  const { json } = await shop.admin('api-keys', { method: 'POST', body: { name: 'short', permissions: 'OWNER' } });
  const { call } = await signIn(server, json.data.key);
  const elsewhere = (): Promise<Answer> =>
    second.call('/console/api/v1/acme/shop/notes', { headers: { ...PAGE_HEADERS, cookie } });
  const { cookie } = await signIn(server, json.data.key);
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
  assert.equal((await elsewhere()).status, 200);
  assert.equal((await shop.admin(`api-keys/${json.data.id}`, { method: 'DELETE' })).status, 204);
  refused(await call('/v1/acme/shop/notes'), 401, /sign in again/);
  refused(await elsewhere(), 401, /sign in again/);
});

test('a session of the operator ends with the key of the operator', async () => {
  const { cookie } = await signIn(server, ADMIN_KEY);
  const ask = (): Promise<Answer> =>
    otherOperator.call('/console/api/admin/v1/organizations', { headers: { ...PAGE_HEADERS, cookie } });
  refused(await ask(), 401, /sign in again/);
  const { call } = await signIn(otherOperator, OTHER_KEY);
  assert.equal((await call('/admin/v1/organizations')).status, 200);
});

test('sessions end when they are idle or old', async () => {
  const set = (change: string): Promise<unknown> => server.database.query(`update wda.session set ${change}`);
  for (const change of ["last_used_at = now() - interval '12 hours'", 'expires_at = now()']) {
    const { call } = await signIn(server, shop.key);
    assert.equal((await call('/v1/acme/shop/notes')).status, 200);
    await set(change);
    refused(await call('/v1/acme/shop/notes'), 401, /sign in again/);
  }
});

test('a key sees and ends its own sessions, the operator all', async () => {
  const owner = await signIn(server, shop.key);
  const reader = await signIn(server, shop.readOnlyKey);
  const operator = await signIn(server, ADMIN_KEY);
  const list = async ({ call }: typeof owner) => (await call('/admin/v1/sessions')).json.data;
  const currentOf = async (one: typeof owner) => (await list(one)).find(({ current }: { current: boolean }) => current);
  const own = await currentOf(owner);
  assert.deepEqual([own.key.permissions, own.key.workspace], ['OWNER', 'shop']);
  const readers = await currentOf(reader);
  assert.ok(!(await list(owner)).some(({ id }: { id: number }) => id === readers.id));
  const all = await list(operator);
  assert.ok([own.id, readers.id].every((id) => all.some((one: { id: number }) => one.id === id)));
  const end = (by: typeof owner, id: number) => by.call(`/admin/v1/sessions/${id}`, { method: 'DELETE' });
  refused(await end(reader, own.id), 404, /does not exist/);
  assert.equal((await end(operator, own.id)).status, 204);
  refused(await owner.call('/v1/acme/shop/notes'), 401, /sign in again/);
  assert.equal((await end(reader, readers.id)).status, 204);
  refused(await reader.call('/admin/v1/sessions'), 401, /sign in again/);
});

test('a link signs in once', async () => {
  const { json } = await server.call('/api/admin/v1/console-links', { method: 'POST', credential: ADMIN_KEY });
  const { url } = json.data;
  assert.match(url, /\/console\/login#[\w-]{43}$/);
  const code = url.split('#')[1];
  const answers = await Promise.all([1, 2, 3].map(() => postSession(server, { code })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  refused(await postSession(server, { code }), 401, /not valid/);
  refused(await postSession(server, { code: 'x' }), 401, /not valid/);
});

test('a link ends after ten minutes', async () => {
  const { json } = await server.call('/api/admin/v1/console-links', { method: 'POST', credential: ADMIN_KEY });
  const [row] = await server.database.query(
    'select extract(epoch from expires_at - now())::int as seconds from wda.console_link',
  );
  assert.ok(Number(row?.seconds) > 500 && Number(row?.seconds) <= 600, String(row?.seconds));
  await server.database.query("update wda.console_link set expires_at = now() - interval '1 second'");
  refused(await postSession(server, { code: json.data.url.split('#')[1] }), 401, /not valid/);
});

test('signing in again leaves no session behind, and a key has a hundred at most', async () => {
  const count = async (): Promise<number> => {
    const [row] = await server.database.query('select count(*)::int as sessions from wda.session');
    return Number(row?.sessions);
  };
  const { cookie } = await signIn(server, shop.readWriteKey);
  const before = await count();
  assert.equal((await postSession(server, { key: shop.readWriteKey }, { cookie })).status, 201);
  assert.equal(await count(), before);
  refused(
    await server.call('/console/api/v1/acme/shop/notes', { headers: { ...PAGE_HEADERS, cookie } }),
    401,
    /sign in again/,
  );
  for (let one = 0; one < 110; one++) await postSession(server, { key: shop.readWriteKey });
  const [row] = await server.database.query(
    `select count(*)::int as sessions from wda.session s join wda.api_key k on k.id = s.api_key_id where k.permissions = 'READ_WRITE'`,
  );
  assert.equal(row?.sessions, 100);
});

test('nobody tries keys quickly', async () => {
  const beganAt = Date.now();
  let tried = 0;
  let answer = await postSession(second, { key: 'wrong' });
  for (; answer.status === 401; tried++) answer = await postSession(second, { key: `wrong-${tried}` });
  assert.equal(answer.status, 429);
  const minutes = (Date.now() - beganAt) / 60_000;
  assert.ok(tried >= 10 && tried <= 10 + Math.ceil(minutes * 10), `${tried} in ${minutes} minutes`);
  assert.ok(Number(answer.headers.get('retry-after')) <= 6);
});

test('a console that is off is nowhere, and takes no sessions', async () => {
  const { cookie } = await signIn(server, ADMIN_KEY);
  const headers = { ...PAGE_HEADERS, cookie };
  assert.equal((await off.call('/console/', { headers })).status, 404);
  assert.equal((await off.call('/console/api/admin/v1/organizations', { headers })).status, 404);
  assert.equal((await off.call('/', { headers: { accept: 'text/html' } })).status, 200);
  const link = await off.call('/api/admin/v1/console-links', { method: 'POST', credential: ADMIN_KEY });
  refused(link, 404, /WDA_CONSOLE/);
});

test('imports, exports and limits are the same for sessions', async () => {
  const { call } = await signIn(server, shop.key);
  const imported = await call('/v1/acme/shop/notes/_import', {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: 'text\nfrom a file\n',
  });
  assert.equal(imported.status, 200, imported.text);
  const file = await call('/v1/acme/shop/notes/_export?format=csv&fields=text&filter=text,startsWith,from');
  assert.equal(file.status, 200, file.text);
  assert.match(file.text, /^text\r?\nfrom a file\r?\n$/);
  refused(await call('/v1/acme/shop/nothing'), 404, /nothing/);
  const nowhere = await call('/nowhere');
  assert.equal(nowhere.status, 404);
  assert.equal(nowhere.headers.get('access-control-allow-origin'), null);
});

test('a browser is led to the console, a program to the API', async () => {
  const browser = await fetch(`${server.url}/`, { headers: { accept: 'text/html,*/*;q=0.8' }, redirect: 'manual' });
  assert.deepEqual([browser.status, browser.headers.get('location')], [302, '/console/']);
  assert.equal((await server.call('/', { headers: { accept: 'application/json' } })).status, 200);
});

test('the page keeps others out', async () => {
  const { headers } = await fetch(`${server.url}/console/`);
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
  assert.match(headers.get('permissions-policy') ?? '', /camera=\(\).*clipboard-write=\(self\)/);
  assert.equal(headers.get('access-control-allow-origin'), null);
});
