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

test('the line below the records has sums of all that match, and follows edits', async ({ open }) => {
  const page = await open({ key: desk.key, path: `${TICKETS}?filter=status,eq,waiting` });
  await button(page, 'Add summary').click();
  const form = page.getByRole('dialog', { name: 'Add summary' });
  await form.getByLabel('Column').selectOption('hours');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  const line = page.getByRole('region', { name: 'Summary' });
  await line.getByText('sum of hours: 7.50').waitFor();
  assert.match(page.url(), /summary=sum%3Ahours/);
  await page.locator('[data-spot="0:6"]').dblclick();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('2.25');
  await page.keyboard.press('Enter');
  await line.getByText('sum of hours: 8.25').waitFor();
  await page.keyboard.press('Control+z');
  await line.getByText('sum of hours: 7.50').waitFor();
  await button(page, 'Remove sum of hours').click();
  await line.getByText('sum of hours').waitFor({ state: 'detached' });
});

/** Reads a field of a ticket by its subject. */
const readTicket = async (subject: string): Promise<Record<string, unknown>> =>
  (await desk.call(`tickets?filter=subject,eq,${encodeURIComponent(subject)}`)).json.data[0];

test('cards of a board are moved by mouse, menu and keys, each back by its undo', async ({ open }) => {
  const page = await open({ key: desk.key, path: `${TICKETS}?layout=board&sort=id&summary=sum:hours` });
  const lane = (name: RegExp) => page.getByRole('region', { name });
  await lane(/^open, 40 records/).waitFor();
  await lane(/^No value, 2 records/).waitFor();
  await lane(/^done, 13 records/)
    .getByText('sum of hours: 19.50')
    .waitFor();
  // The company has its name, and leads to it.
  await lane(/^waiting/)
    .getByRole('listitem')
    .filter({ hasText: 'ticket 41' })
    .filter({ hasText: 'company Acme' })
    .getByRole('link', { name: 'Acme' })
    .waitFor();
  // A column has its own pages.
  const cards = lane(/^open/).getByRole('listitem');
  await cards.nth(24).waitFor();
  assert.equal(await cards.count(), 25);
  await lane(/^open/).getByRole('button', { name: 'Show more' }).click();
  await cards.nth(39).waitFor();

  await page.getByRole('link', { name: 'ticket 1', exact: true }).dragTo(lane(/^done/));
  await page.getByText('ticket 1 is moved to done.').waitFor();
  await lane(/^done, 14 records/).waitFor();
  assert.equal((await readTicket('ticket 1')).status, 'done');
  await button(page, 'Undo the move').click();
  await lane(/^open, 40 records/).waitFor();
  assert.equal((await readTicket('ticket 1')).status, 'open');

  await button(page, 'Move ticket 2').click();
  await page.getByRole('menuitem', { name: 'Move to No value' }).click();
  await lane(/^No value, 3 records/).waitFor();
  assert.equal((await readTicket('ticket 2')).status, null);

  await lane(/^No value/)
    .getByRole('link', { name: 'ticket 2', exact: true })
    .focus();
  await page.keyboard.press('Shift+ArrowLeft');
  await lane(/^done, 14 records/)
    .getByRole('link', { name: 'ticket 2', exact: true })
    .waitFor();
  await page.locator('a:focus').filter({ hasText: 'ticket 2' }).waitFor();
});

test('a card that another has changed meanwhile is not overwritten', async ({ open }) => {
  const page = await open({ key: desk.key, path: `${TICKETS}?layout=board&filter=subject,eq,ticket 3` });
  await page.getByRole('link', { name: 'ticket 3', exact: true }).waitFor();
  const { id } = await readTicket('ticket 3');
  await desk.call(`tickets/${id}`, { method: 'PATCH', body: { hours: '9.00' } });
  await button(page, 'Move ticket 3').click();
  await page.getByRole('menuitem', { name: 'Move to waiting' }).click();
  await page.getByRole('alert').filter({ hasText: 'ticket 3 was changed meanwhile' }).waitFor();
  assert.equal((await readTicket('ticket 3')).status, 'open');
});

test('a chart shows an aggregate by month and as a table, and is pinned to the overview', async ({ open }) => {
  const page = await open({ key: desk.key, path: `${TICKETS}?filter=status,eq,waiting` });
  await page.getByLabel('Layout').selectOption('chart');
  await page.locator('.chart-number').filter({ hasText: '5' }).waitFor();
  await page.getByLabel('By', { exact: true }).selectOption('opened:month');
  const image = page.getByRole('img', { name: /number of records by opened by month/ });
  await image.waitFor();
  assert.match((await image.getAttribute('aria-label')) ?? '', /2026-01: 1; 2026-02: 2; 2026-03: 2$/);
  await page.getByLabel('Value', { exact: true }).selectOption('sum:hours');
  await page.getByRole('img', { name: /2026-01: 1.50/ }).waitFor();
  await page.getByLabel('And by').selectOption('company.name');
  await page.getByRole('img', { name: /2026-01, Acme: / }).waitFor();
  await page.getByLabel('Form').selectOption('table');
  const table = page.getByRole('table', { name: /sum of hours by opened by month and company.name/ });
  await table.getByRole('row', { name: /^2026-02/ }).waitFor();
  await page.getByLabel('Form').selectOption('line');

  await choose(page, 'Save as a new view');
  const dialog = page.getByRole('dialog', { name: 'Save as a new view' });
  await dialog.getByLabel('Name').fill('Hours by month');
  await dialog.getByLabel('Shared with all').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await current(page, 'Hours by month').waitFor();
  await choose(page, 'Pin to the overview');
  const other = await open({ key: desk.readOnlyKey, path: '/v/desk' });
  const charts = other.getByRole('region', { name: 'Charts' });
  await charts.getByRole('img', { name: /^Hours by month: sum of hours/ }).waitFor();
  assert.deepEqual(await violationsOf(other), []);
  await charts.getByRole('link', { name: 'Hours by month' }).click();
  await current(other, 'Hours by month').waitFor();
  await other.getByText('Unsaved changes').waitFor({ state: 'detached' });
  await choose(page, 'Remove from the overview');
});

