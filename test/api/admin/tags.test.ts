// Entity tags of what administrators change: what was read is changed, or nothing. Of two at once exactly one wins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { type Answer, type Call, clientOf } from '../../support/server.ts';

const SCHEMA = `{"entities": {
  "orders": {
    "fields": {"total": {"type": "decimal", "default": 1.10}, "owner": {"type": "string"}},
    "relations": {"customer": {"kind": "belongsTo", "entity": "customers"}}
  },
  "customers": {"fields": {"name": {"type": "string"}}}
}}`;
const PROVIDER = { issuerUrl: 'https://login.example.com/', defaultPermissions: 'READ_ONLY', enabled: false };
const GONE = '"AAAAAAAAAAAAAAAAAAAAAA"';

const server = useServer();
const other = useServer({}, server);
const workspace = use(() => server.workspace('acme/tags', parseExact(SCHEMA)));
prepare(() => workspace.create('orders', [{ total: 5 }]));

const admin = (path: string, call: Call = {}): Promise<Answer> => workspace.admin(path, call);
/** Fields of one document are dropped by the next. */
const placeOf = (path: string): string => (path === 'schema' ? 'schema?allowDestructive=true' : path);
const put = (path: string, body: unknown, ifMatch: string, method = 'PUT'): Promise<Answer> =>
  admin(placeOf(path), { method, body, headers: { 'if-match': ifMatch } });
const change = (path: string, body: unknown): Promise<Answer> => admin(placeOf(path), { method: 'PUT', body });
const tagOf = async (path: string): Promise<string> => {
  const answer = await admin(path);
  return answer.headers.get('etag') ?? assert.fail(`${path}: ${answer.text}`);
};
const withField = (name: string): object => {
  const document = parseExact(SCHEMA) as { entities: { customers: { fields: object } } };
  const { customers } = document.entities;
  return {
    entities: { ...document.entities, customers: { fields: { ...customers.fields, [name]: { type: 'text' } } } },
  };
};

const fieldsOf = (document: object): string[] =>
  Object.keys((document as { entities: { customers: { fields: object } } }).entities.customers.fields);

/** A body for each change of a part, different from the last. */
const PARTS: Readonly<Record<string, (index: number) => unknown>> = {
  schema: (index) => withField(`field${index}`),
  'entities/orders/settings': (index) => ({ maxExpandDepth: (index % 10) + 1 }),
  'entities/orders/row-rules': (index) => [{ column: 'owner', claim: `claim${index}` }],
  'identity-provider': (index) => ({ ...PROVIDER, audience: `audience ${index}` }),
};
let count = 0;

for (const [path, bodyOf] of Object.entries(PARTS)) {
  test(`${path}: who has read what is in force may change it, and nobody else`, async () => {
    await change(path, bodyOf(count++));
    const tag = await tagOf(path);
    const same = await admin(path, { headers: { 'if-none-match': tag } });
    assert.deepEqual([same.status, same.text], [304, '']);
    // The version of the workspace grows with every key, the tag does not.
    await admin('api-keys', { method: 'POST', body: { name: 'another' } });
    assert.equal(await tagOf(path), tag);

    const first = await put(path, bodyOf(count++), tag);
    assert.equal(first.status, 200, first.text);
    const next = await tagOf(path);
    assert.notEqual(next, tag);
    assert.equal((await admin(path, { headers: { 'if-none-match': tag } })).status, 200);
    for (const stale of [tag, GONE, 'W/"x"']) {
      const refused = await put(path, bodyOf(count++), stale);
      assert.deepEqual([refused.status, refused.json.error.code], [412, 'PRECONDITION_FAILED'], refused.text);
    }
    assert.equal(await tagOf(path), next);
    for (const fitting of [(now: string) => now, () => '*', (now: string) => `${GONE}, ${now}`]) {
      const again = await put(path, bodyOf(count++), fitting(await tagOf(path)));
      assert.equal(again.status, 200, again.text);
    }
    assert.equal((await put(path, bodyOf(count++), 'no tag')).status, 400);
  });

  test(`${path}: of six changes at once of the same that was read, in two processes, one is made`, async () => {
    await change(path, bodyOf(count++));
    const tag = await tagOf(path);
    const elsewhere = clientOf(other.url);
    const place = `/api/admin/v1/organizations/acme/workspaces/tags/${placeOf(path)}`;
    const bodies = [...Array(6)].map(() => bodyOf(count++));
    const answers = await Promise.all(
      bodies.map((body, index) => {
        const call = { method: 'PUT', credential: workspace.key, body, headers: { 'if-match': tag } };
        return (index % 2 === 0 ? server : elsewhere).call(place, call);
      }),
    );
    const statuses = answers.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
    // Where another change of the schema is being made nobody waits for its end.
    assert.ok(
      statuses.every((status) => [200, 409, 412].includes(status)),
      statuses.join(),
    );
    const inForce = (await admin(path)).json.data;
    const won = bodies[statuses.indexOf(200)] as object;
    if (path === 'schema') assert.deepEqual(Object.keys(inForce.entities.customers.fields), fieldsOf(won));
    else if (Array.isArray(won)) assert.deepEqual(inForce, [{ ...won[0], enabled: true }]);
    else assert.deepEqual({ ...inForce, ...won }, inForce);
    for (const body of bodies) assert.equal((await put(path, body, tag)).status, 412);
  });
}

