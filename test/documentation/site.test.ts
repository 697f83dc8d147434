// The site of the documentation as `npm run docs` builds it, in a browser: search, pages and OpenAPI documents work under
// the policy of the server, without a request to another host.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeDocumentationMount } from '../../src/routes/documentation.ts';
import { browserSkip, useBrowser } from '../support/browser.ts';
import { serveMounts } from '../support/mount-server.ts';
import { use } from '../support/resources.ts';

const SITE = join(import.meta.dirname, '../../site/dist');
const skip = browserSkip || (existsSync(SITE) ? false : 'needs npm run docs');

/** The viewer of OpenAPI documents is a script of 4 MB. */
const SLOW = { timeout: 120_000 };

if (skip === false) {
  const server = use(
    () => serveMounts([makeDocumentationMount(SITE)]),
    ({ close }) => close(),
  );
  const browser = useBrowser();

  /** Opens a page, with its errors and the hosts that it requests from then on. */
  async function open(path: string) {
    const page = await browser.newPage();
    const errors: string[] = [];
    const hosts = new Set<string>();
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(server.url + path, SLOW);
    const check = async () => {
      assert.deepEqual(errors, []);
      assert.deepEqual(
        [...hosts].filter((host) => host !== new URL(server.url).host && host !== ''),
        [],
      );
      await page.close();
    };
    return { page, check };
  }

  test('the first page leads to a page that search finds, and its sidebar to another', async () => {
    const { page, check } = await open('/docs/');
    await page.getByRole('heading', { name: /^Documentation/, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('input.search-input').fill('idempotency key');
    await page.locator('.VPLocalSearchBox .results a').first().waitFor();
    await page.locator('input.search-input').press('Enter');
    await page.waitForURL(/\/docs\/reference\//);
    await page.locator('.VPSidebar').getByRole('link', { name: 'Schema document' }).click();
    await page.waitForURL(/\/docs\/reference\/schema-document$/);
    await page.getByRole('heading', { name: /^Schema document/, level: 1 }).waitFor();
    await check();
  });

  test('an OpenAPI document is shown', async () => {
    const { page, check } = await open('/docs/api/demo-shop.html');
    await page.getByText('Index of the workspace').first().waitFor(SLOW);
    await check();
  });

  test('the OpenAPI document of the admin API is there', async () => {
    const answer = await fetch(`${server.url}/docs/api/admin.json`);
    const document = (await answer.json()) as { paths: object };
    assert.ok('/api/admin/v1/organizations' in document.paths);
  });
} else {
  test('the site of the documentation', { skip }, () => undefined);
}
