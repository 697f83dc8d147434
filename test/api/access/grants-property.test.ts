// Random grants, users and requests against a model: what each user sees of each record and field, and may write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Body,
  type EntityName,
  FIELDS,
  type GrantDocument,
  GrantsModel,
  type Row,
  type Tables,
  type User,
  type Where,
} from '../../support/grants-model.ts';
import { useIssuer, useServer } from '../../support/resources.ts';
import { draws } from '../../support/runs.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

const parents = {
  fields: { level: { type: 'integer' } },
  relations: { items: { kind: 'hasMany', entity: 'items', inverse: 'parent' } },
};
const items = {
  fields: { a: { type: 'integer' }, b: { type: 'string' } },
  relations: {
    parent: { kind: 'belongsTo', entity: 'parents', onDelete: 'setNull' },
    origin: { kind: 'belongsTo', entity: 'items', onDelete: 'setNull' },
  },
};

const number = fc.integer({ min: 1, max: 3 });
const claim = fc.constantFrom({ claim: 'one' }, { claim: 'list' }, { claim: 'none' });
const makeLeaf = (fields: readonly string[]): fc.Arbitrary<Where> =>
  fc.oneof(
    fc.record({ field: fc.constantFrom(...fields), op: fc.constantFrom('eq', 'ne'), value: fc.oneof(number, claim) }),
    fc.record({
      field: fc.constantFrom(...fields),
      op: fc.constantFrom('in', 'nin'),
      value: fc.oneof(fc.array(number, { maxLength: 2 }), claim),
    }),
    fc.record({ field: fc.constantFrom(...fields), op: fc.constantFrom('isNull', 'notNull') }),
  );
function makeWhere(fields: readonly string[]): fc.Arbitrary<Where> {
  const leaf = makeLeaf(fields);
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    fc.record({ and: fc.array(leaf, { minLength: 1, maxLength: 2 }) }),
    fc.record({ or: fc.array(leaf, { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: leaf }),
  );
}
const PATHS: Readonly<Record<EntityName, readonly string[]>> = {
  parents: ['id', 'level'],
  items: ['id', 'a', 'parentId', 'parent.level', 'origin.a', 'originId'],
};
const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq: number): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq });
const OPERATIONS = ['read', 'create', 'update', 'delete'] as const;
function makeGrant(entity: EntityName): fc.Arbitrary<GrantDocument> {
  const names = FIELDS[entity].filter((name) => name !== 'id');
  return fc
    .record({
      role: maybe(fc.constantFrom('r', 's'), 3),
      can: fc.oneof(
        { weight: 2, arbitrary: fc.constant([...OPERATIONS]) },
        fc.subarray([...OPERATIONS], { minLength: 1 }),
      ),
      where: maybe(makeWhere(PATHS[entity]), 3),
      fields: maybe(fc.subarray([...names]), 1),
      write: maybe(fc.subarray([...names]), 1),
      set: maybe(fc.constantFrom({ [names[0] as string]: 2 }, { [names[0] as string]: { claim: 'one' } }), 1),
    })
    .map(({ role, can, where, fields, write, set }) => ({
      can,
      ...(role === undefined ? {} : { role }),
      ...(where === undefined ? {} : { where }),
      ...(fields === undefined ? {} : { fields }),
      ...(write !== undefined && (can.includes('create') || can.includes('update')) ? { write } : {}),
      ...(set !== undefined && can.includes('create') ? { set } : {}),
    }));
}
const grantsOf = (entity: EntityName) => fc.array(makeGrant(entity), { minLength: 1, maxLength: 3 });
const anyUser: fc.Arbitrary<User> = fc.record({
  roles: fc.constantFrom(['r'], ['s'], ['r', 's'], []),
  claims: fc.record(
    {
      one: fc.oneof({ weight: 5, arbitrary: number }, fc.constant('x')),
      list: fc.oneof({ weight: 5, arbitrary: fc.array(number, { maxLength: 2 }) }, fc.constant([1, 'x'])),
    },
    { requiredKeys: ['one'] },
  ),
});
const id = fc.integer({ min: 0, max: 9 });
const member = (name: string, value: fc.Arbitrary<number | string | null>) => value.map((one) => [name, one] as const);
const itemBody: fc.Arbitrary<Body> = fc
  .array(
    fc.oneof(
      member('a', fc.option(number)),
      member('b', fc.constantFrom('x', 'y')),
      member('parentId', fc.option(fc.integer({ min: 1, max: 4 }))),
      member('originId', fc.option(id)),
    ),
    { maxLength: 2 },
  )
  .map((members) => Object.fromEntries(members));
