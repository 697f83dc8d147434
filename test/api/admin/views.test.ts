// Saved views on the admin API: whose they are, who sees and changes them, and what of them is refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    orders: { fields: { status: { type: 'string' }, total: { type: 'integer' } } },
    notes: { fields: { text: { type: 'text' } } },
  },
};

const server = useServer();
const shop = use(() => server.workspace('acme/shop', SCHEMA));
/** A key that writes notes alone. */
let notesKey = '';
prepare(async () => {
  const body = { name: 'notes', permissions: 'READ_WRITE', entities: ['notes'] };
  notesKey = (await shop.admin('api-keys', { method: 'POST', credential: ADMIN_KEY, body })).json.data.key;
});
let count = 0;
const nextName = (): string => `view ${++count}`;

interface Options {
  readonly as?: string;
  readonly ifMatch?: string;
}
const send = (
  method: string,
  path: string,
  body?: unknown,
  { as = shop.key, ifMatch }: Options = {},
): Promise<Answer> =>
  shop.admin(`views${path}`, {
    method,
    credential: as,
    ...(body === undefined ? {} : { body }),
    ...(ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } }),
  });
async function create(members: object = {}, options: Options = {}) {
  const { status, json, text } = await send('POST', '', { entity: 'orders', name: nextName(), ...members }, options);
  assert.equal(status, 201, text);
  return json.data;
}
const listNames = async (path: string, as = shop.key): Promise<readonly string[]> =>
  (await send('GET', path, undefined, { as })).json.data.map(({ name }: { name: string }) => name);
const refusal = ({ status, json }: Answer): readonly unknown[] => [status, json.error.reason];

