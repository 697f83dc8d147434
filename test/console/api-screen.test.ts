// The API screen of an entity: a request that is typed, sent, and read as a text for other tools.
import assert from 'node:assert/strict';
import { violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';

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
