// A workspace that gets another slug: what goes with it, and how requests to the former slug are redirected, or are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../../client/src/index.ts';
import { noteMessage } from '../../support/error-catalog.ts';
import { readMessages } from '../../support/event-stream.ts';
import { startReceiver } from '../../support/receiver.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type TestWorkspace } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ALL = '/api/admin/v1/organizations/acme/workspaces';
const SCHEMA = { entities: { notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } } } };

interface Shape {
  notes: {
    row: { id: number; text: string | null };
    create: { text?: string | null };
    update: { text?: string | null };
    relations: Record<never, never>;
  };
}

const ENV = { WDA_WEBHOOK_PRIVATE_NETWORK: 'allow' };
const server = useServer(ENV);
const other = useServer(ENV, server);
const receiver = use(startReceiver, (one) => one.stop());
let count = 0;

/** Makes a workspace of its own for a test, known to both processes. */
async function open(): Promise<TestWorkspace & { readonly slug: string }> {
  const slug = `shop${++count}`;
  const shop = await server.workspace(`acme/${slug}`, SCHEMA);
  await shop.create('notes', [{ text: 'one' }]);
  for (const one of [server, other])
    assert.equal((await one.call(`/api/v1/acme/${slug}/notes`, { credential: shop.key })).status, 200);
  return { ...shop, slug };
}

const rename = (from: string, body: object, credential = ADMIN_KEY): Promise<Answer> =>
  server.call(`${ALL}/${from}`, { method: 'PUT', body, credential });

async function renamed(from: string, body: object, credential?: string): Promise<void> {
  const answer = await rename(from, body, credential);
  assert.equal(answer.status, 200, answer.text);
}

