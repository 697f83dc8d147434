// Organizations and workspaces: made, listed, renamed, deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

const server = useServer();

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, method, ...(body === undefined ? {} : { body }) });
const details = ({ json }: Answer): string[] =>
  json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

test('an organization is created, read, renamed and deleted', async () => {
  const made = await admin('POST', '/organizations', { slug: 'acme', name: 'Acme & Söhne' });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('location'), '/api/admin/v1/organizations/acme');
  const { id, createdAt, ...rest } = made.json.data;
  assert.deepEqual(rest, { slug: 'acme', name: 'Acme & Söhne' });
  assert.equal(typeof id, 'number');
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
  assert.deepEqual((await admin('GET', '/organizations/acme')).json, made.json);

  const renamed = await admin('PUT', '/organizations/acme', { slug: 'acme-2' });
  assert.equal(renamed.status, 200);
  assert.deepEqual(renamed.json.data, { ...made.json.data, slug: 'acme-2' });
  assert.equal((await admin('GET', '/organizations/acme')).status, 404);

  const gone = await admin('DELETE', '/organizations/acme-2');
  assert.deepEqual([gone.status, gone.text], [204, '']);
  assert.equal((await admin('DELETE', '/organizations/acme-2')).status, 404);
  assert.equal((await admin('PUT', '/organizations/acme-2', {})).status, 404);
});

test('workspaces of all organizations are searched by name and by address', async () => {
  for (const organization of ['north', 'south']) {
    await admin('POST', '/organizations', { slug: organization });
    await admin('POST', `/organizations/${organization}/workspaces`, { slug: 'shop', name: `100% ${organization}` });
    await admin('POST', `/organizations/${organization}/workspaces`, { slug: 'crm' });
  }
  const search = async (query: string): Promise<string[]> => {
    const { status, text, json } = await admin('GET', `/workspaces${query}`);
    assert.equal(status, 200, text);
    return json.data.map(({ organization, slug }: Record<string, string>) => `${organization}/${slug}`);
  };
  assert.deepEqual(await search('?size=1000'), ['north/shop', 'north/crm', 'south/shop', 'south/crm']);
  for (const [text, paths] of [
    ['shop', ['north/shop', 'south/shop']],
    ['NORTH/s', ['north/shop']],
    ['100%', ['north/shop', 'south/shop']],
    ['100% S', ['south/shop']],
    ['%', ['north/shop', 'south/shop']],
    ['_', []],
    ["'", []],
    ['', ['north/shop', 'north/crm', 'south/shop', 'south/crm']],
  ] as const)
    assert.deepEqual(await search(`?search=${encodeURIComponent(text)}`), paths, text);
  assert.deepEqual((await admin('GET', '/workspaces?search=shop&size=1&page=1')).json.meta, {
    page: 1,
    size: 1,
    totalElements: 2,
    totalPages: 2,
  });
  assert.equal((await admin('GET', '/workspaces?search=%00')).status, 400);
  assert.equal((await admin('GET', '/activity?actor=%00')).status, 400);
});

test('a name left out is the slug', async () => {
  assert.equal((await admin('POST', '/organizations', { slug: 'nameless' })).json.data.name, 'nameless');
});

test('a slug that is taken is 409 by name', async () => {
  await admin('POST', '/organizations', { slug: 'taken' });
  await admin('POST', '/organizations', { slug: 'free' });
  for (const answer of [
    await admin('POST', '/organizations', { slug: 'taken' }),
    await admin('PUT', '/organizations/free', { slug: 'taken' }),
  ]) {
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.json.error.message, 'Organization taken exists already');
    assert.deepEqual(details(answer), ['slug NOT_UNIQUE']);
  }
});

const SLUGS = ['', 'A', 'a_b', '-a', 'a-', 'ä', 'a b', 'a'.repeat(64), 5, null];
test('slugs are lower case letters, digits and - inside', async () => {
  for (const slug of SLUGS) {
    const answer = await admin('POST', '/organizations', { slug });
    assert.equal(answer.status, 400, `${slug} ${answer.text}`);
    assert.equal(details(answer).length, 1);
  }
  for (const slug of ['a', '0', 'a-b--c', 'a'.repeat(63)]) {
    assert.equal((await admin('POST', '/organizations', { slug })).status, 201, slug);
  }
});

