// The names in PostgreSQL a moment after a migration: those of the document, under requests of every kind, and whatever
// they were on the way.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestDatabase } from '../support/database.ts';
import { applySchema, assertTidy, freshShape, type Json, schemaOf, settled, shapeOf } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import { keyFor } from '../support/scopes.ts';
import type { Answer, TestServer, TestWorkspace } from '../support/server.ts';
import { keptTotal } from '../support/stored-totals.ts';
import { until } from '../support/wait-until.ts';

let count = 0;
const server = useServer();
const other = useServer({}, server);

const text = { type: 'string', maxLength: 40, index: true } as const;

async function change(workspace: TestWorkspace, document: Json): Promise<void> {
  const answer = await applySchema(workspace, document, '?allowDestructive=true&wait=60');
  assert.equal(answer.json.data?.state, 'succeeded', answer.text);
}

const pendingNames = async (workspace: TestWorkspace): Promise<Json> =>
  (await workspace.admin('schema')).json.meta?.pendingNames ?? [];

const ORDERS = (entity: string, fields: Json, more: Json = {}): Json => ({
  entities: {
    [entity]: {
      fields,
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
      ...more,
    },
    customers: { fields: { name: text }, relations: { orders: { kind: 'hasMany', entity, inverse: 'customer' } } },
  },
});

test('a renamed entity, a renamed field and a changed type are called as in the document, and all that is named after them', async () => {
  const slug = `s${++count}`;
  const fields = {
    code: { ...text, unique: true },
    total: { type: 'integer', min: 0 },
    kind: { type: 'enum', values: ['a'] },
  };
  const workspace = await server.workspace(`acme/${slug}`, ORDERS('orders', fields));
  await workspace.create('customers', [{ name: 'Ann' }]);
  await workspace.create('orders', [{ code: 'x', total: 7, kind: 'a', customerId: 1 }]);
  const to = ORDERS(
    'purchases',
    {
      reference: { ...text, unique: true, renamedFrom: 'code' },
      total: { type: 'decimal', precision: 9, scale: 2, min: 0 },
      kind: { type: 'enum', values: ['a'] },
    },
    { renamedFrom: 'orders' },
  );
  await change(workspace, to);
  const pending = await pendingNames(workspace);
  assert.deepEqual(
    pending.map(({ name, ...what }: Json) => ({ ...what, name: name.replace(/\$\d+$/, '$n') })),
    [
      { entity: 'purchases', name: 'orders' },
      { entity: 'purchases', field: 'total', name: 'total$n' },
      { entity: 'purchases', field: 'reference', name: 'code' },
    ],
  );
  await settled(server, slug);
  assert.deepEqual(await pendingNames(workspace), []);
  const schema = await schemaOf(server, workspace);
  assert.deepEqual(
    await server.database.query(`select reference, total, kind, "customerId" from "${schema}".purchases`),
    [{ reference: 'x', total: '7.00', kind: 'a', customerId: '1' }],
  );
  const asked = structuredClone(to);
  delete asked.entities.purchases.renamedFrom;
  delete asked.entities.purchases.fields.reference.renamedFrom;
  assert.deepEqual(await shapeOf(server.database, slug), await freshShape(server, asked));
  const made = await workspace.call('purchases', { method: 'POST', body: { reference: 'x', total: 1, kind: 'a' } });
  assert.deepEqual([made.status, made.json.error.details[0].field], [409, 'reference']);
  assert.equal((await workspace.call('purchases', { method: 'POST', body: { reference: 'y' } })).json.data.id, 3);
});

test('names that are swapped over several changes, and used again, come right without a value in the wrong place', async () => {
  const slug = `s${++count}`;
  const fields = (...names: (readonly [name: string, from?: string])[]): Json => ({
    entities: {
      notes: {
        fields: Object.fromEntries(
          names.map(([name, from]) => [name, { ...text, ...(from === undefined ? {} : { renamedFrom: from }) }]),
        ),
      },
    },
  });
  const workspace = await server.workspace(`acme/${slug}`, fields(['a'], ['b']));
  await workspace.create('notes', [{ a: 'was a', b: 'was b' }]);
  await change(workspace, fields(['t', 'a'], ['b']));
  await change(workspace, fields(['t'], ['a', 'b']));
  await change(workspace, fields(['b', 't'], ['a']));
  assert.deepEqual((await workspace.call('notes/1')).json.data, { id: 1, b: 'was a', a: 'was b' });
  await change(workspace, fields(['c', 'b'], ['a']));
  await change(workspace, fields(['c'], ['a'], ['b']));
  const written = await workspace.call('notes/1', { method: 'PATCH', body: { b: 'new b' } });
  assert.deepEqual(written.json.data, { id: 1, c: 'was a', a: 'was b', b: 'new b' });
  await settled(server, slug);
  assert.deepEqual(await server.database.query(`select a, b, c from "${await schemaOf(server, workspace)}".notes`), [
    { a: 'was b', b: 'new b', c: 'was a' },
  ]);
});

