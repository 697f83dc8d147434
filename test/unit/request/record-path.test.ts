// Paths of the data API: segments, ids, and the words of metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseId } from '../../../src/request/call.ts';
import { getOperationName, splitSegments } from '../../../src/request/record-path.ts';
import { refuses } from '../../support/error-response.ts';

for (const [path, segments] of [
  ['/api/v1/', []],
  ['/api/v1/acme/shop', ['acme', 'shop']],
  ['/api/v1/acme/shop/orders/', ['acme', 'shop', 'orders']],
  ['/api/v1/acme/shop/orders/5', ['acme', 'shop', 'orders', '5']],
  ['/api/v1/acme/shop//5', ['acme', 'shop', '', '5']],
  ['/api/v1/acme/shop/orders//', ['acme', 'shop', 'orders', '']],
  ['/api/v1/acme/shop/%6Frders', ['acme', 'shop', 'orders']],
  ['/api/v1/acme/shop/a%2Fb', ['acme', 'shop', 'a/b']],
  ['/api/v1/acme/shop/a+b', ['acme', 'shop', 'a+b']],
  ['/api/v1/acme/shop/%zz', ['acme', 'shop', '%zz']],
  ['/api/v1/acme/%00/orders', ['acme', '%00', 'orders']],
] as const) {
  test(`${path} is ${JSON.stringify(segments)}`, () => assert.deepEqual(splitSegments(path), segments));
}

for (const [text, id] of [
  ['5', '5'],
  ['0', '0'],
  ['-5', '-5'],
  ['007', '007'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', undefined],
  ['-9223372036854775808', '-9223372036854775808'],
  ['0000000000000000000000005', '0000000000000000000000005'],
  ['9'.repeat(5000), undefined],
] as const) {
  test(`id ${text.slice(0, 30)} is ${id}`, () => assert.equal(parseId(text), id));
}

for (const text of ['', ' 5', '5 ', '+5', '5.0', '1e3', '0x5', 'five', '٥', '5;', "5'", '5/6', '--5', '-']) {
  test(`id ${JSON.stringify(text)} is malformed`, () => {
    refuses(() => parseId(text), `Id ${text} is malformed: an integer is needed`);
  });
}

test('a long malformed id is not repeated as a whole', () => {
  refuses(() => parseId('x'.repeat(5000)), `Id ${'x'.repeat(100)}… is malformed: an integer is needed`);
});

test('what starts with _ is an operation that does not exist', () => {
  refuses(
    () => parseId('_count'),
    'There is no operation _count. Known: _query, _aggregate, _import, _bulk, _bulk/delete, _update, _delete, _export, _changes',
    'NOT_FOUND',
  );
});

for (const [method, url, operation] of [
  ['GET', '/api/v1/acme/shop/orders', 'list'],
  ['GET', '/api/v1/acme/shop/orders?filter=a/b/c,eq,/', 'list'],
  ['HEAD', '/api/v1/acme/shop/orders', 'list'],
  ['GET', '/api/v1/acme/shop/orders/5', 'read'],
  ['POST', '/api/v1/acme/shop/orders', 'create'],
  ['POST', '/api/v1/acme/shop/orders/_query', 'query'],
  ['PUT', '/api/v1/acme/shop/orders/5', 'update'],
  ['PATCH', '/api/v1/acme/shop/orders/5', 'update'],
  ['DELETE', '/api/v1/acme/shop/orders/5', 'delete'],
  ['PROPFIND', '/api/v1/acme/shop/orders/5', 'other'],
  ['POST', '/api/v1/acme/shop/_batch', 'batch'],
  ['POST', '/api/v1/acme/shop/_batch?dryRun=true', 'batch'],
  ['GET', '/api/v1/acme/shop/_batch', 'other'],
  ['POST', '/api/v1/acme/shop/_batches', 'create'],
  ['GET', '/api/v1/acme/shop/_openapi.json?selection=fixed', 'openapi'],
  ['GET', '/api/v1/acme/shop', 'index'],
  ['HEAD', '/api/v1/acme/shop/?x=a/b', 'index'],
  ['POST', '/api/v1/acme/shop', 'other'],
  ['GET', '/api/v1/acme/shop//', 'list'],
] as const) {
  test(`${method} ${url} counts as ${operation}`, () => assert.equal(getOperationName(method, url), operation));
}

test('metrics know a handful of words, whatever clients send', () => {
  fc.assert(
    fc.property(fc.string(), fc.webPath(), (method, path) => {
      assert.match(
        getOperationName(method, path),
        /^(list|read|create|query|import|export|update|delete|batch|index|openapi|other)$/,
      );
    }),
  );
});
