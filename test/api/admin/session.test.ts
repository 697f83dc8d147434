// GET /session: every credential of ours learns whose it is and where it is good for what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, tokenOf } from '../../support/oauth.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const server = useServer(LOCAL_PROVIDER);
const issuer = useIssuer();
const workspace = use(() => server.workspace('acme/shop', { entities: { notes: {}, orders: {}, tags: {} } }));

const session = (credential: string | null): Promise<Answer> => server.call('/api/admin/v1/session', { credential });
const makeKey = async (body: object) =>
  (await workspace.admin('api-keys', { method: 'POST', body })).json.data as { id: number; key: string };

const OWN = { organization: 'acme', slug: 'shop', name: 'shop' };

test('the operator has everything, and no list of it', async () => {
  const answer = await session(ADMIN_KEY);
  assert.deepEqual(answer.json, {
    data: { kind: 'operator', name: 'operator', permissions: null, entities: null, workspaces: [], expiresAt: null },
  });
});

test('a key of any permissions learns its workspace', async () => {
  const keys = [
    ['OWNER', workspace.key],
    ['READ_WRITE', workspace.readWriteKey],
    ['READ_ONLY', workspace.readOnlyKey],
  ] as const;
  for (const [permissions, key] of keys) {
    assert.deepEqual((await session(key)).json, {
      data: {
        kind: 'owner',
        name: permissions,
        permissions,
        entities: null,
        workspaces: [{ ...OWN, permissions }],
        expiresAt: null,
      },
    });
  }
});

test('a key with a scope and an end says both; renamed entities by their new names', async () => {
  const expiresAt = '2999-01-01T00:00:00Z';
  const { key } = await makeKey({ name: 'part', permissions: 'READ_ONLY', entities: ['tags', 'notes'], expiresAt });
  const { data } = (await session(key)).json;
  assert.deepEqual([data.entities, data.expiresAt], [['notes', 'tags'], expiresAt]);
  const schema = { entities: { notes: {}, orders: {}, labels: { renamedFrom: 'tags' } } };
  await workspace.admin('schema', { method: 'PUT', body: schema });
  assert.deepEqual((await session(key)).json.data.entities, ['labels', 'notes']);
});

test('a token says whose client it is for, and when it ends', async () => {
  const before = Date.now();
  const token = await tokenOf(server, await createClient(workspace, 'nightly job'));
  const { data } = (await session(token)).json;
  assert.deepEqual([data.kind, data.name, data.permissions], ['owner', 'nightly job', 'OWNER']);
  assert.deepEqual(data.workspaces, [{ ...OWN, permissions: 'OWNER' }]);
  assert.ok(Date.parse(data.expiresAt) > before, data.expiresAt);
});

test('a renamed workspace is told by its new names', async () => {
  const other = await server.workspace('acme/old', { entities: {} });
  const renaming = { method: 'PUT', credential: ADMIN_KEY, body: { slug: 'new', name: 'New "shop"' } };
  const renamed = await server.call('/api/admin/v1/organizations/acme/workspaces/old', renaming);
  assert.equal(renamed.status, 200, renamed.text);
  assert.deepEqual((await session(other.readOnlyKey)).json.data.workspaces, [
    { organization: 'acme', slug: 'new', name: 'New "shop"', permissions: 'READ_ONLY' },
  ]);
});

test('users of an identity provider, revoked keys and nobody have no session', async () => {
  const user = (await makeUsers(workspace, issuer))({ sub: 'user' });
  const refused = await session(user);
  assert.equal(refused.status, 403);
  assert.match(refused.json.error.message, /identity provider/);
  const { id, key } = await makeKey({ name: 'gone' });
  assert.equal((await session(key)).status, 200);
  await workspace.admin(`api-keys/${id}`, { method: 'DELETE' });
  assert.equal((await session(key)).status, 401);
  assert.equal((await session(null)).status, 401);
});
