// The API screen of an entity: a request that is typed, sent, and read as a text for other tools.
import assert from 'node:assert/strict';
import { violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server } = useConsole();

test('the request is shown for each tool, follows the form, and is copied as it is shown', async ({ open }) => {
  const page = await open({
    key: keys.readOnly,
    path: '/demo/shop/api/orders',
    context: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  const snippetOf = (tool: string) => page.getByRole('region', { name: `Request for ${tool}` });
  const url = `${server.url}/api/v1/demo/shop/orders`;
  await snippetOf('curl').getByText(`curl -H "Authorization: Bearer $WDA_KEY" \\\n  ${url}`, { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'sort' }).fill('total,desc');
  await snippetOf('curl').getByText(`${url}?sort=total,desc`).waitFor();

  await page.getByRole('tab', { name: 'curl' }).focus();
  for (const tool of ['fetch', 'TypeScript', 'Python', 'wda']) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: tool, selected: true }).waitFor();
    const shown = await snippetOf(tool).textContent();
    assert.match(shown ?? '', /total,desc/, tool);
    assert.match(shown ?? '', /WDA_KEY/, tool);
    assert.deepEqual(await violationsOf(page), [], tool);
    // By the keyboard: the panel, then the button that copies.
    await page.getByRole('button', { name: `Copy as ${tool}` }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('status')
      .filter({ hasText: `Copied as ${tool}` })
      .waitFor({ state: 'attached' });
    assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), shown);
    await page.getByRole('tab', { name: tool }).focus();
  }

  await page.getByRole('textbox', { name: 'expand' }).fill('customer');
  await page.getByText('wda cannot send this request.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Copy as wda' }).count(), 0);
});

test('any operation is tried with a body of the schema, and its answer has headers', async ({ open }) => {
  const page = await open({ key: keys.readWrite, path: '/demo/shop/api/customers' });
  const operation = page.getByRole('combobox', { name: 'Operation' });
  await operation.selectOption('create');
  const body = page.getByRole('textbox', { name: 'body' });
  const sample = JSON.parse(await body.inputValue());
  assert.equal(typeof sample.name, 'string');
  await body.fill('{"name": ');
  await until('a mistake is said', async () => (await body.getAttribute('aria-invalid')) === 'true');
  assert.equal(await page.getByRole('button', { name: 'Run' }).isEnabled(), false);
  await body.fill(JSON.stringify({ ...sample, name: 'Tried' }));
  await page
    .getByRole('region', { name: 'Request for curl' })
    .getByText(/-d '.*Tried/)
    .waitFor();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/^201 in \d+ ms$/).waitFor();
  await page
    .getByRole('region', { name: 'Answer', exact: true })
    .getByText(/"name": "Tried"/)
    .waitFor();
  await page.getByRole('tab', { name: 'Headers' }).click();
  await page
    .getByRole('region', { name: 'Headers of the answer' })
    .getByText(/etag: "/)
    .waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await operation.selectOption('read');
  await page.getByRole('textbox', { name: 'id' }).fill('1');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/^200 in \d+ ms$/).waitFor();
});
