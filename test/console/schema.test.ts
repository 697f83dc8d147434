// The schema in the console: diagram, forms, document, plan and what a plan asks, in a browser.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { prepare } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop } = useConsole();

interface Document {
  readonly entities: Readonly<
    Record<string, { readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>> }>
  >;
}

const PEOPLE = {
  entities: {
    customers: {
      fields: { name: { type: 'string' }, email: { type: 'string', maxLength: 320 }, country: { type: 'string' } },
    },
  },
};
const NOTES = { entities: { notes: { fields: { text: { type: 'text' }, old: { type: 'integer' } } } } };

if (consoleSkip === false)
  prepare(async () => {
    await server.workspace('t/empty', { entities: {} });
    await server.workspace('t/notes', NOTES);
    await server.workspace('t/two', NOTES);
    await server.workspace('t/people', PEOPLE);
    await server.workspace('t/odd', {
      entities: { constructor: { fields: { toString: { type: 'string' }, valueOf: { type: 'integer' } } } },
    });
    const many = Array.from({ length: 100 }, (_, index): [string, unknown] => [
      `entity${index}`,
      {
        fields: { name: { type: 'string' } },
        relations: index === 0 ? {} : { parent: { kind: 'belongsTo', entity: `entity${Math.floor(index / 3)}` } },
      },
    ]);
    await server.workspace('t/many', { entities: Object.fromEntries(many) });
  });

const documentOf = async (path: string): Promise<Document> => {
  const [organization, workspace] = path.split('/');
  const target = `/api/admin/v1/organizations/${organization}/workspaces/${workspace}/schema`;
  return (await server.call(target, { credential: keys.admin })).json.data;
};

const openTab = (page: Page, name: string): Promise<void> => page.getByRole('tab', { name }).click();