describe('members', () => {
  test('a view has defaults for what is left out', async () => {
    const answer = await send('POST', '', { entity: 'orders', name: nextName() });
    const { id, name, createdAt, updatedAt, createdBy, ...rest } = answer.json.data;
    assert.equal(answer.headers.get('location'), `/api/admin/v1/organizations/acme/workspaces/shop/views/${id}`);
    assert.deepEqual(rest, {
      entity: 'orders',
      shared: false,
      own: true,
      version: 1,
      filter: [],
      or: [],
      search: '',
      sort: [],
      expand: null,
      columns: null,
      pinned: [],
      widths: {},
      layout: 'grid',
      group: [],
      summary: [],
      chart: 'bars',
      overview: false,
    });
    assert.equal(createdBy.kind, 'key');
  });

  test('a change has the members that it names; the others stay', async () => {
    const { id } = await create({ filter: ['status,eq,open'], widths: { status: 90 }, expand: [] });
    const { json } = await send('PUT', `/${id}`, { layout: 'board', group: ['status'], overview: true });
    const { filter, widths, expand, layout, group, overview, version } = json.data;
    assert.deepEqual(
      { filter, widths, expand, layout, group, overview, version },
      {
        filter: ['status,eq,open'],
        widths: { status: 90 },
        expand: [],
        layout: 'board',
        group: ['status'],
        overview: true,
        version: 2,
      },
    );
  });

  test('every mistake of a body is named', async () => {
    const body = {
      entity: 'order',
      name: '',
      layuot: 'board',
      layout: 'gallery',
      filter: ['a\u0000b'],
      widths: { status: '90' },
      sort: Array(11).fill('id'),
    };
    const { status, json } = await send('POST', '', body);
    assert.equal(status, 400);
    assert.deepEqual(
      json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`),
      [
        'entity REFERENCE_NOT_FOUND',
        'name INVALID',
        'layuot UNKNOWN_FIELD',
        'layout NOT_IN_ENUM',
        'filter.0 INVALID',
        'widths.status TYPE_MISMATCH',
        'sort OUT_OF_RANGE',
      ],
    );
    assert.equal((await send('PUT', '/1', { entity: 'notes' })).status, 400);
  });

  test('a name is unique among the views of its owner on one entity', async () => {
    const { name, id } = await create();
    assert.deepEqual(refusal(await send('POST', '', { entity: 'orders', name })), [409, 'NOT_UNIQUE']);
    await create({ name, entity: 'notes' });
    await create({ name }, { as: shop.readWriteKey });
    const other = await create();
    assert.deepEqual(refusal(await send('PUT', `/${other.id}`, { name })), [409, 'NOT_UNIQUE']);
    assert.equal((await send('PUT', `/${id}`, { name })).status, 200);
  });
});

describe('who sees and changes a view', () => {
  test('its owner alone, until it is shared', async () => {
    const { id, name } = await create({}, { as: shop.readWriteKey });
    for (const as of [shop.key, shop.readOnlyKey, ADMIN_KEY]) {
      assert.ok(!(await listNames('?size=1000', as)).includes(name));
      assert.deepEqual(refusal(await send('GET', `/${id}`, undefined, { as })), [404, 'VIEW_NOT_FOUND']);
    }
    assert.deepEqual(refusal(await send('PUT', `/${id}`, { name: 'x' }, { as: shop.key })), [404, 'VIEW_NOT_FOUND']);
    assert.equal((await send('PUT', `/${id}`, { shared: true }, { as: shop.readWriteKey })).status, 200);
    const { json } = await send('GET', `/${id}`, undefined, { as: shop.readOnlyKey });
    assert.deepEqual([json.data.name, json.data.own], [name, false]);
  });

  test('a shared view is changed by its owner and by administrators', async () => {
    const { id } = await create({ shared: true });
    const as = shop.readWriteKey;
    assert.deepEqual(refusal(await send('PUT', `/${id}`, { layout: 'chart' }, { as })), [403, 'VIEW_OF_ANOTHER']);
    assert.deepEqual(refusal(await send('DELETE', `/${id}`, undefined, { as })), [403, 'VIEW_OF_ANOTHER']);
    const unshared = await send('PUT', `/${id}`, { shared: false }, { as: ADMIN_KEY });
    assert.deepEqual([unshared.status, unshared.json.data.own], [200, false]);
    assert.equal((await send('DELETE', `/${id}`, undefined, { as: ADMIN_KEY })).status, 404);
    assert.equal((await send('DELETE', `/${id}`)).status, 204);
    assert.equal((await send('GET', `/${id}`)).status, 404);
  });

  test('a key for reading saves none', async () => {
    const body = { entity: 'orders', name: nextName() };
    assert.deepEqual(refusal(await send('POST', '', body, { as: shop.readOnlyKey })), [403, 'READ_ONLY']);
  });

  test('for a key of some entities views of others do not exist', async () => {
    const orders = await create({ shared: true });
    const notes = await create({ shared: true, entity: 'notes' });
    const names = await listNames('?size=1000', notesKey);
    assert.deepEqual([names.includes(orders.name), names.includes(notes.name)], [false, true]);
    assert.equal((await send('GET', `/${orders.id}`, undefined, { as: notesKey })).status, 404);
    const { json } = await send('POST', '', { entity: 'orders', name: nextName() }, { as: notesKey });
    assert.equal(json.error.details[0].message, 'must be an entity of the workspace. Known: notes');
  });

  test('a list of one entity has the views of that entity', async () => {
    const { name } = await create({ entity: 'notes' });
    const names = await listNames('?entity=notes&size=1000');
    assert.ok(names.includes(name));
    assert.equal((await listNames('?entity=nothing')).length, 0);
  });
});

test('a change with If-Match is made to the version that was read', async () => {
  const { id } = await create();
  const read = await send('GET', `/${id}`);
  assert.equal(read.headers.get('etag'), '"1"');
  const changed = await send('PUT', `/${id}`, { search: 'a' }, { ifMatch: '"1"' });
  assert.equal(changed.headers.get('etag'), '"2"');
  assert.equal((await send('PUT', `/${id}`, { search: 'b' }, { ifMatch: '"1"' })).status, 412);
  assert.equal((await send('DELETE', `/${id}`, undefined, { ifMatch: '"1"' })).status, 412);
  assert.equal((await send('DELETE', `/${id}`, undefined, { ifMatch: '"2"' })).status, 204);
});

test('a view follows the rename of its entity, goes with it, and fields that are gone stay named', async () => {
  const place = await server.workspace('acme/moved', SCHEMA);
  const call = (path: string, method: string, body?: unknown): Promise<Answer> =>
    place.admin(path, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
  const { id } = (await call('views', 'POST', { entity: 'orders', name: 'open', filter: ['status,eq,open'] })).json
    .data;
  const renamed = {
    entities: { sales: { renamedFrom: 'orders', fields: { state: { type: 'string', renamedFrom: 'status' } } } },
  };
  assert.equal((await call('schema?allowDestructive=true', 'PUT', renamed)).status, 200);
  const { entity, filter } = (await call(`views/${id}`, 'GET')).json.data;
  assert.deepEqual([entity, filter], ['sales', ['status,eq,open']]);
  const dropped = { entities: { notes: { fields: { text: { type: 'text' } } } } };
  assert.equal((await call('schema?allowDestructive=true', 'PUT', dropped)).status, 200);
  assert.equal((await call(`views/${id}`, 'GET')).status, 404);
  // The next one removes its row.
  await call('views', 'POST', { entity: 'notes', name: 'all' });
  const rows = await server.database.query('select id from wda.saved_view where id = $1', [id]);
  assert.equal(rows.length, 0);
});

test('nobody has more than 500 views with the shared ones, and private ones take no place of others', async () => {
  const place = await server.workspace('acme/full', SCHEMA);
  const body = (name: string) => ({ method: 'POST', credential: ADMIN_KEY, body: { entity: 'notes', name } });
  const { id } = (await place.admin('views', body('first'))).json.data;
  await server.database.query(
    `insert into wda.saved_view (workspace_id, entity_id, owner, name, shared, content)
     select workspace_id, entity_id, owner, 'view ' || n, false, '{}' from wda.saved_view, generate_series(2, 500) n where id = $1`,
    [id],
  );
  assert.deepEqual(refusal(await place.admin('views', body('one more'))), [409, 'TOO_MANY_VIEWS']);
  const byKey = (name: string) => place.admin('views', { ...body(name), credential: place.key });
  assert.equal((await byKey('of another')).status, 201);
  await server.database.query("update wda.saved_view set shared = true where owner = 'operator'");
  assert.deepEqual(refusal(await byKey('one more')), [409, 'TOO_MANY_VIEWS']);
});

test('a copy of a workspace has its views', async () => {
  await create({ name: 'copied', shared: true, sort: ['total,desc'] });
  const copy = await shop.admin('copy', { method: 'POST', credential: ADMIN_KEY, body: { slug: 'copied' } });
  assert.equal(copy.status, 201, copy.text);
  const path = '/api/admin/v1/organizations/acme/workspaces/copied/views?entity=orders&size=1000';
  const { json } = await server.call(path, { credential: ADMIN_KEY });
  const view = json.data.find(({ name }: { name: string }) => name === 'copied');
  assert.deepEqual([view?.sort, view?.shared], [['total,desc'], true]);
});
