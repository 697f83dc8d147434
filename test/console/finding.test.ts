// Finding records and entities: filters that cross relations, lists without a match, five hundred entities, the same address
// for another person, and a browser of another language.
import assert from 'node:assert/strict';
import type { Page } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';

const { test, keys, server, shop } = useConsole();

const notes = use(() => server.workspace('t/notes', { entities: { notes: { fields: { name: { type: 'string' } } } } }));
prepare(() => notes.create('notes', [{ name: 'a, b' }, { name: 'c' }, { name: 'd' }]));
use(() =>
  server.workspace('t/many', {
    entities: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`entity${at}`, { fields: {} }])),
  }),
);

const cell = (page: Page, row: number, column: number) => page.locator(`[data-spot="${row}:${column}"]`);

test('what is found by a relation, an alternative, a value with a comma and NULL is what the API finds', async ({
  open,
}) => {
  const page = await open({ key: keys.admin });
  const lists = [
    [shop, 'demo/shop', 'orders', 'filter=customer.country,eq,GB', 2],
    [shop, 'demo/shop', 'orders', 'or=status,eq,open;total,gte,90', 3],
    [shop, 'demo/shop', 'orders', 'filter=note,isNull', 5],
    [notes, 't/notes', 'notes', `filter=${encodeURIComponent('name,in,a\\, b,d')}`, 2],
  ] as const;
  for (const [workspace, path, entity, search, expected] of lists) {
    const { json } = await workspace.call(`${entity}?${search}`);
    assert.equal(json.meta.totalElements, expected, search);
    await page.goto(`${server.url}/console/${path}/data/${entity}?${search}`);
    await page.locator(`[role=grid][aria-rowcount="${expected + 1}"]`).waitFor();
  }
});

test('a filter without a match says so, and is cleared', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes?filter=name,eq,nothing' });
  await page.getByText('No record matches').waitFor();
  await page.getByRole('button', { name: 'Clear filter' }).click();
  await page.locator('[role=grid][aria-rowcount="4"]').waitFor();
  assert.doesNotMatch(page.url(), /filter/);
});

test('Back and Forward bring the same list, and its address shows it to another person', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/data/orders?filter=status,eq,open&sort=total,desc' });
  // Who may only read has no boxes before the columns.
  const totals = async (of: Page, column = 3): Promise<string[]> => {
    await cell(of, 1, column).getByText(/\d/).waitFor();
    return [await cell(of, 0, column).innerText(), await cell(of, 1, column).innerText()];
  };
  assert.deepEqual(await totals(page), ['34.00', '27.25']);
  await page.getByRole('link', { name: 'Open record 2' }).click();
  await page.getByRole('dialog', { name: /^orders 2/ }).waitFor();
  await page.goBack();
  assert.deepEqual(await totals(page), ['34.00', '27.25']);
  const address = page.url().slice(`${server.url}/console`.length);
  await page.goForward();
  await page.getByRole('dialog', { name: /^orders 2/ }).waitFor();
  assert.deepEqual(await totals(await open({ key: keys.readOnly, path: address }), 2), ['34.00', '27.25']);
});

test('the palette finds workspaces from the first screen, by name and by address', async ({ open }) => {
  const page = await open({ key: keys.admin });
  await page.getByRole('heading', { level: 1, name: 'Organizations' }).waitFor();
  for (const typed of ['notes', 't/not']) {
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('combobox', { name: 'Go to' });
    await palette.fill(typed);
    await page.getByRole('option').filter({ hasText: 't/notes' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/t\/notes$/);
    await page.goto(`${server.url}/console/`);
    await page.getByRole('heading', { level: 1, name: 'Organizations' }).waitFor();
  }
});

test('of five hundred entities the navigation shows those whose names have what is typed', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/many' });
  const navigation = page.getByRole('navigation', { name: 'Workspace' });
  await navigation.getByRole('link', { name: 'entity0', exact: true }).waitFor();
  assert.ok((await navigation.getByRole('link').count()) < 100, 'those in sight alone are in the document');
  await navigation.getByLabel('Find an entity').fill('ity499');
  await navigation.getByRole('link', { name: 'entity499' }).click();
  await page.getByRole('heading', { level: 1, name: 'entity499' }).waitFor();
});

test('who may write and no more has records, and nothing to administer', async ({ open }) => {
  const page = await open({ key: keys.readWrite, path: '/demo/shop/data/orders' });
  await page.getByRole('link', { name: 'New record' }).waitFor();
  const navigation = page.getByRole('navigation', { name: 'Workspace' });
  for (const name of ['Schema', 'Migrations', 'Access', 'Webhooks', 'Activity', 'Settings'])
    assert.equal(await navigation.getByRole('link', { name, exact: true }).count(), 0, name);
});

test('an edit waits for a blocking migration in words, and is saved after it', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  let asked = 0;
  await page.route(/\/notes\/3$/, (route) =>
    asked++ === 0
      ? route.fulfill({
          status: 503,
          contentType: 'application/json',
          headers: { 'Retry-After': '1' },
          body: '{"error":{"code":"SCHEMA_MIGRATION_IN_PROGRESS","message":"Table notes is being migrated; retry"}}',
        })
      : route.continue(),
  );
  await cell(page, 2, 2).click();
  await page.keyboard.press('F2');
  await page.locator('.value-editor').fill('after it');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'Table notes is being migrated' }).waitFor();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.equal((await notes.call('notes/3')).json.data.name, 'after it');
  assert.equal(asked, 2);
});

test('values are the same in every language, and nothing moves for who wants that', async ({ open }) => {
  const path = '/demo/shop/data/orders';
  const texts = async (locale: string): Promise<string> => {
    const page = await open({ key: keys.owner, path, context: { locale, reducedMotion: 'reduce' } });
    await cell(page, 0, 4).getByText('UTC').waitFor();
    const text = await page.getByRole('grid').innerText();
    await page.getByRole('button', { name: 'Filter' }).click();
    const moving = await page.evaluate<number>(
      'document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 1).length',
    );
    assert.equal(moving, 0, locale);
    return text;
  };
  const english = await texts('en-US');
  assert.match(english, /22\.40[\s\S]*2026-01-05 09:30:00 UTC/);
  for (const locale of ['de-DE', 'ar-EG']) assert.equal(await texts(locale), english, locale);
});
