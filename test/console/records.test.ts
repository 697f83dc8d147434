// The records of an entity in a browser: the grid, what is in the address, filters that are right and wrong, hostile values.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server } = useConsole();

const THINGS = 100_000;
const big = use(() =>
  server.workspace('t/big', {
    entities: {
      things: {
        fields: {
          name: { type: 'string', required: true },
          n: { type: 'bigint' },
          d: { type: 'decimal', precision: 12, scale: 2 },
        },
      },
    },
  }),
);
prepare(async () => {
  const lines = Array.from(
    { length: THINGS },
    (_, index) => `thing ${index + 1},${9223372036854675807n + BigInt(index + 1)},0.10`,
  );
  const { status, text } = await big.call('things/_import', {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: ['name,n,d', ...lines].join('\n'),
  });
  assert.equal(status, 200, text);
});

const WIDE = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, { type: 'string' }]));
const wide = use(() => server.workspace('t/wide', { entities: { wide: { fields: WIDE }, none: { fields: {} } } }));
prepare(() => wide.create('wide', [{ field0: 'first', field199: 'last' }]));

const HOSTILE = [
  '<img src=x onerror="window.__x=1">',
  '"><script>window.__x=1</script>',
  'x'.repeat(1_000_000),
  '👩‍👩‍👧‍👦 family',
  'שלום ‮abc',
  'javascript:alert(1)',
  '',
  null,
];
const odd = use(() =>
  server.workspace('t/odd', {
    entities: {
      constructor: {
        fields: { toString: { type: 'text' }, valueOf: { type: 'string' }, hasOwnProperty: { type: 'integer' } },
      },
    },
  }),
);
prepare(() =>
  odd.create(
    'constructor',
    HOSTILE.map((value, index) => ({
      toString: value,
      valueOf: value?.slice(0, 100) ?? null,
      hasOwnProperty: index,
    })),
  ),
);

const cell = (page: Page, row: number, column: number) => page.locator(`[data-spot="${row}:${column}"]`);

/** Where the focus is: role, row and column as assistive technology counts them, and text. */
const focused = (page: Page): Promise<readonly unknown[]> =>
  page.evaluate(`(() => {
    const cell = document.activeElement;
    const row = cell.closest('[role=row]');
    return [cell.getAttribute('role'), Number(row?.getAttribute('aria-rowindex')), Number(cell.getAttribute('aria-colindex')), cell.textContent];
  })()`);

test('a list of a hundred thousand records is reached from end to end, with few cells in the document', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/big/data/things' });
  const grid = page.getByRole('grid', { name: 'Records of things' });
  await page.getByRole('gridcell', { name: 'thing 1', exact: true }).click();
  assert.equal(await grid.getAttribute('aria-rowcount'), String(THINGS + 1));
  await page.keyboard.press('Control+End');
  await page.getByRole('gridcell', { name: `thing ${THINGS}`, exact: true }).waitFor();
  assert.deepEqual(await focused(page), ['gridcell', THINGS + 1, 5, '0.10']);
  assert.match((await cell(page, THINGS - 1, 3).textContent()) ?? '', /^9223372036854775807$/);
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await focused(page), ['gridcell', THINGS + 1, 2, String(THINGS)]);
  for (const key of ['Control+Home', 'PageDown', 'ArrowUp', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
  const [role, row, column] = await focused(page);
  assert.deepEqual([role, column], ['gridcell', 3]);
  assert.equal(await cell(page, Number(row) - 2, 2).textContent(), `thing ${Number(row) - 1}`);
  assert.ok((await page.getByRole('gridcell').count()) < 2000);
});

