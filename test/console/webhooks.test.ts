// Webhooks: the form with its filter and its sample, the secret that is shown once, tests, and the log.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { use } from '../support/resources.ts';
import { verifyMessage } from '../support/standard-webhooks.ts';
import { until } from '../support/wait-until.ts';

const { test, server, keys } = useConsole({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow' });
const receiver = consoleSkip === false ? use(startReceiver, (one) => one.stop()) : ({} as Receiver);
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      orders: {
        fields: { status: { type: 'string' }, total: { type: 'decimal', precision: 20, scale: 2 } },
        settings: { changes: 'feed' },
      },
      plain: { fields: {} },
    },
  }),
);

const LIST = '/acme/shop/webhooks';
let created = 0;

async function createWebhook(members: object = {}) {
  const body = { name: `hook ${++created}`, url: `${receiver.origin}/hooks`, ...members };
  const answer = await shop.admin('webhooks', { method: 'POST', body });
  assert.equal(answer.status, 201, answer.text);
  return answer.json.data;
}
const readWebhook = async (id: number) => (await shop.admin(`webhooks/${id}`)).json.data;

/** Writes a message as the sender does. */
async function writeMessage(webhook: number, state: string, first: number): Promise<void> {
  const log = [
    { at: '2026-11-22T00:43:53.838Z', status: 500, error: null, durationMs: 7, responseBody: 'out of <b>paper</b>' },
    { at: '2026-11-22T00:43:59.000Z', status: null, error: 'TIMEOUT', durationMs: 15000, responseBody: null },
  ];
  await server.database.query(
    `insert into wda.webhook_delivery (webhook_id, message_id, type, events, first_position, last_position, epoch, state, attempts,
  attempt_log, body, last_error)
values ($1, 'msg_' || gen_random_uuid(), 'orders.created', 1, $2, $2, 'epoch', $3, 2, $4, '{"type":"orders.created"}', 'TIMEOUT')`,
    [webhook, first, state, JSON.stringify(log)],
  );
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a webhook is created with a filter of its entity, and its secret is shown once', async ({ open }) => {
  const page = await open({ key: keys.admin, path: LIST });
  await page.getByText(/^No webhooks yet/).waitFor();
  await page.getByRole('link', { name: 'New webhook' }).click();
  const form = page.getByRole('form', { name: 'New webhook' });
  await form.getByRole('textbox', { name: 'Name' }).fill('shop to ERP');
  await form.getByLabel('URL').fill(`${receiver.origin}/hooks`);
  const sample = page.getByRole('region', { name: 'Sample of a message' });
  await sample.getByText('"orders.updated"').waitFor();
  await form.getByRole('combobox', { name: 'Entities' }).click();
  await page.getByRole('option', { name: 'orders' }).click();
  assert.equal(await page.getByRole('option', { name: 'plain' }).count(), 0);
  await page.keyboard.press('Escape');
  const filter = form.getByRole('group', { name: 'Filter' });
  await filter.getByRole('button', { name: 'Add condition' }).click();
  await filter.getByRole('combobox', { name: 'Field' }).fill('total');
  await filter.getByRole('combobox', { name: 'Operator' }).selectOption('gte');
  await filter.getByRole('textbox', { name: 'Value' }).fill('12345678901234567.10');
  await form.getByLabel('Events in a message').fill('10');
  await sample.getByText('"changes"').waitFor();
  await form.getByRole('button', { name: 'Add header' }).click();
  await form.getByLabel('Name of header 1').fill('Authorization');
  await form.getByLabel('Value of header 1').fill('Bearer of-the-receiver');
  assert.deepEqual(await violationsOf(page), []);
  await button(page, 'Create webhook').click();
  const dialog = page.getByRole('dialog', { name: 'Secret of the webhook' });
  const secret = await dialog.getByRole('textbox', { name: 'Secret' }).inputValue();
  assert.match(secret, /^whsec_/);
  assert.deepEqual(await violationsOf(page), []);
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhook shop to ERP' }).waitFor();
  const id = Number(page.url().split('/').at(-1));
  const { filter: stored, maxBatch, headers, entities } = (await shop.admin(`webhooks/${id}`)).json.data;
  assert.deepEqual([entities, maxBatch, headers], [['orders'], 10, { Authorization: null }]);
  assert.deepEqual([stored.field, stored.op], ['total', 'gte']);
  assert.match((await shop.admin(`webhooks/${id}`)).text, /"value":12345678901234567\.10/);

  await button(page, 'Send test').click();
  await page.getByText('The test was delivered').waitFor();
  const message = receiver.messages.at(-1);
  assert.equal(message?.headers.authorization, 'Bearer of-the-receiver');
  assert.deepEqual(
    (verifyMessage(secret, message?.body ?? '', message?.headers ?? {}) as { type: string }).type,
    'ping',
  );
  assert.doesNotMatch(await page.content(), /whsec_|of-the-receiver/);
});

