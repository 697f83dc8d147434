// A record in a form: what is sent, what is refused, what somebody else changed meanwhile.
import assert from 'node:assert/strict';
import { useConsole } from '../support/console.ts';

const { test, shop, keys } = useConsole();

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
  const focused = await page.evaluate<string>('document.activeElement.getAttribute("aria-invalid")');
  assert.equal(focused, 'true');
});

test('a unique value that is taken is told at its field; mended, the record is made', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('products', 'new') });
  await page.getByRole('textbox', { name: 'sku' }).fill('MUG-01');
  await page.getByRole('textbox', { name: 'title' }).fill('Second mug');
  await page.getByRole('textbox', { name: 'price' }).fill('1.10');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('[aria-invalid="true"][name="sku"]').waitFor();
  await page.getByRole('textbox', { name: 'sku' }).fill('MUG-02');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: /Second mug/ }).waitFor();
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

test('a record that others refer to is not deleted, and says by which', async ({ open }) => {
  const page = await open({ key: keys.owner, path: at('customers', 3) });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete customers 3?' });
  await dialog.getByRole('link', { name: '1 orders' }).waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog
    .getByRole('alert')
    .getByText(/orders/)
    .first()
    .waitFor();
  assert.equal((await shop.call('customers/3')).status, 200);
});

test('relations are links, and who may only read has no button that writes', async ({ open }) => {
  const page = await open({ key: keys.readOnly, path: at('orders', 1) });
  await page.getByRole('tab', { name: 'Relations' }).click();
  await page.getByRole('region', { name: 'customer' }).getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  for (const name of ['Save', 'Delete', 'Duplicate']) {
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  }
});

test('a related record is found at the server, chosen by the keys, and a link to it stands beside it', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: at('orders', 5) });
  const customer = page.getByRole('combobox', { name: 'customerId' });
  await customer.fill('hopp');
  await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'Grace Hopper' }).waitFor();
  await customer.press('Enter');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  const grace = (await shop.call('customers?filter=name,contains,Hopper')).json.data[0].id;
  assert.equal((await shop.call('orders/5')).json.data.customerId, grace);
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
