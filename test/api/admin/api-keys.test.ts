// API keys: shown once, listed without the secret, changed; and keys and clients for some entities, as administrators make
// and see them. What keys may do, and that they end everywhere, is in access/credentials.test.ts.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { wda } from '../../cli/wda.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, startTestServer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/keys', { entities: { notes: { fields: { text: { type: 'text' } } } } }),
);

const create = (body: unknown, credential: string = ADMIN_KEY): Promise<Answer> =>
  workspace.admin('api-keys', { method: 'POST', body, credential });
const notes = (credential: string): Promise<Answer> => workspace.call('notes', { credential });

// A second is promised; a busy machine may take longer, and a broken promise for ever.
async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) assert.ok(performance.now() < deadline, 'it never came true');
}

test('a key is shown once; only its hash is kept', async () => {
  const made = await create({ name: 'Reports' });
  assert.equal(made.status, 201, made.text);
  const { key, ...rest } = made.json.data;
  assert.match(key, /^wda_/);
  assert.equal(made.headers.get('location'), `/api/admin/v1/organizations/acme/workspaces/keys/api-keys/${rest.id}`);
  assert.equal(rest.permissions, 'OWNER');
  assert.equal(rest.expiresAt, null);
  assert.equal(rest.lastUsedAt, null);
  assert.ok(key.startsWith(rest.prefix) && rest.prefix.length < 16);

  const listed = await workspace.admin('api-keys?size=100');
  assert.deepEqual(
    listed.json.data.find(({ id }: { id: number }) => id === rest.id),
    rest,
  );
  assert.ok(!listed.text.includes(key));
  const [row] = await server.database.query(
    'select hash, row_to_json(k)::text as text from wda.api_key k where id = $1',
    [rest.id],
  );
  assert.deepEqual(row?.hash, createHash('sha256').update(key).digest());
  assert.ok(!String(row?.text).includes(key.slice(rest.prefix.length)));
});