test('an id of six digits is shown whole, and stays in sight with its cells', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: '/t/big/data/things?sort=id,desc',
    context: { viewport: { width: 390, height: 700 } },
  });
  const id = cell(page, 0, 1);
  await id.getByText(String(THINGS), { exact: true }).waitFor();
  await id.click();
  await page.keyboard.press('End');
  assert.deepEqual((await focused(page)).slice(1), [2, 5, '0.10']);
  const [isCut, digits, button] = await id.evaluate((one) => {
    const range = one.ownerDocument.createRange();
    range.selectNodeContents(one.querySelector('bdi'));
    const { left, right } = range.getBoundingClientRect();
    const box = one.getBoundingClientRect();
    const link = one.querySelector('.open-record').getBoundingClientRect();
    return [one.scrollWidth > one.clientWidth || left < box.left || right > box.right, left, link.right];
  });
  assert.equal(isCut, false, 'no digit is cut off');
  assert.ok(digits >= button, `the button ends at ${button} px, the digits begin at ${digits} px`);
  const [grid, place] = await Promise.all([page.getByRole('grid').boundingBox(), id.boundingBox()]);
  assert.ok((place?.x ?? -1) >= (grid?.x ?? 0), 'the id is in sight at the right end');
});

/** Waits until what opens has its colours. */
const STILL = 'Promise.allSettled(document.getAnimations().map(({ finished }) => finished))';

test('every character edits the cell, and shortcuts take Ctrl or Shift, as their dialog says', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  let writes = 0;
  page.on('request', (request) => {
    if (request.method() !== 'GET') writes++;
  });
  const note = cell(page, 0, 5);
  const before = await note.innerText();
  for (const key of ['x', 'n', '/', '?']) {
    await note.click();
    await page.keyboard.press(key);
    await until(`${key} is in the editor`, () =>
      page.evaluate(`document.activeElement.value === ${JSON.stringify(key)}`),
    );
    await page.keyboard.press('Escape');
    assert.equal(await note.innerText(), before);
  }
  await page.keyboard.press('Control+/');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  await dialog.getByText('Replace the value').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await note.click();
  await page.keyboard.press('Control+Shift+F');
  await page.getByLabel('Filter as text').waitFor();
  await page.keyboard.press('Escape');
  await note.click();
  await page.keyboard.press('Shift+Enter');
  await page.waitForURL(/data\/orders\/new$/);
  assert.equal(writes, 0);
});

test('a menu of the cell, the record and the column copies, filters, sorts, pins, hides and opens', async ({
  open,
}) => {
  const page = await open({
    key: keys.owner,
    path: '/demo/shop/data/orders',
    context: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  const choose = (name: string | RegExp) => page.getByRole('menuitem', { name }).click();
  await cell(page, 0, 2).click({ button: 'right' });
  await choose(/^Copy/);
  await until('the cell is copied', async () => (await page.evaluate('navigator.clipboard.readText()')) === 'paid');
  // By keys, as well; the focus is in the menu, and in the grid again when it closes.
  await cell(page, 0, 2).click();
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menu', { name: 'Cell status' }).waitFor();
  await page.evaluate(STILL);
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.press('Escape');
  await until('the cell has the focus', () => page.evaluate('document.activeElement.dataset.spot === "0:2"'));
  await cell(page, 0, 2).click({ button: 'right' });
  await choose('Filter by this value');
  await page.waitForURL(/filter=status,eq,paid$/);
  await cell(page, 0, 6).click({ button: 'right' });
  await choose('Exclude this value');
  await page.waitForURL(/filter=customerId,ne,1$/);
  await page.getByRole('columnheader', { name: 'total' }).click({ button: 'right' });
  await choose('Sort by total, descending');
  await page.waitForURL(/sort=total,desc$/);
  await page.getByRole('columnheader', { name: 'total' }).click({ button: 'right' });
  await choose('Pin the column');
  await cell(page, -1, 2).getByText('total').waitFor();
  await cell(page, 0, 3).click({ button: 'right' });
  await choose('Hide the column');
  await page.getByRole('columnheader', { name: 'status' }).waitFor({ state: 'detached' });
  await page.getByRole('columnheader', { name: 'customer' }).click({ button: 'right' });
  await choose('Show ids');
  await page.getByRole('columnheader', { name: 'customerId' }).waitFor();
  await cell(page, 0, 5).click({ button: 'right' });
  await choose('Open customers 3');
  await page.waitForURL(/data\/customers\/3$/);
});

test('heads sort, and the address has it; a reload shows the same', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  const head = page.getByRole('columnheader', { name: 'total' });
  await head.click();
  await page.locator('[role=columnheader][aria-sort=ascending]').waitFor();
  await page.waitForURL(/sort=total$/);
  await head.click();
  await page.waitForURL(/sort=total,desc$/);
  await page.locator('[data-spot="0:3"]').filter({ hasText: '95.00' }).waitFor();
  await page.reload();
  await page.locator('[data-spot="0:3"]').filter({ hasText: '95.00' }).waitFor();
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
});

test('a filter is chosen, told in words, and taken away', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByLabel('Field', { exact: true }).selectOption('customer.country');
  await page.getByLabel('Operator').selectOption('eq');
  await page.getByLabel('Value').fill('GB');
  await page.keyboard.press('Enter');
  await page.waitForURL(/filter=customer\.country,eq,GB/);
  await page.getByRole('status').filter({ hasText: '2 records' }).waitFor();
  assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '3');
  await page.getByRole('button', { name: 'Remove filter customer.country is GB' }).click();
  await page.locator('[role=grid][aria-rowcount="7"]').waitFor();
  // A related record is chosen and told by its name.
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByLabel('Field', { exact: true }).selectOption('customerId');
  await page.getByRole('combobox', { name: 'Value' }).fill('hopp');
  await page.getByRole('option', { name: /^Grace Hopper/ }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.waitForURL(/filter=customerId,eq,3$/);
  await page.getByRole('button', { name: 'Remove filter customerId is Grace Hopper' }).waitFor();
});

