// A record in a form: what is sent, what is refused, what somebody else changed meanwhile.
import assert from 'node:assert/strict';
import type { Page } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { prepare, use } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';

const { test, server, shop, keys } = useConsole();

const kinds = use(() =>
  server.workspace('t/kinds', {
    entities: {
      kinds: {
        fields: {
          isOpen: { type: 'boolean' },
          size: { type: 'enum', values: ['small', 'large'] },
          day: { type: 'date' },
          at: { type: 'datetime' },
          code: { type: 'uuid' },
          data: { type: 'json' },
        },
      },
    },
  }),
);
const AT = '2026-03-08T06:10:00Z';
prepare(() => kinds.create('kinds', [{ at: AT, data: { price: 1 } }, { at: AT }, { at: AT }]));

const at = (entity: string, id: number | string): string => `/demo/shop/data/${entity}/${id}`;

test('a save sends the field that was typed, and the record has it', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('customers', 1) });
  const bodies: (string | null)[] = [];
  page.on('request', (request) => void (request.method() === 'PATCH' && bodies.push(request.postData())));
  await page.getByRole('textbox', { name: 'country' }).fill('SE');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.deepEqual(bodies, ['{"country":"SE"}']);
  assert.equal((await shop.call('customers/1')).json.data.country, 'SE');
});

test('a record that somebody changed meanwhile is compared, and mine changes my fields only', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('products', 1) });
  await page.getByRole('textbox', { name: 'title' }).fill('Large mug');
  await shop.call('products/1', { method: 'PATCH', body: { price: '10.50' } });
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'Record changed meanwhile' });
  await dialog.getByText('10.50').waitFor();
  await dialog.getByRole('button', { name: 'Keep mine' }).click();
  await dialog.waitFor({ state: 'hidden' });
  const { data } = (await shop.call('products/1')).json;
  assert.deepEqual([data.title, Number(data.price)], ['Large mug', 10.5]);
});

test('theirs are taken without a write', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('products', 2) });
  await page.getByRole('textbox', { name: 'title' }).fill('Mine');
  await shop.call('products/2', { method: 'PATCH', body: { title: 'Theirs' } });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await page.getByRole('heading', { name: /Theirs/ }).waitFor();
  assert.equal((await shop.call('products/2')).json.data.title, 'Theirs');
});

test('mistakes stand at their fields, the values stay, and the first has the focus', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('products', 'new') });
  await page.getByRole('textbox', { name: 'title' }).fill('Cup');
  await page.getByRole('textbox', { name: 'price' }).fill('-1');
  await page.getByRole('button', { name: 'Create' }).click();
  const price = page.getByRole('textbox', { name: 'price' });
  await page.getByText('must be at least 0').waitFor();
  assert.equal(await price.getAttribute('aria-invalid'), 'true');
  assert.equal(await page.getByRole('textbox', { name: 'title' }).inputValue(), 'Cup');
  await until('the first mistake has the focus', () =>
    page.evaluate<boolean>(`document.activeElement.getAttribute('aria-invalid') === 'true'`),
  );
});

test('a unique value that is taken is told at its field; mended, the record is made', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('products', 'new') });
  await page.getByRole('link', { name: 'Cancel' }).waitFor();
  await page.getByRole('textbox', { name: 'sku' }).fill('MUG-01');
  await page.getByRole('textbox', { name: 'title' }).fill('Second mug');
  await page.getByRole('textbox', { name: 'price' }).fill('1.10');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('[aria-invalid="true"][name="sku"]').waitFor();
  await page.getByRole('textbox', { name: 'sku' }).fill('MUG-02');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: /Second mug/ }).waitFor();
  await page.getByText('Created', { exact: true }).waitFor();
  assert.equal((await shop.call('products?filter=sku,eq,MUG-02')).json.data.length, 1);
});

