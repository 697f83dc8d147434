// Who may ask: no credential, wrong ones, those of others, revoked and expired ones, and what each permission allows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKey } from '../../../src/auth/api-key.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { ADMIN_KEY, type Answer, type TestServer } from '../../support/server.ts';
import { makeShop, SHOP_SCHEMA } from '../../support/shop.ts';

const server = useServer();
/** Another process of the same installation. */
const second = useServer({}, server);
const workspace = use(() => makeShop(server));
const other = use(() =>
  server.workspace('acme/other', { entities: { tags: { fields: { name: { type: 'string' } } } } }),
);

const READ_ONLY = 'READ_ONLY permissions - data modifications are not allowed';
const INVALID = 'The credential is not valid here';
const CHALLENGE = 'Bearer realm="workspace-data-api"';

function refused(answer: Answer, challenge: string): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.json.error.code, 'UNAUTHORIZED');
  assert.deepEqual(Object.keys(answer.json), ['error']);
  assert.deepEqual(Object.keys(answer.json.error), ['code', 'message', 'reason']);
  assert.equal(answer.headers.get('www-authenticate'), challenge);
}

const PATHS = [
  'acme/shop/tags',
  'acme/shop/tags/1',
  'acme/shop/nothing',
  'acme/other/tags',
  'acme/nothing/tags',
  'nothing/shop/tags',
  'acme/shop',
  'acme',
  '',
];

test('without a credential the answer is the same whatever exists', async () => {
  const texts = new Set<string>();
  for (const path of PATHS) {
    for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND']) {
      const answer = await server.call(`/api/v1/${path}`, { method });
      refused(answer, CHALLENGE);
      texts.add(answer.text);
    }
  }
  assert.equal(texts.size, 1);
});

test("an unknown credential and another workspace's get the same answer whatever exists", async () => {
  const elsewhere = PATHS.filter((path) => !path.startsWith('acme/other'));
  for (const [credential, message] of [
    [makeKey().key, INVALID],
    [other.key, INVALID],
    [other.readOnlyKey, INVALID],
    ['wda_nonsense', INVALID],
    ['opaque', 'Token is not a valid JWT'],
  ] as const) {
    for (const path of elsewhere) {
      for (const call of [{}, { method: 'POST', body: { name: 'x' } }, { method: 'DELETE' }]) {
        const answer = await server.call(`/api/v1/${path}`, { credential, ...call });
        refused(answer, `${CHALLENGE}, error="invalid_token"`);
        assert.equal(answer.json.error.message, message, `${credential} on ${path}`);
      }
    }
  }
});

test("a key is good for its own workspace, whatever the other's answers were", async () => {
  assert.equal((await server.call('/api/v1/acme/other/tags', { credential: workspace.key })).status, 401);
  assert.equal((await server.call('/api/v1/acme/shop/tags', { credential: workspace.key })).status, 200);
  assert.equal((await server.call('/api/v1/acme/other/tags', { credential: other.key })).status, 200);
  assert.equal((await server.call('/api/v1/ACME/shop/tags', { credential: workspace.key })).status, 401);
});

test('malformed credentials are refused', async () => {
  const { key } = workspace;
  for (const authorization of [
    'Bearer',
    'Bearer ',
    `Basic ${Buffer.from(`x:${key}`).toString('base64')}`,
    key,
    `Token ${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer "${key}"`,
    `Bearer: ${key}`,
    `Bearer ${'a'.repeat(9000)}`,
  ]) {
    const answer = await server.call('/api/v1/acme/shop/tags', { headers: { authorization } });
    assert.equal(answer.status, 401, authorization.slice(0, 50));
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer realm=/);
  }
});

test('the scheme is read in any case, as RFC 9110 says', async () => {
  for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
    const headers = { authorization: `${scheme} ${workspace.key}` };
    assert.equal((await server.call('/api/v1/acme/shop/tags', { headers })).status, 200, scheme);
  }
});

test('a credential in the query is none', async () => {
  refused(await server.call(`/api/v1/acme/shop/tags?access_token=${workspace.key}`), CHALLENGE);
});

test('the operator may use every workspace, and is told which does not exist', async () => {
  const call = { credential: ADMIN_KEY };
  assert.equal((await server.call('/api/v1/acme/shop/tags', call)).status, 200);
  assert.equal((await server.call('/api/v1/acme/nothing/tags', call)).status, 404);
});