/** Replaces the text of the editor as a whole, as one pastes. */
async function write(page: Page, text: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'Schema document' });
  await editor.focus();
  await editor.press('Control+a');
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.querySelector('.cm-content').dispatchEvent(paste);
  }`);
}

/** The text of the editor; of long ones only what is in sight is on the page, so documents here are short. */
async function textOf(page: Page): Promise<string> {
  const editor = page.getByRole('textbox', { name: 'Schema document' });
  await editor.waitFor();
  return (await editor.locator('.cm-line').allTextContents()).join('\n');
}

const planOf = (page: Page): Promise<void> => page.getByRole('link', { name: 'Plan', exact: true }).click();

/** Waits for the end of the migration that the page shows. */
const ends = (page: Page, state: string): Promise<void> =>
  page.getByRole('main').getByText(state, { exact: true }).first().waitFor();

test('the diagram has every entity once, and its twin says the same', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/many/schema' });
  const diagram = page.getByRole('region', { name: 'Diagram of the schema' });
  await diagram.getByRole('group', { name: /^entity99:/ }).waitFor();
  assert.equal(await diagram.getByRole('group', { name: /^entity\d+:/ }).count(), 100);
  const list = page.getByRole('list', { name: 'Entities' });
  assert.equal(await list.getByRole('button').count(), 100);
  await list.getByRole('list', { name: 'Relations of entity9', exact: true }).getByText('belongsTo entity3').waitFor();
  await page.getByRole('textbox', { name: 'Find an entity of the schema' }).fill('entity42');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Show neighbours only' }).click();
  // Itself, its parent 14; 126 and further do not exist.
  await diagram.getByRole('group', { name: /^entity14:/ }).waitFor();
  await until(
    'only the neighbours are drawn',
    async () => (await diagram.getByRole('group', { name: /^entity\d+:/ }).count()) === 2,
  );
  assert.match(page.url(), /focus=entity42/);
});

test('forms and document are one draft, which a reload keeps', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/people/schema?tab=entities&entity=customers' });
  await page.getByRole('button', { name: 'New field' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
  // The name has the focus and is typed over.
  await page.keyboard.type('nick name');
  await page.getByText('“nick name” is no name').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Plan' }).isEnabled(), false, 'not planned as "field"');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('nickname');
  await page.keyboard.press('Enter');
  await page.getByLabel('Maximum length').fill('20');
  await page.keyboard.press('Enter');
  await openTab(page, 'Document');
  await until('the document has the field', async () =>
    (await textOf(page)).includes('nickname: { type: string, maxLength: 20 }'),
  );
  await page.reload();
  await until('the draft is there', async () => (await textOf(page)).includes('nickname'));
  const text = (await textOf(page)).replace('maxLength: 20', 'maxLength: 30');
  await write(page, text);
  await openTab(page, 'Entities');
  await page.getByRole('button', { name: 'nickname string(30)' }).waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'nickname string(30)' }).waitFor({ state: 'detached' });
});

test('the form of an entity says which changes are kept, and the others of its settings with them', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/people/schema?tab=entities&entity=customers' });
  const keep = page.getByRole('combobox', { name: 'Changes of records' });
  await keep.waitFor();
  assert.equal(await page.getByLabel('Days of history').count(), 0);
  await keep.selectOption('history');
  await page.getByLabel('Days of history').fill('90');
  await page.keyboard.press('Enter');
  await page.getByLabel('Users of the identity provider may read history').check();
  await page.getByRole('combobox', { name: 'Fields left out of changes' }).click();
  await page.getByRole('option', { name: 'email' }).click();
  await page.keyboard.press('Escape');
  await openTab(page, 'Document');
  await until('the document has the settings', async () => {
    const text = await textOf(page);
    return ['changes: history', 'historyDays: 90', 'historyForUsers: true', 'email'].every((part) =>
      text.includes(part),
    );
  });
  assert.match(await textOf(page), /changesOmit:\s*(\[ ?email ?\]|- email)/);
  await openTab(page, 'Entities');
  await keep.selectOption('off');
  await page.getByLabel('Days of history').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Discard' }).click();
});

test("a mistake stands at its line in the server's words, and in the form", async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/people/schema?tab=document' });
  const text = await textOf(page);
  const line = text.split('\n').findIndex((one) => one.includes('email:')) + 1;
  await write(page, text.replace('maxLength: 320', 'scale: 2'));
  const mistakes = page.getByRole('alert', { name: 'Errors' });
  const mistake = mistakes.getByRole('button', {
    name: new RegExp(`^Line ${line}: entities.customers.fields.email.scale`),
  });
  await mistake.waitFor();
  await page.locator('.cm-lint-marker-error').first().waitFor();
  await write(page, `${text}\n  - [`);
  await mistakes.getByRole('button').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Plan' }).isEnabled(), false);
});

test('records in the way are counted, linked and mended, then the change is applied', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/schema?tab=entities&entity=orders&open=fields.total' });
  await page.getByLabel('Type').selectOption('integer');
  await planOf(page);
  const steps = page.getByRole('table', { name: 'Steps of the plan' });
  const link = steps.getByRole('link', { name: '3 records' });
  await link.waitFor();
  assert.deepEqual(await steps.getByRole('link', { name: /^\d+$/ }).allTextContents(), ['1', '3', '5']);
  assert.equal(await page.getByRole('button', { name: 'Apply' }).isEnabled(), false);
  await link.click();
  await page.waitForURL(/\/data\/orders\?filter=id,in,1,3,5$/);
  for (const id of [1, 3, 5]) await shop.call(`orders/${id}`, { method: 'PUT', body: { total: 7 } });
  await page.goBack();
  await page.getByRole('button', { name: 'Plan again' }).click();
  await steps.getByText('0 records').first().waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await ends(page, 'succeeded');
  assert.equal((await documentOf('demo/shop')).entities.orders?.fields.total?.type, 'integer');
});

test('what went and came is asked for as a renaming', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/people/schema?tab=document' });
  const text = await textOf(page);
  await write(page, text.replace('country: {', 'land: {'));
  await planOf(page);
  await page.getByRole('alert', { name: 'Was this renamed?' }).waitFor();
  await page.getByLabel('Type country to drop it').waitFor();
  await page.getByRole('button', { name: 'Yes, country is land now' }).click();
  const steps = page.getByRole('table', { name: 'Steps of the plan' });
  await steps.getByText('rename field country').waitFor();
  assert.equal(await steps.getByText('destroys').count(), 0);
  await page.getByRole('button', { name: 'Apply' }).click();
  await ends(page, 'succeeded');
  const { fields } = (await documentOf('t/people')).entities.customers ?? { fields: {} };
  assert.deepEqual(Object.keys(fields), ['name', 'email', 'land']);
});

test('what is dropped has to be typed', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/schema?tab=entities&entity=notes&open=fields.old' });
  await page.getByRole('button', { name: 'Remove old' }).click();
  await planOf(page);
  const typed = page.getByLabel('Type old to drop it');
  await typed.waitFor();
  const apply = page.getByRole('button', { name: 'Apply' });
  assert.equal(await apply.isEnabled(), false);
  await typed.fill('ol');
  assert.equal(await apply.isEnabled(), false);
  assert.deepEqual(await violationsOf(page), []);
  assert.deepEqual(await documentOf('t/notes'), NOTES);
  await typed.fill('old');
  await apply.click();
  await ends(page, 'succeeded');
  assert.deepEqual(Object.keys((await documentOf('t/notes')).entities.notes?.fields ?? {}), ['text']);
});

test('two who change the schema lose nothing of each other', async ({ open }) => {
  const path = '/t/two/schema?tab=entities&entity=notes';
  const page = await open({ key: keys.admin, path });
  await page.getByRole('button', { name: 'New field' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('mine');
  await page.keyboard.press('Enter');
  await planOf(page);
  const apply = page.getByRole('button', { name: 'Apply' });
  await apply.waitFor();
  const target = '/api/admin/v1/organizations/t/workspaces/two/schema';
  const { entities } = (await documentOf('t/two')) as { entities: Record<string, { fields: object }> };
  const theirs = { entities: { notes: { fields: { ...entities.notes?.fields, theirs: { type: 'uuid' } } } } };
  await server.call(target, { method: 'PUT', credential: keys.admin, body: theirs });
  await apply.click();
  const alert = page.getByRole('alert', { name: 'The schema changed while you were editing' });
  await alert.getByText('theirs: { type: uuid }').waitFor();
  assert.deepEqual(await documentOf('t/two'), theirs);
  await alert.getByRole('button', { name: 'Merge' }).click();
  await until('it can be applied', () => apply.isEnabled());
  await apply.click();
  await ends(page, 'succeeded');
  assert.deepEqual(Object.keys((await documentOf('t/two')).entities.notes?.fields ?? {}).sort(), [
    'mine',
    'old',
    'text',
    'theirs',
  ]);
});

test('a plan of an older draft is told, and the command that is copied is that of the plan shown', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: '/t/two/schema?tab=entities&entity=notes',
    context: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await page.getByRole('button', { name: 'New field' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('late');
  await page.keyboard.press('Enter');
  await planOf(page);
  await page.getByRole('table', { name: 'Steps of the plan' }).waitFor();
  await page.getByRole('button', { name: 'Copy as', exact: true }).click();
  await page.getByRole('menuitem', { name: 'curl' }).click();
  const curl = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.match(curl, /-X PUT .*Bearer \$WDA_KEY/);
  assert.match(curl, /"late":/);
  const { entities } = (await documentOf('t/two')) as { entities: Record<string, { fields: object }> };
  const theirs = { entities: { notes: { fields: { ...entities.notes?.fields, sooner: { type: 'uuid' } } } } };
  const target = '/api/admin/v1/organizations/t/workspaces/two/schema';
  const before = (await server.call(target, { credential: keys.admin })).headers.get('etag');
  assert.ok(curl.includes(`If-Match: ${before}`), curl);
  await server.call(target, { method: 'PUT', credential: keys.admin, body: theirs });
  const refused = page.waitForResponse((response) => response.url().includes('/schema/plan?'));
  await page.getByRole('button', { name: 'Plan again' }).click();
  assert.equal((await refused).status(), 412);
  await page
    .getByRole('alert', { name: 'The schema changed while you were editing' })
    .getByText('sooner: { type: uuid }')
    .waitFor();
});

test('an empty workspace has no draft before one is chosen: a first entity, or an example', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/empty' });
  await page.getByRole('link', { name: 'New schema' }).click();
  await page.getByRole('textbox', { name: 'Schema document' }).waitFor();
  assert.equal(await page.getByText('Draft, not applied').count(), 0);
  assert.doesNotMatch(await textOf(page), /notes/);
  for (const tab of ['Diagram', 'Entities']) {
    await openTab(page, tab);
    assert.equal(await page.getByText('notes').count(), 0, tab);
  }
  await page.getByRole('button', { name: 'New entity' }).click();
  await page.getByText('Draft, not applied').waitFor();
  const name = page.getByLabel('Entity name');
  await until('the name has the focus', () => name.evaluate((one) => one === one.ownerDocument.activeElement));
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'Start from an example' }).click();
  await until('the example is there', async () => (await textOf(page)).includes('notes:'));
  await planOf(page);
  await page.getByRole('button', { name: 'Apply' }).click();
  await ends(page, 'succeeded');
  assert.deepEqual(Object.keys((await documentOf('t/empty')).entities), ['notes']);
});

test('names of Object.prototype are names', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/odd/schema' });
  await page.getByRole('group', { name: /^constructor:/ }).waitFor();
  await page.getByRole('list', { name: 'Entities' }).getByRole('button', { name: 'constructor' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: /^toString/ }).click();
  await page.getByLabel('Required').check();
  await page.getByRole('button', { name: 'Remove entity' }).waitFor();
  await planOf(page);
  await page.getByRole('table', { name: 'Steps of the plan' }).getByText('toString').first().waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await ends(page, 'succeeded');
  const odd = JSON.stringify(await documentOf('t/odd'));
  assert.ok(odd.includes('"toString":{"type":"string","required":true}'), odd);
});

test('an entity with a field in its form has no violation, light or dark, and is not cut off at 320 px', async ({
  open,
}) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const path = '/demo/shop/schema?tab=entities&entity=orders&open=fields.status';
    const page = await open({ key: keys.admin, path, context: { colorScheme } });
    await page.getByLabel('Type').waitFor();
    assert.deepEqual(await violationsOf(page), [], colorScheme);
    await page.setViewportSize({ width: 320, height: 700 });
    const width = (): Promise<number> => page.evaluate<number>('document.documentElement.scrollWidth');
    await until('nothing is cut off', async () => (await width()) <= 320);
  }
});
