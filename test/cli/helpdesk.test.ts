// examples/helpdesk: the commands of its README, its access test, and its pages in a browser, whose users sign in at the
// provider of the example.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHelpdesk } from '../../examples/helpdesk/start.ts';
import { browserSkip, type Page, useBrowser, violationsOf } from '../support/browser.ts';
import { readCommands, runCommands } from '../support/page-commands.ts';
import { prepare, use } from '../support/resources.ts';
import { ADMIN_KEY, startTestServer, type TestServer } from '../support/server.ts';

const state = { statusKey: '', printed: '' };
const helpdesk = use(
  () =>
    startHelpdesk({
      providerPort: 0,
      pagesPort: 0,
      getApi: () => `${server.url}/api/v1/acme/helpdesk`,
      getStatusKey: () => state.statusKey,
    }),
  (started) => started.close(),
);
const server: TestServer = use(
  () => startTestServer({ WDA_IDP_PRIVATE_NETWORK: 'allow', WDA_CORS_ORIGINS: 'https://elsewhere.example' }),
  (started) => started.stop(),
);
prepare(async () => {
  const [start = '', setUp = '', pages = '', ...more] = readCommands('examples/helpdesk/README.md');
  assert.match(start, /WDA_IDP_PRIVATE_NETWORK=allow npm start/);
  assert.match(pages, /STATUS_KEY=wda_… npm run helpdesk/);
  assert.deepEqual(more, []);
  const commands = setUp
    .replace('wda_admin_…', ADMIN_KEY)
    .replace('http://127.0.0.1:4000', helpdesk.issuer)
    .replace('http://127.0.0.1:4001', helpdesk.url);
  const { stdout } = await runCommands(commands, { WDA_URL: server.url });
  state.printed = stdout;
  state.statusKey = /^Key +(wda_\S+)$/m.exec(stdout)?.[1] ?? '';
});

test('the commands of the README load the records, and the access test passes', () => {
  assert.match(state.printed, /^tickets: 4 inserted, 0 updated, 0 skipped /m);
  assert.match(state.printed, /^5 cases, \d{3,} requests: no leak, and nothing missing$/m);
  assert.match(state.statusKey, /^wda_/);
});

const call = async (path: string, credential: string, method = 'GET', body?: unknown) => {
  const { status, json } = await server.call(`/api/v1/acme/helpdesk/${path}`, { credential, method, body });
  return { status, ...json };
};

test('the key of the status page has what is published, and nothing else', async () => {
  const ids = (await call('incidents', state.statusKey)).data.map(({ id }: { id: number }) => id);
  assert.deepEqual(ids, [1]);
  for (const entity of ['tickets', 'comments', 'users', 'teams', 'companies'])
    assert.equal((await call(entity, state.statusKey)).status, 404, entity);
  assert.equal((await call('services/2', state.statusKey, 'PATCH', { state: 'up' })).status, 403);
});

test('the provider for trying signs in its users alone, for the pages alone', async () => {
  const authorize = (page: string): Promise<Response> => {
    const parameters = {
      response_type: 'code',
      client_id: 'helpdesk',
      redirect_uri: page,
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    };
    return fetch(`${helpdesk.issuer}/auth?${new URLSearchParams(parameters)}`, { redirect: 'manual' });
  };
  assert.equal((await authorize('https://elsewhere.example/')).status, 400);
  const started = await authorize(`${helpdesk.url}/agent.html`);
  const cookie = started.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  for (const user of ['nobody', '__proto__', 'constructor']) {
    const url = new URL(`${started.headers.get('location')}?user=${user}`, helpdesk.issuer);
    assert.equal((await fetch(url, { method: 'POST', headers: { cookie }, redirect: 'manual' })).status, 400, user);
  }
});