type Write =
  | { readonly kind: 'create'; readonly body: Body }
  | { readonly kind: 'update'; readonly id: number; readonly body: Body }
  | { readonly kind: 'delete'; readonly id: number };
const anyWrite: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), body: itemBody }),
  fc.record({ kind: fc.constant('update' as const), id, body: itemBody }),
  fc.record({ kind: fc.constant('delete' as const), id }),
);

test('users see and write what the grants of their roles and claims allow', async () => {
  const desk = await server.workspace('acme/model', { roles: ['r', 's'], entities: { parents, items } });
  const tokenOf = await makeUsers(desk, issuer);
  await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
  await desk.create('parents', [{ level: 1 }, { level: 2 }, { level: null }]);
  const property = fc.asyncProperty(
    fc.record({ parents: grantsOf('parents'), items: grantsOf('items') }),
    fc.array(fc.tuple(anyUser, fc.array(anyWrite, { minLength: 8, maxLength: 16 })), { minLength: 1, maxLength: 2 }),
    async (grants, users) => {
      const entities = { parents: { ...parents, grants: grants.parents }, items: { ...items, grants: grants.items } };
      const put = await desk.admin('schema', { method: 'PUT', body: { entities } });
      assert.equal(put.status, 200, put.text);
      for (const [user, writes] of users) {
        const credential = tokenOf({ sub: 'u', roles: user.roles, ...user.claims });
        const call = (path: string, options: Call = {}): Promise<Answer> => desk.call(path, { credential, ...options });
        await refill(desk);
        await compareReads(call, new GrantsModel(grants, await loadTables(desk), user));
        for (const choice of writes) {
          const tables = await loadTables(desk);
          await compareWrite(call, new GrantsModel(grants, tables, user), withIds(choice, tables.items), desk);
        }
      }
    },
  );
  await fc.assert(property, draws(60));
});

const ITEMS = [
  { a: 1, b: 'x', parentId: 1 },
  { a: 2, b: 'y', parentId: 2 },
  { a: 3, b: 'x', parentId: null },
  { a: null, b: null, parentId: 3 },
  { a: 1, b: 'y', parentId: 1 },
];

/** Makes ten items as an owner, of which some refer to others and one to itself. */
async function refill(desk: TestWorkspace): Promise<void> {
  const { items: rest } = await loadTables(desk);
  if (rest.length > 0) await desk.call(`items/_bulk?ids=${rest.map((row) => row.id).join()}`, { method: 'DELETE' });
  const answer = await desk.call('items/_bulk', { method: 'POST', body: { data: [...ITEMS, ...ITEMS] } });
  assert.equal(answer.status, 201, answer.text);
  const ids = answer.json.data.map((row: Row) => row.id);
  const data = ids.slice(1).map((one: number, index: number) => ({ id: one, originId: ids[index === 3 ? 4 : index] }));
  assert.equal((await desk.call('items/_bulk', { method: 'PATCH', body: { data } })).status, 200);
}

/** Replaces the drawn numbers by ids of records, or by the id of none. */
function withIds(write: Write, items: readonly Row[]): Write {
  const toId = (index: number): number => items[index]?.id ?? 999_999;
  if (write.kind === 'delete') return { ...write, id: toId(write.id) };
  const { originId } = write.body;
  const body = typeof originId === 'number' ? { ...write.body, originId: toId(originId) } : write.body;
  return write.kind === 'create' ? { ...write, body } : { ...write, id: toId(write.id), body };
}

async function loadTables(desk: TestWorkspace): Promise<Tables> {
  const load = async (entity: EntityName): Promise<readonly Row[]> =>
    (await desk.call(`${entity}?size=1000`)).json.data;
  return { parents: await load('parents'), items: await load('items') };
}

