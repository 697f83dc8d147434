// What the console does while the server is away, is asked too much, or fails, and with records that others change first.
import assert from 'node:assert/strict';
import type { Page } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { makePostgres } from '../support/postgres.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { clientOf } from '../support/server.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop } = useConsole();
// One request a second, after the first sixty.
const paced = consoleSkip === false ? useServer({ WDA_RATE_LIMIT: '60' }, server) : server;

const LINES = 1000;
const lines = use(() => server.workspace('t/lines', { entities: { lines: { fields: { name: { type: 'string' } } } } }));
prepare(() =>
  lines.call('lines/_bulk', {
    method: 'POST',
    body: { data: Array.from({ length: LINES }, (_, at) => ({ name: `line ${at + 1}` })) },
  }),
);

const cell = (page: Page, row: number, column: number) => page.locator(`[data-spot="${row}:${column}"]`);
const banner = (page: Page) => page.getByRole('alert').filter({ hasText: 'Connection lost' });

test('a record that somebody changed is compared before it is deleted, in the grid and in its form', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/lines/data/lines' });
  const dialog = page.getByRole('dialog', { name: 'Record changed meanwhile' });
  await cell(page, 0, 1).click();
  await page.keyboard.press('Space');
  await lines.call('lines/1', { method: 'PATCH', body: { name: 'theirs' } });
  await page.getByRole('button', { name: 'Delete selected' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('row').filter({ hasText: 'line 1' }).filter({ hasText: 'theirs' }).waitFor();
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await page.getByRole('gridcell', { name: 'theirs' }).waitFor();
  assert.equal((await lines.call('lines/1')).status, 200);

  const ask = async () => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page
      .getByRole('dialog', { name: 'Delete lines 2?' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click();
  };
  await page.goto(`${server.url}/console/t/lines/data/lines/2`);
  await page.getByRole('textbox', { name: 'name' }).waitFor();
  await lines.call('lines/2', { method: 'PATCH', body: { name: 'first' } });
  await ask();
  await dialog.getByRole('row').filter({ hasText: 'line 2' }).filter({ hasText: 'first' }).waitFor();
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await page.getByRole('heading', { level: 1, name: 'lines 2: first' }).waitFor();
  await lines.call('lines/2', { method: 'PATCH', body: { name: 'second' } });
  await ask();
  await dialog.getByRole('row').filter({ hasText: 'first' }).filter({ hasText: 'second' }).waitFor();
  assert.equal((await lines.call('lines/2')).status, 200);
  await dialog.getByRole('button', { name: 'Delete anyway' }).click();
  await page.getByRole('grid', { name: 'Records of lines' }).waitFor();
  assert.equal((await lines.call('lines/2')).status, 404);
});

test('a server that is killed and started again is waited for, and the rows come without a reload', async ({
  open,
}) => {
  const env = { DATABASE_URL: server.database.url };
  let running: ServerProcess = await startServerProcess(env);
  try {
    const page = await open({ key: keys.admin, path: '/t/lines/data/lines', origin: running.url });
    await cell(page, 0, 2).click();
    await page.evaluate('globalThis.isTheSame = true');
    await running.kill();
    await page.keyboard.press('Control+End');
    await banner(page).waitFor();
    running = await startServerProcess({ ...env, PORT: new URL(running.url).port });
    await page.getByRole('gridcell', { name: `line ${LINES}`, exact: true }).waitFor();
    await banner(page).waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('globalThis.isTheSame'), true);
  } finally {
    await running.stop();
  }
});

test('PostgreSQL that is killed under a save takes no draft with it, and what was committed is not stored twice', async ({
  open,
}) => {
  const postgres = await makePostgres();
  let running: ServerProcess | undefined;
  const killed = async (): Promise<void> => {
    process.kill(postgres.pid as number, 'SIGKILL');
    await until('PostgreSQL is gone', () => postgres.pid === undefined);
  };
  // Its children end by themselves, a moment later.
  const started = () =>
    until('PostgreSQL runs again', () =>
      postgres.start().then(
        () => true,
        () => false,
      ),
    );
  try {
    await postgres.start();
    running = await startServerProcess({ DATABASE_URL: postgres.url, WDA_DEMO: 'on' });
    const page = await open({ path: '/demo/shop/data/tags', origin: running.url });
    await page.getByLabel('Key').first().fill(keys.admin);
    await page.getByRole('button', { name: 'Sign in' }).click();

    const edited = cell(page, 0, 2);
    await edited.click();
    let isKilled = false;
    await page.route(/\/tags\/1$/, async (route) => {
      if (route.request().method() === 'PATCH' && !isKilled) {
        isKilled = true;
        await killed();
      }
      return route.continue();
    });
    await page.keyboard.press('F2');
    await page.locator('.value-editor').fill('typed');
    await page.keyboard.press('Enter');
    await page.locator('[data-spot="0:2"][data-mark="waiting"]').waitFor();
    assert.equal(await edited.textContent(), 'typed');
    await started();
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
    assert.equal(await edited.textContent(), 'typed');

    await page.getByRole('link', { name: 'New record' }).click();
    await page.getByRole('textbox', { name: 'name', exact: true }).fill('once');
    const statuses: number[] = [];
    await page.route(/\/tags$/, async (route) => {
      if (route.request().method() !== 'POST' || statuses.length > 0) return route.continue();
      statuses.push((await route.fetch()).status());
      await killed();
      return route.abort();
    });
    const create = page.getByRole('button', { name: 'Create' });
    await create.click();
    await page.getByRole('alert').filter({ hasText: 'The database is not reachable' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'name', exact: true }).inputValue(), 'once');
    await started();
    const made = page.getByRole('heading', { level: 1, name: /: once$/ });
    await until('it is made', async () => {
      if (await made.isVisible()) return true;
      // The button leaves with its screen once the record is stored.
      if (await create.isEnabled({ timeout: 1000 }).catch(() => false)) await create.click();
      return false;
    });
    assert.deepEqual(statuses, [201]);
    const stored = await clientOf(running.url).call('/api/v1/demo/shop/tags?filter=name,in,typed,once&fields=name', {
      credential: keys.admin,
    });
    assert.deepEqual(
      stored.json.data.map(({ name }: { name: string }) => name),
      ['typed', 'once'],
    );
  } finally {
    await running?.stop();
    await postgres.remove();
  }
});

