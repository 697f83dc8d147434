// Access in the console, in a browser: keys, clients, the identity provider with its token debugger, row rules with their tester.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import type { Issuer } from '../support/issuer.ts';
import { useIssuer } from '../support/resources.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../support/users.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop } = useConsole(LOCAL_PROVIDER);
const issuer: Issuer = consoleSkip === false ? useIssuer() : ({} as Issuer);

const HOSTILE = '<img src=x onerror="window.__x=1">"><script>window.__x=1</script> \u202Eabc';
const RULE = { column: 'customerId', claim: 'customer_id', enabled: true };

const rulesOf = async (entity: string): Promise<unknown> =>
  (await shop.admin(`entities/${entity}/row-rules`)).json.data;
const setRules = (entity: string, rules: readonly object[]) =>
  shop.admin(`entities/${entity}/row-rules`, { method: 'PUT', body: rules });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a key gets another name, and keeps what it may do', async ({ open }) => {
  const { json } = await shop.admin('api-keys', {
    method: 'POST',
    body: { name: 'nightly', permissions: 'READ_ONLY' },
  });
  const page = await open({ key: keys.owner, path: '/demo/shop/access/keys' });
  await page.getByRole('button', { name: 'Change nightly' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change key' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('nightly export');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Change nightly export' }).waitFor();
  const { data } = (await shop.admin('api-keys')).json;
  const key = data.find((one: { id: number }) => one.id === json.data.id);
  assert.deepEqual([key.name, key.permissions, key.expiresAt], ['nightly export', 'READ_ONLY', null]);
});

test('a key is shown once, and stops when it is revoked', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/access/keys' });
  await button(page, 'Create API key').click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill(HOSTILE);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const made = page.getByRole('dialog', { name: 'API key created' });
  const secret = await made.getByRole('textbox', { name: 'Key' }).inputValue();
  assert.match(secret, /^wda_/);
  await page.keyboard.press('Escape');
  await made.getByRole('button', { name: 'Copy', exact: true }).waitFor();
  assert.equal((await shop.call('orders', { credential: secret })).status, 200);
  await made.getByRole('button', { name: 'I have stored it' }).click();
  await made.waitFor({ state: 'hidden' });
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'onerror' });
  await row.waitFor();
  const text = (await row.textContent()) ?? '';
  assert.ok(text.includes(HOSTILE), text);
  assert.ok(text.includes(secret.slice(0, 12)), text);
  assert.ok(!(await page.content()).includes(secret));
  await row.getByRole('button', { name: /^Revoke/ }).click();
  const asked = page.getByRole('dialog', { name: /^Revoke/ });
  assert.match((await asked.textContent()) ?? '', /Programs that read records with it stop working/);
  await asked.getByRole('button', { name: 'Revoke', exact: true }).click();
  await row.waitFor({ state: 'detached' });
  assert.equal((await shop.call('orders', { credential: secret })).status, 401);
});

test('a key for some entities is refused in the words of the server, and reaches them alone', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/access/keys' });
  await button(page, 'Create API key').click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill('report');
  await dialog.getByRole('combobox', { name: 'Entities' }).fill('prod');
  await page.getByRole('option', { name: 'products' }).click();
  const expires = dialog.getByLabel('Expires (UTC)');
  assert.equal(
    await expires.evaluate((one) => one.type),
    'text',
    'no picker of the browser, which has an order of its own',
  );
  await expires.focus();
  await dialog.getByRole('button', { name: '1 year' }).click();
  assert.match(await expires.inputValue(), /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/);
  await dialog.getByRole('button', { name: 'Never' }).click();
  assert.equal(await expires.inputValue(), '');
  for (const [text, message] of [
    ['2001-01-01', 'must be in the future'],
    ['31.12.2101', 'must be an ISO 8601 datetime'],
  ] as const) {
    await expires.fill(text);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText(message).waitFor();
    assert.equal(await dialog.getByRole('alert').count(), 1, 'a mistake is told once, at its field');
    assert.equal(await expires.evaluate((one) => one === one.ownerDocument.activeElement), true);
  }
  await expires.fill('2101-01-01 10:30');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const made = page.getByRole('dialog', { name: 'API key created' });
  const secret = await made.getByRole('textbox', { name: 'Key' }).inputValue();
  await made.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('row').filter({ hasText: '2101-01-01 10:30:00 UTC' }).waitFor();
  assert.equal((await shop.call('products', { credential: secret })).status, 200);
  assert.equal((await shop.call('orders', { credential: secret })).status, 404);
});

