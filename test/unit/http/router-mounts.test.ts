// Mounts that every server has, and one path as a mount.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, invalidCredential, methodNotAllowed } from '../../../src/errors.ts';
import type { RawRequest } from '../../../src/http/request.ts';
import {
  BAD_HOST,
  DEFAULT_ERROR_HANDLING,
  isAt,
  type Mount,
  makeNotFound,
  makeUnreadyMount,
} from '../../../src/http/router.ts';
import { noContent } from '../../../src/response/reply.ts';

const rows: readonly (readonly [url: string, isThere: boolean])[] = [
  ['/oauth/token', true],
  ['/oauth/token/', true],
  ['/oauth/token?a=b', true],
  ['/oauth/token/?a=b/c', true],
  ['/oauth/tokens', false],
  ['/oauth/token//', false],
  ['/oauth/token/x', false],
  ['/oauth', false],
];
for (const [url, isThere] of rows) {
  test(`${url} is ${isThere ? '' : 'not '}at /oauth/token`, () => assert.equal(isAt(url, '/oauth/token'), isThere));
}

async function refusal(mount: Mount, path = '/', headers: RawRequest['headers'] = {}): Promise<string> {
  const error = await Promise.resolve(mount.handle({ path, headers } as RawRequest)).then(
    () => assert.fail('was answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ApiError);
  return `${error.status} ${error.message}`;
}

test('what no mount takes is nowhere, or no path at all', async () => {
  const notFound = makeNotFound([]);
  assert.equal(await refusal(notFound, '/nothing'), '404 There is nothing at /nothing');
  assert.equal(await refusal(notFound, `/${'a'.repeat(300)}`), `404 There is nothing at /${'a'.repeat(199)}`);
  for (const path of ['/%', '/%zz', '/%ff', '/a/%u0041']) {
    assert.equal(await refusal(notFound, path), '400 The path is malformed');
  }
  assert.equal(await refusal(BAD_HOST), '400 The Host header is missing');
  assert.equal(await refusal(BAD_HOST, '/', { host: 'a' }), '400 There is more than one Host header');
});

test('a mount that waits for the server refuses in its own words until then', async () => {
  let reason: string | undefined = 'The server is starting; retry';
  const open: Mount = {
    ...DEFAULT_ERROR_HANDLING,
    matches: (url) => isAt(url, '/x'),
    operations: [],
    readyFirst: true,
    getGroup: () => 'a',
    getOperationName: () => 'x',
    handle: async () => noContent(),
    toErrorReply: ({ message }) => ({ status: 599, headers: { says: message }, body: { kind: 'empty' } }),
  };
  const shut = makeUnreadyMount(open, () => reason);
  assert.equal(await refusal(shut), '503 The server is starting; retry');
  // It became ready between two questions.
  reason = undefined;
  assert.equal(await refusal(shut), '503 Not ready yet; retry');
  assert.equal(shut.getOperationName('GET', '/x'), 'unready');
  assert.equal(shut.getGroup, undefined);
  assert.deepEqual(shut.toErrorReply(methodNotAllowed('GET', [])).status, 599);
});

test('a refusal of a credential waits for its turn, another one does not', () => {
  assert.equal(DEFAULT_ERROR_HANDLING.isThrottled(invalidCredential()), true);
  assert.equal(DEFAULT_ERROR_HANDLING.isThrottled(methodNotAllowed('GET', ['PUT'])), false);
});