test('a page that asks too much says how long it waits, and goes on by itself', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders', origin: paced.url });
  await cell(page, 0, 2).waitFor();
  const words = page.getByRole('status').filter({ hasText: /Too many requests.*Trying again in 1 s/ });
  /** Takes what the key may ask, until the page has to wait. */
  const waitsFor = async (): Promise<void> =>
    until('the page waits', async () => {
      await paced.call('/api/v1/demo/shop/orders?size=1', { credential: keys.owner });
      return words.isVisible();
    });
  await shop.call('orders/1', { method: 'PATCH', body: { note: 'new to the page' } });
  const isEmpty = async () =>
    (await paced.call('/api/v1/demo/shop/orders?size=1', { credential: keys.owner })).status === 429;
  await until('no request is left', isEmpty);
  await page.getByRole('button', { name: 'Reload' }).click();
  await waitsFor();
  await page.getByRole('gridcell', { name: 'new to the page' }).waitFor();
  await words.waitFor({ state: 'detached' });

  await page.goto(`${paced.url}/console/demo/shop/data/customers/1`);
  await page.getByRole('textbox', { name: 'country' }).fill('PT');
  await until('no request is left', isEmpty);
  await page.getByRole('button', { name: 'Save' }).click();
  await waitsFor();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.equal((await shop.call('customers/1')).json.data.country, 'PT');
});

test('a failure of the server is told with the id of the request, and what is copied has no values', async ({
  open,
}) => {
  const page = await open({
    key: keys.owner,
    path: '/demo/shop/data/customers?filter=name,ne,Secret',
    context: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await cell(page, 0, 2).waitFor();
  await page.route(/\/v1\/demo\/shop\/customers/, (route) =>
    route.fulfill({
      status: 500,
      contentType: 'application/json',
      headers: { 'X-Request-Id': 'req-of-the-failure' },
      body: '{"error":{"code":"INTERNAL","message":"Something failed"}}',
    }),
  );
  const alert = page.getByRole('alert').filter({ hasText: 'Something failed' });
  const copied = async (): Promise<string> => {
    await alert.getByText('Request req-of-the-failure').waitFor();
    await alert.getByRole('button', { name: 'Copy details' }).click();
    await alert.getByRole('button', { name: 'Copied' }).waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  await cell(page, 0, 2).click();
  await page.keyboard.press('F2');
  await page.locator('.value-editor').fill('Secret of a record');
  await page.keyboard.press('Enter');
  const details = await copied();
  assert.deepEqual(JSON.parse(details), {
    status: 500,
    code: 'INTERNAL',
    requestId: 'req-of-the-failure',
    at: '/console/demo/shop/data/customers',
  });
  await page.keyboard.press('Escape');
});
