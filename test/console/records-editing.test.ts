// Records that are changed in the grid of the console: cells, ranges, deletes, and what takes them back.
import assert from 'node:assert/strict';
import type { Page } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop } = useConsole();

const notes = use(() =>
  server.workspace('t/notes', {
    entities: {
      notes: {
        fields: {
          name: { type: 'string', required: true, searchable: true },
          n: { type: 'bigint' },
          d: { type: 'decimal', precision: 12, scale: 2 },
          text: { type: 'text' },
          data: { type: 'json' },
          q: { type: 'integer', min: 0 },
          code: { type: 'string', unique: true },
        },
      },
    },
  }),
);
const many = use(() => server.workspace('t/many', { entities: { notes: { fields: { name: { type: 'string' } } } } }));
prepare(() =>
  notes.call('notes/_bulk', {
    method: 'POST',
    body: { data: Array.from({ length: 600 }, (_, at) => ({ name: `note ${at + 1}` })) },
  }),
);

/** Numbers as they are written. */
const stored = async (id: number): Promise<string> => (await notes.call(`notes/${id}`)).text;
const cell = (page: Page, row: number, column: number) => page.locator(`[data-spot="${row}:${column}"]`);
const [NAME, N, D, TEXT, DATA, Q, CODE] = [2, 3, 4, 5, 6, 7, 8] as const;

async function type(page: Page, row: number, column: number, text: string): Promise<void> {
  await cell(page, row, column).click();
  await page.keyboard.press('F2');
  await page.locator('.value-editor').fill(text);
  await page.keyboard.press('Enter');
}

const said = (page: Page, words: string | RegExp) => page.getByRole('status').filter({ hasText: words }).waitFor();

test('a cell is changed, and nothing else; Esc restores; undo takes it back in words', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  const bodies: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') bodies.push(request.postData() ?? '');
  });
  await cell(page, 0, NAME).click();
  await page.keyboard.press('F2');
  await page.locator('.value-editor').fill('never');
  await page.keyboard.press('Escape');
  assert.equal(await cell(page, 0, NAME).textContent(), 'note 1');
  await type(page, 0, N, '9007199254740993');
  await said(page, 'Saved');
  await type(page, 0, D, '0.10');
  await until('the second edit is saved', async () => (await stored(1)).includes('"d":0.10'));
  assert.match(await stored(1), /"name":"note 1","n":9007199254740993,"d":0\.10/);
  assert.deepEqual(bodies, ['{"n":9007199254740993}', '{"d":0.10}']);
  await page.keyboard.press('Control+z');
  await said(page, 'Undone: d of record 1');
  assert.match(await stored(1), /"n":9007199254740993,"d":null/);
});

test('a mistake stays in its cell in the words of the server', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  await type(page, 1, N, 'many');
  await page.locator('.value-editor[aria-invalid=true]').waitFor();
  await page.getByRole('alert').filter({ hasText: 'must be an integer' }).first().waitFor();
  assert.equal(await page.evaluate('document.activeElement.value'), 'many');
  await page.keyboard.press('Escape');
  assert.equal(await cell(page, 1, N).textContent(), 'NULL');
  await cell(page, 1, NAME).click();
  await page.keyboard.press('Delete');
  await page.getByRole('alert').filter({ hasText: 'name: is required' }).waitFor();
  assert.equal(await cell(page, 1, NAME).getAttribute('aria-invalid'), 'true');
  await page.keyboard.press('Escape');
  await type(page, 1, DATA, '{broken');
  await page.getByRole('alert').filter({ hasText: 'is not JSON' }).waitFor();
  await page.locator('.value-editor').fill('{"a":[1.10,9007199254740993]}');
  await page.keyboard.press('Enter');
  await said(page, 'Saved');
  assert.match(await stored(2), /"data":\{"a": ?\[1\.10, ?9007199254740993\]\}/);
});