test('every mistake of a body is listed', async () => {
  const answer = await admin('POST', '/organizations', { slugg: 'x', name: '', extra: 1 });
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
  assert.deepEqual(details(answer), ['slugg UNKNOWN_FIELD', 'name INVALID', 'extra UNKNOWN_FIELD']);
});

test('lists are paged like the data API', async () => {
  for (let n = 0; n < 5; n++) await admin('POST', '/organizations', { slug: `page-${n}` });
  const all = (await admin('GET', '/organizations?size=1000')).json;
  const total = all.data.length;
  assert.deepEqual(all.meta, { page: 0, size: 1000, totalElements: total, totalPages: 1 });
  const first = (await admin('GET', '/organizations?size=2')).json;
  assert.deepEqual(first.data, all.data.slice(0, 2));
  assert.deepEqual(first.meta, { page: 0, size: 2, totalElements: total, totalPages: Math.ceil(total / 2) });
  const beyond = (await admin('GET', '/organizations?size=2&page=99')).json;
  assert.deepEqual(beyond, {
    data: [],
    meta: { page: 99, size: 2, totalElements: total, totalPages: Math.ceil(total / 2) },
  });
  for (const query of ['page=-1', 'page=x', 'size=0', 'size=1001', 'size=', 'page=1&page=2']) {
    assert.equal((await admin('GET', `/organizations?${query}`)).status, 400, query);
  }
});

test('a workspace is created with its schema, read, renamed and deleted', async () => {
  await admin('POST', '/organizations', { slug: 'shop' });
  const base = '/organizations/shop/workspaces';
  const schema = { entities: { notes: { fields: { text: { type: 'text' } } } } };
  const made = await admin('POST', base, { slug: 'main', name: 'Main', schema });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('location'), '/api/admin/v1/organizations/shop/workspaces/main');
  const { id: _, createdAt: __, ...rest } = made.json.data;
  assert.deepEqual(rest, { organization: 'shop', slug: 'main', name: 'Main', state: 'active' });
  assert.deepEqual((await admin('GET', `${base}/main`)).json, made.json);
  assert.deepEqual((await admin('GET', `${base}/main/schema`)).json.data, schema);
  assert.deepEqual((await admin('GET', base)).json.data, [made.json.data]);

  const stored = await server.call('/api/v1/shop/main/notes', {
    credential: ADMIN_KEY,
    method: 'POST',
    body: { text: 'x' },
  });
  assert.equal(stored.status, 201, stored.text);
  assert.equal((await admin('PUT', `${base}/main`, { slug: 'renamed' })).json.data.slug, 'renamed');
  assert.equal((await server.call('/api/v1/shop/renamed/notes/1', { credential: ADMIN_KEY })).status, 200);
  assert.equal((await admin('GET', `${base}/main`)).status, 404);

  const nonEmpty = await admin('DELETE', '/organizations/shop');
  assert.equal(nonEmpty.status, 409);
  assert.equal(nonEmpty.json.error.message, 'Organization shop still has workspaces: delete them first');

  for (const query of ['', '?confirm=', '?confirm=main']) {
    const answer = await admin('DELETE', `${base}/renamed${query}`);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json.error.message, /confirm=renamed/);
  }
  assert.equal((await admin('DELETE', `${base}/renamed?confirm=renamed`)).status, 204);
  assert.equal((await admin('GET', `${base}/renamed`)).status, 404);
  const schemas = await server.database.query("select nspname from pg_namespace where nspname like 'ws%_main'");
  assert.deepEqual(schemas, []);
  assert.equal((await admin('DELETE', '/organizations/shop')).status, 204);
});

test('a workspace without a schema has no entities', async () => {
  await admin('POST', '/organizations', { slug: 'bare' });
  await admin('POST', '/organizations/bare/workspaces', { slug: 'w' });
  assert.deepEqual((await admin('GET', '/organizations/bare/workspaces/w/schema')).json, { data: { entities: {} } });
});

