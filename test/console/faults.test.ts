// What nobody loses in the console when answers are slow or lost, when keys are pressed twice, and when others write meanwhile.
import assert from 'node:assert/strict';
import { parseExact } from '../../src/model/exact-json.ts';
import type { Page } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop } = useConsole();

const notes = use(() =>
  server.workspace('t/notes', {
    entities: {
      notes: { fields: { name: { type: 'string' }, text: { type: 'string' } } },
    },
  }),
);
prepare(() => notes.create('notes', [{ name: 'one' }, { name: 'two' }, { name: 'three' }]));

const said = (page: Page, words: string) =>
  page.getByRole('status').filter({ hasText: words }).waitFor({ state: 'attached' });
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const named = async (name: string): Promise<number> =>
  (await notes.call(`notes?filter=name,eq,${name}`)).json.meta.totalElements;

/** Holds back requests of a method until they are let through; `sent` are their bodies. */
async function held(page: Page, url: RegExp, method: string) {
  const sent: (string | null)[] = [];
  const gate = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return route.continue();
    sent.push(route.request().postData());
    await gate.promise;
    return route.continue();
  });
  return { sent, letThrough: gate.resolve };
}

test('a form that is saved twice at once is saved once, and what is typed meanwhile stays to be saved', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes/new' });
  const created = await held(page, /\/notes$/, 'POST');
  await field(page, 'name').fill('fresh');
  await page.keyboard.press('Control+s');
  await page.keyboard.press('Control+s');
  await until('it is sent', () => created.sent.length > 0);
  created.letThrough();
  await page.getByRole('heading', { level: 1, name: /: fresh$/ }).waitFor();
  assert.equal(created.sent.length, 1);
  assert.equal(await named('fresh'), 1);

  const changed = await held(page, /\/notes\/\d+$/, 'PATCH');
  await field(page, 'name').fill('changed');
  await page.keyboard.press('Control+s');
  await until('it is sent', () => changed.sent.length > 0);
  await page.keyboard.press('Control+s');
  await field(page, 'text').fill('typed meanwhile');
  changed.letThrough();
  await said(page, 'Saved');
  assert.equal(await field(page, 'text').inputValue(), 'typed meanwhile');
  await page.getByText('1 field changed').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('1 field changed').waitFor({ state: 'detached' });
  assert.deepEqual(changed.sent, ['{"name":"changed"}', '{"text":"typed meanwhile"}']);
});

test('a record that is read anew under a draft is compared with what the draft began upon', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/customers/1' });
  await field(page, 'country').fill('XM');
  await shop.call('customers/1', { method: 'PATCH', body: { country: 'XT' } });
  await page.context().setOffline(true);
  await page.getByRole('tab', { name: 'Relations' }).click();
  const lost = page.getByRole('alert').filter({ hasText: 'Connection lost' });
  await lost.waitFor();
  const read = page.waitForResponse(/\/customers\/1\?/);
  await page.context().setOffline(false);
  await read;
  await lost.waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'Fields' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog', { name: 'Record changed meanwhile' }).getByText('XT').first().waitFor();
  assert.equal((await shop.call('customers/1')).json.data.country, 'XT');
});

test('rules and a provider that are read anew under a draft are compared with what the draft began upon', async ({
  open,
}) => {
  const rules = () => shop.admin('entities/orders/row-rules');
  const page = await open({ key: keys.owner, path: '/demo/shop/access/rules' });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const dialog = page.getByRole('dialog', { name: 'Conflicting changes' });
  /** Saves without a connection, which comes back: what the page shows is asked for anew. */
  const saveOffline = async (name: string, url: RegExp): Promise<void> => {
    await page.context().setOffline(true);
    await button(name).click();
    const lost = page.getByRole('alert').filter({ hasText: 'Connection lost' });
    await lost.waitFor();
    const read = page.waitForResponse(url);
    await page.context().setOffline(false);
    await read;
    await lost.waitFor({ state: 'detached' });
  };
  await button('Edit rules of orders').click();
  await button('Add rule').click();
  await field(page, 'Claim').fill('mine');
  const theirs = [{ column: 'note', claim: 'theirs', enabled: true }];
  await shop.admin('entities/orders/row-rules', { method: 'PUT', body: theirs });
  await saveOffline('Save rules', /admin.*\/schema$/);
  await button('Save rules').click();
  await dialog.waitFor();
  assert.deepEqual((await rules()).json.data, theirs);
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await dialog.waitFor({ state: 'detached' });

  const provider = { issuerUrl: 'https://nobody.invalid/', defaultPermissions: 'READ_ONLY', enabled: true };
  await page.goto(`${server.url}/console/demo/shop/access/provider`);
  await field(page, 'Audience').fill('mine');
  await field(page, 'Issuer').fill('https://mine.invalid/');
  await shop.admin('identity-provider', { method: 'PUT', body: { ...provider, audience: 'theirs' } });
  await saveOffline('Save provider', /identity-provider$/);
  assert.equal(await field(page, 'Audience').inputValue(), 'mine');
  await button('Save provider').click();
  await dialog.waitFor();
  assert.equal((await shop.admin('identity-provider')).json.data.audience, 'theirs');
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await field(page, 'Audience').inputValue(), 'theirs');
});

