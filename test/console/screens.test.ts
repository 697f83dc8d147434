// Every screen: one heading of level 1, a title that names it, nothing that axe finds, in light and dark, and nothing cut off
// on a narrow page. Ways between them by keyboard.
import assert from 'node:assert/strict';
import { COLOUR_RULES, type Page, violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server } = useConsole();

/** Below /console, with what stands on the screen once it is there. */
const SCREENS: readonly (readonly [path: string, heading: RegExp])[] = [
  ['/', /^Organizations$/],
  ['/server', /^Server$/],
  ['/server?tab=last-hour', /^Server$/],
  ['/server?tab=sessions', /^Server$/],
  ['/server?tab=activity', /^Server$/],
  ['/demo', /./],
  ['/demo/shop', /shop/],
  ['/demo/shop/data/orders?filter=total,gte,1', /orders/],
  ['/demo/shop/data/orders/1', /^orders 1/],
  ['/demo/shop/data/orders/new', /^New record of orders$/],
  ['/demo/shop/data/orders/import', /^Import into orders$/],
  ['/demo/shop/import', /^Import a file$/],
  ['/demo/shop/schema', /^Schema$/],
  ['/demo/shop/schema?tab=entities', /^Schema$/],
  ['/demo/shop/schema?tab=document', /^Schema$/],
  ['/demo/shop/migrations', /^Migrations$/],
  ['/demo/shop/access/keys', /^API keys$/],
  ['/demo/shop/access/clients', /^OAuth clients$/],
  ['/demo/shop/access/provider', /^Identity provider$/],
  ['/demo/shop/access/rules', /^Row rules$/],
  ['/demo/shop/access/grants', /^Roles and grants$/],
  ['/demo/shop/access/grants/orders', /^Grants of orders$/],
  ['/demo/shop/webhooks', /^Webhooks$/],
  ['/demo/shop/webhooks/new', /^New webhook$/],
  ['/demo/shop/api/orders', /^API of orders$/],
  ['/demo/shop/activity', /^Activity$/],
  ['/demo/shop/settings', /^Settings$/],
];

type Size = Parameters<Page['setViewportSize']>[0];

/** Changes the colours, at once: some fade as a rule, and have too little contrast meanwhile. */
async function setColours(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.evaluate(`(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('*, *::before, *::after { transition: none !important }');
    document.adoptedStyleSheets = [sheet];
  })()`);
  await page.emulateMedia({ colorScheme });
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))');
}

/** Goes to a screen, and waits for what it loads. */
async function show(page: Page, path: string, heading: RegExp): Promise<void> {
  await page.goto(`${server.url}/console${path}`);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page.evaluate('new Promise((done) => setTimeout(done, 300))');
}

test('axe finds nothing on any screen, wide or narrow, light or dark, and each gives its request to copy', async ({
  open,
}) => {
  const [narrowest, narrow, wide] = [320, 390, 1440].map((width) => ({ width, height: 720 })) as [Size, Size, Size];
  const page = await open({ key: keys.admin, context: { colorScheme: 'light', viewport: wide } });
  const found: string[] = [];
  let path = '';
  page.on('response', (response) => {
    if (response.status() >= 400) found.push(`${path}: ${response.status()} of ${response.url()}`);
  });
  const check = async (kind: string, rules?: readonly string[]): Promise<void> => {
    for (const line of await violationsOf(page, rules)) found.push(`${path}, ${kind}: ${line}`);
  };
  for (const [next, heading] of SCREENS) {
    path = next;
    await setColours(page, 'light');
    await page.setViewportSize(wide);
    await show(page, path, heading);
    const headings = await page.getByRole('heading', { level: 1 }).count();
    if (headings !== 1) found.push(`${path}: ${headings} headings of level 1`);
    if (!/ · Console$/.test(await page.title())) found.push(`${path}: title ${await page.title()}`);
    await check('wide and light');
    await setColours(page, 'dark');
    await check('wide and dark', COLOUR_RULES);
    await page.setViewportSize(narrow);
    await check('narrow and dark');
    await setColours(page, 'light');
    await check('narrow and light', COLOUR_RULES);
    await page.setViewportSize(narrowest);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (width > narrowest.width) found.push(`${path}: ${width} pixels wide`);
    if (path.endsWith('/import'))
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'some.csv', mimeType: 'text/csv', buffer: Buffer.from('total\n1\n') });
    const copy = page.getByRole('button', { name: 'Copy as' }).first();
    // A file that makes its entity is two requests and no schema yet.
    if (path === '/demo/shop/import') assert.equal(await copy.count(), 0);
    else await copy.waitFor();
  }
  assert.deepEqual(found, []);
});