if (browserSkip === false) {
  const browser = useBrowser();

  /** Opens a page in a browser of its own, and signs in as the user. `tokens`: those that the provider has issued to it. */
  async function signIn(
    name: string,
    user: string,
  ): Promise<{ readonly page: Page; readonly tokens: readonly string[] }> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(15_000);
    const tokens: string[] = [];
    page.on('request', (request) => {
      const [, token] = /^Bearer (\S+)$/.exec(request.headers().authorization ?? '') ?? [];
      if (token !== undefined) tokens.push(token);
    });
    await page.goto(`${helpdesk.url}/${name}.html`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: new RegExp(`^${user} `) }).click();
    await page.getByText('Signed in as').waitFor();
    return { page, tokens };
  }

  const readTickets = (page: Page): Promise<string[]> => page.locator('tbody th').allTextContents();

  test('an agent sees the tickets of the team with their notes, comments internally, and solves one', async () => {
    const { page, tokens } = await signIn('agent', 'ava');
    await page.getByText('Signed in as Ava Stone').waitFor();
    await page.getByText('Cable of 2019').waitFor();
    assert.deepEqual((await readTickets(page)).toSorted(), [
      'The scanner loses its connection',
      'The till prints nothing',
    ]);
    await page.getByRole('button', { name: 'The till prints nothing' }).click();
    await page.getByText('Their printer is older than the till.').waitFor();
    await page.getByLabel('Comment').fill('A new cable is on its way.');
    await page.getByLabel(/Internal/).check();
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('Ava Stone (internal): A new cable is on its way.').waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await page.getByRole('button', { name: 'Solve' }).click();
    await page.getByRole('row', { name: /The till prints nothing.*solved/ }).waitFor();
    const [token = ''] = tokens;
    assert.equal((await call('tickets/2', token)).status, 404);
    assert.equal((await call('teams/1', token, 'PATCH', { hourlyRate: 500 })).status, 403);
    assert.equal((await call('users/2', token, 'PATCH', { phone: '0' })).status, 403);
  });

  test('a customer sees the tickets of the company without notes, and opens one', async () => {
    const { page, tokens } = await signIn('customer', 'carla');
    await page.getByText('Signed in as Carla Ruiz').waitFor();
    await page.getByRole('button', { name: 'Invoice 1043 came twice' }).waitFor();
    assert.deepEqual(await readTickets(page), ['Invoice 1043 came twice', 'The till prints nothing']);
    await page.getByRole('button', { name: 'The till prints nothing' }).click();
    await page.getByText('Ava Stone: Please switch it off and on again.').waitFor();
    assert.ok(!(await page.content()).includes('older than the till'));
    await page.getByLabel('Subject').fill('The scale is wrong');
    await page.getByLabel('Team').selectOption('1');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'The scale is wrong' }).waitFor();
    await page.getByRole('textbox', { name: 'Phone' }).fill('+44 20 7946 0009');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    assert.deepEqual(await violationsOf(page), []);
    const [token = ''] = tokens;
    const made = (await call('tickets?sort=id,desc&size=1', token)).data[0];
    assert.deepEqual([made.status, made.companyId, made.requesterId, 'notes' in made], ['open', 1, 3, false]);
    assert.deepEqual((await call('teams/1', token)).data, { id: 1, name: 'Hardware' });
    const refused = await call('teams/1', token, 'PATCH', { name: 'Ours' });
    assert.deepEqual([refused.status, refused.error.message], [403, 'You may not update records of teams']);
    const unknown = await call('teams/1', token, 'PATCH', { hourlyRate: 1 });
    assert.deepEqual([unknown.status, unknown.error.details[0].code], [400, 'UNKNOWN_FIELD']);
    assert.equal((await call('tickets/3', token)).status, 404);
  });

  test('the status page shows what is published, without signing in', async () => {
    const page = await browser.newPage();
    await page.goto(`${helpdesk.url}/status.html`);
    await page.getByText('Card payments: slow').waitFor();
    assert.deepEqual(await page.locator('#incidents li').allTextContents(), [
      'Card payments: Card payments take a minute. The bank is working on it.',
    ]);
    assert.deepEqual(await violationsOf(page), []);
  });
} else {
  test('the pages of the helpdesk in a browser', { skip: browserSkip }, () => undefined);
}