test('a filter that the server refuses is marked, and the rows stay', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders?filter=id,gt,0' });
  await page.locator('[role=grid][aria-rowcount="7"]').waitFor();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByLabel('Filter as text').fill('total,gte,abc');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'Filter value for total must be a number' }).waitFor();
  assert.equal(await page.locator('.chip[data-wrong]').count(), 1);
  assert.match((await page.locator('.chip[data-wrong]').textContent()) ?? '', /total at least abc/);
  assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '7');
  await page.goto(`${server.url}/console/demo/shop/data/orders?filter=totl,gte,40`);
  await page.getByRole('button', { name: 'Use total' }).click();
  await page.waitForURL(/filter=total,gte,40$/);
  await page.locator('[role=grid][aria-rowcount="3"]').waitFor();
});

test('a filter on a field that somebody renames is marked, and a click mends it or takes it away', async ({ open }) => {
  const renaming = await server.workspace('t/renaming', {
    entities: { items: { fields: { amount: { type: 'integer' }, colour: { type: 'string' } } } },
  });
  await renaming.create('items', [
    { amount: 1, colour: 'red' },
    { amount: 2, colour: 'red' },
  ]);
  const page = await open({ key: keys.admin, path: '/t/renaming/data/items?filter=amount,gte,2&filter=colour,eq,red' });
  await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
  const fields = {
    amounts: { type: 'integer', renamedFrom: 'amount' },
    shade: { type: 'string', renamedFrom: 'colour' },
  };
  const renamed = await renaming.admin('schema', { method: 'PUT', body: { entities: { items: { fields } } } });
  assert.equal(renamed.json.data.state, 'succeeded', renamed.text);
  const wrong = page.locator('.chip[data-wrong]');
  await page.evaluate(`{
    globalThis.marks = [];
    new MutationObserver(() => {
      const count = document.querySelectorAll('.chip[data-wrong]').length;
      if (count !== (marks.at(-1) ?? 0)) marks.push(count);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  }`);
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('alert').filter({ hasText: 'Did you mean amounts?' }).waitFor();
  // Both are gone, so the list has none of them; it loads again once the page has the new schema.
  await page.getByRole('columnheader', { name: 'shade' }).waitFor();
  await page.locator('[role=grid][aria-rowcount="3"]').waitFor();
  assert.deepEqual(await wrong.allTextContents(), ['Invalid: amount at least 2', 'Invalid: colour is red']);
  await page.getByRole('button', { name: 'Use amounts' }).click();
  await page.waitForURL(/filter=amounts,gte,2&filter=colour,eq,red$/);
  await page.getByRole('alert').filter({ hasText: 'Unknown field colour' }).waitFor();
  await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
  assert.deepEqual(await wrong.allTextContents(), ['Invalid: colour is red']);
  await page.getByRole('button', { name: 'Remove this filter' }).click();
  await page.waitForURL(/filter=amounts,gte,2$/);
  await wrong.waitFor({ state: 'detached' });
  assert.deepEqual(await page.evaluate('marks'), [2, 1, 0], 'none is taken away and set again while a list loads');
});

