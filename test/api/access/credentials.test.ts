// Who may ask: no credential, wrong ones, those of others, expired ones, and what each permission allows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKey } from '../../../src/auth/api-key.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { ADMIN_KEY, type Answer, type TestServer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
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

// Other forms are in test/unit/auth/authenticate.test.ts.
test('malformed credentials are refused', async () => {
  const { key } = workspace;
  for (const authorization of ['Bearer', `Basic ${btoa(`x:${key}`)}`, `Bearer ${key}x`, `Bearer ${'a'.repeat(9000)}`]) {
    const answer = await server.call('/api/v1/acme/shop/tags', { headers: { authorization } });
    assert.equal(answer.status, 401, authorization.slice(0, 50));
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer realm=/);
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

// What is made, changed and revoked is in force in every process: operation/in-force.test.ts.

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

test('a key expires', async () => {
  const expiresAt = Date.now() + 1500;
  const { key } = await makeApiKey({ expiresAt: new Date(expiresAt).toISOString() });
  const { status } = await tags(server, key);
  // On a machine that stands still for a second the key may be over before it is used.
  if (Date.now() < expiresAt) assert.equal(status, 200);
  await sleep(Math.max(0, expiresAt - Date.now()));
  await withinASecond(401, () => tags(server, key));
});
