// Creates and upserts of users with several grants for them: which grant decides, and what a refused attempt leaves.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { grantWorkspace } from '../../../src/model/granted.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { isGranted, planGranted } from '../../../src/plan/granted.ts';
import { projectRecord } from '../../../src/plan/projection.ts';
import { buildEntities } from '../../../src/schema/entities.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { compile } from '../../../src/sql/compile.ts';
import { skipOnCluster } from '../../support/citus.ts';
import { external } from '../../support/field-types-fixture.ts';
import { prepare, useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const inAccount = (claim: string) => ({ field: 'accountId', op: 'eq', value: { claim } });
const DOCUMENT = {
  roles: ['writer', 'half', 'none', 'child'],
  entities: {
    accounts: {
      fields: { name: { type: 'string' } },
      relations: { notes: { kind: 'hasMany', entity: 'notes', inverse: 'account' } },
      grants: [{ role: 'writer', can: ['read'], where: { field: 'name', op: 'ne', value: 'hidden' } }],
    },
    notes: {
      fields: {
        number: { type: 'integer' },
        holds: { type: 'string' },
        text: { type: 'string' },
        code: { type: 'string', unique: true },
      },
      relations: {
        account: { kind: 'belongsTo', entity: 'accounts' },
        owner: { kind: 'belongsTo', entity: 'accounts' },
        parent: { kind: 'belongsTo', entity: 'notes' },
      },
      indexes: [{ fields: ['accountId', 'number'], unique: true }],
      grants: [
        {
          role: 'writer',
          can: ['read', 'create', 'update'],
          where: { and: [inAccount('first'), { field: 'text', op: 'startsWith', value: 'a' }] },
        },
        {
          role: 'writer',
          can: ['read', 'create', 'update'],
          where: { and: [inAccount('second'), { field: 'text', op: 'startsWith', value: 'b' }] },
        },
        { role: 'none', can: ['read', 'create', 'update'], where: { field: 'id', op: 'isNull' } },
        { role: 'half', can: ['read', 'create', 'update'], where: { field: 'text', op: 'eq', value: 'mine' } },
        { role: 'half', can: ['read', 'update'], fields: ['text'] },
        {
          role: 'child',
          can: ['read', 'update'],
          where: {
            or: [
              { field: 'parent.text', op: 'eq', value: { claim: 'text' } },
              { field: 'parent.number', op: 'eq', value: { claim: 'number' } },
            ],
          },
        },
      ],
    },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
let desk: TestWorkspace;
let tokenOf: TokenOf;
let writer: (path: string, call?: Call) => Promise<Answer>;

const post = (body: object): Call => ({ method: 'POST', body });
const many = (records: readonly object[]): Call => post({ data: records });

prepare(async () => {
  desk = await server.workspace('acme/candidates', DOCUMENT);
  tokenOf = await makeUsers(desk, issuer);
  await desk.create('accounts', [{ name: 'first' }, { name: 'second' }, { name: 'hidden' }]);
  const credential = tokenOf({ sub: 'w', roles: ['writer'], first: 1, second: 2 });
  await desk.admin('identity-provider', {
    method: 'PUT',
    body: { issuerUrl: issuer.url, defaultPermissions: 'READ_WRITE', enabled: true, roleClaim: 'roles' },
  });
  writer = (path, call = {}) => desk.call(path, { ...call, credential });
});

async function getIds(): Promise<readonly number[]> {
  const { json } = await desk.call('notes?sort=id,desc&size=2');
  return json.data.map(({ id }: { id: number }) => id);
}

describe('several grants for a create', () => {
  test('use one id', async () => {
    assert.equal((await writer('notes', post({ text: 'b1' }))).status, 201);
    assert.equal((await writer('notes', post({ text: 'b2' }))).status, 201);
    const [second, first] = await getIds();
    assert.equal(second, Number(first) + 1);
  });
  test('an upsert finds the record with the key under the grant that would create it', async () => {
    const upsert = 'notes?onConflict=accountId,number';
    for (const [text, status, accountId] of [
      ['b', 201, 2],
      ['b', 200, 2],
      ['a', 201, 1],
      ['b again', 200, 2],
      ['a again', 200, 1],
    ] as const) {
      const { status: actual, json } = await writer(upsert, post({ number: 5, text }));
      assert.deepEqual(
        [actual, json.data?.accountId, json.data?.text],
        [status, accountId, text],
        JSON.stringify(json),
      );
    }
  });
  test('upserts of many records are created and changed in one request', async () => {
    const { status, json, text } = await writer(
      'notes/_bulk?onConflict=accountId,number',
      many([
        { number: 21, text: 'b21' },
        { number: 5, text: 'a changed' },
        { number: 22, text: 'a é𝄞' },
        { number: 5, text: 'b changed' },
      ]),
    );
    assert.equal(status, 200, text);
    assert.deepEqual(json.meta, { inserted: 2, updated: 2 });
    assert.deepEqual(
      json.data.map((one: { accountId: number; number: number; text: string }) => [
        one.accountId,
        one.number,
        one.text,
      ]),
      [
        [2, 21, 'b21'],
        [1, 5, 'a changed'],
        [1, 22, 'a é𝄞'],
        [2, 5, 'b changed'],
      ],
    );
  });
  test('a refusal of one of many names it, and nothing is written', async () => {
    const { status, json } = await writer(
      'notes/_bulk?onConflict=accountId,number',
      many([
        { number: 5, text: 'a never' },
        { number: 31, text: 'b31' },
        { number: 32, text: 'c' },
      ]),
    );
    assert.equal(status, 403, JSON.stringify(json));
    assert.deepEqual(
      json.error.details?.map(({ index }: { index: number }) => index),
      [2],
    );
    const { json: stored } = await desk.call('notes?filter=number,in,5,31&filter=text,contains,never');
    assert.deepEqual(stored.data, []);
  });
  test('two records of a request with one key are refused, also under different grants', async () => {
    const { status, json } = await writer(
      'notes/_bulk?onConflict=accountId,number',
      many([
        { number: 5, text: 'b x' },
        { number: 5, text: 'b y' },
      ]),
    );
    assert.equal(status, 409, JSON.stringify(json));
  });
});

test('an upsert by a value that the record does not show is a conflict', async () => {
  const [note] = await desk.create('notes', [{ text: 'open', code: 'secret' }]);
  const credential = tokenOf({ sub: 'h', roles: ['half'] });
  const read = await desk.call(`notes/${note.id}`, { credential });
  assert.deepEqual([read.status, read.json.data.code], [200, null]);
  const body = { code: 'secret', text: 'mine' };
  for (const [path, call] of [
    ['notes?onConflict=code', post(body)],
    ['notes?onConflict=code&conflict=skip', post(body)],
    ['notes/_bulk?onConflict=code', many([body])],
  ] as const) {
    const { status, text } = await desk.call(path, { ...call, credential });
    assert.equal(status, 409, text);
    assert.doesNotMatch(text, new RegExp(`"id":${note.id}`));
  }
});

test('an upsert under a grant of no id is refused, whether the key is there or not', async () => {
  await desk.create('notes', [{ text: 'other', code: 'elsewhere' }]);
  const credential = tokenOf({ sub: 'n', roles: ['none'] });
  const answers = await Promise.all(
    ['elsewhere', 'nowhere'].map((code) => desk.call('notes?onConflict=code', { ...post({ code }), credential })),
  );
  assert.deepEqual(
    answers.map(({ status, text }) => [status, text]),
    Array(2).fill([403, answers[1]?.text]),
  );
});

describe('a reference that a record has already', () => {
  test('may stay in an upsert, though it leads to a hidden record', async () => {
    const [note] = await desk.create('notes', [{ text: 'b kept', accountId: 2, ownerId: 3, code: 'kept' }]);
    const body = { code: 'kept', text: 'b other', ownerId: 3 };
    const one = await writer('notes?onConflict=code', post(body));
    assert.deepEqual([one.status, one.json.data?.id], [200, note.id], one.text);
    const all = await writer('notes/_bulk?onConflict=code', many([body, { code: 'fresh', text: 'b' }]));
    assert.equal(all.status, 200, all.text);
    const moved = await writer('notes?onConflict=code', post({ ...body, code: 'other' }));
    assert.equal(moved.status, 400, moved.text);
  });
});

const skip = skipOnCluster('explains a statement without its values, which PostgreSQL 15 does not');

test('conditions that cross the table of the record read it by its index', skip, async () => {
  const [row] = await server.database.query(
    `select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relname = 'notes'`,
  );
  const schema = String(row?.schema);
  await server.database.query(
    `insert into "${schema}"."notes" ("id", "text") select n, 'x' from generate_series(100000, 120000) n`,
  );
  await server.database.query(`analyze "${schema}"."notes"`);
  const whole = {
    id: '1',
    version: '1',
    slug: 'candidates',
    entities: buildEntities(DOCUMENT as unknown as SchemaDocument, schema),
    entityIds: new Map(),
    constraints: new Map(),
    part: null,
  } as unknown as Workspace;
  const workspace = grantWorkspace(whole, { roles: ['child'], onlyGrants: false });
  const entity = getEntity(workspace, 'notes');
  assert.ok(isGranted(entity));
  const context = { workspace, principal: external({ text: 'x', number: 1 }, 'READ_WRITE', ['child']) };
  const rows = [{ values: new Map([['text', 'y']]) }];
  const plan = planGranted('update', rows, entity, context, { guarded: false, projection: projectRecord(entity) });
  const { text } = compile(plan, { maxResponseBytes: 1_000_000 });
  const lines = await server.database.query(`explain (generic_plan) ${text}`);
  const plans = lines.map((line) => String(Object.values(line)[0])).join('\n');
  assert.match(plans, /Index Scan using "notes\$id\$pk" on notes gf0/);
  assert.doesNotMatch(plans, /CTE \$now|Seq Scan on notes/);
});

test('an update of many checks only the references that a record names, seen or not', async () => {
  const accounts = DOCUMENT.entities.accounts;
  const some = await server.workspace('acme/unnamed', {
    roles: ['writer', 'half'],
    entities: {
      accounts: {
        ...accounts,
        grants: [{ can: ['read'], where: { field: 'name', op: 'ne', value: 'hidden' } }],
      },
      notes: {
        fields: { text: { type: 'string' } },
        relations: { account: { kind: 'belongsTo', entity: 'accounts' } },
        grants: [
          { can: ['read'], fields: ['text'] },
          { can: ['update'] },
          { role: 'half', can: ['read'], where: { field: 'text', op: 'eq', value: 'mine' } },
        ],
      },
    },
  });
  await some.create('accounts', [{ name: 'first' }, { name: 'hidden' }]);
  await some.create('notes', [
    { text: 'a', accountId: 2 },
    { text: 'b', accountId: 2 },
  ]);
  const tokens = await makeUsers(some, issuer);
  await some.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
  for (const role of ['writer', 'half']) {
    const credential = tokens({ sub: role, roles: [role] });
    const patch = (data: readonly object[]): Promise<Answer> =>
      some.call('notes/_bulk', { method: 'PATCH', body: { data }, credential });
    const changed = await patch([
      { id: 1, text: `a ${role}` },
      { id: 2, accountId: 1 },
    ]);
    assert.equal(changed.status, 200, changed.text);
    const named = await patch([{ id: 1, accountId: 2 }]);
    assert.equal(named.status, 400, named.text);
    assert.equal(named.json.error.details[0].code, 'REFERENCE_NOT_FOUND');
  }
  assert.deepEqual(
    (await some.call('notes?sort=id')).json.data.map(({ accountId }: { accountId: number }) => accountId),
    [2, 1],
  );
});