test('the operator sees the last hour of the server, by workspace', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/server?tab=last-hour' });
  for (const title of ['Requests', 'Errors', 'Latency', 'Database connections', 'Disk', 'demo/shop'])
    await page.getByRole('img', { name: new RegExp(`^${title}.* in the last hour: now`) }).waitFor();
  const latency = page.getByRole('img', { name: /^Latency/ });
  assert.match((await latency.getAttribute('aria-label')) ?? '', /now p50 [\d.,]+ ms, p99 [\d.,]+ ms/);
  await page.getByRole('heading', { level: 2, name: 'Slow requests' }).waitFor();
});

test('the overview tells of rules, provider, migrations, use and the last change, and the start of what runs', async ({
  open,
}) => {
  const glance = await server.workspace('glance/shop', {
    entities: { orders: { fields: { total: { type: 'integer' }, owner: { type: 'integer' } } }, tags: { fields: {} } },
  });
  const limits = { maxRecords: 3, maxRequestsPerMinute: 600 };
  const limited = { credential: keys.admin, method: 'PUT', body: { limits } };
  assert.equal((await glance.admin('', limited)).status, 200);
  const rules = [{ column: 'owner', claim: 'sub_id' }];
  assert.equal((await glance.admin('entities/orders/row-rules', { method: 'PUT', body: rules })).status, 200);
  await glance.create('tags', [{}, {}]);
  const page = await open({ key: keys.admin, path: '/glance/shop' });
  const main = page.getByRole('main');
  await main.getByRole('row', { name: /^orders 2 row rules/ }).waitFor();
  await main.getByRole('row', { name: /^tags 0 open to every user/ }).waitFor();
  await main.getByText(/Identity provider: none/).waitFor();
  await main.getByText(/Last migration: succeeded, \d{4}-/).waitFor();
  await main.getByText(/Last change: \S+ changed the row rules of orders, \d{4}-/).waitFor();
  const usage = main.getByRole('region', { name: 'Usage' });
  await usage.getByText('2 of 3', { exact: true }).waitFor();
  await usage.getByRole('progressbar', { name: 'Records of the limit' }).waitFor();
  await usage.getByText('600 a minute at most').waitFor();
  const today = new Date().toISOString().slice(0, 10);
  await usage.getByRole('img', { name: `Records by day. ${today}: 2` }).waitFor();
  await usage.getByRole('img', { name: new RegExp(`^Size by day\\. ${today}: [\\d.]+ kB$`) }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await main.getByRole('link', { name: /changed the row rules of orders$/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
  await page.getByRole('cell', { name: /created the workspace/ }).waitFor();
  await page.getByRole('combobox', { name: 'Action' }).selectOption('rowRules');
  await until('one entry is left', async () => (await page.getByRole('row').count()) === 2);
  await page.getByRole('textbox', { name: 'From' }).fill('2200-01-01');
  await page.keyboard.press('Enter');
  await page.getByText('No changes match.').waitFor();
  assert.match(page.url(), /action=rowRules.*since=2200-01-01/);
  await page.goto(`${server.url}/console/`);
  await main.getByText(/Last change: operator .* in glance\/shop/).waitFor();
});

test('a slug is derived from a name with accents, and a mistake in it is told once', async ({ open }) => {
  const page = await open({ key: keys.admin });
  await page.getByRole('button', { name: 'New organization' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New organization' });
  await dialog.getByLabel('Name').fill('Northwind Traders & Söhne');
  const slug = dialog.getByLabel('Slug');
  assert.equal(await slug.inputValue(), 'northwind-traders-sohne');
  await slug.fill('Nord Wind');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await until('the slug is invalid', async () => (await slug.getAttribute('aria-invalid')) === 'true');
  assert.equal(await dialog.getByText(/must /).count(), 1);
  assert.equal(await dialog.getByRole('alert').count(), 1);
  assert.equal(await slug.evaluate((one) => one === one.ownerDocument.activeElement), true);
  await slug.fill('demo');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'must be unique' }).waitFor();
});

test('names of 200 characters with markup are text, wherever they stand, and nothing is cut off', async ({ open }) => {
  const name = '<img src=x onerror="window.__x=1">"><script>window.__x=1</script> \u202Eabc '.padEnd(200, 'n');
  const long = await server.workspace('long/names', { entities: { notes: { fields: {} } } });
  const renamed = await server.call('/api/admin/v1/organizations/long', {
    method: 'PUT',
    credential: keys.admin,
    body: { slug: 'long', name },
  });
  assert.equal(renamed.status, 200, renamed.text);
  const made = await long.admin('api-keys', { method: 'POST', body: { name, permissions: 'OWNER' } });
  const page = await open({ key: made.json.data.key, path: '/long/names/settings' });
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('dialog', { name: 'Rename workspace' }).getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name }).waitFor();
  // An owner's key stands in the menu of the account.
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menu').getByText(name).waitFor();

  const operator = await open({ key: keys.admin, context: { viewport: { width: 320, height: 640 } } });
  for (const path of [
    '/',
    '/long',
    '/long/names',
    '/long/names/settings',
    '/long/names/access/keys',
    '/server?tab=sessions',
    '/long/names/activity',
  ]) {
    await operator.goto(`${server.url}/console${path}`);
    await operator.getByRole('main').getByText(name).first().waitFor();
    assert.equal(await operator.evaluate('document.documentElement.scrollWidth'), 320, path);
  }
  assert.deepEqual(await violationsOf(operator), []);
  await operator.goto(`${server.url}/console/long`);
  await operator.getByRole('heading', { level: 1, name }).waitFor();
  await operator.keyboard.press('Control+k');
  await operator.getByRole('combobox', { name: 'Go to' }).fill('onerror');
  await operator.getByRole('option', { name }).first().waitFor();
  assert.equal(await operator.evaluate('document.documentElement.scrollWidth'), 320);
});

test('the operator suspends a workspace and renames it with redirects, and an owner sees its state', async ({
  open,
}) => {
  const place = await server.workspace('life/before', { entities: { notes: { fields: {} } } });
  const page = await open({ key: keys.admin, path: '/life/before/settings' });
  await page.getByRole('button', { name: 'Change state' }).click();
  const dialog = page.getByRole('dialog', { name: 'State of the workspace' });
  await dialog.getByRole('combobox', { name: 'State' }).selectOption('suspended');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: /^suspended:/ }).waitFor();
  assert.equal((await place.call('notes')).json.error.code, 'WORKSPACE_SUSPENDED');
  await page.getByRole('button', { name: 'Change limits' }).click();
  const limits = page.getByRole('dialog', { name: 'Limits of the workspace' });
  await limits.getByLabel('Records').fill('many');
  await limits.getByRole('button', { name: 'Save' }).click();
  await until(
    'a mistake is at its field',
    async () => (await limits.getByLabel('Records').getAttribute('aria-invalid')) === 'true',
  );
  await limits.getByLabel('Records').fill('1,000');
  await limits.getByLabel('Size').fill('2 GB');
  await limits.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: '1,000 records, 2.0 GB' }).waitFor();
  await page.goto(`${server.url}/console/life`);
  await page.getByRole('row', { name: /before suspended/ }).waitFor();
  await page.goto(`${server.url}/console/life/before`);
  assert.equal(await page.getByText('You have no access').count(), 0);
  await page.getByRole('link', { name: 'Settings, with its state' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  const naming = page.getByRole('dialog', { name: 'Rename workspace' });
  assert.equal(await naming.getByLabel('Days of redirects').count(), 0);
  await naming.getByRole('textbox', { name: 'Slug' }).fill('after');
  await naming.getByLabel('Days of redirects').fill('30');
  await naming.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/life\/after\/settings/);
  const owner = await open({ key: place.key, path: '/life/after/settings' });
  await owner.getByRole('cell', { name: /^suspended:/ }).waitFor();
  assert.equal(await owner.getByRole('button', { name: 'Change state' }).count(), 0);
  await server.call('/api/admin/v1/organizations/life/workspaces/after', {
    method: 'PUT',
    credential: keys.admin,
    body: { state: 'readOnly' },
  });
  await owner.goto(`${server.url}/console/life/after`);
  await owner.getByRole('main').getByRole('link', { name: 'read-only' }).waitFor();
});