for (const as of ['owner', 'readWrite'] as const) {
  runScenarios(workspace, [
    { name: `${as} lists`, as, path: 'tags?size=1&fields=id', status: 200, data: [{ id: 1 }] },
    { name: `${as} reads`, as, path: 'tags/1?fields=id', status: 200, data: { id: 1 } },
    { name: `${as} queries`, as, method: 'POST', path: 'tags/_query', body: { size: 1 }, status: 200 },
    { name: `${as} aggregates`, as, path: 'tags/_aggregate?select=count', status: 200 },
    { name: `${as} exports`, as, path: 'tags/_export', status: 200 },
    { name: `${as} creates`, as, method: 'POST', path: 'countries', body: { code: as.slice(0, 2) }, status: 201 },
    { name: `${as} updates`, as, method: 'PATCH', path: 'countries/1', body: { population: 1 }, status: 200 },
    { name: `${as} deletes`, as, method: 'DELETE', path: `countries/${as === 'owner' ? 4 : 5}`, status: 204 },
  ]);
}
const refusal = { as: 'readOnly', status: 403, code: 'FORBIDDEN', message: READ_ONLY } as const;
runScenarios(workspace, [
  { name: 'Read Only lists', as: 'readOnly', path: 'tags', status: 200 },
  { name: 'Read Only reads', as: 'readOnly', path: 'tags/1', status: 200 },
  { name: 'Read Only asks for headers', as: 'readOnly', method: 'HEAD', path: 'tags/1', status: 200 },
  { name: 'Read Only queries', as: 'readOnly', method: 'POST', path: 'tags/_query', body: {}, status: 200 },
  { name: 'Read Only aggregates', as: 'readOnly', path: 'tags/_aggregate?select=count', status: 200 },
  {
    name: 'Read Only aggregates with a body',
    as: 'readOnly',
    method: 'POST',
    path: 'tags/_aggregate',
    body: { select: ['count'] },
    status: 200,
  },
  { name: 'Read Only exports', as: 'readOnly', path: 'tags/_export', status: 200 },
  { name: 'Read Only does not create', ...refusal, method: 'POST', path: 'tags', body: { name: 'x' } },
  { name: 'Read Only does not update', ...refusal, method: 'PUT', path: 'tags/1', body: { name: 'x' } },
  { name: 'Read Only does not update in part', ...refusal, method: 'PATCH', path: 'tags/1', body: {} },
  { name: 'Read Only does not delete', ...refusal, method: 'DELETE', path: 'tags/1' },
  {
    name: 'Read Only does not import',
    ...refusal,
    method: 'POST',
    path: 'tags/_import',
    headers: { 'content-type': 'text/csv' },
    body: 'name\nx\n',
  },
  { name: 'nothing was changed', as: 'readOnly', path: 'tags/1', status: 200, data: { id: 1, name: 'gift' } },
]);

test('keys for data alone do not administer, an owner only the own workspace', async () => {
  const admin = '/api/admin/v1/organizations/acme/workspaces';
  const statusOf = async (credential: string, path: string) =>
    (await server.call(`${admin}${path}`, { credential })).status;
  assert.equal(await statusOf(workspace.key, '/shop/schema'), 200);
  assert.equal(await statusOf(workspace.readWriteKey, '/shop/schema'), 403);
  assert.equal(await statusOf(workspace.readOnlyKey, '/shop/schema'), 403);
  assert.equal(await statusOf(workspace.key, '/other/schema'), 403);
  assert.equal(await statusOf(workspace.key, '/nothing/schema'), 403);
});

/* ---- keys that end, and changes made elsewhere ---- */

async function makeApiKey(
  body: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly id: number; readonly key: string }> {
  const made = await workspace.admin('api-keys', { method: 'POST', body: { name: 'short-lived', ...body } });
  assert.equal(made.status, 201, made.text);
  return made.json.data;
}

/** Asks until the answer is as wanted; the contract gives a change 1 s. */
async function withinASecond(wanted: number, ask: () => Promise<Answer>): Promise<void> {
  const started = performance.now();
  for (;;) {
    const asked = performance.now();
    const answer = await ask();
    if (answer.status === wanted) return;
    assert.ok(asked - started <= 1000, `still ${answer.status} after 1 s: ${answer.text}`);
    await sleep(25);
  }
}

const tags = (at: TestServer, credential: string, path = 'tags'): Promise<Answer> =>
  at.call(`/api/v1/acme/shop/${path}`, { credential });