test('a file whose answer is lost is imported once, and what is known of it is told', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes/import' });
  const statuses: number[] = [];
  await page.route(/_import/, async (route) => {
    if (statuses.length > 0) return route.continue();
    statuses.push((await route.fetch()).status());
    return route.abort();
  });
  const button = page.getByRole('button', { name: 'Import', exact: true });
  const choose = async (): Promise<void> => {
    await page.getByRole('textbox', { name: 'Or paste rows' }).fill('name,text\nimported,1\nimported,2');
    await page.getByRole('button', { name: 'Use these rows' }).click();
  };
  await choose();
  await button.click();
  await page.getByText(/whole file was imported or none of it/).waitFor();
  await button.click();
  await page.getByText(/^2 records inserted/).waitFor();
  assert.deepEqual([statuses, await named('imported')], [[200], 2]);
  assert.equal(await button.isEnabled(), false);
  await choose();
  await button.click();
  await page.getByText(/^2 records inserted/).waitFor();
  assert.equal(await named('imported'), 4, 'who chooses it again wants it again');
});

test('an import that makes its entity leaves what others have written to the last digit', async ({ open }) => {
  const document = parseExact('{"entities":{"sums":{"fields":{"sum":{"type":"bigint","max":9007199254740993}}}}}');
  const exact = await server.workspace('t/exact', document as object);
  const stored = async () => (await exact.admin('schema')).text;
  assert.match(await stored(), /"max":9007199254740993\b/);
  const page = await open({ key: keys.admin, path: '/t/exact/import' });
  await page.getByRole('textbox', { name: 'Or paste rows' }).fill('name\none');
  await page.getByRole('button', { name: 'Use these rows' }).click();
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText(/^1 record inserted/).waitFor();
  assert.match(await stored(), /"max":9007199254740993\b/);
});

test('what was typed outlives the entity: another name of it is told, and nothing is saved', async ({ open, tab }) => {
  const entities = (name: string) => ({ entities: { [name]: { fields: { name: { type: 'string' } } } } });
  const place = await server.workspace('t/renamed', entities('before'));
  await place.create('before', [{ name: 'one' }]);
  const form = await open({ key: keys.admin, path: '/t/renamed/data/before/1' });
  await field(form, 'name').fill('typed');
  const grid = await tab(form, '/t/renamed/data/before');
  await grid.getByRole('gridcell', { name: 'one', exact: true }).click();
  await grid.keyboard.press('F2');
  await grid.locator('.value-editor').fill('typed');
  await place.admin('schema', {
    method: 'PUT',
    body: { entities: { after: { ...entities('after').entities.after, renamedFrom: 'before' } } },
  });
  const gone = (page: Page) => page.getByRole('alert').filter({ hasText: 'no entity of this name any more' });
  await Promise.all([gone(form).waitFor(), gone(grid).waitFor()]);
  assert.equal(await field(form, 'name').inputValue(), 'typed');
  assert.equal(await grid.locator('.value-editor').inputValue(), 'typed');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByRole('alert').filter({ hasText: 'Request' }).waitFor();
  assert.equal(await field(form, 'name').inputValue(), 'typed');
  assert.equal((await place.call('after/1')).json.data.name, 'one');
});
