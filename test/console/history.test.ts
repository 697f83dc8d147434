// The history of a record: who changed what and when, and the record as it was.
import assert from 'node:assert/strict';
import { violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { use } from '../support/resources.ts';

const { test, server, keys } = useConsole();

const FIELDS = { text: { type: 'string' }, total: { type: 'decimal', precision: 20, scale: 2 } };
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      notes: { fields: FIELDS, settings: { changes: 'history' } },
      shown: { fields: FIELDS, settings: { changes: 'history', historyForUsers: true } },
      plain: { fields: FIELDS },
    },
  }),
);

async function makeNote(entity: string, texts: readonly string[]): Promise<number> {
  const [first, ...others] = texts;
  const total = '90071992547409931.25';
  const { id } = (await shop.call(entity, { method: 'POST', body: { text: first, total } })).json.data;
  for (const text of others) await shop.call(`${entity}/${id}`, { method: 'PATCH', body: { text } });
  return id;
}

test('the history has who, when and the fields before and after; a version is shown beside that of today', async ({
  open,
}) => {
  const id = await makeNote('notes', ['first', 'second', 'third']);
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await entries.first().waitFor();
  assert.equal(await entries.count(), 3);
  const newest = entries.first();
  assert.match(await newest.innerText(), /^changed\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\s+by .+ \(key\)/i);
  await newest.getByRole('row', { name: /^text second third$/ }).waitFor();
  await page.getByText(/^Complete since 2/).waitFor();
  assert.deepEqual(await violationsOf(page), []);

  await entries.filter({ hasText: 'first' }).getByRole('button', { name: 'Show as it was' }).click();
  const dialog = page.getByRole('dialog', { name: new RegExp(`^notes ${id} after`) });
  await dialog.getByRole('row', { name: /^text second third$/ }).waitFor();
  // Digits of a number that no double has.
  await dialog.getByRole('row', { name: /^total 90071992547409931\.25 *$/ }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
});

test('a save appears in the history, and older entries are loaded', async ({ open }) => {
  const id = await makeNote(
    'notes',
    Array.from({ length: 25 }, (_, n) => `text ${n}`),
  );
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await page.getByRole('button', { name: 'Load more' }).click();
  await entries.filter({ hasText: 'Created' }).waitFor();
  assert.equal(await entries.count(), 25);
  await page.getByRole('tab', { name: 'Fields' }).click();
  await page.getByRole('textbox', { name: 'text' }).fill('from the form');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('tab', { name: 'History' }).click();
  await entries
    .filter({ hasText: 'in the console' })
    .getByRole('row', { name: /^text text 24 from the form$/ })
    .waitFor();
});

test('a deleted record shows its history and is restored with its id, and an entity without history has no tab', async ({
  open,
}) => {
  const id = await makeNote('notes', ['gone']);
  await shop.call(`notes/${id}`, { method: 'DELETE' });
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByText('This record does not exist any more.').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await entries.filter({ hasText: 'Removed' }).getByRole('button', { name: 'Show as it was' }).click();
  const dialog = page.getByRole('dialog', { name: new RegExp(`^notes ${id} before`) });
  await dialog.getByRole('row', { name: /^text gone$/ }).waitFor();
  await dialog.getByRole('button', { name: 'Restore this version' }).click();
  await page.getByRole('button', { name: 'Restore', exact: true }).click();
  await page.getByRole('textbox', { name: 'text' }).waitFor();
  assert.equal((await shop.call(`notes/${id}`)).json.data.text, 'gone');

  await page.goto(`${server.url}/console/acme/shop/data/notes/999999`);
  await page.getByRole('alert').first().waitFor();
  await page.getByRole('button', { name: 'Copy history as' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 1);

  const plain = await makeNote('plain', ['a']);
  await page.goto(`${server.url}/console/acme/shop/data/plain/${plain}`);
  await page.getByRole('tab', { name: 'JSON' }).waitFor();
  assert.equal(await page.getByRole('tab', { name: 'History' }).count(), 0);
});

test('a user that is viewed has a history where users may read it, without who made the changes', async ({ open }) => {
  const [id, shown] = [await makeNote('notes', ['a']), await makeNote('shown', ['first', 'second'])];
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).waitFor();
  await page.getByRole('button', { name: 'View as' }).click();
  await page.getByLabel('Token or claims').fill('{"sub": "u"}');
  await page.getByRole('button', { name: 'View', exact: true }).click();
  await page.getByRole('banner').getByText('Leave').waitFor();
  await page.getByRole('tab', { name: 'History' }).waitFor({ state: 'detached' });
  await page.goto(`${server.url}/console/acme/shop/data/shown/${shown}`);
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await entries
    .first()
    .getByRole('row', { name: /^text first second$/ })
    .waitFor();
  assert.equal(await entries.filter({ hasText: ' by ' }).count(), 0);
  await entries.first().getByRole('button', { name: 'Show as it was' }).click();
  await page
    .getByRole('dialog')
    .getByRole('row', { name: /^text second$/ })
    .waitFor();
});

test('a version is restored after a question, as the next change of the history', async ({ open }) => {
  const id = await makeNote('notes', ['first', 'second']);
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await entries.filter({ hasText: 'Created' }).getByRole('button', { name: 'Restore this version' }).click();
  const dialog = page.getByRole('dialog', { name: `Restore notes ${id}?` });
  await dialog.getByRole('row', { name: /^text second first$/ }).waitFor();
  assert.equal(await dialog.getByRole('row').count(), 2);
  assert.deepEqual(await violationsOf(page), []);
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
  await entries
    .first()
    .getByRole('row', { name: /^text second first$/ })
    .waitFor();
  await page.getByRole('tab', { name: 'Fields' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'text' }).inputValue(), 'first');
});

test('a restore of a record that another one changed meanwhile is compared first', async ({ open }) => {
  const id = await makeNote('notes', ['first', 'second']);
  const page = await open({ key: keys.admin, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('list', { name: 'History' }).locator('> li');
  await entries.filter({ hasText: 'Created' }).getByRole('button', { name: 'Restore this version' }).click();
  await shop.call(`notes/${id}`, { method: 'PATCH', body: { text: 'third', total: '2.50' } });
  await page.getByRole('button', { name: 'Restore', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Record changed meanwhile' });
  await dialog.getByRole('row', { name: /^text changed by both second first third$/ }).waitFor();
  await dialog.getByRole('button', { name: 'Keep mine' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await shop.call(`notes/${id}`)).json.data.text, 'first');
  await entries
    .first()
    .getByRole('row', { name: /^text third first$/ })
    .waitFor();
});

test('who may only read has no button that restores', async ({ open }) => {
  const id = await makeNote('notes', ['first', 'second']);
  const page = await open({ key: shop.readOnlyKey, path: `/acme/shop/data/notes/${id}` });
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('button', { name: 'Show as it was' }).first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Restore this version' }).count(), 0);
});
