// OAuth clients on the admin API: the secret shown once, listed without it, deleted; who may. And the operator's
// signing keys.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { askToken, basic, createClient, tokenOf } from '../../support/oauth.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

const SCHEMA = { entities: { notes: { fields: { text: { type: 'text' } } } } };

const server = useServer();
const workspace = use(() => server.workspace('acme/clients', SCHEMA));
const other = use(() => server.workspace('acme/other', SCHEMA));

const create = (body: unknown, credential: string = ADMIN_KEY): Promise<Answer> =>
  workspace.admin('oauth-clients', { method: 'POST', body, credential });

test('a client is made with a secret that is shown this once; only its hash is kept', async () => {
  const made = await create({ name: 'Nightly sync' });
  assert.equal(made.status, 201, made.text);
  const { clientSecret, ...rest } = made.json.data;
  assert.deepEqual(Object.keys(rest), ['id', 'clientId', 'name', 'permissions', 'entities', 'createdAt']);
  assert.equal(rest.id, rest.clientId);
  assert.equal(rest.name, 'Nightly sync');
  const here = '/api/admin/v1/organizations/acme/workspaces/clients/oauth-clients';
  assert.equal(made.headers.get('location'), `${here}/${rest.id}`);
  // Neither needs escaping in a form or in Basic authentication.
  assert.match(`${rest.clientId}${clientSecret}`, /^[A-Za-z0-9_-]+$/);

  const listed = await workspace.admin('oauth-clients?size=100');
  assert.equal(listed.status, 200);
  assert.deepEqual(
    listed.json.data.find(({ id }: { id: string }) => id === rest.id),
    rest,
  );
  assert.ok(!listed.text.includes(clientSecret));
  const [row] = await server.database.query(
    'select secret_hash, row_to_json(c)::text as text from wda.oauth_client c where client_id = $1',
    [rest.clientId],
  );
  assert.deepEqual(row?.secret_hash, createHash('sha256').update(clientSecret).digest());
  assert.ok(!String(row?.text).includes(clientSecret));
});

test('a token has the permissions of its client', async () => {
  const [note] = await workspace.create('notes', [{ text: 'x' }]);
  for (const [permissions, read, write, administer] of [
    ['READ_ONLY', 200, 403, 403],
    ['READ_WRITE', 200, 200, 403],
    ['OWNER', 200, 200, 200],
    [undefined, 200, 200, 200],
  ] as const) {
    const made = await create({ name: 'x', permissions });
    assert.deepEqual([made.status, made.json.data.permissions], [201, permissions ?? 'OWNER'], made.text);
    const credential = await tokenOf(server, made.json.data);
    const statuses = [
      await workspace.call('notes', { credential }),
      await workspace.call(`notes/${note.id}`, { method: 'PUT', body: { text: 'y' }, credential }),
      await workspace.admin('schema', { credential }),
      // Remembered as well as new.
      await workspace.call(`notes/${note.id}`, { method: 'PATCH', body: { text: 'z' }, credential }),
    ].map(({ status }) => status);
    assert.deepEqual(statuses, [read, write, administer, write], String(permissions));
  }
});

test('a workspace has at most 1,000 clients and 1,000 keys', async () => {
  const crowded = await server.workspace('acme/crowded', SCHEMA);
  await server.database.query(
    `insert into wda.oauth_client (workspace_id, client_id, name, secret_hash, permissions)
     select w.id, 'c' || n, 'x', '', 'OWNER' from wda.workspace w, generate_series(1, 1000) n where w.slug = 'crowded'`,
  );
  await server.database.query(
    `insert into wda.api_key (workspace_id, name, prefix, hash, permissions)
     select w.id, 'x', 'x', int8send(n), 'OWNER' from wda.workspace w, generate_series(1, 997) n where w.slug = 'crowded'`,
  );
  for (const [path, what] of [
    ['oauth-clients', 'OAuth clients'],
    ['api-keys', 'API keys'],
  ] as const) {
    const answer = await crowded.admin(path, { method: 'POST', body: { name: 'one more' } });
    assert.deepEqual([answer.status, answer.json.error.code], [409, 'CONFLICT'], answer.text);
    assert.equal(answer.json.error.message, `A workspace has at most 1000 ${what}: delete one first`);
  }
  assert.equal((await crowded.call('notes')).status, 200);
});

