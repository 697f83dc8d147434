// Who may use the admin API, and in which order it refuses: credential, right, existence, parameters, body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

const server = useServer();
const schema = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const own = use(() => server.workspace('acme/own', schema));
const other = use(() => server.workspace('other/other', schema));

const admin = (path: string, credential: string | null, method = 'GET', body?: unknown): Promise<Answer> =>
  server.call(`/api/admin/v1${path}`, { credential, method, ...(body === undefined ? {} : { body }) });

const WORKSPACE_PATHS: readonly [string, string][] = [
  ['GET', ''],
  ['PUT', ''],
  ['GET', '/schema'],
  ['PUT', '/schema'],
  ['POST', '/schema/plan'],
  ['GET', '/migrations'],
  ['GET', '/migrations/1'],
  ['POST', '/migrations/1/cancel'],
  ['GET', '/entities/notes/settings'],
  ['PUT', '/entities/notes/settings'],
  ['GET', '/entities/notes/row-rules'],
  ['PUT', '/entities/notes/row-rules'],
  ['GET', '/api-keys'],
  ['POST', '/api-keys'],
  ['DELETE', '/api-keys/1'],
];

for (const [method, path] of WORKSPACE_PATHS) {
  const base = (workspace: string): string => `/organizations/${workspace.replace('/', '/workspaces/')}${path}`;
  test(`${method} …/{ws}${path}: without or with a wrong credential 401, whatever else is wrong`, async () => {
    for (const credential of [null, 'wda_junk', 'x'.repeat(9000)]) {
      const answer = await admin(
        `${base('nobody/nothing')}?junk=1`,
        credential,
        method,
        method === 'GET' ? undefined : 5,
      );
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.json.error.code, 'UNAUTHORIZED');
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
    }
  });
  test(`${method} …/{ws}${path}: keys below OWNER, and owners of other workspaces, get 403`, async () => {
    const body = method === 'GET' ? undefined : { junk: true };
    for (const credential of [own.readOnlyKey, own.readWriteKey, other.key]) {
      const answer = await admin(base('acme/own'), credential, method, body);
      assert.equal(answer.status, 403, answer.text);
      assert.equal(answer.json.error.code, 'FORBIDDEN');
    }
  });
  test(`${method} …/{ws}${path}: to an owner a workspace that does not exist looks like another's`, async () => {
    const body = method === 'GET' ? undefined : {};
    const missing = await admin(base('other/nothing'), own.key, method, body);
    const foreign = await admin(base('other/other'), own.key, method, body);
    assert.deepEqual([missing.status, missing.json], [foreign.status, foreign.json]);
    assert.equal(missing.status, 403);
  });
  test(`${method} …/{ws}${path}: to the operator a workspace that does not exist is 404 before its body is read`, async () => {
    const body = method === 'GET' ? undefined : { junk: 1 };
    const answer = await admin(base('acme/nothing'), ADMIN_KEY, method, body);
    assert.equal(answer.status, 404, answer.text);
    assert.equal(answer.json.error.message, 'Workspace acme/nothing does not exist');
  });
}

test('organizations, and making and deleting workspaces, are for the operator', async () => {
  const tries: readonly [string, string, unknown?][] = [
    ['GET', '/organizations'],
    ['POST', '/organizations', { slug: 'mine' }],
    ['PUT', '/organizations/acme', { name: 'Mine' }],
    ['DELETE', '/organizations/acme'],
    ['GET', '/organizations/acme/workspaces'],
    ['POST', '/organizations/acme/workspaces', { slug: 'mine' }],
    ['DELETE', '/organizations/acme/workspaces/own?confirm=own'],
  ];
  for (const [method, path, body] of tries) {
    const answer = await admin(path, own.key, method, body);
    assert.equal(answer.status, 403, `${method} ${path} ${answer.text}`);
  }
});

test('an owner sees its organization and no other', async () => {
  assert.equal((await admin('/organizations/acme', own.key)).json.data.slug, 'acme');
  const foreign = await admin('/organizations/other', own.key);
  const missing = await admin('/organizations/nothing', own.key);
  assert.equal(foreign.status, 403);
  assert.deepEqual(missing.json, foreign.json);
  assert.equal((await admin('/organizations/acme', own.readWriteKey)).status, 403);
});

test('an owner administers its workspace', async () => {
  const answer = await admin('/organizations/acme/workspaces/own', own.key, 'PUT', { name: 'Our own' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.data.name, 'Our own');
});

test('an unknown query parameter is 400 by name, after the credential', async () => {
  const answer = await admin('/organizations?sise=1', ADMIN_KEY);
  assert.equal(answer.status, 400);
  assert.match(answer.json.error.message, /Unknown query parameter sise\. Did you mean size\?/);
  assert.equal((await admin('/organizations?sise=1', null)).status, 401);
});

test('junk in paths and bodies is 400 or 404, never 500', async () => {
  const paths = [
    '/organizations/%00',
    "/organizations/a'b",
    '/organizations/acme/workspaces/%F0%9F%98%80',
    '/organizations/acme/workspaces/own/entities/%00/settings',
    '/organizations/acme/workspaces/own/migrations/99999999999999999999',
    '/organizations/acme/workspaces/own/migrations/1%00',
    '/organizations/acme/workspaces/own/migrations/abc',
  ];
  for (const path of paths) {
    const { status, text } = await admin(path, ADMIN_KEY);
    assert.ok(status === 400 || status === 404, `${path} ${status} ${text}`);
  }
  const bodies = ['', '{', '[]', 'null', '"x"', '5', '{"slug":{"a":1}}', '{"slug":"a\\u0000"}', '{"name":"\\ud800"}'];
  for (const body of bodies) {
    const answer = await server.call('/api/admin/v1/organizations', {
      method: 'POST',
      credential: ADMIN_KEY,
      headers: { 'content-type': 'application/json' },
      body,
    });
    assert.equal(answer.status, 400, `${body} ${answer.text}`);
  }
});