test('a value that the server refuses keeps the focus in its cell, and Esc gives the old value back', async ({
  open,
}) => {
  const page = await open({
    key: keys.admin,
    path: '/t/notes/data/notes',
    context: { viewport: { width: 1800, height: 800 } },
  });
  await notes.call('notes/20', { method: 'PATCH', body: { q: 7, code: 'mine' } });
  await notes.call('notes/21', { method: 'PATCH', body: { code: 'taken' } });
  await page.reload();
  for (const [column, text, message, before] of [
    [Q, '-4', /at least 0|must be/, '7'],
    [CODE, 'taken', /taken|unique|exists/i, 'mine'],
  ] as const) {
    await type(page, 19, column, text);
    const editor = cell(page, 19, column).locator('.value-editor[aria-invalid=true]');
    await editor.waitFor();
    await page.locator('.cell-editor-words').filter({ hasText: message }).waitFor();
    assert.equal(await editor.evaluate((one) => one === one.ownerDocument.activeElement), true, text);
    assert.equal(await editor.inputValue(), text);
    assert.equal(await page.getByRole('alert').count(), 1, 'a mistake is told once, in its cell');
    await page.keyboard.press('Escape');
    assert.equal(await cell(page, 19, column).textContent(), before);
    assert.equal(await cell(page, 19, column).getAttribute('aria-invalid'), null);
    assert.equal(await page.getByRole('alert').count(), 0);
  }
  assert.match(await stored(20), /"q":7,"code":"mine"/);
  // Another cell takes the focus: the value waits, marked, and is not sent again by leaving it.
  await type(page, 19, CODE, 'taken');
  await page.locator('.cell-editor-words').waitFor();
  let writes = 0;
  page.on('request', (request) => {
    if (request.method() === 'PATCH') writes++;
  });
  await cell(page, 22, NAME).click();
  await page.locator(`[data-spot="19:${CODE}"][aria-invalid=true]:not([data-edited])`).waitFor();
  assert.equal(await page.evaluate('document.activeElement.dataset.spot'), `22:${NAME}`);
  assert.equal(writes, 0);
});

test('what somebody else has changed is compared, not overwritten', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  await cell(page, 2, NAME).waitFor();
  await notes.call('notes/3', { method: 'PATCH', body: { name: 'theirs', d: 2 } });
  await type(page, 2, NAME, 'mine');
  const dialog = page.getByRole('dialog', { name: 'Record changed meanwhile' });
  await dialog.waitFor();
  await dialog.getByText('changed by both').waitFor();
  assert.match(await stored(3), /"name":"theirs"/);
  await page.getByRole('button', { name: 'Keep mine' }).click();
  await said(page, 'Saved');
  assert.match(await stored(3), /"name":"mine","n":null,"d":2\.00/);
  await notes.call('notes/3', { method: 'PATCH', body: { name: 'again' } });
  await page.getByRole('button', { name: 'Undo' }).click();
  await dialog.waitFor();
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await page.getByRole('gridcell', { name: 'again' }).waitFor();
  assert.match(await stored(3), /"name":"again"/);
});

