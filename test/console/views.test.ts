// Saved views and layouts of records in a browser: views in the grid and the address, by mouse and by keyboard.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';

const { test, keys, server } = useConsole();

const SCHEMA = {
  entities: {
    companies: { fields: { name: { type: 'string', required: true } } },
    tickets: {
      fields: {
        subject: { type: 'string', required: true },
        status: { type: 'enum', values: ['open', 'waiting', 'done'] },
        due: { type: 'date' },
        opened: { type: 'datetime' },
        hours: { type: 'decimal', precision: 8, scale: 2 },
      },
      relations: { company: { kind: 'belongsTo', entity: 'companies' } },
    },
  },
};
const desk = use(() => server.workspace('v/desk', SCHEMA));
prepare(async () => {
  await desk.create('companies', [{ name: 'Acme' }, { name: 'Bolt' }]);
  const tickets = Array.from({ length: 60 }, (_, at) => ({
    subject: `ticket ${at + 1}`,
    status: at < 40 ? 'open' : at < 45 ? 'waiting' : at < 58 ? 'done' : null,
    due: `2026-03-${String(1 + (at % 10)).padStart(2, '0')}`,
    opened: `2026-0${1 + (at % 3)}-15T10:00:00Z`,
    hours: '1.50',
    companyId: 1 + (at % 2),
  }));
  await desk.create('tickets', tickets);
});
const TICKETS = '/v/desk/data/tickets';

const saveView = async (members: object, entity = 'tickets'): Promise<{ readonly id: number }> => {
  const body = { entity, shared: true, pinned: ['id'], ...members };
  const { status, json, text } = await desk.admin('views', { method: 'POST', credential: keys.admin, body });
  assert.equal(status, 201, text);
  return json.data;
};
const tab = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
const current = (page: Page, name: string) =>
  page.locator('nav[aria-label=Views] a[aria-current=page]').filter({ hasText: name });
const rows = (page: Page, count: number) => page.locator(`[role=grid][aria-rowcount="${count + 1}"]`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
async function choose(page: Page, item: string): Promise<void> {
  await button(page, 'View actions').click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('what one looks at is saved as a view, changed, shared and deleted', async ({ open }) => {
  const page = await open({ key: desk.key, path: `${TICKETS}?filter=status,eq,waiting&sort=subject,desc` });
  await rows(page, 5).waitFor();
  await choose(page, 'Save as a new view');
  const dialog = page.getByRole('dialog', { name: 'Save as a new view' });
  await dialog.getByLabel('Name').fill('Waiting');
  await page.keyboard.press('Enter');
  await current(page, 'Waiting (private)').waitFor();
  assert.equal(await page.locator('nav[aria-label=Views] [aria-current]').count(), 1);
  assert.match(page.url(), /view=\d+.*filter=status,eq,waiting/);

  // Another sort is a change of the view, until it is saved or discarded.
  await page.getByRole('columnheader', { name: 'subject' }).click();
  await page.getByText('Unsaved changes').waitFor();
  await button(page, 'Discard changes').click();
  await page.getByText('Unsaved changes').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'hours' }).click();
  await page.keyboard.press('Escape');
  await button(page, 'Save view').click();
  await page.getByText('Unsaved changes').waitFor({ state: 'detached' });

  // Others see it when it is shared.
  await choose(page, 'Share with the workspace');
  await tab(page, 'Waiting').waitFor();
  const other = await open({ key: desk.readOnlyKey, path: TICKETS });
  await rows(other, 60).waitFor();
  await tab(other, 'Waiting').click();
  await rows(other, 5).waitFor();
  assert.equal(await other.getByRole('columnheader', { name: 'hours' }).count(), 0);
  assert.equal(await button(other, 'View actions').count(), 0);
  await tab(other, 'All records').click();
  await rows(other, 60).waitFor();

  await choose(page, 'Rename');
  const rename = page.getByRole('dialog', { name: 'Rename the view' });
  await rename.getByLabel('Name').fill('Waiting for us');
  await rename.getByRole('button', { name: 'Rename' }).click();
  await tab(page, 'Waiting for us').waitFor();
  await choose(page, 'Delete view');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await tab(page, 'Waiting for us').waitFor({ state: 'detached' });
  // What was looked at stays.
  await rows(page, 5).waitFor();
});

test('the address of unsaved changes shows them to another person', async ({ open }) => {
  const { id } = await saveView({ name: 'Narrow', columns: ['id', 'subject'], widths: { subject: 321 } });
  const page = await open({ key: desk.key, path: TICKETS });
  await tab(page, 'Narrow').click();
  await page.getByRole('columnheader', { name: 'subject' }).click();
  await page.getByText('Unsaved changes').waitFor();
  const address = page.url().slice(`${server.url}/console`.length);
  assert.match(address, new RegExp(`view=${id}`));
  const other = await open({ key: desk.readOnlyKey, path: address });
  await other.getByText('Unsaved changes').waitFor();
  const head = other.getByRole('columnheader', { name: 'subject' });
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  assert.equal(await head.evaluate((element: unknown) => (element as { offsetWidth: number }).offsetWidth), 321);
  await tab(other, 'All records').click();
  await other.getByRole('columnheader', { name: 'status' }).waitFor();
});

test('a view whose fields are gone marks them, and the rest applies', async ({ open }) => {
  const { id } = await saveView({
    name: 'Old',
    filter: ['status,eq,waiting', 'state,eq,open'],
    sort: ['subject', 'ended,desc'],
    columns: ['id', 'subject', 'ended'],
  });
  const page = await open({ key: desk.key, path: TICKETS });
  await tab(page, 'Old').click();
  await rows(page, 5).waitFor();
  await page.getByText('column ended does not exist').waitFor();
  const filters = page.getByRole('list', { name: 'Filters' });
  await filters.locator('[data-wrong]').filter({ hasText: 'state' }).waitFor();
  await button(page, 'Remove column ended').click();
  await page.getByText('Unsaved changes').waitFor();
  const { json } = await desk.admin(`views/${id}`, { credential: keys.admin });
  assert.deepEqual(json.data.columns, ['id', 'subject', 'ended']);
});

const LAYOUTS: readonly object[] = [{ name: 'Looks: grid', filter: ['status,eq,waiting'], columns: ['id', 'gone'] }];
prepare(async () => {
  for (const members of LAYOUTS) await saveView(members, 'tickets');
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`axe finds nothing on any layout, ${colorScheme}, and none is wider than a telephone`, async ({ open }) => {
    const page = await open({ key: desk.key, path: TICKETS, context: { colorScheme } });
    for (const { name } of LAYOUTS as readonly { readonly name: string }[]) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await tab(page, name).click();
      await current(page, name).waitFor();
      assert.deepEqual(await violationsOf(page), [], name);
      await page.setViewportSize({ width: 390, height: 800 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, name);
    }
  });