/** Requests without following redirects. */
async function ask(url: string, credential: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${credential}`, ...init.headers };
  const response = await fetch(url, { ...init, headers, redirect: 'manual' });
  const text = await response.text();
  const error = text === '' ? undefined : JSON.parse(text).error;
  if (error !== undefined) noteMessage(error.message);
  return {
    status: response.status,
    location: response.headers.get('location'),
    cache: response.headers.get('cache-control'),
    code: error?.code,
  };
}

test('without days the former slug is answered as if it had never been, and everything else goes on', async () => {
  const { slug, key, readOnlyKey } = await open();
  const { json } = await server.call(`/api/v1/acme/${slug}/notes/_changes?after=now`, { credential: key });
  await renamed(slug, { slug: `${slug}-new` }, key);
  for (const one of [server, other]) {
    const never = await one.call('/api/v1/acme/never/notes', { credential: key });
    const former = await one.call(`/api/v1/acme/${slug}/notes`, { credential: key });
    assert.deepEqual([former.status, former.json], [never.status, never.json]);
    const path = `/api/v1/acme/${slug}-new/notes`;
    assert.equal((await one.call(path, { credential: readOnlyKey })).status, 200);
    const changes = `${path}/_changes?after=${encodeURIComponent(json.meta.cursor)}`;
    assert.deepEqual((await one.call(changes, { credential: key })).json.data, []);
  }
  assert.equal((await server.call(`${ALL}/${slug}`, { credential: ADMIN_KEY })).status, 404);
  assert.equal((await server.call(`${ALL}/${slug}`, { credential: key })).status, 403);
});

test('with days whoever has a credential is redirected, with path and query, in every process and both APIs', async () => {
  const { slug, key, readOnlyKey } = await open();
  const stranger = await open();
  await renamed(slug, { slug: `${slug}-new`, redirectDays: 30 }, key);
  for (const { url } of [server, other]) {
    const path = (name: string, rest: string): string => `/api/v1/acme/${name}${rest}`;
    const redirects = async (rest: string, credential: string, init: RequestInit = {}): Promise<void> => {
      const { status, location, cache, code } = await ask(url + path(slug, rest), credential, init);
      assert.deepEqual([status, location, code], [308, path(`${slug}-new`, rest), 'NOT_FOUND'], rest);
      assert.equal(cache, 'private, no-cache');
    };
    for (const credential of [key, readOnlyKey, ADMIN_KEY])
      await redirects('/notes?size=1&filter=text,eq,a%2Fb', credential);
    const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"two"}' };
    for (const rest of ['', '/', '/notes/1', '/nothing', '/_mcp', '/_openapi.json']) await redirects(rest, key);
    await redirects('/notes', key, body);
    for (const credential of [stranger.key, 'wda_no'])
      assert.equal((await ask(url + path(slug, '/notes'), credential)).status, 401);
    assert.equal((await fetch(url + path(slug, '/notes'), { redirect: 'manual' })).status, 401);
    const admin = await ask(`${url}${ALL}/${slug}/api-keys?size=1`, key);
    assert.deepEqual([admin.status, admin.location], [308, `${ALL}/${slug}-new/api-keys?size=1`]);
    assert.equal((await ask(`${url}${ALL}/${slug}/api-keys`, stranger.key)).status, 403);
  }
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
  };
  await renamed(`${slug}-new`, { corsOrigins: ['https://a.example'] });
  const allowed = await fetch(`${other.url}/api/v1/acme/${slug}/notes`, preflight);
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://a.example');
});

test('clients follow the redirect with their credential, and a stream goes on where it was', async () => {
  const { slug, key } = await open();
  const client = createClient<Shape>({ url: other.url, workspace: `acme/${slug}`, credential: key });
  const notes = client.entity('notes');
  const watched: string[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of notes.watch({ signal: stop.signal }))
      if (event.type === 'created') watched.push(event.record.text ?? '');
  })().catch(() => undefined);
  const response = await fetch(`${other.url}/api/v1/acme/${slug}/notes/_changes`, {
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
  });
  const messages = readMessages(response.body as unknown as AsyncIterable<Uint8Array>);
  const { id } = (await messages.next()).value as { readonly id: string };
  await renamed(slug, { slug: `${slug}-new`, redirectDays: 1 });
  assert.deepEqual((await messages.next()).value?.data.code, 'WORKSPACE_RENAMED');
  await notes.create({ text: 'by the former slug' });
  assert.equal((await notes.list()).data.length, 2);
  const again = await fetch(`${other.url}/api/v1/acme/${slug}/notes/_changes`, {
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'last-event-id': id },
  });
  const rest = readMessages(again.body as unknown as AsyncIterable<Uint8Array>);
  assert.equal((await rest.next()).value?.data.record.text, 'by the former slug');
  await rest.return(undefined);
  await until('it is watched', () => watched.length === 1);
  stop.abort();
  await watching;
});

test('a redirect leads to the present slug, ends with its days, and when the slug is given to a workspace', async () => {
  const { slug, key } = await open();
  const at = async (name: string) => {
    const { status, location } = await ask(`${other.url}/api/v1/acme/${name}/notes`, key);
    return [status, location];
  };
  await renamed(slug, { slug: `${slug}-b`, redirectDays: 10 });
  await renamed(`${slug}-b`, { slug: `${slug}-c`, redirectDays: 365 });
  for (const former of [slug, `${slug}-b`]) assert.deepEqual(await at(former), [308, `/api/v1/acme/${slug}-c/notes`]);
  // The days of the first one are over.
  await server.database.query(`update wda.slug_holder set redirect_until = now() where slug = '${slug}'`);
  await until('the redirect has ended', async () => (await at(slug))[0] === 401);
  assert.deepEqual(await at(`${slug}-b`), [308, `/api/v1/acme/${slug}-c/notes`]);
  // Back to a former slug, which does not redirect any more, not even when it is given up.
  await renamed(`${slug}-c`, { slug: `${slug}-b` });
  assert.deepEqual(await at(`${slug}-b`), [200, null]);
  await renamed(`${slug}-b`, { slug: `${slug}-d` });
  assert.deepEqual(await at(`${slug}-b`), [401, null]);
  await renamed(`${slug}-d`, { slug: `${slug}-e`, redirectDays: 10 });
  // Only the operator gives a former slug to another workspace, and then it redirects no more.
  const { slug: other2, key: otherKey } = await open();
  assert.equal((await rename(other2, { slug: `${slug}-d` }, otherKey)).status, 409);
  await renamed(other2, { slug: `${slug}-d` });
  assert.deepEqual(await at(`${slug}-d`), [401, null]);
});

test('days without another slug, or out of their range, are refused', async () => {
  const { slug } = await open();
  for (const body of [
    { redirectDays: 5 },
    { slug, redirectDays: 5 },
    ...[0, 366, 1.5, '5', null].map((redirectDays) => ({ slug: 'a', redirectDays })),
  ]) {
    const { status, json } = await rename(slug, body);
    assert.deepEqual([status, json.error.details[0].field], [400, 'redirectDays'], JSON.stringify(body));
  }
  assert.equal((await server.call(`${ALL}/${slug}`, { credential: ADMIN_KEY })).json.data.slug, slug);
});

test('webhooks and the activity go on under the new slug', async () => {
  const { slug, key, admin } = await open();
  await admin('webhooks', { method: 'POST', body: { name: 'hook', url: `${receiver.origin}/hook` } });
  await renamed(slug, { slug: `${slug}-new`, redirectDays: 2 });
  const path = `/api/v1/acme/${slug}-new/notes`;
  await other.call(path, { method: 'POST', body: { text: 'after' }, credential: key });
  await until('it is delivered', () => receiver.messages.some(({ body }) => body.includes('"after"')));
  const { data } = (await server.call(`${ALL}/${slug}-new/activity?action=workspaces.update`, { credential: key }))
    .json;
  assert.deepEqual(data[0].details, { slug: `${slug}-new`, redirectDays: 2 });
});
