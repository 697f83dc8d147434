// Takes the pictures of the documentation from a server with the demo workspace:
//   node test/console/screenshots.ts http://localhost:3000 <operator key>
// into docs/images. Fonts are those of the machine, so pictures of two machines differ.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser } from '../support/browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const [url = 'http://localhost:3000', key = ''] = process.argv.slice(2);

/** Name of the file, place below /console, and a text that stands there once it is whole. */
const SCREENS: readonly (readonly [name: string, path: string, text: string])[] = [
  ['records', '/demo/shop/data/orders?filter=total,gte,20&sort=placedAt,desc&expand=customer', 'Ada Lovelace'],
  ['record', '/demo/shop/data/orders/1', 'Ada Lovelace'],
  ['schema', '/demo/shop/schema', 'orderItems'],
  ['row-rules', '/demo/shop/access/rules', 'Rule tester'],
  ['api', '/demo/shop/api/orders', 'Try it'],
];

const { chromium } = createRequire(join(ROOT, 'test/tools/browser/package.json'))('playwright-core');
const browser: Browser = await chromium.launch({
  executablePath: process.env.WDA_TEST_CHROMIUM ?? '/usr/lib/chromium/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
const page = await context.newPage();
await page.goto(`${url}/console/`);
await page.getByLabel('Key').first().fill(key);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('heading', { level: 1, name: 'Organizations' }).waitFor();
mkdirSync(join(ROOT, 'docs/images'), { recursive: true });
for (const [name, path, text] of SCREENS) {
  await page.goto(`${url}/console${path}`);
  await page.getByRole('main').getByText(text).first().waitFor();
  await page.evaluate('new Promise((done) => setTimeout(done, 1000))');
  await page.screenshot({ path: join(ROOT, `docs/images/console-${name}.png`) });
  console.log(`docs/images/console-${name}.png`);
}
await browser.close();