test('the operator copies a workspace, with or without its records', async ({ open }) => {
  const place = await server.workspace('twins/first', {
    entities: { notes: { fields: { text: { type: 'string' } } } },
  });
  await place.create('notes', [{ text: 'one' }]);
  const page = await open({ key: keys.admin });
  for (const [name, slug, records] of [
    ['With records', 'with-records', 1],
    ['Without', 'without', 0],
  ] as const) {
    await page.goto(`${server.url}/console/twins/first/settings`);
    await page.getByRole('button', { name: 'Copy workspace' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy workspace' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
    if (records === 0) {
      await dialog.getByRole('checkbox', { name: 'Without records' }).check();
      assert.deepEqual(await violationsOf(page), []);
    }
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await page.waitForURL(new RegExp(`twins/${slug}$`));
    const list = await server.call(`/api/v1/twins/${slug}/notes`, { credential: keys.admin });
    assert.equal(list.json.meta.totalElements, records);
  }
  const owner = await open({ key: place.key, path: '/twins/first/settings' });
  await owner.getByRole('button', { name: 'Change origins' }).waitFor();
  assert.equal(await owner.getByRole('button', { name: 'Copy workspace' }).count(), 0);
});

test('Ctrl+K goes to an entity by typing, and Escape gives the focus back', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop' });
  const find = page.getByRole('textbox', { name: 'Find an entity' });
  // While the screen loads it is drawn anew, without the focus.
  await page.waitForLoadState('networkidle');
  await find.focus();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Go to' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Go to' }).waitFor({ state: 'hidden' });
  await until('the box has the focus again', () =>
    find.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  await page.keyboard.press('Control+k');
  const typed = page.getByRole('combobox', { name: 'Go to' });
  await typed.fill('orders');
  await page.getByRole('option', { name: /^orders/ }).waitFor();
  await typed.press('Enter');
  await page.getByRole('grid', { name: 'Records of orders' }).waitFor();
});