for (const strategy of ['', '&strategy=blocking']) {
  test(`a chain of renames keeps every record and value, applied twice, and a trade of names is refused${strategy}`, async () => {
    const slug = `s${++count}`;
    const parts = (a: string, b: string, fields: Json): Json => ({
      [a]: { fields: { v: text }, relations: { all: { kind: 'hasMany', entity: b, inverse: 'up' } } },
      [b]: { fields, relations: { up: { kind: 'belongsTo', entity: a } } },
    });
    const workspace = await server.workspace(`acme/${slug}`, {
      entities: parts('a', 'b', { x: text, y: { type: 'integer', min: 1 } }),
    });
    await workspace.create('a', [{ v: 'of a' }]);
    await workspace.create('b', [{ x: '11', y: 21, upId: 1 }]);
    const key = await keyFor(workspace, ['a']);
    const chain = parts('b', 'c', {
      y: { ...text, renamedFrom: 'x' },
      z: { type: 'decimal', precision: 6, scale: 2, renamedFrom: 'y' },
    });
    chain.b.renamedFrom = 'a';
    chain.c.renamedFrom = 'b';
    const query = `?wait=60${strategy}`;
    for (const steps of [6, 0]) {
      const answer = await applySchema(workspace, { entities: chain }, query);
      assert.deepEqual([answer.json.data?.state, answer.json.data?.steps.length], ['succeeded', steps], answer.text);
      if (steps === 0) await settled(server, slug);
      assert.deepEqual((await workspace.call('b/1')).json.data, { id: 1, v: 'of a' });
      assert.deepEqual((await workspace.call('c/1')).json.data, { id: 1, y: '11', z: 21, upId: 1 });
      const statuses = ['b', 'c'].map(async (name) => (await workspace.call(name, { credential: key })).status);
      assert.deepEqual(await Promise.all(statuses), [200, 404]);
    }
    const refused = async (document: Json): Promise<Json> => {
      const answer = await applySchema(workspace, { entities: document }, `${query}&allowDestructive=true`);
      assert.equal(answer.status, 400, answer.text);
      return answer.json.error.details.map(({ field, message }: Json) => `${field}: ${message.split(/[,:]/)[0]}`);
    };
    const { b, c } = parts('b', 'c', { y: text, z: { type: 'decimal', precision: 6, scale: 2 } });
    const { y, z } = c.fields;
    assert.deepEqual(
      await refused({ b, c: { ...c, fields: { y: { ...y, renamedFrom: 'z' }, z: { ...z, renamedFrom: 'y' } } } }),
      [
        'entities.c.fields.y.renamedFrom: z and y would trade their names',
        'entities.c.fields.z.renamedFrom: y and z would trade their names',
      ],
    );
    assert.deepEqual(await refused({ b, c: { ...c, fields: { z: { ...z, renamedFrom: 'y' } } } }), [
      'entities.c.fields.z.renamedFrom: y and z are both in force',
    ]);
    const others = parts('c', 'b', {});
    assert.deepEqual(await refused({ b: { ...others.b, renamedFrom: 'c' }, c: { ...others.c, renamedFrom: 'b' } }), [
      'entities.b.renamedFrom: c and b would trade their names',
      'entities.c.renamedFrom: b and c would trade their names',
    ]);
    assert.deepEqual((await workspace.call('c/1')).json.data, { id: 1, y: '11', z: 21, upId: 1 });
  });
}

async function inOne(query: TestDatabase['query'], statements: readonly string[]): Promise<void> {
  for (const statement of ['begin', ...statements, 'commit']) await query(statement);
}

