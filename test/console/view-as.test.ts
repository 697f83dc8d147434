// "View as" in a browser: from then on the page shows what that user sees, on every way.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from '../support/browser.ts';
import { violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import type { Issuer } from '../support/issuer.ts';
import { prepare, useIssuer } from '../support/resources.ts';
import { LOCAL_PROVIDER, makeUsers } from '../support/users.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, shop } = useConsole(LOCAL_PROVIDER);
const issuer: Issuer = consoleSkip === false ? useIssuer() : ({} as Issuer);

const RULE = { column: 'customerId', claim: 'customer_id' };

if (consoleSkip === false)
  prepare(() => shop.admin('entities/orders/row-rules', { method: 'PUT', body: [RULE] }).then(() => undefined));

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const orders = (page: Page) => page.getByRole('grid', { name: 'Records of orders' });
const rowCount = (page: Page, count: number) => page.locator(`[role="grid"][aria-rowcount="${count}"]`).waitFor();

/** What the palette offers to do with orders. */
async function actions(page: Page): Promise<string[]> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Go to' }).fill('orders');
  const found = page.getByRole('listbox', { name: 'Results' }).getByRole('option');
  await found.filter({ hasText: 'Entity' }).first().waitFor();
  const labels = await found.filter({ hasText: 'Action' }).allTextContents();
  await page.keyboard.press('Escape');
  await found.first().waitFor({ state: 'hidden' });
  return labels.map((label) => label.replace('Action', '')).sort();
}

async function viewAs(page: Page, pasted: string): Promise<void> {
  await button(page, 'View as').click();
  await page.getByLabel('Token or claims').fill(pasted);
  await button(page, 'View').click();
}

test('grid, record, relation, export and copies are those of the user, until "Leave"', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: '/demo/shop/data/orders',
    context: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  const { origin } = new URL(page.url());
  await orders(page).waitFor();
  await rowCount(page, 7);
  await page.getByRole('link', { name: 'New record' }).waitFor();
  assert.deepEqual(await actions(page), ['Import into orders', 'New record of orders']);
  await viewAs(page, '{"customer_id": 1}');
  await rowCount(page, 3);
  await page.getByRole('banner').getByText('customer_id 1').waitFor();
  for (const role of ['link', 'button'])
    for (const name of ['New record', 'Import', 'Delete selected'])
      assert.equal(await page.getByRole(role, { name }).count(), 0, name);
  assert.deepEqual(await violationsOf(page), []);
  assert.deepEqual(await actions(page), []);
  const nav = page.getByRole('navigation', { name: 'Workspace' });
  await nav.getByRole('link', { name: 'API' }).waitFor();
  assert.equal(await nav.getByRole('link', { name: 'Schema' }).count(), 0);

  await button(page, 'Copy as').click();
  await page.getByRole('menuitem', { name: 'curl' }).click();
  const curl = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.match(curl, /access\/test/);
  assert.match(curl, /"customer_id":1/);
  const body = /-d '([^']*)'/.exec(curl)?.[1] ?? '';
  const [{ body: shown }] = (await shop.admin('access/test', { method: 'POST', body: JSON.parse(body) })).json.data;
  assert.deepEqual(
    shown.data.map(({ id }: { readonly id: number }) => id),
    [1, 2],
  );

  const downloaded = page.waitForEvent('download');
  await button(page, 'Export').click();
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click();
  const lines = readFileSync(await (await downloaded).path(), 'utf8')
    .trim()
    .split('\n');
  assert.equal(lines.length, 3, lines.join('\n'));

  await page.goto(`${origin}/console/demo/shop/data/orders/4`);
  await page
    .getByText(/not found|does not exist/)
    .first()
    .waitFor();
  await page.goto(`${origin}/console/demo/shop/data/orders/1`);
  const note = page.getByRole('textbox', { name: 'note' });
  await until('the record is there', async () => (await note.inputValue()) === 'Wrap it, please');
  assert.equal(await page.getByRole('button', { name: /^(Save|Delete)/ }).count(), 0);

  // What an address that is typed shows.
  for (const [path, words] of [
    ['schema', 'The user you view as cannot open this screen'],
    ['access/keys', 'The user you view as cannot open this screen'],
    ['import', 'The user you view as cannot open this screen'],
    ['data/orders/import', 'Nothing can be imported while you view as a user'],
    ['data/orders/new', 'Records cannot be created while you view as a user'],
  ] as const) {
    await page.goto(`${origin}/console/demo/shop/${path}`);
    await page.getByRole('main').getByText(words).waitFor();
    assert.equal(await page.getByRole('main').getByRole('button').count(), 0, path);
  }

  const ordersOf = async (customer: number): Promise<number> => {
    await page.goto(`${origin}/console/demo/shop/data/customers/${customer}`);
    await page.getByRole('tab', { name: 'Relations' }).click();
    const section = page.getByRole('region', { name: 'orders' });
    await section.locator('li, p').first().waitFor();
    return section.getByRole('listitem').count();
  };
  assert.deepEqual([await ordersOf(1), await ordersOf(2)], [2, 0]);

  await button(page, 'Leave').click();
  await page.getByRole('button', { name: 'View as' }).waitFor();
  await page.goto(`${origin}/console/demo/shop/data/orders`);
  await rowCount(page, 7);
});

test('a token is judged: one that is refused says why, and its claims can be viewed all the same', async ({ open }) => {
  const tokenOf = await makeUsers(shop, issuer);
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  await orders(page).waitFor();
  await viewAs(page, tokenOf({ customer_id: 2, email: '<img src=x onerror="window.__x=1">', exp: 1000 }));
  await page.getByRole('alert').getByText('Token has expired').waitFor();
  await button(page, 'View with its claims').click();
  await rowCount(page, 2);
  await page.getByRole('banner').getByText('<img src=x onerror').waitFor();
  await button(page, 'Leave').click();
  await rowCount(page, 7);
  await viewAs(page, `Bearer ${tokenOf({ customer_id: 1, name: 'Ada' })}`);
  await page.getByRole('banner').getByText('Ada').waitFor();
  await rowCount(page, 3);
  await page.reload();
  await page.getByRole('banner').getByText('Ada').waitFor();
  await rowCount(page, 3);
});

test('what is neither token nor claims is refused in words', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/data/orders' });
  await viewAs(page, '{customer_id: 1}');
  await page.getByText('Claims must be a JSON object').waitFor();
  await page.getByLabel('Token or claims').fill('opaque');
  await button(page, 'View').click();
  await page.getByText('Token is not a valid JWT').waitFor();
});