test('a client has its secret once, and commands without it', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/access/clients' });
  await button(page, 'Create OAuth client').click();
  await page.getByLabel('Name').fill('nightly <b>sync</b>');
  await button(page, 'Create').click();
  const made = page.getByRole('dialog', { name: 'OAuth client created' });
  const secret = await made.getByRole('textbox', { name: 'Client secret' }).inputValue();
  assert.match(secret, /^wdas_/);
  await made.getByRole('button', { name: 'I have stored it' }).click();
  await button(page, 'Get a token for nightly <b>sync</b>').click();
  const commands = (await page.getByRole('dialog', { name: /^A token for/ }).textContent()) ?? '';
  assert.match(commands, /grant_type=client_credentials/);
  assert.ok(commands.includes('$CLIENT_SECRET') && !commands.includes(secret), commands);
  await page.keyboard.press('Escape');
  await button(page, 'Delete nightly <b>sync</b>').click();
  await page
    .getByRole('dialog', { name: /^Delete/ })
    .getByRole('button', { name: 'Delete', exact: true })
    .click();
  await page.getByText('No clients yet').waitFor();
});

test('a provider is refused in the words of the server, and its warnings are told', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/access/provider' });
  await page.getByRole('textbox', { name: 'Issuer' }).fill('http://93.184.216.34');
  await button(page, 'Save provider').click();
  assert.match((await page.getByRole('alert').textContent()) ?? '', /must be an https URL/);
  await page.getByRole('textbox', { name: 'Issuer' }).fill(issuer.url);
  await button(page, 'Save provider').click();
  await page.getByText('audience is blank').waitFor();
  const enabled = page.getByRole('switch', { name: 'Enabled' });
  assert.equal(await enabled.isChecked(), true);
  await enabled.click();
  await until('the provider is off', async () => (await shop.admin('identity-provider')).json.data.enabled === false);
  await page.reload();
  await page.getByText(/^Last check: \d{4}-.* nothing failed/).waitFor();
  await enabled.click();
  await until('the provider is on', async () => (await shop.admin('identity-provider')).json.data.enabled === true);
  await page.getByRole('textbox', { name: 'Issuer' }).fill('http://127.0.0.1:9');
  await button(page, 'Save provider').click();
  await page.getByRole('status').filter({ hasText: 'Provider saved' }).waitFor({ state: 'attached' });
  await page.reload();
  await page.getByText(/^Last check: \d{4}-.* with warnings/).waitFor();
  await page.getByText('At the last check:').waitFor();
});

test('a provider has a role claim and required claims, whose digits stay', async ({ open }) => {
  const body = { issuerUrl: issuer.url, audience: 'api', defaultPermissions: 'READ_ONLY', enabled: true };
  await shop.admin('identity-provider', { method: 'PUT', body });
  const page = await open({ key: keys.admin, path: '/demo/shop/access/provider' });
  await page.getByRole('textbox', { name: 'Role claim' }).fill('app.roles');
  const required = page.getByRole('textbox', { name: 'Required claims' });
  await required.fill('{"org_id":');
  await button(page, 'Save provider').click();
  await page.getByText('must be an object').waitFor();
  await required.fill('{"org_id": 9007199254740993}');
  await button(page, 'Save provider').click();
  await until('it is stored', async () =>
    (await shop.admin('identity-provider')).text.includes('"requiredClaims":{"org_id":9007199254740993}'),
  );
  await page.reload();
  assert.match(await required.inputValue(), /9007199254740993/);
  await page.getByRole('textbox', { name: 'Audience' }).fill('other');
  await button(page, 'Save provider').click();
  await until(
    'the audience is stored',
    async () => (await shop.admin('identity-provider')).json.data.audience === 'other',
  );
  const { text, json } = await shop.admin('identity-provider');
  assert.ok(text.includes('"requiredClaims":{"org_id":9007199254740993}'), text);
  assert.equal(json.data.roleClaim, 'app.roles');
  await required.fill('');
  await page.getByRole('textbox', { name: 'Role claim' }).fill('');
  await button(page, 'Save provider').click();
  await until('both are removed', async () => !/org_id|app.roles/.test((await shop.admin('identity-provider')).text));
});

test('a provider that somebody else has changed meanwhile is not overwritten', async ({ open }) => {
  const body = { issuerUrl: issuer.url, audience: 'first', defaultPermissions: 'READ_ONLY', enabled: true };
  await shop.admin('identity-provider', { method: 'PUT', body });
  const audience = async (): Promise<string> => (await shop.admin('identity-provider')).json.data.audience;
  const page = await open({ key: keys.admin, path: '/demo/shop/access/provider' });
  await page.getByRole('textbox', { name: 'Audience' }).fill('mine');
  await shop.admin('identity-provider', { method: 'PUT', body: { audience: 'theirs' } });
  await button(page, 'Save provider').click();
  const dialog = page.getByRole('dialog', { name: 'Conflicting changes' });
  assert.match((await dialog.getByRole('region', { name: 'Current version' }).textContent()) ?? '', /"theirs"/);
  assert.equal(await audience(), 'theirs');
  await dialog.getByRole('button', { name: 'Keep mine' }).click();
  await until('mine is stored', async () => (await audience()) === 'mine');
  await dialog.waitFor({ state: 'hidden' });
});

