// People sign in to the console with an OpenID provider, and have the rights of their memberships from then on, in the admin
// API, the data API, the activity and the history of records.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { PAGE_HEADERS, signIn } from '../../support/console-client.ts';
import { forge } from '../../support/issuer.ts';
import {
  type Browser,
  makeBrowser,
  type PersonClaims,
  signAs,
  startPeopleProvider,
} from '../../support/people-provider.ts';
import { prepare, use } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call, startTestServer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const PUBLIC = 'https://data.example.com';
const provider = use(
  () => startPeopleProvider(PUBLIC),
  (started) => started.stop(),
);
const server = use(
  () => startTestServer(provider.settings),
  (started) => started.stop(),
);
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

const ADMIN = '/api/admin/v1';
const SHOP = '/organizations/acme/workspaces/shop';
const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(`${ADMIN}${path}`, { method, credential: ADMIN_KEY, body });

/** Makes a member, and returns its id. */
async function invite(path: string, member: object): Promise<number> {
  const answer = await admin('POST', `${path}/members`, member);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.data.id;
}

const verified = (sub: string, name: string): PersonClaims => ({
  sub,
  name,
  email: `${sub}@example.com`,
  email_verified: true,
});

interface SignedIn {
  readonly browser: Browser;
  call(path: string, call?: Call): Promise<Answer>;
}

const sessionOf =
  (browser: Browser) =>
  (path: string, { headers, ...rest }: Call = {}) =>
    server.call(`/console/api${path}`, {
      headers: { ...PAGE_HEADERS, cookie: browser.cookies(PUBLIC), ...headers },
      ...rest,
    });

async function comeAs(account: PersonClaims, to = '/console/'): Promise<SignedIn> {
  provider.choose(account);
  const browser = makeBrowser(PUBLIC, server.url);
  const visit = await browser.visit(
    `${PUBLIC}/console/sign-in?to=${encodeURIComponent(to)}`,
    `${PUBLIC}${to.split('?')[0]}`,
  );
  assert.equal(visit.url, `${PUBLIC}${to}`, visit.text);
  return { browser, call: sessionOf(browser) };
}

/** Begins a sign-in, and returns the browser and the URL that the provider sends it back to. */
async function beginAs(account: PersonClaims): Promise<{ readonly browser: Browser; readonly back: string }> {
  provider.choose(account);
  const browser = makeBrowser(PUBLIC, server.url);
  const { url } = await browser.visit(`${PUBLIC}/console/sign-in`, `${PUBLIC}/console/sign-in/callback`);
  return { browser, back: url };
}

const ADA = verified('ada', 'Ada Lovelace');