test('cells are copied and pasted, all or none', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  await cell(page, 9, NAME).click();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(`Shift+${key}`);
  await page.keyboard.press('Control+c');
  await said(page, 'Copied 9 values');
  await cell(page, 12, NAME).click();
  await page.keyboard.press('Control+v');
  await said(page, 'Saved');
  assert.match(await stored(15), /"name":"note 12"/);
  const paste = (text: string) =>
    page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', ${JSON.stringify(text)});
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    })()`);
  await paste('x\t1\ny\tmany');
  await page.getByRole('alert').filter({ hasText: 'Nothing is saved: record 14, n: "many"' }).waitFor();
  assert.match(await stored(13), /"name":"note 10"/);
  await cell(page, 15, NAME).click();
  await paste(Array.from({ length: 500 }, (_, at) => `pasted ${at}`).join('\n'));
  await page.getByRole('dialog', { name: 'Paste: 500 changes?' }).waitFor();
  await page.getByRole('button', { name: 'Paste' }).click();
  await until('the paste is saved', async () => (await stored(515)).includes('"name":"pasted 499"'));
  const isBack = `document.activeElement.getAttribute('role') === 'gridcell'`;
  await until('the grid has the focus again', () => page.evaluate<boolean>(isBack));
  await page.keyboard.press('Control+z');
  await said(page, 'Undone: 500 values in 500 records');
  assert.match(await stored(515), /"name":"note 515"/);
});

test('selected records are deleted and come back with their ids; what refers to a record is told', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  for (const row of [3, 4, 5]) {
    await cell(page, row, 1).click();
    await page.keyboard.press('Space');
  }
  await page.getByRole('button', { name: 'Delete selected' }).click();
  await page.getByRole('dialog', { name: 'Delete 3 records of notes?' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('[role=grid][aria-rowcount="598"]').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('[role=grid][aria-rowcount="601"]').waitFor();
  assert.match(await stored(5), /"name":"note 5"/);

  await page.goto(`${server.url}/console/demo/shop/data/customers`);
  await cell(page, 0, 1).click();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Delete selected' }).click();
  await page.getByRole('alert').filter({ hasText: 'as others refer to them by orders.customer' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Delete', exact: true }).isEnabled(), false);
  await page.getByRole('link', { name: /^\d orders$/ }).click();
  await page.waitForURL(/data\/orders\?filter=customerId,eq,1$/);
});

test('the box of the head selects what is loaded, by mouse and by keys, and none once all are selected', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/demo/shop/data/orders' });
  await cell(page, 0, 1).click();
  const box = page.getByRole('checkbox', { name: 'Select all records' });
  await box.click();
  await page.getByText('6 records selected').waitFor();
  assert.equal(await page.getByRole('row', { selected: true }).count(), 6);
  await page.getByRole('checkbox', { name: 'Select record 2' }).click();
  await page.getByText('5 records selected').waitFor();
  assert.equal(await box.evaluate((one) => one.indeterminate), true);
  await box.click();
  await page.getByText('6 records selected').waitFor();
  for (const key of ['Control+Home', 'ArrowUp', 'Space']) {
    await page.keyboard.press(key);
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
  await page.getByText('6 records selected').waitFor({ state: 'detached' });
  await page.goto(`${server.url}/console/t/notes/data/notes`);
  await page.getByRole('checkbox', { name: /^Select the \d+ loaded records$/ }).waitFor();
});

test('a record that leaves the filter stays in sight until a reload', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders?filter=status,eq,open' });
  await cell(page, 0, 2).click();
  await page.keyboard.press('F2');
  await page.locator('select.value-editor').selectOption('paid');
  await page.keyboard.press('Enter');
  const row = page.locator('[role=row][data-note=filteredOut]').filter({ hasText: 'paid' });
  await row.getByText('No longer matches').waitFor();
  await row.locator('.grid-note svg').waitFor();
  assert.equal(await row.getAttribute('aria-description'), 'No longer matches');
  const notice = page.getByRole('status').filter({ hasText: '1 changed record no longer matches the filter.' });
  await notice.getByRole('button', { name: 'Keep in the list' }).click();
  await row.waitFor({ state: 'detached' });
  await cell(page, 0, 2).filter({ hasText: 'paid' }).waitFor();
  await cell(page, 1, 2).click();
  await page.keyboard.press('F2');
  await page.locator('select.value-editor').selectOption('paid');
  await page.keyboard.press('Enter');
  await notice.getByRole('button', { name: 'Hide' }).click();
  await page.getByText('No record matches').waitFor();
});

test('a related record is found at the server', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders' });
  await cell(page, 2, 6).click();
  await page.keyboard.press('Enter');
  await page.getByRole('listbox').waitFor();
  await until(
    'the editor has the name',
    async () => (await page.locator('.value-editor').inputValue()) === 'Zoë Åkesson',
  );
  await page.getByRole('option', { name: /Ada Lovelace.*ada@example\.com.*GB.*1/ }).waitFor();
  // Searched in the columns beside the name, too.
  await page.locator('.value-editor').fill('hopp US');
  await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'Grace Hopper' }).waitFor();
  await until('one record is found', async () => (await page.getByRole('listbox').getByRole('option').count()) === 1);
  await page.keyboard.press('Enter');
  await cell(page, 2, 6).filter({ hasText: 'Grace Hopper' }).waitFor();
  assert.match((await shop.call('orders/3')).text, /"customerId":3/);
});

test('edits are queued and saved together, all or none', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  await page.getByRole('switch', { name: 'Queue edits' }).click();
  await type(page, 6, NAME, 'queued 7');
  await type(page, 6, TEXT, 'text 7');
  await type(page, 7, N, 'many');
  await page.getByRole('button', { name: 'Review 3 changes' }).click();
  await page.getByRole('button', { name: 'Save all' }).click();
  await page.locator('[role=gridcell][aria-invalid=true]').waitFor();
  assert.match(await stored(7), /"name":"note 7"/);
  await type(page, 7, N, '8');
  let writes = 0;
  page.on('request', (request) => {
    if (request.method() !== 'GET') writes++;
  });
  await page.getByRole('button', { name: 'Review 3 changes' }).click();
  await page.getByRole('button', { name: 'Save all' }).click();
  await said(page, 'Saved');
  assert.equal(writes, 1);
  assert.match(await stored(7), /"name":"queued 7".*"text":"text 7"/);
  assert.match(await stored(8), /"n":8/);
});

test('offline, an edit waits and is said to; online it is saved once, also when an answer was lost', async ({
  open,
}) => {
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes' });
  const [sent, answered]: [string[], number[]] = [[], []];
  page.on('request', (one) => {
    if (one.method() === 'PATCH') sent.push(one.headers()['idempotency-key'] ?? '');
  });
  page.on('response', (one) => {
    if (one.request().method() === 'PATCH') answered.push(one.status());
  });
  await cell(page, 8, NAME).click();
  await page.context().setOffline(true);
  await type(page, 8, NAME, 'from afar');
  await page.getByRole('alert').filter({ hasText: 'Not saved, offline' }).waitFor();
  assert.equal(await cell(page, 8, NAME).getAttribute('title'), 'Not saved, offline');
  await page.context().setOffline(false);
  await said(page, 'Saved');
  assert.match(await stored(9), /"name":"from afar"/);
  assert.deepEqual([answered, new Set(sent).size], [[200], 1]);

  // The server saves, and its answer does not arrive: the same write is sent again, and is answered with what was done.
  const statuses: number[] = [];
  await page.route(/\/notes\/10$/, async (route) => {
    if (route.request().method() !== 'PATCH' || statuses.length > 0) return route.continue();
    statuses.push((await route.fetch()).status());
    return route.abort();
  });
  sent.length = answered.length = 0;
  await type(page, 9, NAME, 'once');
  await until('the write is answered', () => answered.length === 1);
  await page.locator(`[data-spot="9:${NAME}"][title=Saved]`).waitFor();
  assert.deepEqual([statuses, answered, sent.length, new Set(sent).size], [[200], [200], 2, 1]);
  assert.match(await stored(10), /"name":"once"/);
});

test('all records that match the filter and the search are changed, after the answer of a dry run', async ({
  open,
}) => {
  await notes.call('notes/_update', { method: 'POST', body: { filter: { all: true }, set: { q: null }, max: 1000 } });
  const page = await open({ key: keys.admin, path: '/t/notes/data/notes?filter=id,gt,300&search=note' });
  await page.getByRole('checkbox', { name: /^Select the \d+ loaded records$/ }).click();
  await page.getByRole('button', { name: /^Select all (300 records )?that match$/ }).click();
  await page.getByRole('button', { name: 'Edit all that match' }).click();
  await page.getByLabel('Field', { exact: true }).selectOption('q');
  await page.locator('.value-editor').fill('7');
  await page.getByRole('button', { name: 'Count the records' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change all that match' });
  await dialog.getByText('300 records would change, all or none').waitFor();
  assert.equal(await dialog.getByLabel('At most').inputValue(), '300');
  await dialog.getByLabel('At most').fill('299');
  await dialog.getByRole('button', { name: 'Change 300 records' }).click();
  await dialog.getByRole('alert').filter({ hasText: '300 records match, and max is 299' }).waitFor();
  await dialog.getByLabel('At most').fill('300');
  await dialog.getByRole('button', { name: 'Change 300 records' }).click();
  await said(page, '300 records changed');
  const { data } = (await notes.call('notes/_aggregate?select=count,min:id&filter=q,eq,7')).json;
  assert.deepEqual(data, [{ count: 300, 'min:id': 301 }]);
});

test('more than ten thousand records are deleted by a job, whose progress is shown', async ({ open }) => {
  await many.call('notes/_import', {
    method: 'POST',
    body: Array.from({ length: 10_001 }, () => '{"name":"x"}').join('\n'),
    headers: { 'Content-Type': 'application/x-ndjson' },
  });
  const page = await open({ key: keys.admin, path: '/t/many/data/notes?filter=name,eq,x' });
  await page.getByRole('checkbox', { name: /^Select the \d+ loaded records$/ }).click();
  await page.getByRole('button', { name: /^Select all .*that match$/ }).click();
  await page.getByRole('button', { name: 'Delete all that match' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete all that match' });
  await dialog.getByText('are a job of the server').waitFor();
  await dialog.getByRole('button', { name: 'Delete 10,001 records' }).click();
  await dialog.getByRole('progressbar', { name: /^Job \d+$/ }).waitFor();
  await dialog.getByText('10,001 records deleted').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByText('No record matches').waitFor();
});
