// The page of the console from memory: which path is which file, and the headers that come with it.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePageMount, readBuild } from '../../../src/console-api/page.ts';
import { ApiError } from '../../../src/errors.ts';
import type { RawRequest } from '../../../src/http/request.ts';
import type { Reply } from '../../../src/response/reply.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-'));
mkdirSync(join(folder, 'assets'));
writeFileSync(join(folder, 'index.html'), '<!doctype html><meta nonce="__WDA_NONCE__"><style nonce="__WDA_NONCE__">');
writeFileSync(join(folder, 'build-id.txt'), 'abc');
writeFileSync(join(folder, 'assets/index-1.js'), 'plain');
writeFileSync(join(folder, 'assets/index-1.js.br'), 'coded');
writeFileSync(join(folder, 'assets/index-1.exe'), 'no type is known');
const built = makePageMount(readBuild(folder));
rmSync(folder, { recursive: true });

const ask = (path: string, headers: Record<string, string> = {}, mount = built, method = 'GET'): Promise<Reply> =>
  mount.handle({ method, path, headers } as Partial<RawRequest> as RawRequest) as Promise<Reply>;

const textOf = ({ body }: Reply): string =>
  body.kind === 'text' ? body.text : body.kind === 'bytes' ? Buffer.from(body.bytes).toString() : '';

for (const path of ['/console/', '/console/index.html', '/console/demo/shop', '/console/demo/shop/data/orders/1/']) {
  test(`${path} is the page, with a nonce of its own`, async () => {
    const [one, two] = [await ask(path), await ask(path)];
    assert.equal(one.status, 200);
    assert.equal(one.headers['Cache-Control'], 'no-cache');
    const policy = one.headers['Content-Security-Policy'] ?? '';
    const nonce = /'nonce-([\w-]{22})'/.exec(policy)?.[1];
    assert.ok(nonce !== undefined, policy);
    assert.equal(textOf(one).split(nonce).length, 3, 'both places have it');
    assert.ok(!textOf(one).includes('__WDA_NONCE__'));
    assert.doesNotMatch(policy, /unsafe/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.notEqual(textOf(one), textOf(two));
  });
}

test('assets may be kept for ever, and are sent as the browser takes them', async () => {
  const plain = await ask('/console/assets/index-1.js');
  assert.equal(textOf(plain), 'plain');
  assert.equal(plain.headers['Cache-Control'], 'public, max-age=31536000, immutable');
  assert.equal(plain.headers.Vary, 'Accept-Encoding');
  const coded = await ask('/console/assets/index-1.js', { 'accept-encoding': 'gzip, br' });
  assert.equal(textOf(coded), 'coded');
  assert.equal(coded.headers['Content-Encoding'], 'br');
  assert.equal(textOf(await ask('/console/assets/index-1.js', { 'accept-encoding': 'gzip, br;q=0' })), 'plain');
});

for (const path of [
  '/console/assets/index-2.js',
  '/console/assets/index-1.js.br',
  '/console/assets/index-1.exe',
  '/console/../package.json',
  '/console/assets/..%2f..%2fpackage.json',
  '/console/constructor.js',
]) {
  test(`${path} is nowhere`, () =>
    assert.rejects(ask(path), (error) => error instanceof ApiError && error.status === 404));
}

test('the page is read, nothing else', () =>
  assert.rejects(ask('/console/', {}, built, 'POST'), (error) => error instanceof ApiError && error.status === 405));

test('a missing build is told in words', async () => {
  const answer = await ask('/console/demo/shop', {}, makePageMount(readBuild(join(folder, 'nowhere'))));
  assert.equal(answer.status, 503);
  assert.match(textOf(answer), /npm run build/);
});

test('/console leads to /console/', async () => {
  const { status, headers } = await ask('/console');
  assert.deepEqual([status, headers.Location], [302, '/console/']);
});
