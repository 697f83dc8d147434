// docs/recipes/live-board.md: the page runs as written, in a browser, and shows what others do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { test } from 'node:test';
import { browserSkip, useBrowser } from '../support/browser.ts';
import { ROOT, readCommands, runCommands } from '../support/page-commands.ts';
import { use } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { until } from '../support/wait-until.ts';
import { useDemo } from './demo.ts';

const PAGE = 'docs/recipes/live-board.md';
const [, board = ''] = /^```html\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, PAGE), 'utf8')) ?? [];

/** The page with the URL of the server in the test, and below `client/` the modules that the package has. */
async function startPages(url: () => string): Promise<Server> {
  const server = createServer(({ url: path = '/' }, response) => {
    if (!path.startsWith('/client/')) {
      response.setHeader('content-type', 'text/html').end(board.replace('http://localhost:3000', url()));
      return;
    }
    const name = normalize(path.slice('/client/'.length)).replace(/\.js$/, '.ts');
    const text = stripTypeScriptTypes(readFileSync(join(ROOT, 'client/src', name), 'utf8'));
    response.setHeader('content-type', 'text/javascript').end(text);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}

if (browserSkip === false) {
  const demo = useDemo({ WDA_CORS_ORIGINS: '*' });
  const pages = use(
    () => startPages(() => demo.server.url),
    (server) => server.close(),
  );
  const browser = useBrowser();
  const folder = useFolder();

  test('the board follows what others do', { timeout: 300_000 }, async () => {
    const [commands = ''] = readCommands(PAGE);
    const env = { WDA_URL: demo.server.url, WDA_KEY: demo.workspace.key };
    const key = /wda_[\w-]+/.exec((await runCommands(commands, env, folder)).stdout)?.[0] ?? '';
    const page = await browser.newPage();
    const mistakes: string[] = [];
    page.on('pageerror', ({ message }) => mistakes.push(message));
    page.on('dialog', (dialog) => void dialog.accept(key));
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/board.html`);
    const columns = () => page.locator('section').allTextContents();
    const shows = (...texts: readonly string[]) =>
      until(texts.join(' | '), async () => JSON.stringify(await columns()) === JSON.stringify(texts));
    const before = ['openOrder 2: 34Order 5: 27.25', 'paidOrder 1: 22.4Order 4: 95', 'shippedOrder 3: 46.9Order 6: 19'];
    await shows(...before);
    const orders = demo.client().entity('orders');
    await orders.update(2, { status: 'paid' });
    await shows('openOrder 5: 27.25', 'paidOrder 1: 22.4Order 4: 95Order 2: 34', before[2] as string);
    const { data } = await orders.create({ customerId: 1, total: 7 });
    await orders.update(2, { status: 'shipped' });
    await shows('openOrder 5: 27.25Order 7: 7', before[1] as string, 'shippedOrder 3: 46.9Order 6: 19Order 2: 34');
    await orders.delete(data.id);
    await shows('openOrder 5: 27.25', before[1] as string, 'shippedOrder 3: 46.9Order 6: 19Order 2: 34');
    assert.deepEqual(mistakes, []);
    // The key reads nothing else.
    const customers = await fetch(`${demo.server.url}/api/v1/demo/shop/customers`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(customers.status, 404);
  });
} else {
  test('the board in a browser', { skip: browserSkip }, () => undefined);
}