test('the first stop of Tab leads to the content, and ? shows the keys', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('Tab');
  const first = await page.evaluate<string>('document.activeElement.textContent');
  assert.equal(first, 'Skip to content');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Go to an entity or a screen').waitFor();
});

test('an empty workspace says what to do first', async ({ open }) => {
  await server.workspace('t/empty', { entities: {} });
  const page = await open({ key: keys.admin, path: '/t/empty' });
  await page.getByRole('link', { name: 'Import a file' }).click();
  await page.getByRole('heading', { level: 1, name: 'Import a file' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'New schema' }).click();
  await page.getByRole('heading', { level: 1, name: 'Schema' }).waitFor();
  assert.match(page.url(), /tab=document/);
});

test('the API of an entity has the line for agents, where they are served', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/api/orders' });
  const { json } = await server.call('/api/v1/demo/shop', { credential: keys.owner });
  const line = page.getByText(`claude mcp add --transport http shop '${json.data.mcp}?entities=orders'`);
  await line.waitFor();
  const mcp = '/api/admin/v1/organizations/demo/workspaces/shop/mcp';
  const serve = (enabled: boolean) => server.call(mcp, { method: 'PUT', credential: keys.owner, body: { enabled } });
  assert.equal((await serve(false)).status, 200);
  try {
    await page.reload();
    await page.getByRole('heading', { level: 2, name: 'For programs' }).waitFor();
    await page.evaluate('new Promise((done) => setTimeout(done, 300))');
    assert.equal(await line.count(), 0);
  } finally {
    await serve(true);
  }
});

test('the API page runs a request, and refuses in the words of the server', async ({ open }) => {
  const page = await open({ key: keys.readOnly, path: '/demo/shop/api/orders' });
  await page.getByRole('textbox', { name: 'filter' }).fill('status,eq,open');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/^200 in \d+ ms$/).waitFor();
  assert.match((await page.getByRole('region', { name: 'Answer' }).textContent()) ?? '', /"status": "open"/);
  await page.getByRole('textbox', { name: 'filter' }).fill('stat,eq,open');
  await page.getByRole('button', { name: 'Run' }).click();
  await page
    .getByRole('alert')
    .getByText(/Did you mean/)
    .waitFor();
});

test('long lists are shown a page at a time, and the address has the page', async ({ open }) => {
  const make = (path: string, slug: string) =>
    server.call(`/api/admin/v1/organizations${path}`, {
      method: 'POST',
      credential: keys.admin,
      body: { slug, name: slug },
    });
  await make('', 'crowd');
  for (let at = 1; at <= 51; at++) await make('/crowd/workspaces', `w${at}`);
  const page = await open({ key: keys.admin, path: '/crowd' });
  const rows = page.getByRole('table', { name: 'Workspaces' }).getByRole('link');
  await page.getByText('1 to 50 of 51').waitFor();
  assert.equal(await rows.count(), 50);
  await page.getByRole('button', { name: 'Page 2', exact: true }).click();
  await page.getByText('51 to 51 of 51').waitFor();
  await until('the last workspace is alone', async () => (await rows.count()) === 1);
  assert.match(page.url(), /\/crowd\?page=1$/);
  assert.deepEqual(await violationsOf(page), []);
  await page.goto(`${server.url}/console/`);
  await page.getByRole('link', { name: 'All 51 workspaces' }).waitFor();
});