test('an address with a name that is gone marks its filter and its sort, and shows the rest', async ({ open }) => {
  const items = await server.workspace('t/gone', {
    entities: { items: { fields: { note: { type: 'string' }, size: { type: 'integer' } } } },
  });
  await items.create('items', [
    { note: 'item 99', size: 1 },
    { note: 'item 1', size: 2 },
    { note: 'item 2', size: 3 },
  ]);
  const page = await open({
    key: keys.admin,
    path: '/t/gone/data/items?filter=notes,contains,99&filter=size,lt,3&sort=notes,desc',
  });
  await page.locator('[role=grid][aria-rowcount="3"]').waitFor();
  await page
    .getByRole('alert')
    .filter({ hasText: 'Unknown field notes on entity items. Did you mean note?' })
    .waitFor();
  const wrong = page.locator('.chip[data-wrong]');
  assert.deepEqual(await wrong.allTextContents(), [
    'Invalid: notes contains 99',
    'Invalid: sorted by notes, descending',
  ]);
  await page.getByText('The list is shown without this filter and the sort.').waitFor();
  await page.getByRole('button', { name: 'Use note' }).click();
  await page.waitForURL(/filter=note,contains,99&filter=size,lt,3&sort=note,desc$/);
  await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
  assert.equal(await wrong.count(), 0);
  assert.equal(await page.getByRole('alert').count(), 0);
  // A search, once no field is searchable any more.
  await page.goto(`${server.url}/console/t/gone/data/items?search=item`);
  await page.locator('[role=grid][aria-rowcount="4"]').waitFor();
  assert.deepEqual(await wrong.allTextContents(), ['Invalid: search item']);
  await page.getByRole('button', { name: 'Remove the search' }).click();
  await page.waitForURL(/data\/items$/);
});

test('an address with a sort and a relation that are gone does not lock the list', async ({ open }) => {
  const page = await open({
    key: keys.owner,
    path: '/demo/shop/data/orders?sort=gone,desc&expand=gone&filter=total,gte,40',
  });
  await page.getByRole('button', { name: 'Remove the sort' }).click();
  await page.locator('[role=grid][aria-rowcount="3"]').waitFor();
});

test('only the answer to the last question is shown', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  await page.getByRole('gridcell').first().waitFor();
  await page.route(/filter=id,eq,1&/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 700));
    await route.continue().catch(() => undefined);
  });
  for (const id of ['1', '2']) {
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByLabel('Filter as text').fill(`id,eq,${id}`);
    await page.keyboard.press('Enter');
    if (id === '1') await page.getByRole('button', { name: 'Remove filter id is 1' }).click();
  }
  await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.equal(await cell(page, 0, 1).textContent(), '2');
});

test('columns are hidden, widened, moved and pinned by keyboard, kept, and reset', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  const heads = () => page.getByRole('columnheader').allTextContents();
  const width = async () => (await page.getByRole('columnheader', { name: 'status' }).boundingBox())?.width ?? 0;
  const plain = await width();
  await page.getByRole('button', { name: 'Columns' }).focus();
  await page.keyboard.press('Enter');
  const press = async (role: string, name: string) => {
    await page.getByRole(role, { name, exact: true }).focus();
    await page.keyboard.press('Space');
  };
  await press('checkbox', 'note');
  await press('button', 'Move total left');
  await press('button', 'Pin placedAt');
  await press('button', 'Make status wider');
  await page.keyboard.press('Escape');
  const changed = ['', 'id', 'placedAt', 'total', 'status', 'customer'];
  assert.deepEqual([await heads(), await width()], [changed, plain + 24]);
  await page.reload();
  await page.getByRole('gridcell').first().waitFor();
  assert.deepEqual([await heads(), await width()], [changed, plain + 24]);
  await page.getByRole('button', { name: 'Columns' }).focus();
  await page.keyboard.press('Enter');
  await press('button', 'Reset columns');
  await page.getByRole('columnheader', { name: 'note' }).waitFor();
  assert.deepEqual(await heads(), ['', 'id', 'status', 'total', 'placedAt', 'note', 'customer']);
  assert.equal(await width(), plain);
});

