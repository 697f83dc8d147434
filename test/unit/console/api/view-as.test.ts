import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isApiError } from '../../../../console/src/api/api-error.ts';
import { Digits, stringifyExact } from '../../../../console/src/api/json.ts';
import type { ApiRequest } from '../../../../console/src/api/types.ts';
import {
  describeUser,
  parseClaims,
  rewriteForUser,
  unwrapUserResponse,
  type ViewAs,
  withRoles,
} from '../../../../console/src/api/view-as.ts';

const viewAs: ViewAs = {
  workspace: { org: 'demo', ws: 'shop' },
  claims: { customer_id: new Digits('9007199254740993') },
};
const TEST = '/admin/v1/organizations/demo/workspaces/shop/access/test';

test('nobody is viewed as: requests stay', () => {
  const ask: ApiRequest = { method: 'DELETE', path: '/v1/demo/shop/orders/1' };
  assert.equal(rewriteForUser(ask, undefined), ask);
});

test('reads of records are asked for as the user', () => {
  for (const [ask, request] of [
    [
      { path: '/v1/demo/shop/orders?filter=a,eq,%C3%A9&expand=customer' },
      { path: 'orders?filter=a,eq,%C3%A9&expand=customer' },
    ],
    [{ path: '/v1/demo/shop/orders/3', headers: { 'If-None-Match': '"1"' } }, { path: 'orders/3' }],
    [{ path: '/v1/demo/shop/_schema' }, { path: '_schema' }],
    [{ path: '/v1/demo/shop/orders/_export?format=csv' }, { path: 'orders/_export?format=csv' }],
    [
      { method: 'POST', path: '/v1/demo/shop/orders/_query', body: { size: 1 } },
      { path: 'orders/_query', body: { size: 1 } },
    ],
    [
      { method: 'POST', path: '/v1/demo/shop/orders/_aggregate', body: {} },
      { path: 'orders/_aggregate', body: {} },
    ],
  ] as const) {
    const { method, path, body } = rewriteForUser(ask, viewAs);
    assert.equal(method, 'POST');
    assert.equal(path, TEST);
    assert.equal(
      stringifyExact(body),
      `{"claims":{"customer_id":9007199254740993},"requests":[${stringifyExact(request)}]}`,
    );
  }
});

test('what is not about records there stays as it is', () => {
  for (const path of [
    '/v1/demo/shop/_openapi.json',
    '/v1/demo/other/orders',
    '/v1/demo/shopping/orders',
    '/admin/v1/session',
    '/admin/v1/organizations/demo/workspaces/shop/schema',
  ]) {
    const ask = { path };
    assert.equal(rewriteForUser(ask, viewAs), ask);
  }
  const elsewhere: ApiRequest = { method: 'DELETE', path: '/v1/demo/other/orders/1' };
  assert.equal(rewriteForUser(elsewhere, viewAs), elsewhere);
});

test('writes are refused in words', () => {
  for (const ask of [
    { method: 'POST', path: '/v1/demo/shop/orders' },
    { method: 'PUT', path: '/v1/demo/shop/orders/1' },
    { method: 'DELETE', path: '/v1/demo/shop/orders/1' },
    { method: 'POST', path: '/v1/demo/shop/orders/_bulk' },
    { method: 'POST', path: '/v1/demo/shop/orders/_import?dryRun=true' },
    { method: 'POST', path: '/v1/demo/shop/_batch' },
  ] as const)
    assert.throws(
      () => rewriteForUser(ask, viewAs),
      (thrown) => isApiError(thrown, 'VIEWING_AS') && /view as customer_id 9007199254740993/.test(thrown.message),
    );
});

test('the answer of the user has their status, their words and all digits', async () => {
  const headers = new Headers({ 'X-Request-Id': 'r1', ETag: '"of the test"' });
  const one = (status: number, body: string) =>
    unwrapUserResponse(`{"data":[{"path":"orders","status":${status},"body":${body}}]}`, headers);
  const list = one(200, '{"data":[{"id":9007199254740993,"total":0.10}],"meta":{"totalElements":1}}');
  assert.equal(list.status, 200);
  assert.equal(list.headers.get('ETag'), null);
  assert.equal(await list.text(), '{"data":[{"id":9007199254740993,"total":0.10}],"meta":{"totalElements":1}}');
  const missing = one(404, '{"error":{"code":"NOT_FOUND","message":"No record"}}');
  assert.equal(missing.status, 404);
  assert.equal(missing.headers.get('X-Request-Id'), 'r1');
  assert.equal(await one(200, '"id,total\\n1,2\\n"').text(), 'id,total\n1,2\n');
  assert.equal(await one(204, 'null').text(), '');
});

test('claims are a JSON object and nothing else', () => {
  for (const text of ['', '1', '[]', '"a"', 'null', '{a: 1}', 'eyJ.e30.x'])
    assert.equal(parseClaims(text), undefined, text);
  assert.equal(stringifyExact(parseClaims('{"constructor": 1.10}')), '{"constructor":1.10}');
});

test('a user is called by the best of its names, cut', () => {
  assert.equal(describeUser({ claims: { sub: 'u1', email: 'ada@example.com' } }), 'ada@example.com');
  assert.equal(describeUser({ claims: { sub: 'u1', name: ' ' } }), 'u1');
  assert.equal(describeUser({ claims: { customer_id: new Digits('1'), vip: true } }), 'customer_id 1, vip true');
  assert.equal(describeUser({ claims: {} }), 'a user without claims');
  assert.equal(describeUser({ claims: { sub: 'x'.repeat(100) } }), `${'x'.repeat(79)}…`);
  assert.equal(describeUser({ claims: { sub: 'u1' }, roles: ['agent', 'customer'] }), 'u1 with agent, customer');
});

test('records leave the console by one way: no screen links to them or fetches them itself', () => {
  const source = join(import.meta.dirname, '../../../../console/src');
  const holding = (pattern: RegExp): string[] =>
    globSync('**/*.{ts,tsx}', { cwd: source })
      .filter((path) => pattern.test(readFileSync(join(source, path), 'utf8')))
      .sort();
  assert.deepEqual(holding(/\bCONSOLE_API\b/), [
    'api/request.ts',
    // Refuses while somebody is viewed as.
    'api/upload.ts',
    // Files with what an administrator set, not with records.
    'screens/api/screen.tsx',
    'screens/settings/screen.tsx',
    'shell/download.tsx',
    // Asks by `send`.
    'shell/plain-http.ts',
  ]);
  assert.deepEqual(
    holding(/(?<!\w\s|#)\bfetch\(|\bXMLHttpRequest\b/).filter((path) => !path.startsWith('snippets/')),
    ['api/request.ts', 'api/session.ts', 'api/upload.ts', 'shell/connection.tsx'],
  );
});

test('roles are put into their claim, whose literal name comes first', () => {
  const claims = { realm_access: { roles: ['customer'] } };
  assert.equal(withRoles(claims, 'realm_access.roles', []), claims);
  assert.deepEqual(withRoles(claims, 'realm_access.roles', ['agent']), { ...claims, 'realm_access.roles': ['agent'] });
});