test('leaving what was typed asks first, and keeping it keeps everything', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('customers', 2) });
  await page.getByRole('textbox', { name: 'name' }).fill('Somebody else');
  await page.getByRole('link', { name: 'All customers' }).click();
  await page.getByRole('dialog', { name: 'Discard changes?' }).getByRole('button', { name: 'Keep editing' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'name' }).inputValue(), 'Somebody else');
  await page.getByRole('link', { name: 'All customers' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('grid', { name: 'Records of customers' }).waitFor();
});

test('a delete is tried first: it says what prevents it, or what goes with it', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('customers', 3) });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete customers 3?' });
  await dialog.getByRole('alert').filter({ hasText: 'It cannot be deleted. Records cannot be deleted' }).waitFor();
  await dialog.getByRole('listitem').filter({ hasText: '1 orders by customerId prevent it' }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete' }).isEnabled(), false);
  assert.equal((await shop.call('customers/3')).status, 200);
  const { id } = (await shop.call('orders', { method: 'POST', body: { customerId: 3 } })).json.data;
  await shop.create('orderItems', [{ orderId: id, productId: 1, quantity: 1, price: 1 }]);
  await page.goto(`${server.url}/console${at('orders', id)}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  const other = page.getByRole('dialog', { name: `Delete orders ${id}?` });
  await other.getByRole('listitem').filter({ hasText: '1 orderItems by orderId are deleted with it' }).waitFor();
  await other.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('grid', { name: 'Records of orders' }).waitFor();
  assert.equal((await shop.call(`orders/${id}`)).status, 404);
});

test('relations are links, and who may only read has no button that writes', async ({ open }) => {
  const page = await open({ key: keys.readOnly, path: at('orders', 1) });
  await page.getByRole('tab', { name: 'Relations' }).click();
  await page.getByRole('region', { name: 'customer' }).getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  for (const name of ['Save', 'Delete', 'Duplicate']) {
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  }
});

test('a related record is found at the server, chosen by the keys, and a button beside its name opens it', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: at('orders', 5) });
  const customer = page.getByRole('combobox', { name: 'customerId' });
  await customer.fill('hopp');
  await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'Grace Hopper' }).waitFor();
  await customer.press('Enter');
  assert.equal(await customer.inputValue(), 'Grace Hopper');
  await page.getByRole('link', { name: 'Open customers 3' }).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  const grace = (await shop.call('customers?filter=name,contains,Hopper')).json.data[0].id;
  assert.equal((await shop.call('orders/5')).json.data.customerId, grace);
});

test('related records are added and taken away with a save, and a new record has them at once', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('orders', 3) });
  const bodies: (string | null)[] = [];
  page.on('request', (request) => void (/PATCH|POST/.test(request.method()) && bodies.push(request.postData())));
  const list = page.getByRole('list', { name: 'tags' });
  await list.getByRole('button', { name: 'Remove gift from tags' }).click();
  await page.getByRole('combobox', { name: 'tags' }).fill('whole');
  await page.getByRole('option', { name: /wholesale/ }).click();
  await list.getByRole('button', { name: /Remove record \d+ from tags/ }).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await list.getByRole('button', { name: 'Remove wholesale from tags' }).waitFor();
  assert.deepEqual(bodies, ['{"tags":{"$add":[3],"$remove":[1]}}']);
  const getTags = async (id: number) =>
    (await shop.call(`orders/${id}?expand=tags`)).json.data.tags.map(({ name }: { name: string }) => name).sort();
  assert.deepEqual(await getTags(3), ['express', 'wholesale']);
  await page.goto(`${server.url}/console${at('tags', 'new')}`);
  await page.getByRole('textbox', { name: 'name' }).fill('linked');
  await page.getByRole('combobox', { name: 'orders' }).fill('2');
  await page.getByRole('option', { name: /\b2$/ }).click();
  const creation = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('button', { name: 'Create' }).click();
  // The draft has the link already.
  assert.equal((await creation).status(), 201);
  await page.getByRole('list', { name: 'orders' }).getByRole('link').waitFor();
  assert.deepEqual(await getTags(2), ['linked']);
});

test('the calendar changes the day of a moment, and no other digit', async ({ open }) => {
  await shop.call('orders/6', { method: 'PATCH', body: { placedAt: '2026-01-05T09:30:15.123Z' } });
  const page = await open({ key: keys.owner, path: at('orders', 6) });
  const placed = page.getByRole('textbox', { name: 'placedAt' });
  assert.equal(await placed.inputValue(), '2026-01-05 09:30:15.123');
  await page.getByRole('button', { name: 'Choose the day of placedAt' }).waitFor();
  // What a browser's calendar gives to its field.
  await page.locator('input[type=date]').fill('2024-02-29');
  assert.equal(await placed.inputValue(), '2024-02-29 09:30:15.123');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.equal((await shop.call('orders/6')).json.data.placedAt, '2024-02-29T09:30:15.123Z');
});

const UUID = '6f1c1f5e-3c44-4c1a-9d8e-0d6a4f6b2c11';
const EXACT = '{"price": 1.10, "id": 9007199254740993}';

/** Of `kinds`; digits as they are written. */
const stored = async (id: number): Promise<string> => (await kinds.call(`kinds/${id}`)).text;

const cell = (page: Page, row: number, column: number) => page.locator(`[data-spot="${row}:${column}"]`);
const [IS_OPEN, SIZE, DAY, MOMENT, CODE, DATA] = [2, 3, 4, 5, 6, 7] as const;

/** Opens the editor of a cell of the first row. */
async function editorOf(page: Page, column: number, role: 'combobox' | 'textbox', field: string) {
  await cell(page, 0, column).click();
  await page.keyboard.press('F2');
  const editor = page.getByRole(role, { name: `${field} of record 1` });
  await editor.waitFor();
  return editor;
}

test('each type has its editor in the grid, and what is no JSON is not sent', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/kinds/data/kinds' });
  const bodies: string[] = [];
  page.on('request', (request) => void (request.method() === 'PATCH' && bodies.push(request.postData() ?? '')));
  const choose = async (column: number, field: string, choices: readonly string[], choice: string) => {
    const editor = await editorOf(page, column, 'combobox', field);
    assert.deepEqual(await editor.getByRole('option').allTextContents(), choices);
    await editor.selectOption(choice);
    await page.keyboard.press('Enter');
    await cell(page, 0, column).filter({ hasText: choice }).waitFor();
  };
  await choose(IS_OPEN, 'isOpen', ['NULL', 'true', 'false'], 'true');
  await choose(SIZE, 'size', ['NULL', 'small', 'large'], 'large');
  const type = async (column: number, field: string, form: string, wrong: string, words: RegExp, right: string) => {
    const editor = await editorOf(page, column, 'textbox', field);
    assert.equal(await editor.getAttribute('placeholder'), form);
    await editor.fill(wrong);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: words }).first().waitFor();
    assert.equal(await editor.getAttribute('aria-invalid'), 'true');
    await editor.fill(right);
    await page.keyboard.press('Enter');
    await editor.waitFor({ state: 'detached' });
  };
  await type(DAY, 'day', 'yyyy-mm-dd', '29.2.2024', /must be a date/, '2024-02-29');
  await type(CODE, 'code', '00000000-0000-0000-0000-000000000000', 'abc', /must be a UUID/, UUID);
  await until('both are saved', async () => (await stored(1)).includes(UUID));
  bodies.length = 0;
  const json = await editorOf(page, DATA, 'textbox', 'data');
  await json.fill('{broken');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'is not JSON' }).waitFor();
  assert.deepEqual(bodies, []);
  await json.fill(EXACT);
  await page.keyboard.press('Enter');
  await until('the digits are stored', async () => (await stored(1)).includes('9007199254740993'));
  assert.deepEqual(bodies, ['{"data":{"price":1.10,"id":9007199254740993}}']);
  const text = await stored(1);
  for (const one of [/"isOpen":true/, /"size":"large"/, /"day":"2024-02-29"/, /"price": ?1\.10/])
    assert.match(text, one);
});

test('each type has its editor in the form, and what is no JSON is not sent', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/kinds/data/kinds/2' });
  const bodies: string[] = [];
  page.on('request', (request) => void (request.method() === 'PATCH' && bodies.push(request.postData() ?? '')));
  for (const [field, choices, choice] of [
    ['isOpen', ['NULL', 'true', 'false'], 'false'],
    ['size', ['NULL', 'small', 'large'], 'small'],
  ] as const) {
    const editor = page.getByRole('combobox', { name: field });
    await editor.waitFor();
    assert.deepEqual(await editor.getByRole('option').allTextContents(), choices);
    await editor.selectOption(choice);
  }
  const field = (name: string) => page.getByRole('textbox', { name });
  await field('day').fill('2024-02-29');
  await field('code').fill(UUID);
  await field('data').fill('{"price": 1.10,');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('is not JSON').waitFor();
  assert.equal(await field('data').getAttribute('aria-invalid'), 'true');
  assert.deepEqual(bodies, []);
  await field('data').fill(EXACT);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.deepEqual(bodies, [
    `{"isOpen":false,"size":"small","day":"2024-02-29","code":"${UUID}","data":{"price":1.10,"id":9007199254740993}}`,
  ]);
  await field('day').fill('2024-03-01');
  await page.getByRole('button', { name: 'Save' }).click();
  await until('the day is stored', async () => (await stored(2)).includes('2024-03-01'));
  assert.match(await stored(2), /"data":\{"id": 9007199254740993, "price": 1\.10\}/);
});

test('editors turn to another zone with the page, and what was typed stays the same moment', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: '/t/kinds/data/kinds/3',
    context: { timezoneId: 'Asia/Tokyo' },
  });
  const zone = (name: string) => page.getByText(name, { exact: true }).click();
  const moment = page.getByRole('textbox', { name: 'at', exact: true });
  const save = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Reset' }).waitFor({ state: 'detached' });
  };
  await until('it is in UTC', async () => (await moment.inputValue()) === '2026-03-08 06:10:00');
  await zone('Local');
  await until('it is in Tokyo', async () => (await moment.inputValue()) === '2026-03-08 15:10:00');
  await page.getByRole('main').getByText('+09:00').waitFor();
  // Another field is saved, and the moment is not among what is sent.
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.getByRole('textbox', { name: 'day' }).fill('2026-03-09');
  await save();
  assert.equal((await sent).postData(), '{"day":"2026-03-09"}');
  await moment.fill('2026-03-08 16:00:00');
  await zone('UTC');
  await until('it is in UTC again', async () => (await moment.inputValue()) === '2026-03-08 07:00:00');
  await save();
  assert.match(await stored(3), /"at":"2026-03-08T07:00:00Z"/);

  await page.goto(`${server.url}/console/t/kinds/data/kinds`);
  await cell(page, 0, MOMENT).filter({ hasText: '2026-03-08 06:10:00 UTC' }).waitFor();
  await zone('Local');
  const editor = await editorOf(page, MOMENT, 'textbox', 'at');
  assert.equal(await editor.inputValue(), '2026-03-08 15:10:00');
  await cell(page, 0, MOMENT).getByText('+09:00').waitFor();
  // To leave the cell is to save: in the zone in which it was typed.
  await editor.fill('2026-03-08 17:30');
  await zone('UTC');
  await cell(page, 0, MOMENT).filter({ hasText: '2026-03-08 08:30:00 UTC' }).waitFor();
  await until('it is stored', async () => (await stored(1)).includes('"at":"2026-03-08T08:30:00Z"'));
});