test('mistakes stand at their members, and a save sends what was changed alone', async ({ open }) => {
  const { id } = await createWebhook({ entities: ['orders'], headers: { 'X-Shop': 'demo' } });
  const page = await open({ key: keys.admin, path: `${LIST}/${id}?tab=settings` });
  const form = page.getByRole('form', { name: 'Settings' });
  await form.getByLabel('URL').fill('ftp://erp.example.com/');
  await form.getByLabel('Events in a message').fill('1000');
  await button(page, 'Save').click();
  await form.locator('input[aria-invalid="true"]').first().waitFor();
  assert.equal(await form.locator('input[aria-invalid="true"]').count(), 2);
  assert.deepEqual(await violationsOf(page), []);
  await form.getByLabel('URL').fill(`${receiver.origin}/other`);
  await form.getByLabel('Events in a message').fill('1');
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await button(page, 'Save').click();
  assert.equal((await sent).postData(), `{"url":"${receiver.origin}/other"}`);
  await page.getByRole('status').filter({ hasText: 'Webhook saved' }).waitFor({ state: 'attached' });
  assert.deepEqual((await readWebhook(id)).headers, { 'X-Shop': null });
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('row', { name: new RegExp(`hook ${created}.*${receiver.origin}/other`) }).waitFor();
});

