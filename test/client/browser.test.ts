// The client in a browser, on a page of another origin than the server: what it may not use there, and what CORS hides,
// would fail here.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { test } from 'node:test';
import { browserSkip, useBrowser } from '../support/browser.ts';
import { use } from '../support/resources.ts';
import { useDemo } from './demo.ts';

const SOURCE = join(import.meta.dirname, '../../client/src');

/** An empty page, and the modules of the client below /client/. */
async function startPages(): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    if (!url.startsWith('/client/')) {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>client</title>');
      return;
    }
    const text = readFileSync(join(SOURCE, normalize(url.slice('/client/'.length))), 'utf8');
    response.setHeader('content-type', 'text/javascript').end(stripTypeScriptTypes(text));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}

/** A program as the page runs it, with the client of the demo; gives what it returns. */
const program = (url: string, key: string, body: string): string => `(async () => {
  const { createClient, isWdaError } = await import('/client/index.ts');
  const shop = createClient({ url: '${url}', workspace: 'demo/shop', credential: '${key}' });
  const orders = shop.entity('orders');
  ${body}
})()`;

if (browserSkip === false) {
  const demo = useDemo({ WDA_CORS_ORIGINS: '*' });
  const pages = use(startPages, (server) => server.close());
  const browser = useBrowser({ isWhole: true });

  const run = async <T>(body: string): Promise<T> => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
    return page.evaluate<T>(program(demo.server.url, demo.workspace.key, body));
  };

  test('a page lists, with relations, and walks by cursor', async () => {
    const seen = await run<{ name: string; ids: number[]; total: number }>(`
      const { data, meta } = await orders.list({ fields: ['id'], expand: { customer: { fields: ['name'] } }, size: 1 });
      const ids = [];
      for await (const { id } of shop.entity('orderItems').all({ fields: ['id'] })) ids.push(id);
      return { name: data[0].customer.name, ids, total: meta.totalElements };`);
    assert.equal(seen.name, 'Ada Lovelace');
    assert.equal(seen.total, 6);
    assert.deepEqual(
      seen.ids,
      [...new Set(seen.ids)].sort((a, b) => a - b),
    );
    assert.ok(seen.ids.length > 6);
  });

  test('a page writes by the ETag that it has read, and is told of a lost update', async () => {
    const seen = await run<{ etag: boolean; status: string; code: string; digits: string }>(`
      const { data: made, etag } = await orders.create({ customerId: 1, total: '12345678.10' });
      await orders.update(made.id, { status: 'paid' }, { ifMatch: etag });
      const code = await orders.update(made.id, { status: 'open' }, { ifMatch: etag })
        .then(() => 'none', (error) => isWdaError(error, 'PRECONDITION_FAILED') ? error.code : String(error));
      const { data: read } = await orders.read(made.id);
      await orders.delete(made.id);
      return { etag: typeof etag === 'string', status: read.status, code, digits: String(read.total) };`);
    assert.deepEqual(seen, { etag: true, status: 'paid', code: 'PRECONDITION_FAILED', digits: '12345678.1' });
  });

  test('a page reads the details of a refusal', async () => {
    const seen = await run<{ code: string; fields: string[]; requestId: boolean }>(`
      try { await orders.create({ status: 'lost' }); } catch (error) {
        return { code: error.code, fields: error.details.map(({ field }) => field), requestId: error.requestId !== undefined };
      }`);
    assert.equal(seen.code, 'VALIDATION_FAILED');
    assert.deepEqual(seen.fields.toSorted(), ['customerId', 'status']);
    assert.equal(seen.requestId, true);
  });

  test('a page exports a file and imports one', async () => {
    const seen = await run<{ lines: number; inserted: number }>(`
      const text = await new Response(await shop.entity('tags').export({ format: 'csv' })).text();
      const file = new Blob(['name\\n', 'from a page\\n'], { type: 'text/csv' });
      const { inserted } = await shop.entity('tags').import(file, { format: 'csv' });
      return { lines: text.trim().split('\\n').length, inserted };`);
    assert.ok(seen.lines > 1);
    assert.equal(seen.inserted, 1);
  });
} else {
  test('the client in a browser', { skip: browserSkip }, () => undefined);
}