test('names of an installation of before are mended by whichever process finds them', async () => {
  const slug = `s${++count}`;
  const workspace = await server.workspace(`acme/${slug}`, { entities: { notes: { fields: { a: text, b: text } } } });
  await workspace.create('notes', [{ a: '1', b: '2' }]);
  const schema = await schemaOf(server, workspace);
  const { query } = server.database;
  const columns: Json = { a: 'b', b: 'a$3' };
  const notes = `"${schema}".notes`;
  // Each alone, and no constraint renamed, as a cluster takes nothing else.
  await inOne(query, [
    `alter table ${notes} drop constraint "notes$b$ck_length"`,
    `alter table ${notes} drop constraint "notes$a$ck_length"`,
    `alter table ${notes} rename column b to "a$3"`,
    `alter table ${notes} rename column a to b`,
    `alter index "${schema}"."notes$b$ix" rename to "notes$a$3$ix"`,
    `alter index "${schema}"."notes$a$ix" rename to "notes$b$ix"`,
    `alter table ${notes} add constraint "notes$a$3$ck_length" check (char_length("a$3") <= 40)`,
    `alter table ${notes} add constraint "notes$b$ck_length" check (char_length(b) <= 40)`,
    `update wda.workspace set version = version + 1, names = '${JSON.stringify({ tables: {}, columns: { notes: columns } })}' where slug = '${slug}'`,
  ]);
  await settled(server, slug);
  assert.deepEqual((await workspace.call('notes/1')).json.data, { id: 1, a: '1', b: '2' });
  assert.deepEqual(await query(`select a, b from "${schema}".notes`), [{ a: '1', b: '2' }]);
});

test('while somebody holds the table the names wait, the schema tells it, and nobody else does', async (t) => {
  const slug = `s${++count}`;
  const workspace = await server.workspace(`acme/${slug}`, { entities: { notes: { fields: { a: text } } } });
  const schema = await schemaOf(server, workspace);
  await change(workspace, { entities: { notes: { fields: { b: { ...text, renamedFrom: 'a' } } } } });
  const holder = new pg.Client({ connectionString: server.database.url });
  await holder.connect();
  t.after(() => holder.end());
  await holder.query(`begin; select from "${schema}".notes`);
  await until('the lock is asked for', async () => {
    const rows = await server.database.query(
      `select from pg_locks where relation = '"${schema}".notes'::regclass and mode = 'AccessExclusiveLock' and not granted`,
    );
    return rows.length > 0;
  });
  assert.deepEqual(await pendingNames(workspace), [{ entity: 'notes', field: 'b', name: 'a' }]);
  // Another change need not wait for the names.
  await change(workspace, { entities: { notes: { fields: { b: text } }, more: {} } });
  assert.equal((await workspace.call('notes', { method: 'POST', body: { b: 'x' } })).status, 201);
  await holder.query('rollback');
  await settled(server, slug);
});