test('a revoked key is refused at once, and within a second by the other process', async () => {
  const { id, key } = await makeApiKey();
  for (const at of [server, second, server, second]) assert.equal((await tags(at, key)).status, 200);
  assert.equal((await workspace.admin(`api-keys/${id}`, { method: 'DELETE' })).status, 204);
  refused(await tags(server, key), `${CHALLENGE}, error="invalid_token"`);
  await withinASecond(401, () => tags(second, key));
  refused(await tags(second, key), `${CHALLENGE}, error="invalid_token"`);
  assert.equal(
    (await server.call('/api/admin/v1/organizations/acme/workspaces/shop', { credential: key })).status,
    401,
  );
});

test('a key works everywhere as soon as it is made', async () => {
  const { key } = await makeApiKey();
  assert.equal((await tags(second, key)).status, 200);
  assert.equal((await tags(server, key)).status, 200);
});

test('a key expires', async () => {
  const expiresAt = Date.now() + 1500;
  const { key } = await makeApiKey({ expiresAt: new Date(expiresAt).toISOString() });
  for (const at of [server, second]) {
    const { status } = await tags(at, key);
    // On a machine that stands still for a second the key may be over before it is used.
    if (Date.now() < expiresAt) assert.equal(status, 200);
  }
  await sleep(Math.max(0, expiresAt - Date.now()));
  for (const at of [server, second]) await withinASecond(401, () => tags(at, key));
});

test('a change of permissions of nobody else: deleting one key leaves the others alone', async () => {
  const [first, rest] = [await makeApiKey(), await makeApiKey()];
  assert.equal((await workspace.admin(`api-keys/${first.id}`, { method: 'DELETE' })).status, 204);
  await withinASecond(401, () => tags(second, first.key));
  for (const at of [server, second]) assert.equal((await tags(at, rest.key)).status, 200);
});

test('a change of the schema is in force in the other process within a second, and no request fails for it', async () => {
  const { tags: entity } = SHOP_SCHEMA.entities;
  assert.equal((await tags(second, workspace.key, 'tags?fields=name')).status, 200);
  const schema = {
    entities: {
      ...SHOP_SCHEMA.entities,
      tags: { ...entity, fields: { ...entity.fields, colour: { type: 'string', default: 'red' } } },
    },
  };
  let running = true;
  const answers: number[] = [];
  const asking = (async () => {
    while (running) answers.push((await tags(second, workspace.key)).status);
  })();
  const changed = await workspace.admin('schema', { method: 'PUT', body: schema });
  assert.equal(changed.status, 200, changed.text);
  assert.equal((await tags(server, workspace.key, 'tags?fields=colour')).status, 200);
  await withinASecond(200, () => tags(second, workspace.key, 'tags?fields=colour'));
  running = false;
  await asking;
  assert.deepEqual(new Set(answers), new Set([200]));
  const dropped = await workspace.admin('schema?allowDestructive=true', { method: 'PUT', body: SHOP_SCHEMA });
  assert.equal(dropped.status, 200, dropped.text);
  await withinASecond(400, () => tags(second, workspace.key, 'tags?fields=colour'));
});

test('settings are in force in the other process within a second', async () => {
  const settings = (body: unknown) => workspace.admin('entities/tags/settings', { method: 'PUT', body });
  assert.equal((await tags(second, workspace.key, 'tags?expand=orders')).status, 200);
  assert.equal((await settings({ expandable: [] })).status, 200);
  await withinASecond(400, () => tags(second, workspace.key, 'tags?expand=orders'));
  assert.equal((await settings({ expandable: null })).status, 200);
  await withinASecond(200, () => tags(second, workspace.key, 'tags?expand=orders'));
});

test('the keys of a deleted workspace are refused in the other process within a second', async () => {
  const gone = await server.workspace('acme/gone', { entities: { tags: {} } });
  const ask = (at: TestServer) => at.call('/api/v1/acme/gone/tags', { credential: gone.key });
  for (const at of [server, second]) assert.equal((await ask(at)).status, 200);
  const deleted = await server.call('/api/admin/v1/organizations/acme/workspaces/gone?confirm=gone', {
    method: 'DELETE',
    credential: ADMIN_KEY,
  });
  assert.equal(deleted.status, 204, deleted.text);
  refused(await ask(server), `${CHALLENGE}, error="invalid_token"`);
  await withinASecond(401, () => ask(second));
});

test('what one process writes the other reads at once', async () => {
  const made = await server.call('/api/v1/acme/shop/tags', {
    method: 'POST',
    credential: workspace.key,
    body: { name: 'shared' },
  });
  const read = await tags(second, workspace.key, `tags/${made.json.data.id}`);
  assert.deepEqual(read.json, made.json);
});
