// The two doors to the handlers of the API: /api for credentials, /console/api for sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_HEADERS, postSession, signIn } from '../support/console-client.ts';
import { ADMIN_KEY, type Answer } from '../support/server.ts';
import { prepare, use, useServer } from '../support/use.ts';

const server = useServer();
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

test('the answers at both doors are the same', async () => {
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
  refused(await reader.call('/admin/v1/organizations'), 403, /no right|Only the instance/);
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