test('a test that fails tells how it was answered, and a disabled webhook says why', async ({ open }) => {
  const { id, name } = await createWebhook();
  await server.database.query("update wda.webhook set enabled = false, disabled_reason = 'gone' where id = $1", [id]);
  const page = await open({ key: keys.admin, path: LIST });
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row.getByText('Disabled', { exact: true }).waitFor();
  await row.getByText(/answered 410/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await row.getByRole('link', { name }).click();
  await page.getByText(/^Disabled\. Its receiver answered 410/).waitFor();
  receiver.answer(503);
  await button(page, 'Send test').click();
  await page.getByText('The test was not delivered').waitFor();
  await page.getByText(/^503.* after \d+ ms$/).waitFor();
  receiver.answer(204);
  assert.deepEqual(await violationsOf(page), []);
  await button(page, 'Enable').click();
  await button(page, 'Disable').waitFor();
  assert.equal((await readWebhook(id)).enabled, true);
});

test('the log has states, attempts, body and answers; a message is discarded or sent again', async ({ open }) => {
  const { id } = await createWebhook({ enabled: false });
  for (const [index, state] of ['delivered', 'failed', 'pending'].entries()) await writeMessage(id, state, index + 1);
  const page = await open({ key: keys.admin, path: `${LIST}/${id}` });
  const messages = page.getByRole('table', { name: 'Messages' });
  await messages.getByText('Delivered').waitFor();
  assert.equal(await messages.getByRole('row').count(), 4);
  await page.getByRole('combobox', { name: 'State' }).selectOption('pending');
  await messages.getByText('Delivered').waitFor({ state: 'detached' });
  assert.equal(await messages.getByRole('row').count(), 2);
  assert.match(page.url(), /state=pending/);
  assert.deepEqual(await violationsOf(page), []);

  await page.getByRole('button', { name: /^Open message d_/ }).click();
  const dialog = page.getByRole('dialog', { name: /^Message d_/ });
  await dialog.getByRole('row', { name: /500 7 ms out of <b>paper<\/b>$/ }).waitFor();
  await dialog.getByRole('row', { name: /No answer in time 15000 ms/ }).waitFor();
  await dialog.getByText('{"type":"orders.created"}').waitFor();
  assert.deepEqual(await violationsOf(page), []);
  // The server refuses in its words what a disabled webhook cannot do.
  await dialog.getByRole('button', { name: 'Redeliver' }).click();
  await dialog
    .getByRole('alert')
    .getByText(/disabled/)
    .waitFor();
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await dialog.getByText(/Discarded/).waitFor();
  await page.keyboard.press('Escape');
  await button(page, 'Enable').click();
  await button(page, 'Disable').waitFor();
  await page.getByRole('combobox', { name: 'State' }).selectOption('failed');
  await page.getByRole('button', { name: /^Open message d_/ }).click();
  await dialog.getByRole('button', { name: 'Redeliver' }).click();
  await page.getByRole('status').filter({ hasText: 'The message is sent again' }).waitFor({ state: 'attached' });
});

test('what was sent stands in the log with its body', async ({ open }) => {
  const { id } = await createWebhook({ entities: ['orders'], types: ['created'] });
  await shop.create('orders', [{ status: 'open', total: '12.50' }]);
  const page = await open({ key: keys.admin, path: `${LIST}/${id}` });
  const messages = page.getByRole('table', { name: 'Messages' });
  await messages.getByRole('row', { name: /orders\.created 1 Delivered 1 204/ }).waitFor();
  await page.getByRole('button', { name: /^Open message d_/ }).click();
  const dialog = page.getByRole('dialog', { name: /^Message d_/ });
  await dialog.getByText(/"type":"orders\.created".*"total":12\.50/).waitFor();
  await dialog.getByRole('button', { name: 'Redeliver' }).click();
  const rows = dialog.getByRole('table', { name: 'Attempts' }).getByRole('row');
  await until('both attempts are listed', async () => (await rows.count()) === 3);
});

test('a secret is rotated, a webhook goes on from another time, and is deleted after a question', async ({ open }) => {
  const { id, name, secret } = await createWebhook();
  const page = await open({ key: keys.admin, path: `${LIST}/${id}` });
  await button(page, 'Rotate secret').click();
  await page.getByRole('dialog', { name: 'Rotate the secret' }).getByRole('button', { name: 'Rotate' }).click();
  const shown = page.getByRole('dialog', { name: 'Secret of the webhook' });
  assert.notEqual(await shown.getByRole('textbox', { name: 'Secret' }).inputValue(), secret);
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('Former secret signs until').waitFor();

  await button(page, 'Replay from…').click();
  const replay = page.getByRole('dialog', { name: 'Replay from' });
  await replay.getByLabel(/^Time/).fill('yesterday');
  await replay.getByRole('button', { name: 'Replay' }).click();
  await replay.locator('[aria-invalid="true"], [role="alert"]').first().waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await replay.getByRole('combobox', { name: 'From' }).selectOption('oldest');
  await replay.getByRole('button', { name: 'Replay' }).click();
  await replay.waitFor({ state: 'hidden' });

  await button(page, 'Delete').click();
  await page
    .getByRole('dialog', { name: `Delete webhook ${name}?` })
    .getByRole('button', { name: 'Delete' })
    .click();
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  assert.equal((await shop.admin(`webhooks/${id}`)).status, 404);
});

test('who may not administer has no webhooks', async ({ open }) => {
  const page = await open({ key: shop.readWriteKey, path: LIST });
  await page.getByRole('heading', { level: 1, name: 'For administrators' }).waitFor();
});