test('a workspace with mistakes in its body and its schema gets them all, and is not created', async () => {
  await admin('POST', '/organizations', { slug: 'errors' });
  const answer = await admin('POST', '/organizations/errors/workspaces', {
    slug: 'No',
    nam: 'x',
    schema: { entities: { a: { fields: { f: { type: 'strin' } }, settings: { expandable: ['z'] } } } },
  });
  assert.equal(answer.status, 400);
  assert.deepEqual(details(answer), [
    'slug INVALID',
    'nam UNKNOWN_FIELD',
    'schema.entities.a.fields.f.type NOT_IN_ENUM',
    'schema.entities.a.settings.expandable.0 REFERENCE_NOT_FOUND',
  ]);
  assert.deepEqual((await admin('GET', '/organizations/errors/workspaces')).json.data, []);
});

test('workspaces of an organization have slugs of their own; others may have the same', async () => {
  await admin('POST', '/organizations', { slug: 'one' });
  await admin('POST', '/organizations', { slug: 'two' });
  assert.equal((await admin('POST', '/organizations/one/workspaces', { slug: 'w' })).status, 201);
  assert.equal((await admin('POST', '/organizations/two/workspaces', { slug: 'w' })).status, 201);
  const again = await admin('POST', '/organizations/one/workspaces', { slug: 'w' });
  assert.equal(again.status, 409);
  assert.deepEqual(details(again), ['slug NOT_UNIQUE']);
  assert.equal((await admin('POST', '/organizations/three/workspaces', { slug: 'w' })).status, 404);
  assert.equal((await admin('GET', '/organizations/three/workspaces')).status, 404);
});

test('a renamed organization answers under its new slug at once', async () => {
  const workspace = await server.workspace('before/w', { entities: { notes: {} } });
  assert.equal((await server.call('/api/v1/before/w/notes', { credential: workspace.key })).status, 200);
  await admin('PUT', '/organizations/before', { slug: 'afterwards' });
  assert.equal((await server.call('/api/v1/afterwards/w/notes', { credential: workspace.key })).status, 200);
  assert.equal((await server.call('/api/v1/before/w/notes', { credential: workspace.key })).status, 401);
});

test('an owner renames its workspace, but not to a slug that another one has or had', async () => {
  const first = await server.workspace('slugs/first', { entities: { notes: {} } });
  const second = await server.workspace('slugs/second', { entities: { notes: {} } });
  const base = '/api/admin/v1/organizations/slugs/workspaces';
  const rename = (from: string, to: string, credential: string) =>
    server.call(`${base}/${from}`, { method: 'PUT', body: { slug: to }, credential });
  assert.equal((await rename('first', 'moved', first.key)).status, 200);
  for (const slug of ['first', 'moved']) {
    const answer = await rename('second', slug, second.key);
    assert.deepEqual([answer.status, answer.json.error.code], [409, 'CONFLICT'], answer.text);
    assert.equal(answer.json.error.details[0].field, 'slug');
  }
  // Back to its own, to itself, and to one that nobody had.
  for (const [from, to] of [
    ['moved', 'first'],
    ['first', 'first'],
    ['first', 'moved'],
  ] as const) {
    assert.equal((await rename(from, to, first.key)).status, 200, `${from} ${to}`);
  }
  assert.equal((await rename('second', 'other', second.key)).status, 200);
  // The slug of a workspace that was deleted stays reserved, too.
  assert.equal(
    (await server.call(`${base}/moved?confirm=moved`, { method: 'DELETE', credential: ADMIN_KEY })).status,
    204,
  );
  for (const slug of ['first', 'moved']) assert.equal((await rename('other', slug, second.key)).status, 409);
  // The operator gives it away, and then it is the other one's.
  assert.equal((await rename('other', 'first', ADMIN_KEY)).status, 200);
  assert.equal((await rename('first', 'other', second.key)).status, 200);
  assert.equal((await rename('other', 'first', second.key)).status, 200);
  const third = await server.workspace('slugs/moved', { entities: {} });
  assert.equal((await rename('moved', 'first', third.key)).status, 409);
});

test('an owner cannot reserve slugs without end', async () => {
  const many = await server.workspace('slugs/many', { entities: {} });
  let slug = 'many';
  const statuses: number[] = [];
  for (let count = 1; count <= 20; count++) {
    const next = `many-${count}`;
    const answer = await server.call(`/api/admin/v1/organizations/slugs/workspaces/${slug}`, {
      method: 'PUT',
      body: { slug: next },
      credential: many.key,
    });
    statuses.push(answer.status);
    if (answer.status === 200) slug = next;
  }
  assert.deepEqual(statuses, [...Array.from({ length: 19 }, () => 200), 409]);
});