test('the token debugger shows the checks in order, and the filter of each entity', async ({ open }) => {
  const tokenOf: TokenOf = await makeUsers(shop, issuer);
  await setRules('orders', [RULE]);
  const page = await open({ key: keys.admin, path: '/demo/shop/access/provider' });
  const check = async (token: string): Promise<readonly string[]> => {
    await page.getByRole('textbox', { name: 'Token', exact: true }).fill(token);
    const answered = page.waitForResponse(/identity-provider\/test/);
    await button(page, 'Check token').click();
    await answered;
    const rows = page.getByRole('table', { name: 'Checks' }).getByRole('row');
    await rows.first().waitFor();
    return rows.allTextContents();
  };
  const expired = await check(tokenOf({ customer_id: 1, exp: 1000 }));
  await page.getByText('401: Token has expired').waitFor();
  const failed = expired.filter((row) => row.includes('failed'));
  assert.equal(failed.length, 1, expired.join('\n'));
  assert.match(failed[0] ?? '', /It has not expired.*failed.*Token has expired/);
  await check(tokenOf('{"customer_id":9007199254740993}'));
  await page.getByText('Its user has READ_WRITE').waitFor();
  await page.getByText('9007199254740993').first().waitFor();
  const filters = await page
    .getByRole('table', { name: 'Filter of each entity' })
    .getByRole('row')
    .filter({ hasText: 'orders' })
    .first()
    .textContent();
  assert.match(filters ?? '', /customerId = 9007199254740993/);
  await setRules('orders', []);
});

test('rules are tried before they hold, and cases of them are a file', async ({ open }) => {
  await setRules('orders', []);
  const page = await open({ key: keys.owner, path: '/demo/shop/access/rules' });
  await page.getByText('every external user sees all').first().waitFor();
  await button(page, 'Edit rules of orders').click();
  await button(page, 'Add rule').click();
  await until(
    'the new rule has the focus',
    async () => (await page.evaluate('document.activeElement.getAttribute("placeholder")')) === 'Column',
  );
  await page.getByRole('textbox', { name: 'Claim', exact: true }).fill('customer_id');
  await page.getByRole('textbox', { name: 'Claims' }).fill('{"customer_id": 1}');
  await button(page, 'Run').click();
  const then = page.getByRole('region', { name: 'With the unsaved rules' });
  await then.getByText('With the unsaved rules: 2 records').waitFor();
  const now = page.getByRole('region', { name: 'Now' });
  await now.getByText('Now: 6 records').waitFor();
  assert.equal(await now.getByText('would disappear').count(), 4);
  assert.deepEqual(await rulesOf('orders'), [], 'nothing in force has changed');
  await button(page, 'Save as test case').click();
  const downloaded = page.waitForEvent('download');
  await button(page, 'Download cases').click();
  const { cases } = parse(readFileSync(await (await downloaded).path(), 'utf8'));
  assert.deepEqual(cases[0].only, { orders: [1, 2] });
  await button(page, 'Save rules').click();
  await button(page, 'Save rules').waitFor({ state: 'hidden' });
  assert.deepEqual(await rulesOf('orders'), [RULE]);
  await now.getByText('Now: 2 records').waitFor();
  await button(page, 'Done with rules of orders').click();
  await page.getByRole('switch', { name: 'customerId = customer_id of orders' }).click();
  await then.getByText('With the unsaved rules: 6 records').waitFor();
  assert.equal(await then.getByText('would appear').count(), 4);
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('dialog', { name: 'Discard changes?' }).getByRole('button', { name: 'Keep editing' }).click();
  await button(page, 'Discard changes').click();
});

test('one rule is added to every entity with its column', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/access/rules' });
  await page.getByLabel('A rule on every entity with', { exact: true }).selectOption('orderId');
  await page.getByLabel('equals the claim').fill('order');
  await button(page, 'Add to 2 entities').click();
  await page.getByText('Unsaved rules of 2 entities').waitFor();
  for (const entity of ['orderItems', 'orderTags'])
    assert.equal(await page.getByRole('switch', { name: `orderId = order of ${entity}` }).isChecked(), true);
  assert.deepEqual(await violationsOf(page), []);
  await button(page, 'Discard changes').click();
  assert.deepEqual(await rulesOf('orderItems'), []);
});

