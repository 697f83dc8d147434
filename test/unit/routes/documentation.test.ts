// The site of the documentation over HTTP: names of files, their headers, and nothing outside of the folder.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import type { RawRequest } from '../../../src/http/request.ts';
import { makeDocumentationMount } from '../../../src/routes/documentation.ts';
import { type MountServer, serveMounts } from '../../support/mount-server.ts';

const parent = mkdtempSync(join(tmpdir(), 'documentation-'));
const folder = join(parent, 'dist');
mkdirSync(join(folder, 'assets'), { recursive: true });
mkdirSync(join(folder, 'recipes'));
const write = (name: string, text: string): void => {
  writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
};
write('index.html', '<!doctype html>home');
write('404.html', '<!doctype html>nothing here');
write('limits.html', '<!doctype html>limits');
write('gone.html', '<!doctype html>gone');
write('away.html', '<!doctype html>away');
write('recipes/index.html', '<!doctype html>recipes');
write('assets/app.1a2b.js', 'let app;');
writeFileSync(join(folder, 'assets/secret.pem'), 'secret');
writeFileSync(join(parent, 'outside.html'), 'outside');

let built: MountServer;
let unbuilt: MountServer;
before(async () => {
  built = await serveMounts([makeDocumentationMount(folder)]);
  unbuilt = await serveMounts([makeDocumentationMount(join(parent, 'nowhere'))]);
});
after(async () => {
  await built.close();
  await unbuilt.close();
  rmSync(parent, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends the path as it is: `fetch` would resolve `..` first. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET', server = built): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    })
      .on('error', reject)
      .end();
  });

test('a page that a later build has taken away is not found', async () => {
  for (const name of ['gone.html', 'gone.html.br']) rmSync(join(folder, name));
  const { status, body } = await get('/docs/gone');
  assert.equal(status, 404, body.toString());
  assert.match(body.toString(), /start the server again/);
});

test('a page that is away is not found for each of those who ask for it at once', async () => {
  const mount = makeDocumentationMount(folder);
  for (const name of ['away.html', 'away.html.br']) rmSync(join(folder, name));
  const ask = () =>
    mount.handle({ method: 'GET', path: '/docs/away', headers: {} } as Partial<RawRequest> as RawRequest);
  for (const { reason } of (await Promise.allSettled([ask(), ask()])) as PromiseRejectedResult[])
    assert.match(String(reason), /start the server again/);
});

const PAGES: readonly (readonly [path: string, text: string])[] = [
  ['/docs/', 'home'],
  ['/docs/?from=console', 'home'],
  ['/docs/index', 'home'],
  ['/docs/limits', 'limits'],
  ['/docs/limits.html', 'limits'],
  ['/docs/recipes', 'recipes'],
  ['/docs/recipes/', 'recipes'],
];
for (const [path, text] of PAGES) {
  test(`${path} is the page ${text}, under a policy`, async () => {
    const { status, headers, body } = await get(path);
    assert.deepEqual([status, body.toString()], [200, `<!doctype html>${text}`]);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(headers['cache-control'], 'no-cache');
    assert.match(
      String(headers['content-security-policy']),
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    );
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['access-control-allow-origin'], undefined);
  });
}

const NOWHERE = [
  '/docs/nothing',
  '/docs/../outside.html',
  '/docs/..%2foutside.html',
  '/docs/%2e%2e/outside.html',
  '/docs/..\\outside.html',
  '/docs//etc/passwd',
  '/docs/limits.html.br',
  '/docs/assets/secret.pem',
  '/docs/assets',
  '/docs/constructor',
];
for (const path of NOWHERE) {
  test(`${path} is nowhere: an error for programs, a page for browsers`, async () => {
    const { status, body } = await get(path);
    assert.deepEqual([status, JSON.parse(body.toString()).error.reason], [404, 'PATH_NOT_FOUND']);
    const page = await get(path, { accept: 'text/html,*/*' });
    assert.deepEqual([page.status, page.body.toString()], [404, '<!doctype html>nothing here']);
  });
}

test('/docs leads to /docs/', async () => {
  const { status, headers } = await get('/docs');
  assert.deepEqual([status, headers.location], [302, '/docs/']);
});

test('a file is compressed for clients that accept it, and each form has its entity tag', async () => {
  const plain = await get('/docs/limits');
  const compressed = await get('/docs/limits', { 'accept-encoding': 'gzip, br' });
  assert.deepEqual([plain.headers['content-encoding'], compressed.headers['content-encoding']], [undefined, 'br']);
  assert.deepEqual(compressed.body, brotliCompressSync('<!doctype html>limits'));
  assert.equal(plain.headers.vary, 'Accept-Encoding');
  assert.notEqual(plain.headers.etag, compressed.headers.etag);
  const unchanged = await get('/docs/limits', { 'if-none-match': String(plain.headers.etag) });
  assert.deepEqual([unchanged.status, unchanged.body.length, unchanged.headers.etag], [304, 0, plain.headers.etag]);
  assert.equal((await get('/docs/limits', { 'if-none-match': '"other"' })).status, 200);
});

test('assets may be cached for ever, as their names have their hash', async () => {
  const { headers } = await get('/docs/assets/app.1a2b.js');
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
});

test('pages are read, nothing else', async () => {
  const head = await get('/docs/limits', {}, 'HEAD');
  assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '21', 0]);
  const post = await get('/docs/limits', {}, 'POST');
  assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD']);
});

test('without a build each path is an error that names the command', async () => {
  for (const path of ['/docs', '/docs/', '/docs/limits']) {
    const { status, body } = await get(path, { accept: 'text/html' }, 'GET', unbuilt);
    assert.equal(status, 404);
    assert.match(JSON.parse(body.toString()).error.message, /npm run docs/);
  }
});