test('the answer to a change of a part has the tag for the next one', async () => {
  for (const path of Object.keys(PARTS).slice(1)) {
    const answer = await change(path, PARTS[path]?.(count++));
    assert.equal(answer.headers.get('etag'), await tagOf(path));
  }
});

test('tags of the parts of a workspace are their own: settings do not end a change of the row rules', async () => {
  const tag = await tagOf('entities/orders/row-rules');
  await admin('entities/orders/settings', { method: 'PUT', body: { maxExpandDepth: null } });
  assert.equal((await put('entities/orders/row-rules', [], tag)).status, 200);
});

test('a provider that was read is deleted, or none; a missing one matches nothing', async () => {
  await admin('identity-provider', { method: 'PUT', body: PROVIDER });
  const tag = await tagOf('identity-provider');
  await admin('identity-provider', { method: 'PUT', body: { enabled: false, audience: 'changed' } });
  const remove = (ifMatch: string): Promise<Answer> => put('identity-provider', undefined, ifMatch, 'DELETE');
  assert.equal((await remove(tag)).status, 412);
  assert.equal((await remove(await tagOf('identity-provider'))).status, 204);
  assert.equal((await put('identity-provider', PROVIDER, tag)).status, 412);
  assert.equal((await put('identity-provider', PROVIDER, '*')).status, 412);
  assert.equal((await admin('identity-provider')).status, 404);
});

test('a plan says which document it is based on, for a change of just that; another one is refused', async () => {
  const plan = (document: object, query = ''): Promise<Answer> =>
    admin(`schema/plan${query}`, { method: 'POST', body: document });
  const planned = await plan(withField('planned'));
  const { basedOn } = planned.json.data;
  assert.equal(`"${basedOn}"`, await tagOf('schema'));
  assert.equal((await plan(withField('planned'), `?basedOn=${basedOn}`)).status, 200);
  await change('schema', withField('between'));
  const refused = await plan(withField('planned'), `?basedOn=${basedOn}`);
  assert.deepEqual([refused.status, refused.json.error.code], [412, 'PRECONDITION_FAILED']);
  assert.equal((await put('schema', withField('planned'), `"${basedOn}"`)).status, 412);
  assert.deepEqual(fieldsOf((await admin('schema')).json.data), ['name', 'between']);
});

test('what is not in force comes before the mistakes of what is asked for', async () => {
  const mistaken = { entities: { orders: { fields: { total: { type: 'nothing' } } } } };
  assert.equal((await put('schema', mistaken, GONE)).status, 412);
  assert.equal((await put('schema', mistaken, await tagOf('schema'))).status, 400);
});

test('names that differ in PostgreSQL are in the tag of the answer, and not in what If-Match asks for', async () => {
  const before = await tagOf('schema');
  await server.database.query(
    `update wda.workspace set names = '{"tables": {"orders": "old_orders"}, "columns": {}}' where slug = 'tags'`,
  );
  const pending = await tagOf('schema');
  await server.database.query(`update wda.workspace set names = '{"tables": {}, "columns": {}}' where slug = 'tags'`);
  assert.notEqual(pending, before);
  assert.ok(pending.startsWith(before.slice(0, -1)));
  assert.equal((await put('schema', withField('last'), pending)).status, 200);
});