async function compareReads(
  call: (path: string, options?: Call) => Promise<Answer>,
  model: GrantsModel,
): Promise<void> {
  for (const entity of ['parents', 'items'] as const) {
    const all = await call(`${entity}?size=1000`);
    if (!model.exists(entity)) {
      assert.equal(all.status, 404, all.text);
      continue;
    }
    const records = model.list(entity);
    assert.deepEqual(all.json.data, records, entity);
    assert.equal(all.json.meta.totalElements, records.length);
    for (const row of model.tables[entity]) {
      const one = await call(`${entity}/${row.id}`);
      const shown = model.show(entity, row);
      assert.equal(one.status, shown === undefined ? 404 : 200, one.text);
      if (shown !== undefined) assert.deepEqual(one.json.data, shown);
    }
    const field = entity === 'items' ? 'a' : 'level';
    const filtered = await call(`${entity}?filter=${field},eq,1&fields=id`);
    const sorted = await call(`${entity}?sort=${field},desc&fields=id&size=2`);
    const counted = await call(`${entity}/_aggregate?select=count&group=${field}&sort=${field}`);
    if (!model.fieldsOf(entity).includes(field)) {
      assert.deepEqual([filtered.status, sorted.status, counted.status], [400, 400, 400]);
      continue;
    }
    assert.deepEqual(
      filtered.json.data.map((one: Row) => one.id),
      records.filter((one) => one[field] === 1).map((one) => one.id),
    );
    const rank = (one: Readonly<Record<string, unknown>>): number =>
      (one[field] as number | null) ?? Number.POSITIVE_INFINITY;
    const order = records.toSorted((x, y) =>
      rank(x) === rank(y) ? Number(y.id) - Number(x.id) : rank(y) > rank(x) ? 1 : -1,
    );
    assert.deepEqual(
      sorted.json.data.map((one: Row) => one.id),
      order.slice(0, 2).map((one) => one.id),
    );
    const total = counted.json.data.reduce((sum: number, group: { count: number }) => sum + group.count, 0);
    assert.equal(total, records.length);
    const groups = new Set(records.map((one) => one[field] ?? null));
    assert.deepEqual(new Set(counted.json.data.map((one: Record<string, unknown>) => one[field])), groups);
  }
  if (!model.exists('items') || !model.fieldsOf('items').includes('parentId')) return;
  const expanded = await call('items?expand=parent&size=1000');
  if (!model.exists('parents')) {
    assert.equal(expanded.status, 400);
    return;
  }
  const find = (id: unknown) => model.list('parents').find((one) => one.id === id) ?? null;
  assert.deepEqual(
    expanded.json.data,
    model.list('items').map((one) => ({ ...one, parent: find(one.parentId) })),
  );
  const children = await call('parents?expand=items&size=1000');
  assert.deepEqual(
    children.json.data,
    model
      .list('parents')
      .map((one) => ({ ...one, items: model.list('items').filter(({ parentId }) => parentId === one.id) })),
  );
  if (!model.fieldsOf('parents').includes('level')) return;
  const across = await call('items?filter=parent.level,eq,1&fields=id');
  assert.deepEqual(
    across.json.data.map((one: Row) => one.id),
    model
      .list('items')
      .filter((one) => find(one.parentId)?.level === 1)
      .map((one) => one.id),
  );
}

async function compareWrite(
  call: (path: string, options?: Call) => Promise<Answer>,
  model: GrantsModel,
  write: Write,
  desk: TestWorkspace,
): Promise<void> {
  const before = model.tables.items;
  const path = write.kind === 'create' ? 'items' : `items/${write.id}`;
  const method = { create: 'POST', update: 'PATCH', delete: 'DELETE' }[write.kind];
  const answer = await call(path, { method, ...(write.kind === 'delete' ? {} : { body: write.body }) });
  const note = `${JSON.stringify(write)} ${answer.status} ${answer.text}`;
  const { items: after } = await loadTables(desk);
  if (!model.exists('items')) {
    assert.equal(answer.status, 404, note);
    assert.deepEqual(after, before);
    return;
  }
  if (write.kind === 'delete') {
    assert.equal(answer.status, model.delete('items', write.id), note);
    assert.deepEqual(
      after.map((row) => row.id),
      before.map((row) => row.id).filter((one) => answer.status !== 204 || one !== write.id),
    );
    return;
  }
  const id = write.kind === 'create' ? (answer.json?.data?.id ?? 0) : write.id;
  const verdict =
    write.kind === 'create' ? model.create('items', write.body, id) : model.update('items', write.id, write.body);
  assert.equal(answer.status, verdict.status, note);
  if (!('row' in verdict)) {
    assert.deepEqual(after, before, note);
    return;
  }
  assert.deepEqual(answer.json.data, verdict.shown, note);
  assert.deepEqual(
    after.find((row) => row.id === id),
    verdict.row,
    note,
  );
}