test('records of a calendar are moved to another day by mouse, menu and keys', async ({ open }) => {
  await desk.create(
    'tickets',
    Array.from({ length: 7 }, (_, at) => ({
      subject: `meeting ${at + 1}`,
      due: '2026-05-13',
      opened: '2026-05-20T10:30:00Z',
    })),
  );
  const meetings = 'sort=id&filter=subject,startsWith,meeting';
  const page = await open({ key: desk.key, path: `${TICKETS}?layout=calendar&group=due&day=2026-05-01&${meetings}` });
  const day = (date: string, count: number) =>
    page.getByRole('region', { name: new RegExp(`${date}, ${count} records?$`) });
  const card = (subject: string) => page.getByRole('link', { name: subject, exact: true });
  await page.getByRole('heading', { name: 'May 2026' }).waitFor();
  await day('2026-05-13', 7).getByText('+3 more').waitFor();
  await card('meeting 1').dragTo(day('2026-05-15', 0));
  await page.getByText('meeting 1 is moved to 2026-05-15.').waitFor();
  await day('2026-05-15', 1).waitFor();
  assert.equal((await readTicket('meeting 1')).due, '2026-05-15');

  await button(page, 'Move meeting 2').click();
  await page.getByRole('menuitem', { name: 'Move to another day' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move meeting 2' });
  await dialog.getByLabel('Day').fill('2026-05-06');
  await page.keyboard.press('Enter');
  // A move is followed by another, though the layout may still load after the first.
  await page.locator('section.day[aria-label*="2026-05-06"]').getByRole('link', { name: 'meeting 2' }).focus();
  await page.keyboard.press('Shift+ArrowDown');
  await page.getByText('meeting 2 is moved to 2026-05-13.').waitFor();
  await day('2026-05-13', 6).waitFor();
  await page.locator('a:focus').filter({ hasText: 'meeting 2' }).waitFor();
  assert.equal((await readTicket('meeting 2')).due, '2026-05-13');

  // The link of a day lists all of its records.
  await page.getByRole('link', { name: '2 more records of 2026-05-13' }).click();
  await rows(page, 6).waitFor();
});

test('the time of a datetime stays when a week moves it, and the move is undone', async ({ open }) => {
  await desk.create(
    'tickets',
    Array.from({ length: 3 }, (_, at) => ({ subject: `call ${at + 1}`, opened: '2026-06-10T10:30:00Z' })),
  );
  const page = await open({
    key: desk.key,
    path: `${TICKETS}?layout=calendar&group=due&day=2026-06-03&sort=id&filter=subject,startsWith,call`,
  });
  const day = (date: string, count: number) =>
    page.getByRole('region', { name: new RegExp(`${date}, ${count} records?$`) });
  await page.getByLabel('Days by').selectOption('opened');
  await page.getByText(/^Days in /).waitFor();
  await page.getByLabel('Span').selectOption('week');
  await page.getByRole('heading', { name: 'Week from 2026-06-01' }).waitFor();
  await button(page, 'Next week').click();
  await page.getByRole('heading', { name: 'Week from 2026-06-08' }).waitFor();
  await day('2026-06-10', 3).waitFor();
  await page.getByRole('link', { name: 'call 3', exact: true }).dragTo(day('2026-06-11', 0));
  await page.getByText('call 3 is moved to 2026-06-11.').waitFor();
  await day('2026-06-11', 1).waitFor();
  assert.equal((await readTicket('call 3')).opened, '2026-06-11T10:30:00Z');
  await button(page, 'Undo the move').click();
  await day('2026-06-10', 3).waitFor();
  assert.equal((await readTicket('call 3')).opened, '2026-06-10T10:30:00Z');
});

const LAYOUTS: readonly object[] = [
  { name: 'Looks: grid', filter: ['status,eq,waiting'], columns: ['id', 'gone'], summary: ['sum:hours', 'max:gone'] },
  { name: 'Looks: board', layout: 'board', group: ['status'], summary: ['sum:hours'] },
  { name: 'Looks: calendar', layout: 'calendar', group: ['due'] },
  { name: 'Looks: week', layout: 'calendar', group: ['opened:week'] },
  { name: 'Looks: number', layout: 'chart', chart: 'number', summary: ['count', 'sum:hours', 'sum:gone'] },
  { name: 'Looks: bars', layout: 'chart', group: ['status', 'company.name'] },
  { name: 'Looks: line', layout: 'chart', chart: 'line', group: ['due:week'], summary: ['sum:hours', 'avg:hours'] },
  { name: 'Looks: table', layout: 'chart', chart: 'table', group: ['opened:month'] },
];
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
      // The month of the records.
      if (/calendar|week/.test(name)) await page.goto(`${page.url()}&day=2026-03-15`);
      if (name !== 'Looks: grid')
        await page.locator('.card, .chart svg, .chart-number, .chart-area table').first().waitFor();
      assert.deepEqual(await violationsOf(page), [], name);
      await page.setViewportSize({ width: 390, height: 800 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, name);
    }
  });