test('a name is not given to another field while a request is under way that means the one before', async () => {
  const slug = `s${++count}`;
  const fields = (of: Json): Json => ({ entities: { notes: { fields: of } } });
  const workspace = await server.workspace(`acme/${slug}`, fields({ a: text }));
  const late = request(`${other.url}/api/v1/acme/${slug}/notes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json', 'content-length': '14' },
  });
  const answered = once(late, 'response');
  // The other process has admitted it when it answers something later on the same snapshot.
  late.write('{"a"');
  await sleep(300);
  await change(workspace, fields({ old: { ...text, renamedFrom: 'a' } }));
  await change(workspace, fields({ old: text, a: text }));
  await until('the first name is given back', async () => (await pendingNames(workspace)).length === 1);
  for (let look = 0; look < 6; look++) {
    const pending = await pendingNames(workspace);
    assert.deepEqual(
      pending.map(({ field, name }: Json) => [field, name.replace(/\d+/, '')]),
      [['a', 'a$']],
    );
    await sleep(500);
  }
  late.end(':  "late"}');
  const [response] = (await answered) as [IncomingMessage];
  const answer = Buffer.concat(await response.toArray()).toString();
  assert.equal(response.statusCode, 201, answer);
  assert.deepEqual(JSON.parse(answer).data, { id: 1, old: null, a: 'late' });
  await settled(server, slug);
  assert.deepEqual((await workspace.call('notes/1')).json.data, { id: 1, old: null, a: 'late' });
});

test('the total of a table is kept on under its new name', async () => {
  const slug = `s${++count}`;
  const workspace = await server.workspace(`acme/${slug}`, { entities: { notes: { fields: { a: text } } } });
  const { query } = server.database;
  const schema = await schemaOf(server, workspace);
  await query(`insert into "${schema}".notes (a) select n::text from generate_series(1, 6000) n`);
  const isKept = async (table: string): Promise<boolean> => {
    const kept = await keptTotal(server.database, schema, table);
    return (await kept.total().finally(kept.close)) !== null;
  };
  await until('the total is kept', async () => {
    await workspace.call('notes?size=1');
    return isKept('notes');
  });
  await change(workspace, { entities: { pages: { renamedFrom: 'notes', fields: { a: text } } } });
  await settled(server, slug);
  assert.ok(await isKept('pages'));
  assert.equal((await workspace.call('pages', { method: 'POST', body: { a: 'x' } })).status, 201);
  assert.equal((await workspace.call('pages?size=1')).json.meta.totalElements, 6001);
});

test('requests of every kind, to two processes, run through changes of names without noticing', async () => {
  const slug = `s${++count}`;
  const forms = [
    ORDERS('orders', { code: text, amount: { type: 'integer' }, spare: text }),
    ORDERS('orders', { code: text, amount: { type: 'bigint' }, extra: { ...text, renamedFrom: 'spare' } }),
    ORDERS('orders', { code: text, amount: { type: 'string' }, extra: text, spare: text }),
    ORDERS('orders', { code: text, amount: { type: 'bigint' }, spare: text }),
  ];
  const workspace = await server.workspace(`acme/${slug}`, forms[0]);
  await workspace.create('customers', [{ name: 'Ann' }]);
  let stopped = false;
  let answered = 0;
  const surprises: string[] = [];
  const ask = async (at: TestServer, path: string, call: Json = {}): Promise<Answer> => {
    const answer = await at.call(`/api/v1/acme/${slug}/${path}`, { credential: workspace.key, ...call });
    answered++;
    if (answer.status >= 300) surprises.push(`${call.method ?? 'GET'} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const codes = new Map<number, string>();
  let n = 0;
  const work = async (at: TestServer): Promise<void> => {
    let cursor: string | null = null;
    while (!stopped) {
      const code = `c${++n}`;
      const made = await ask(at, 'orders', { method: 'POST', body: { code, customerId: 1 } });
      const id = made.json.data?.id;
      const changed = await ask(at, `orders/${id}`, { method: 'PATCH', body: { code: `${code}!` } });
      if (changed.status === 200) codes.set(id, `${code}!`);
      await ask(at, `orders/${id}?expand=customer`);
      const page: Answer = await ask(
        at,
        `orders?size=3&sort=code,desc&count=none${cursor === null ? '' : `&after=${cursor}`}`,
      );
      cursor = page.json.meta?.nextCursor ?? null;
      await ask(at, 'customers?expand=orders&orders.size=2');
      await ask(at, 'orders/_query', {
        method: 'POST',
        body: { filter: { field: 'code', op: 'eq', value: `${code}!` } },
      });
      await ask(at, 'orders/_export?format=csv&fields=id,code');
      const headers = { 'content-type': 'application/x-ndjson' };
      await ask(at, 'customers/_import', { method: 'POST', headers, body: '{"name":"imported"}\n' });
      await ask(at, `orders/${id}`, { method: 'DELETE' });
      codes.delete(id);
      const kept = await ask(at, 'orders', { method: 'POST', body: { code } });
      codes.set(kept.json.data?.id, code);
      await sleep(5);
    }
  };
  const working = Promise.all([work(server), work(other), work(other)]);
  for (const form of forms.slice(1)) {
    await change(workspace, form);
    await settled(server, slug);
  }
  stopped = true;
  await working;
  assert.deepEqual(surprises, []);
  assert.ok(answered > 0 && codes.size > 0);
  for (const [id, code] of codes) {
    const { code: stored, amount, spare } = (await ask(other, `orders/${id}`)).json.data;
    assert.deepEqual([stored, amount, spare], [code, null, null]);
  }
  await assertTidy(server, slug);
});
