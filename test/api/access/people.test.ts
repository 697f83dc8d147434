// People have the rights of their memberships from their sign-in on, in the admin API, the data API, the activity and the
// history of records.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_HEADERS } from '../../support/console-client.ts';
import { PUBLIC, usePeople, verified } from '../../support/people.ts';
import { prepare, use } from '../../support/resources.ts';
import { type Answer, startTestServer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const { provider, server, admin, invite, comeAs, beginAs } = usePeople();
const NOTES = { entities: { notes: { fields: { text: { type: 'text' } }, settings: { changes: 'history' } } } };
/** Another process of the installation. */
const second = use(
  () => startTestServer(provider.settings, server.database),
  (started) => started.stop(),
);
const shop = use(() => server.workspace('acme/shop', NOTES));
prepare(async () => {
  await server.workspace('other/desk', NOTES);
  await shop.create('notes', [{ text: 'one' }]);
});

const SHOP = '/organizations/acme/workspaces/shop';

test('who is invited by a mail address is a member after the first sign-in, and acts as its role says', async () => {
  const id = await invite(SHOP, { email: 'ADA@Example.com', role: 'editor' });
  const { call } = await comeAs(verified('ada', 'Ada Lovelace'), '/console/acme/shop?filter=text,eq,one');
  assert.deepEqual((await call('/admin/v1/session')).json.data, {
    kind: 'person',
    name: 'Ada Lovelace',
    permissions: null,
    entities: null,
    workspaces: [{ organization: 'acme', slug: 'shop', name: 'shop', permissions: 'READ_WRITE' }],
    organizations: [],
    expiresAt: (await call('/admin/v1/session')).json.data.expiresAt,
  });
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
  assert.equal((await call('/v1/acme/shop/notes', { method: 'POST', body: { text: 'hers' } })).status, 201);
  assert.equal((await call('/v1/other/desk/notes')).status, 403);
  assert.equal((await call(`/admin/v1${SHOP}/api-keys`)).status, 403);
  const { data } = (await admin('GET', `${SHOP}/members`)).json;
  assert.deepEqual([data[0].id, data[0].email, data[0].person.subject], [id, 'ada@example.com', 'ada']);
});

test('a viewer reads and writes nothing; another role holds from the next request on', async () => {
  const id = await invite(SHOP, { email: 'vera@example.com', role: 'viewer' });
  const { call } = await comeAs(verified('vera', 'Vera'));
  assert.equal((await call('/v1/acme/shop/notes')).status, 200);
  const write = (): Promise<Answer> => call('/v1/acme/shop/notes', { method: 'POST', body: { text: 'hers' } });
  const view = { entity: 'notes', name: 'hers' };
  const save = (): Promise<Answer> => call(`/admin/v1${SHOP}/views`, { method: 'POST', body: view });
  assert.equal((await write()).status, 403);
  assert.deepEqual(
    [(await call(`/admin/v1${SHOP}/views`)).status, (await save()).json.error.reason],
    [200, 'READ_ONLY'],
  );
  assert.equal((await admin('PUT', `${SHOP}/members/${id}`, { role: 'editor' })).status, 200);
  assert.deepEqual([(await write()).status, (await save()).status], [201, 201]);
});

test('the end of a membership ends its sessions', async () => {
  const id = await invite(SHOP, { email: 'eve@example.com', role: 'owner' });
  const { call } = await comeAs(verified('eve', 'Eve'));
  assert.equal((await call(`/admin/v1${SHOP}/api-keys`)).status, 200);
  assert.equal((await admin('DELETE', `${SHOP}/members/${id}`)).status, 204);
  assert.equal((await call('/v1/acme/shop/notes')).status, 401);
  assert.equal((await call('/admin/v1/session')).status, 401);
  const stranger = await beginAs(verified('eve', 'Eve'));
  assert.equal((await stranger.browser.visit(stranger.back)).status, 403);
  await invite(SHOP, { email: 'eve@example.com', role: 'viewer' });
  assert.equal((await call('/admin/v1/session')).status, 401, 'an invitation opens no former session');
  const again = await comeAs(verified('eve', 'Eve'));
  assert.equal((await again.call('/v1/acme/shop/notes')).status, 200);
});

test('in another process, too: a session is there, and it and its stream end with the membership', async () => {
  const id = await invite(SHOP, { email: 'sue@example.com', role: 'viewer' });
  const { browser } = await comeAs(verified('sue', 'Sue'));
  const headers = { ...PAGE_HEADERS, cookie: browser.cookies(PUBLIC) };
  const list = (): Promise<Answer> => second.call('/console/api/v1/acme/shop/notes', { headers });
  assert.equal((await list()).status, 200);
  const stream = await fetch(`${second.url}/console/api/v1/acme/shop/notes/_changes`, {
    headers: { ...headers, accept: 'text/event-stream' },
  });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal((await admin('DELETE', `${SHOP}/members/${id}`)).status, 204);
  assert.equal((await list()).status, 401);
  await stream.text();
});

test('an owner of an organization owns its workspaces, and no other organization', async () => {
  await invite('/organizations/acme', { email: 'olga@example.com', role: 'owner' });
  const { call } = await comeAs(verified('olga', 'Olga'));
  assert.equal((await call('/admin/v1/organizations/acme')).status, 200);
  assert.equal((await call('/admin/v1/organizations/acme/workspaces')).json.data.length, 1);
  assert.equal((await call(`/admin/v1${SHOP}/schema`)).status, 200);
  const added = await call('/admin/v1/organizations/acme/members', {
    method: 'POST',
    body: { email: 'new@example.com', role: 'viewer' },
  });
  assert.deepEqual([added.status, added.json.data.createdBy.name], [201, 'Olga']);
  assert.equal((await call('/admin/v1/migrations')).status, 200);
  for (const path of [
    '/organizations',
    '/organizations/other',
    '/organizations/other/members',
    '/organizations/nothing',
  ])
    assert.equal((await call(`/admin/v1${path}`)).status, 403, path);
  const body = { slug: 'fresh' };
  assert.equal((await call('/admin/v1/organizations/acme/workspaces', { method: 'POST', body })).status, 403);
});

test('an owner cannot leave an organization or a workspace without one; the operator may', async () => {
  const id = await invite('/organizations/other', { email: 'otto@example.com', role: 'owner' });
  await invite('/organizations/other', { email: 'waiting@example.com', role: 'owner' });
  const { call } = await comeAs(verified('otto', 'Otto'));
  const path = `/organizations/other/members/${id}`;
  const refused = await call(`/admin/v1${path}`, { method: 'DELETE', body: {} });
  assert.deepEqual([refused.status, refused.json.error.reason], [409, 'LAST_OWNER']);
  assert.equal((await call(`/admin/v1${path}`, { method: 'PUT', body: { role: 'viewer' } })).status, 409);
  assert.equal((await admin('DELETE', path)).status, 204);
});

test('who has the value of a claim is a member, and the operator by another one', async () => {
  await invite(SHOP, { claim: 'support', role: 'viewer' });
  const support = await comeAs({ sub: 'sam', name: 'Sam', groups: ['support', 'all'] });
  assert.equal((await support.call('/v1/acme/shop/notes')).status, 200);
  const stream = await fetch(`${server.url}/console/api/v1/acme/shop/notes/_changes`, {
    headers: { ...PAGE_HEADERS, cookie: support.browser.cookies(PUBLIC), accept: 'text/event-stream' },
  });
  const { browser, back } = await beginAs({ sub: 'sam', name: 'Sam', groups: ['all'] });
  assert.equal((await browser.visit(back)).status, 403);
  assert.equal((await support.call('/v1/acme/shop/notes')).status, 401);
  await stream.text();
  const operator = await comeAs({ sub: 'root', name: 'Rosa', groups: ['data-operators'] });
  const { data } = (await operator.call('/admin/v1/session')).json;
  assert.deepEqual([data.kind, data.name], ['operator', 'Rosa']);
  assert.equal((await operator.call('/admin/v1/organizations')).status, 200);
  assert.equal((await operator.call('/v1/acme/shop/notes')).status, 200);
  const without = await comeAs({ sub: 'root', name: 'Rosa', groups: ['support'] });
  assert.equal((await without.call('/admin/v1/organizations')).status, 403);
  assert.equal((await operator.call('/admin/v1/organizations')).status, 403);
});

test('activity and history name the person', async () => {
  await invite(SHOP, { email: 'hal@example.com', role: 'owner' });
  const { call } = await comeAs(verified('hal', 'Hal'));
  const key = await call(`/admin/v1${SHOP}/api-keys`, { method: 'POST', body: { name: 'by hal' } });
  assert.deepEqual(key.json.data.createdBy, {
    kind: 'person',
    id: key.json.data.createdBy.id,
    name: 'Hal',
    subject: 'hal',
  });
  const [activity] = (await admin('GET', `${SHOP}/activity?action=apiKeys.create&actor=Hal`)).json.data;
  assert.deepEqual(activity.actor, key.json.data.createdBy);
  const { data } = (await call('/v1/acme/shop/notes', { method: 'POST', body: { text: 'by hal' } })).json;
  const [event] = (await shop.call(`notes/${data.id}/_history`)).json.data;
  const { kind, name, subject, via } = event.actor;
  assert.deepEqual({ kind, name, subject, via }, { kind: 'person', name: 'Hal', subject: 'hal', via: 'console' });
  const [session] = (await call('/admin/v1/sessions')).json.data;
  assert.deepEqual([session.person, session.key], [{ name: 'Hal', email: 'hal@example.com' }, null]);
});

test('a job of a person goes on with the rights of the person, and ends with the membership', async () => {
  const lines = Array.from({ length: 10_100 }, () => '{"text":"many"}').join('\n');
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const imported = await shop.call('notes/_import', { method: 'POST', body: lines, headers });
  assert.equal(imported.status, 200, imported.text);
  const id = await invite(SHOP, { email: 'joe@example.com', role: 'editor' });
  const { call } = await comeAs(verified('joe', 'Joe'));
  const run = async (set: object, whileItWaits: () => Promise<unknown> = async () => undefined) => {
    const body = { filter: { field: 'text', op: 'ne', value: 'one' }, set, max: 20_000 };
    const started = await call('/v1/acme/shop/notes/_update', { method: 'POST', body });
    assert.equal(started.status, 202, started.text);
    await whileItWaits();
    const job = async () => (await shop.call(`_jobs/${started.json.data.id}`)).json.data;
    await until('the job ends', async () => (await job()).state !== 'running');
    return job();
  };
  assert.equal((await run({ text: 'by joe' })).state, 'succeeded');
  // A job that is never due makes the next one wait.
  await server.database.query(`insert into wda.write_job (workspace_id, entity, operation, owner, matched, due_at)
    select id, 0, 'update', 'parked', 0, 'infinity' from wda.workspace where slug = 'shop'`);
  const ended = await run({ text: 'too late' }, async () => {
    assert.equal((await admin('DELETE', `${SHOP}/members/${id}`)).status, 204);
    await server.database.query("delete from wda.write_job where owner = 'parked'");
  });
  assert.deepEqual([ended.state, ended.error?.reason], ['failed', 'INVALID_CREDENTIAL']);
});