test('two hundred columns: heads and cells stand above each other, and few are in the document', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/wide/data/wide' });
  await cell(page, 0, 1).click();
  await page.keyboard.press('Control+ArrowRight');
  assert.deepEqual(await focused(page), ['gridcell', 2, 202, 'last']);
  const [head, value] = await Promise.all([cell(page, -1, 201).boundingBox(), cell(page, 0, 201).boundingBox()]);
  assert.deepEqual([head?.x, head?.width], [value?.x, value?.width]);
  assert.ok((await page.getByRole('gridcell').count()) < 2000);
  for (const key of ['Home', 'Control+Home']) {
    await page.keyboard.press('Control+ArrowRight');
    await cell(page, 0, 201).waitFor();
    await page.keyboard.press(key);
    assert.deepEqual((await focused(page)).slice(0, 3), ['gridcell', 2, 1]);
    await until(`${key} shows the first columns`, () =>
      page.evaluate('document.querySelector(".grid").scrollLeft === 0'),
    );
    await cell(page, 0, 3).waitFor();
  }
  await page.goto(`${server.url}/console/t/wide/data/none`);
  await page.getByText('No records yet').waitFor();
  await page.getByRole('link', { name: 'New record' }).first().waitFor();
});

test('names of related records stand in place of their ids, in one request, and sort; ids are what one may choose', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  const requests: string[] = [];
  page.on('request', (request) => {
    if (/shop\/orders\?/.test(request.url())) requests.push(request.url());
  });
  const name = page.getByRole('gridcell', { name: 'Grace Hopper' });
  await name.waitFor();
  assert.match((await name.getByRole('link').getAttribute('href')) ?? '', /\/data\/customers\/3$/);
  await page.getByRole('columnheader', { name: 'customer' }).click();
  await page.waitForURL(/sort=customer\.name$/);
  await cell(page, 0, 6).getByText('Ada Lovelace').waitFor();
  requests.length = 0;
  await page.getByRole('button', { name: 'Columns' }).click();
  await page
    .getByRole('group', { name: /^Names of related/ })
    .getByRole('checkbox', { name: 'customer' })
    .click();
  await page.waitForURL(/expand=(&|$)/);
  await cell(page, 0, 6).getByText('1', { exact: true }).waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'customerId' }).count(), 1);
  assert.equal(requests.length, 1);
});

test('a column that is added is scrolled into view', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/wide/data/wide' });
  await cell(page, 0, 1).click();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByLabel('Find a column').fill('field199');
  await page.getByRole('checkbox', { name: 'field199' }).click();
  await page.getByRole('columnheader', { name: 'field199' }).waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: 'field199' }).click();
  await page.getByRole('columnheader', { name: 'field199' }).waitFor();
  assert.ok(await page.evaluate('document.querySelector(".grid").scrollLeft > 0'));
});

test('moments are in UTC or in the zone of the browser, everywhere at once', async ({ open }) => {
  const page = await open({
    key: keys.owner,
    path: '/demo/shop/data/orders?filter=placedAt,gte,2026-03-08T06:10:00Z',
    context: { timezoneId: 'Asia/Tokyo' },
  });
  await page.getByRole('gridcell', { name: '2026-03-08 06:10:00 UTC' }).waitFor();
  await page.getByText('Local', { exact: true }).click();
  await page.getByRole('gridcell', { name: '2026-03-08 15:10:00 +09:00' }).waitFor();
  await page.getByRole('button', { name: 'placedAt at least 2026-03-08 15:10:00 +09:00' }).first().waitFor();
});

