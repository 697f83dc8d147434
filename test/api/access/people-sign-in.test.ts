// People sign in to the console with an OpenID provider: who is refused, and which answers of a provider count.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { signIn } from '../../support/console-client.ts';
import { forge } from '../../support/issuer.ts';
import { callFrom, PUBLIC, usePeople, verified } from '../../support/people.ts';
import { makeBrowser, type PersonClaims, signAs } from '../../support/people-provider.ts';
import { prepare, use } from '../../support/resources.ts';

const { provider, server, invite, comeAs, beginAs } = usePeople();
const NOTES = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const shop = use(() => server.workspace('acme/shop', NOTES));

const SHOP = '/organizations/acme/workspaces/shop';
const ADA = verified('ada', 'Ada Lovelace');
prepare(async () => {
  await invite(SHOP, { email: 'ada@example.com', role: 'editor' });
  await invite('/organizations/acme', { email: 'olga@example.com', role: 'owner' });
  await comeAs(verified('olga', 'Olga'));
});

test('strangers, and mail addresses that are not verified, get a page that says whom to ask, and no session', async () => {
  await invite(SHOP, { email: 'mallory@example.com', role: 'owner' });
  for (const account of [verified('stranger', 'S <b>'), { ...verified('mallory', 'M'), email_verified: false }]) {
    const { browser, back } = await beginAs(account);
    const page = await browser.visit(back);
    assert.equal(page.status, 403);
    assert.match(page.text, /Ask an owner of your workspace/);
    assert.doesNotMatch(page.text, /<b>/);
    assert.equal((await callFrom(server, browser)('/admin/v1/session')).status, 401);
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
    assert.equal((await callFrom(server, browser)('/admin/v1/session')).status, 401, what);
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