test('the list has pages', async () => {
  for (const name of ['one', 'two', 'three']) await createClient(other, name);
  const page = await other.admin('oauth-clients?page=1&size=2');
  assert.deepEqual(page.json.meta, { page: 1, size: 2, totalElements: 3, totalPages: 2 });
  assert.deepEqual(
    page.json.data.map(({ name }: { name: string }) => name),
    ['three'],
  );
});

test('a body that is none is refused with every mistake', async () => {
  for (const [body, details] of [
    [{}, ['name REQUIRED']],
    [{ name: 7 }, ['name TYPE_MISMATCH']],
    [{ name: 'x', clientId: 'mine' }, ['clientId UNKNOWN_FIELD']],
    [{ name: 'x', permissions: 'READ' }, ['permissions NOT_IN_ENUM']],
    [{ name: 'a\0b' }, ['name INVALID']],
  ] as const) {
    const answer = await create(body);
    assert.deepEqual([answer.status, answer.json.error.code], [400, 'VALIDATION_FAILED'], answer.text);
    assert.deepEqual(
      answer.json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`),
      details,
    );
  }
});

test('a deleted client gets no token, and is not found again', async () => {
  const client = await createClient(workspace);
  const path = `oauth-clients/${client.clientId}`;
  const elsewhere = await other.admin(path, { method: 'DELETE' });
  assert.deepEqual([elsewhere.status, elsewhere.json.error.code], [404, 'NOT_FOUND']);
  await tokenOf(server, client);
  const deleted = await workspace.admin(path, { method: 'DELETE' });
  assert.deepEqual([deleted.status, deleted.text], [204, '']);
  assert.equal((await askToken(server, { grant_type: 'client_credentials' }, basic(client))).status, 401);
  for (const id of [client.clientId, '1', 'x%00y', 'wdac_%E4']) {
    assert.notEqual((await workspace.admin(`oauth-clients/${id}`, { method: 'DELETE' })).status, 500, id);
  }
  assert.equal((await workspace.admin(path, { method: 'DELETE' })).status, 404);
});

test('the clients of a workspace go with it', async () => {
  const passing = await server.workspace('acme/passing', SCHEMA);
  const client = await createClient(passing);
  const token = await tokenOf(server, client);
  assert.equal((await passing.call('notes', { credential: token })).status, 200);
  assert.equal((await passing.admin('?confirm=passing', { method: 'DELETE' })).status, 204);
  assert.equal((await askToken(server, { grant_type: 'client_credentials' }, basic(client))).status, 401);
  assert.equal((await passing.call('notes', { credential: token })).status, 401);
});

test('signing keys are listed and rotated by the operator alone, and no private half is ever shown', async () => {
  const keys = '/api/admin/v1/signing-keys';
  const before = await server.call(keys, { credential: ADMIN_KEY });
  assert.equal(before.json.data.length, 1);
  const rotated = await server.call(`${keys}/rotate`, { method: 'POST', credential: ADMIN_KEY });
  assert.equal(rotated.status, 200, rotated.text);
  const [signing, verifying] = rotated.json.data;
  assert.deepEqual(Object.keys(signing), ['kid', 'state', 'createdAt', 'rotatedAt', 'expiresAt']);
  assert.deepEqual([signing.state, signing.rotatedAt, signing.expiresAt], ['signing', null, null]);
  assert.deepEqual([verifying.state, verifying.kid], ['verifying', before.json.data[0].kid]);
  assert.ok(Date.parse(verifying.expiresAt) >= Date.parse(verifying.rotatedAt) + 3_600_000);
  const published = await server.call('/oauth/jwks');
  assert.deepEqual(
    published.json.keys.map(({ kid }: { kid: string }) => kid),
    [signing.kid, verifying.kid],
  );
  const rows = await server.database.query('select kid, private_jwk from wda.signing_key order by id desc');
  assert.deepEqual(
    rows.map(({ kid, private_jwk }) => [kid, private_jwk === null]),
    [
      [signing.kid, false],
      [verifying.kid, true],
    ],
  );
  assert.equal(
    (await server.call(`${keys}/rotate?revoke=maybe`, { method: 'POST', credential: ADMIN_KEY })).status,
    400,
  );
});