test('values are text, whatever they look like; NULL, the empty text and a cut value are told apart', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/odd/data/constructor' });
  for (const row of [0, 1, 5]) {
    await page
      .getByRole('gridcell', { name: HOSTILE[row] as string, exact: true })
      .first()
      .waitFor();
  }
  assert.match((await cell(page, 2, 2).textContent()) ?? '', /1,000,000 characters/);
  assert.equal(await cell(page, 3, 2).textContent(), HOSTILE[3]);
  assert.match((await cell(page, 6, 2).textContent()) ?? '', /empty text/);
  assert.equal(await cell(page, 7, 2).textContent(), 'NULL');
  assert.equal(await page.locator('[role=gridcell] a:not(.open-record)').count(), 0);
  assert.equal(await cell(page, 4, 2).locator('bdi').getAttribute('dir'), 'auto');
});

test('who may only read sees no way to write', async ({ open }) => {
  const page = await open({ key: keys.readOnly, path: '/demo/shop/data/orders' });
  await page.getByRole('gridcell', { name: 'paid' }).first().dblclick();
  await page.keyboard.press('x');
  assert.equal(await page.locator('.cell-editor').count(), 0);
  for (const name of ['New record', 'Import']) assert.equal(await page.getByRole('link', { name }).count(), 0);
  await page.getByRole('button', { name: 'Export' }).waitFor();
});

test('a record is opened over the grid, goes to its neighbours, is saved, and guards what was typed', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders?filter=total,gte,30&sort=total' });
  await page.getByRole('link', { name: 'Open record 2' }).click();
  const drawer = page.getByRole('dialog', { name: 'orders 2' });
  await drawer.getByRole('textbox', { name: 'note' }).fill('from the drawer');
  await page.waitForURL(/sort=total&record=2$/);
  await drawer.getByRole('button', { name: 'Next record' }).click();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  await drawer.getByRole('button', { name: 'Save' }).click();
  await cell(page, 0, 5).getByText('from the drawer').waitFor();
  await page.evaluate(STILL);
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(await drawer.getByRole('button', { name: 'Previous record' }).isEnabled(), false);
  await page.keyboard.press('Alt+PageDown');
  await page.getByRole('dialog', { name: 'orders 3' }).getByRole('combobox', { name: 'customerId' }).waitFor();
  await page.keyboard.press('Alt+PageUp');
  await drawer.getByRole('textbox', { name: 'note' }).waitFor();
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  await page.waitForURL(/filter=total,gte,30&sort=total$/);
  await until('the grid has the focus', () =>
    page.evaluate(`document.activeElement.getAttribute('role') === 'gridcell'`),
  );
});

test('who may only read opens a record as well, and the way back from its page keeps the filter', async ({ open }) => {
  const page = await open({ key: keys.readOnly, path: '/demo/shop/data/orders?filter=total,gte,40' });
  await page.getByRole('button', { name: 'Keys: Ctrl+/' }).click();
  await page.getByRole('dialog', { name: 'Keys' }).getByRole('button', { name: 'Close' }).click();
  await page
    .getByRole('link', { name: /^Open record \d+$/ })
    .first()
    .click();
  await page.getByRole('link', { name: 'Open as a page' }).click();
  await page.getByRole('link', { name: 'All orders' }).click();
  await page.waitForURL(/data\/orders\?filter=total,gte,40$/);
});

test('an owner adds a field at the right end of the grid, with the plan in one sentence', async ({ open }) => {
  const page = await open({ key: wide.key, path: '/t/wide/data/wide' });
  await page.getByRole('button', { name: 'Add a field' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a field' });
  const name = dialog.getByLabel('Name');
  await name.fill('field0');
  await dialog.getByText('exists already').waitFor();
  await name.fill('amount');
  await dialog.getByLabel('Type').selectOption('integer');
  await dialog.getByText(/amount.*no downtime/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('columnheader', { name: 'amount' }).waitFor();
  const reader = await open({ key: wide.readOnlyKey, path: '/t/wide/data/wide' });
  await reader.getByRole('columnheader', { name: 'field0' }).waitFor();
  assert.equal(await reader.getByRole('button', { name: 'Add a field' }).count(), 0);
});
