// examples/sign-up: the commands of its README, its requests, and its page in a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Options, startSignUp } from '../../examples/sign-up/start.ts';
import { browserSkip, useBrowser, violationsOf } from '../support/browser.ts';
import { forge, signature } from '../support/issuer.ts';
import { readCommands, runCommands } from '../support/page-commands.ts';
import { prepare, use, useIssuer, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';

const AUDIENCE = 'https://product.example';
const server = useServer(LOCAL_PROVIDER);
const issuer = useIssuer();
const start = (more: Partial<Options> = {}) =>
  startSignUp({
    port: 0,
    url: server.url,
    operatorKey: ADMIN_KEY,
    organization: 'customers',
    follows: 'product',
    provider: { issuer: issuer.url, audience: AUDIENCE },
    maxSignUpsPerHour: 4,
    ...more,
  });
const page = use(start, (started) => started.close());

prepare(async () => {
  const [serve = '', setUp = '', run = '', ...more] = readCommands('examples/sign-up/README.md');
  assert.match(serve, /WDA_IDP_PRIVATE_NETWORK=allow npm start/);
  assert.match(run, /WDA_KEY=wda_admin_… FOLLOWS=product npm run sign-up/);
  assert.deepEqual(more, []);
  await runCommands(setUp.replace('wda_admin_…', ADMIN_KEY), { WDA_URL: server.url });
});

async function post(body: unknown, { url } = page, type = 'application/json') {
  const answer = await fetch(`${url}/sign-ups`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(!text.includes(ADMIN_KEY));
  return { status: answer.status, body: JSON.parse(text), headers: answer.headers };
}

const readUsage = async (workspace: string, key: string) => {
  const answer = await fetch(`${page.url}/usage?workspace=${workspace}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
};

const call = (workspace: string, path: string, credential: string, body?: object) =>
  server.call(`/api/v1/customers/${workspace}/${path}`, { credential, body, method: body ? 'POST' : 'GET' });

/** A token of the provider for a member of the customer. */
const makeToken = (organization: string): string => {
  const { kid, privateKey } = issuer.key('ES256');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = { iss: issuer.url, aud: AUDIENCE, exp, sub: 'user', roles: ['member'], organization };
  return forge({ alg: 'ES256', kid, typ: 'JWT' }, claims, signature('ES256', privateKey));
};

test('a customer gets a workspace with schema, provider, key and limits', async () => {
  const { status, body, headers } = await post({ company: ' Bäckerei Süß & Söhne ', plan: 'free' });
  assert.equal(status, 201);
  assert.equal(headers.get('cache-control'), 'no-store');
  const { workspace, api, key } = body;
  assert.match(workspace, /^backerei-su-sohne-[0-9a-f]{8}$/);
  assert.equal(api, `${server.url}/api/v1/customers/${workspace}`);
  const { json } = await server.call(`/api/admin/v1/organizations/customers/workspaces/${workspace}`, {
    credential: ADMIN_KEY,
  });
  assert.equal(json.data.name, 'Bäckerei Süß & Söhne');
  assert.deepEqual(json.data.follows, { schema: 'product', version: 1 });
  assert.deepEqual(json.data.limits, { maxRecords: 1_000, maxBytes: 50_000_000, maxRequestsPerMinute: 60 });
  assert.equal((await call(workspace, 'projects', key, { name: 'Bread' })).status, 201);
  assert.equal((await call(workspace, 'projects', makeToken(workspace))).json.data[0].name, 'Bread');
  assert.equal((await call(workspace, 'projects', makeToken('elsewhere'))).status, 401);
  const raised = await server.call(`/api/admin/v1/organizations/customers/workspaces/${workspace}`, {
    credential: key,
    method: 'PUT',
    body: { limits: { maxRecords: null } },
  });
  assert.equal(raised.status, 403);
  const usage = await readUsage(workspace, key);
  assert.deepEqual([usage.status, usage.body.records, usage.body.limits.maxRecords], [200, 1, 1_000]);
  for (const [name, credential] of [
    [workspace, 'wda_wrong'],
    ['elsewhere', key],
    ['..%2F..%2Fcustomers', key],
    ['', key],
  ])
    assert.equal((await readUsage(name ?? '', credential ?? '')).status, 401, name);
});

test('without a shared schema and a provider the workspace has the schema of the example', async () => {
  const own = await start({ follows: undefined, provider: undefined });
  try {
    const { status, body } = await post({ company: '東京', plan: 'team' }, own);
    assert.equal(status, 201);
    assert.match(body.workspace, /^customer-/);
    assert.equal((await call(body.workspace, 'tasks', body.key)).status, 200);
  } finally {
    own.close();
  }
});

test('what is no sign-up is refused, and nothing is told about the server', async () => {
  for (const [body, type, status] of [
    [{ company: 'A', plan: 'free' }, 'text/plain', 415],
    [{ company: ' ', plan: 'free' }, 'application/json', 400],
    [{ company: 'x'.repeat(101), plan: 'free' }, 'application/json', 400],
    [{ company: 'x'.repeat(3_000), plan: 'free' }, 'application/json', 400],
    [{ company: 'A', plan: '__proto__' }, 'application/json', 400],
    [{ company: 'A' }, 'application/json', 400],
    [null, 'application/json', 400],
  ] as const)
    assert.equal((await post(body, page, type)).status, status, JSON.stringify(body).slice(0, 40));
  assert.equal((await fetch(`${page.url}/start.ts`)).status, 404);
  const broken = await start({ organization: 'nowhere', maxSignUpsPerHour: 1 });
  try {
    const { status, body } = await post({ company: 'A', plan: 'free' }, broken);
    assert.deepEqual([status, body.error], [502, 'That did not work: please try again later']);
    assert.equal((await post({ company: 'A', plan: 'free' }, broken)).status, 429);
  } finally {
    broken.close();
  }
});

if (browserSkip === false) {
  const browser = useBrowser();

  test('the page shows the key once, and the use of the workspace', async () => {
    const tab = await browser.newPage();
    tab.setDefaultTimeout(15_000);
    await tab.goto(page.url);
    await tab.getByLabel('Company').fill('Initech');
    await tab.getByLabel('Plan').selectOption('team');
    await tab.getByRole('button', { name: 'Sign up' }).click();
    await tab.getByText('Your workspace is ready').waitFor();
    const key = (await tab.locator('#key').textContent()) ?? '';
    const api = (await tab.locator('#api').textContent()) ?? '';
    assert.match(key, /^wda_/);
    const workspace = api.slice(api.lastIndexOf('/') + 1);
    assert.equal((await call(workspace, 'projects', key, { name: 'Paper' })).status, 201);
    await tab.getByRole('button', { name: 'Show usage' }).click();
    await tab.getByText('1 of 100,000').waitFor();
    assert.deepEqual(await violationsOf(tab), []);
    await tab.goto(page.url);
    assert.ok(!(await tab.content()).includes(key));
    await tab.getByLabel('Workspace', { exact: true }).fill(workspace);
    await tab.getByLabel('Key', { exact: true }).fill('wda_wrong');
    await tab.getByRole('button', { name: 'Show usage' }).click();
    await tab.getByText('No workspace has this name and this key').waitFor();
  });
} else {
  test('the page in a browser', { skip: browserSkip }, () => undefined);
}