test('what a key may not be is refused with every mistake', async () => {
  const answer = await create({ permissions: 'READ', expiresAt: '2001-01-01T00:00:00Z', expires: 1 });
  assert.equal(answer.status, 400);
  assert.deepEqual(
    answer.json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`).sort(),
    ['expires UNKNOWN_FIELD', 'expiresAt OUT_OF_RANGE', 'name REQUIRED', 'permissions NOT_IN_ENUM'],
  );
  assert.equal((await create({ name: 'x', expiresAt: '2999-01-01' })).status, 400);
  assert.equal((await create({ name: 'x', expiresAt: null })).status, 201);
});

test('a key of another workspace cannot be revoked from here', async () => {
  const other = await server.workspace('acme/other', { entities: {} });
  const [row] = await server.database.query(
    "select k.id from wda.api_key k join wda.workspace w on w.id = k.workspace_id where w.slug = 'other' limit 1",
  );
  assert.equal((await workspace.admin(`api-keys/${row?.id}`, { method: 'DELETE' })).status, 404);
  assert.equal((await other.admin(`api-keys/${row?.id}`, { method: 'DELETE' })).status, 204);
});

const change = (id: number, body: unknown): Promise<Answer> =>
  workspace.admin(`api-keys/${id}`, { method: 'PUT', body });

test('a key gets another name and another end, in force at once and told among the activities', async () => {
  const { key, ...made } = (await create({ name: 'tpyo', permissions: 'READ_ONLY' })).json.data;
  const expiresAt = '2999-01-01T00:00:00Z';
  assert.deepEqual((await change(made.id, { name: 'typo' })).json.data, { ...made, name: 'typo' });
  const ended = await change(made.id, { expiresAt: '2999-01-01T02:00:00+02:00' });
  assert.deepEqual(ended.json.data, { ...made, name: 'typo', expiresAt });
  const session = await server.call('/api/admin/v1/session', { credential: key });
  assert.deepEqual([session.json.data.name, session.json.data.expiresAt], ['typo', expiresAt]);
  assert.equal((await change(made.id, {})).json.data.expiresAt, expiresAt);
  assert.equal((await change(made.id, { expiresAt: null })).json.data.expiresAt, null);
  const [last] = (await workspace.admin('activity?action=apiKeys.update&size=1')).json.data;
  assert.deepEqual([last.subject, last.details], ['typo', { id: made.id, name: 'typo', expiresAt: null }]);
});

test('an end that is brought forward holds in every process', async () => {
  const second = await startTestServer({}, server.database);
  try {
    const { key, id } = (await create({ name: 'ending' })).json.data;
    const there = (): Promise<Answer> => second.call('/api/v1/acme/keys/notes', { credential: key });
    assert.equal((await there()).status, 200);
    await change(id, { expiresAt: new Date(Date.now() + 1000).toISOString() });
    await until(async () => (await there()).status === 401);
  } finally {
    await second.stop();
  }
});

test('a key that has expired stays so, and may be renamed', async () => {
  const { key, id } = (await create({ name: 'over' })).json.data;
  await server.database.query("update wda.api_key set expires_at = now() - interval '1 second' where id = $1", [id]);
  for (const expiresAt of [null, '2999-01-01T00:00:00Z']) {
    const refused = await change(id, { name: 'again', expiresAt });
    assert.deepEqual([refused.status, refused.json.error.code], [409, 'CONFLICT']);
    assert.equal(refused.json.error.message, `API key ${id} has expired, and stays so: make a new one`);
  }
  await until(async () => (await notes(key)).status === 401);
  assert.equal((await change(id, { name: 'was over' })).json.data.name, 'was over');
});

test('a change of a key is refused with every mistake, of strangers and of keys that are not there', async () => {
  const { id } = (await create({ name: 'kept' })).json.data;
  const answer = await change(id, { name: '', expiresAt: '2001-01-01T00:00:00Z', permissions: 'OWNER' });
  assert.equal(answer.status, 400);
  const mistakes = answer.json.error.details.map((one: { field: string }) => one.field);
  assert.deepEqual(mistakes.sort(), ['expiresAt', 'name', 'permissions']);
  const other = await server.workspace('acme/neighbours', { entities: {} });
  assert.equal((await other.admin(`api-keys/${id}`, { method: 'PUT', body: { name: 'mine' } })).status, 404);
  assert.equal((await change(999_999, { name: 'none' })).status, 404);
});

test('wda key update', async () => {
  const { id } = (await create({ name: 'website' })).json.data;
  const env = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY, WDA_WORKSPACE: 'acme/keys' };
  const update = (...args: string[]) => wda(['key', 'update', String(id), ...args], { env });
  const { stdout } = await update('--name', 'web site', '--expires', '2999-01-01');
  assert.equal(stdout, `Id       ${id}\nName     web site\nExpires  2999-01-01T00:00:00Z\n`);
  assert.equal(JSON.parse((await update('--expires', 'never', '--json')).stdout).expiresAt, null);
  const nothing = await update();
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /--name or --expires/);
});

const shop = use(() => makeShop(server));

for (const place of ['api-keys', 'oauth-clients']) {
  const makeFor = (body: object) => shop.admin(place, { method: 'POST', body: { name: 'x', ...body } });

  test(`${place} show the names of their entities, null for all`, async () => {
    const some = await makeFor({ permissions: 'READ_ONLY', entities: ['tags', 'orders'] });
    assert.equal(some.status, 201, some.text);
    assert.deepEqual(some.json.data.entities, ['orders', 'tags']);
    for (const body of [{}, { entities: null }]) assert.equal((await makeFor(body)).json.data.entities, null);
    const { data } = (await shop.admin(`${place}?size=100`)).json;
    assert.deepEqual(
      data.slice(-3).map(({ entities }: { entities: unknown }) => entities),
      [['orders', 'tags'], null, null],
    );
  });

  for (const [why, body, details] of [
    ['an unknown entity', { entities: ['orders', 'order'] }, ['entities.1 REFERENCE_NOT_FOUND']],
    ['a name of the prototype', { entities: ['constructor'] }, ['entities.0 REFERENCE_NOT_FOUND']],
    ['none', { entities: [] }, ['entities INVALID']],
    ['the same twice', { entities: ['orders', 'orders'] }, ['entities INVALID']],
    ['no list', { entities: 'orders' }, ['entities TYPE_MISMATCH']],
    ['no names', { entities: [1] }, ['entities.0 TYPE_MISMATCH']],
    ['the right to administer', { entities: ['orders'], permissions: 'OWNER' }, ['permissions INVALID']],
    ['no permissions, which means OWNER', { entities: ['orders'], permissions: undefined }, ['permissions INVALID']],
  ] as const) {
    test(`${place} with ${why} are refused`, async () => {
      const answer = await makeFor({ permissions: 'READ_ONLY', ...body });
      assert.equal(answer.status, 400, answer.text);
      const found = answer.json.error.details.map((one: { field: string; code: string }) => `${one.field} ${one.code}`);
      assert.deepEqual(found, details);
    });
  }
}

test('an unknown entity is answered with what was meant and what there is', async () => {
  const body = { name: 'x', permissions: 'READ_ONLY', entities: ['order'] };
  const { json } = await shop.admin('api-keys', { method: 'POST', body });
  assert.match(
    json.error.details[0].message,
    /^must be an entity of the workspace\. Did you mean orders\? Known: countries, customers, /,
  );
});