test('rules that somebody else has changed meanwhile are not overwritten', async ({ open }) => {
  await setRules('orders', []);
  const page = await open({ key: keys.admin, path: '/demo/shop/access/rules' });
  await button(page, 'Edit rules of orders').click();
  await button(page, 'Add rule').click();
  await page.getByRole('textbox', { name: 'Claim', exact: true }).fill('mine');
  await setRules('orders', [{ column: 'note', claim: 'theirs' }]);
  await button(page, 'Save rules').click();
  const dialog = page.getByRole('dialog', { name: 'Conflicting changes' });
  assert.match((await dialog.getByRole('region', { name: 'Your draft' }).textContent()) ?? '', /customerId = mine/);
  assert.match((await dialog.getByRole('region', { name: 'Current version' }).textContent()) ?? '', /note = theirs/);
  assert.deepEqual(await rulesOf('orders'), [{ column: 'note', claim: 'theirs', enabled: true }]);
  await dialog.getByRole('button', { name: 'Keep mine' }).click();
  await button(page, 'Save rules').waitFor({ state: 'hidden' });
  assert.deepEqual(await rulesOf('orders'), [{ column: 'customerId', claim: 'mine', enabled: true }]);
  await setRules('orders', []);
});

test('a mistake in rules is told in the words of the server', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/access/rules' });
  await button(page, 'Edit rules of orders').click();
  await button(page, 'Add rule').click();
  await page.getByRole('combobox', { name: 'Column' }).fill('custmerId');
  await page.getByRole('textbox', { name: 'Claim', exact: true }).fill('customer_id');
  await button(page, 'Save rules').click();
  assert.match((await page.getByRole('alert').first().textContent()) ?? '', /custmerId/);
  await button(page, 'Discard changes').click();
});

test('names and values that are markup or members of objects are shown as they are', async ({ open }) => {
  const odd = await server.workspace('t/odd', {
    entities: { constructor: { fields: { toString: { type: 'text' }, valueOf: { type: 'text' } } } },
  });
  await odd.create('constructor', [
    { toString: HOSTILE, valueOf: HOSTILE },
    { toString: '', valueOf: 'javascript:alert(1)' },
  ]);
  const page = await open({ key: keys.admin, path: '/t/odd/access/rules' });
  await button(page, 'Edit rules of constructor').click();
  await button(page, 'Add rule').click();
  await page.getByRole('combobox', { name: 'Column' }).fill('valueOf');
  await page.getByRole('textbox', { name: 'Claim', exact: true }).fill('constructor');
  await page.getByRole('textbox', { name: 'Claims' }).fill(JSON.stringify({ constructor: HOSTILE, sub: HOSTILE }));
  await button(page, 'Run').click();
  await page.getByText('With the unsaved rules: 1 record').waitFor();
  await page.getByRole('table', { name: 'Now: records' }).getByText('javascript:alert(1)').waitFor();
  assert.equal(await page.getByRole('main').getByRole('link', { name: 'javascript' }).count(), 0);
  await page.getByRole('table', { name: 'With the unsaved rules: records' }).getByText('onerror').first().waitFor();
  await button(page, 'Save as test case').click();
  await page.getByText('sees 1 of constructor').waitFor();
  await button(page, 'Save rules').click();
  await button(page, 'Save rules').waitFor({ state: 'hidden' });
  assert.deepEqual((await odd.admin('entities/constructor/row-rules')).json.data, [
    { column: 'valueOf', claim: 'constructor', enabled: true },
  ]);
  await page.getByRole('button', { name: 'View as' }).click();
  await page.getByLabel('Token or claims').fill(JSON.stringify({ constructor: HOSTILE, name: HOSTILE }));
  await button(page, 'View').click();
  await page.getByRole('banner').getByText('onerror').waitFor();
});

test('a key that may not administer is told so', async ({ open }) => {
  const page = await open({ key: keys.readWrite, path: '/demo/shop/access/keys' });
  await page.getByText('This needs owner permissions').waitFor();
  assert.equal(await button(page, 'Create API key').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'View as' }).count(), 0);
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`axe finds nothing on rules that are edited and tried, ${colorScheme}`, async ({ open }) => {
    const page = await open({ key: keys.admin, path: '/demo/shop/access/rules', context: { colorScheme } });
    await page.getByRole('textbox', { name: 'Claims' }).waitFor();
    await button(page, 'Edit rules of orders').click();
    await button(page, 'Add rule').click();
    await page.getByRole('textbox', { name: 'Claim', exact: true }).fill('customer_id');
    await button(page, 'Run').click();
    await page.getByRole('table', { name: 'Now: records' }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
  });