test('who is invited by a mail address is a member after the first sign-in, and acts as its role says', async () => {
  const id = await invite(SHOP, { email: 'ADA@Example.com', role: 'editor' });
  const { call } = await comeAs(ADA, '/console/acme/shop?filter=text,eq,one');
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

test('strangers, and mail addresses that are not verified, get a page that says whom to ask, and no session', async () => {
  await invite(SHOP, { email: 'mallory@example.com', role: 'owner' });
  for (const account of [verified('stranger', 'S <b>'), { ...verified('mallory', 'M'), email_verified: false }]) {
    const { browser, back } = await beginAs(account);
    const page = await browser.visit(back);
    assert.equal(page.status, 403);
    assert.match(page.text, /Ask an owner of your workspace/);
    assert.doesNotMatch(page.text, /<b>/);
    assert.equal((await sessionOf(browser)('/admin/v1/session')).status, 401);
  }
});

test('an address is that of an invitation only as it stands, and verified only next to its own mark', async () => {
  for (const name of ['ken', 'kim', 'vic']) await invite(SHOP, { email: `${name}@example.com`, role: 'owner' });
  const isRefused = async (account: PersonClaims, forging?: Parameters<typeof provider.forgeNext>[0]) => {
    const { browser, back } = await beginAs(account);
    provider.forgeNext(forging);
    const { status, text } = await browser.visit(back, `${PUBLIC}/console/`);
    assert.equal(status, 403, `${account.sub}: ${text}`);
  };
  await isRefused({ ...verified('kelvin', 'K'), email: '\u212Aen@example.com' });
  await isRefused({ ...verified('space', 'K'), email: '\u00A0kim@example.com' });
  await isRefused(verified('mixed', 'M'), (claims, key) => signAs({ ...claims, email: 'vic@example.com' }, key));
  await isRefused({ ...verified('unverified', 'M'), email_verified: false }, (claims, key) =>
    signAs({ ...claims, email_verified: true, name: 'M' }, key),
  );
  assert.equal(
    (await comeAs({ ...verified('vic', 'Vic'), email: 'VIC@example.com' })).browser.setCookies.length > 0,
    true,
  );
});

test('a subject that is too long is refused, and roles that are too long are none', async () => {
  await invite(SHOP, { claim: 'long', role: 'viewer' });
  const { browser, back } = await beginAs({ sub: 'lee', name: 'Lee', groups: ['long'] });
  // What cannot be made shorter by PostgreSQL.
  const subject = randomBytes(3000).toString('base64');
  const more = { sub: subject, name: 'Lee', email: 'lee@example.com', groups: ['long'] };
  provider.forgeNext((claims, key) => signAs({ ...claims, ...more }, key));
  const page = await browser.visit(back);
  assert.equal(page.status, 400, page.text);
  await comeAs({ sub: 'lee', name: 'Lee', groups: ['x'.repeat(10_000), 'long'] });
  const [person] = await server.database.query("select claims from wda.person where subject = 'lee'");
  assert.deepEqual(person?.claims, ['long']);
});

test('an answer counts once, in the browser that began, and of this provider', async () => {
  const { browser, back } = await beginAs(ADA);
  const other = makeBrowser(PUBLIC, server.url);
  assert.equal((await other.visit(back)).status, 400);
  await other.visit(`${PUBLIC}/console/sign-in`, `${provider.url}/auth`);
  assert.equal((await other.visit(back)).status, 400);
  const mixed = new URL(back);
  mixed.searchParams.set('iss', 'https://evil.example.com');
  assert.match((await browser.visit(mixed.href)).text, /\(issuer\)/);
  mixed.searchParams.delete('iss');
  assert.match((await browser.visit(mixed.href)).text, /\(issuer\)/);
  assert.equal((await browser.visit(back, `${PUBLIC}/console/`)).url, `${PUBLIC}/console/`);
});

test('a sign-in that a process with a clock ahead has begun is completed by another, up to a minute', async ({
  mock,
}) => {
  for (const [seconds, end] of [
    [50, `${PUBLIC}/console/`],
    [90, `${PUBLIC}/console/sign-in/callback`],
  ] as const) {
    provider.choose(ADA);
    const browser = makeBrowser(PUBLIC, server.url);
    mock.timers.enable({ apis: ['Date'], now: Date.now() + seconds * 1000 });
    const { url } = await browser.visit(`${PUBLIC}/console/sign-in`, `${provider.url}/auth`);
    mock.timers.reset();
    const visit = await browser.visit(url, `${PUBLIC}/console/`);
    assert.equal(visit.url.split('?')[0], end, visit.text);
  }
});

test('a code that was used is refused, and each sign-in is a session of its own', async () => {
  const { browser, back } = await beginAs(ADA);
  const planted = browser.cookies(PUBLIC);
  const [, name = ''] = /(__Host-wda_[^_=]+)=/.exec((await comeAs(ADA)).browser.cookies(PUBLIC)) ?? [];
  const answer = (cookie: string) =>
    fetch(back.replace(PUBLIC, server.url), { redirect: 'manual', headers: { cookie } });
  const first = await answer(`${planted}; ${name}=${'a'.repeat(43)}`);
  assert.equal(first.status, 302);
  const [cookie = ''] = first.headers.getSetCookie();
  assert.match(cookie, /HttpOnly; SameSite=Strict; Secure/);
  assert.ok(!cookie.includes('a'.repeat(43)));
  const second = await answer(planted);
  assert.equal(second.status, 400);
  assert.deepEqual(second.headers.getSetCookie(), []);
});

test('ID tokens that are forged, for others, or of another sign-in are refused', async () => {
  const forgeries: readonly (readonly [string, Parameters<typeof provider.forgeNext>[0]])[] = [
    ['alg none', (claims) => forge({ alg: 'none' }, claims)],
    ['HS256', (claims) => forge({ alg: 'HS256', kid: 'one' }, claims, () => Buffer.from('x'))],
    ['another key', (claims) => signAs(claims, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)],
    ['nonce', (claims, key) => signAs({ ...claims, nonce: 'other' }, key)],
    ['no nonce', (claims, key) => signAs({ ...claims, nonce: undefined }, key)],
    ['audience', (claims, key) => signAs({ ...claims, aud: 'other' }, key)],
    ['party', (claims, key) => signAs({ ...claims, aud: ['console', 'other'], azp: 'other' }, key)],
    ['parties', (claims, key) => signAs({ ...claims, aud: ['console', 'other'] }, key)],
    ['issuer', (claims, key) => signAs({ ...claims, iss: 'https://evil.example.com' }, key)],
    ['expired', (claims, key) => signAs({ ...claims, exp: 1 }, key)],
    ['subject', (claims, key) => signAs({ ...claims, sub: 'olga' }, key)],
  ];
  for (const [what, forging] of forgeries) {
    const { browser, back } = await beginAs(ADA);
    provider.forgeNext(forging);
    const page = await browser.visit(back);
    assert.equal(page.status, 400, `${what}: ${page.text}`);
    assert.doesNotMatch(page.text, /eyJ|secret/, what);
    assert.equal((await sessionOf(browser)('/admin/v1/session')).status, 401, what);
  }
});

test('a return address of elsewhere becomes the start of the console', async () => {
  const addresses = [
    'https://evil.example.com/',
    '//evil.example.com',
    '/console/\\evil',
    '/console//evil',
    '/api',
    '/console/../api',
  ];
  for (const to of [...addresses, '/console/sign-in']) {
    provider.choose(ADA);
    const { url } = await makeBrowser(PUBLIC, server.url).visit(
      `${PUBLIC}/console/sign-in?to=${encodeURIComponent(to)}`,
      `${PUBLIC}/console/`,
    );
    assert.equal(url, `${PUBLIC}/console/`, to);
  }
});

test('cookies of the sign-in are for this host and no script; keys sign in as before', async () => {
  const { browser } = await comeAs(ADA);
  const [ticket = ''] = browser.setCookies.filter((line) => line.startsWith('__Host-wda_sign_in_'));
  assert.match(ticket, /Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  const { call } = await signIn(server, shop.key);
  assert.equal((await call('/admin/v1/session')).json.data.kind, 'owner');
});

test('while the provider is away, a page says so', async () => {
  const { browser, back } = await beginAs(ADA);
  await provider.stop();
  const page = await browser.visit(back);
  await provider.start();
  assert.equal(page.status, 503, page.text);
  assert.match(page.text, /Acme does not answer/);
});
