// strategy=blocking with two server processes on one database: what the spec says of a table that is being migrated.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { applySchemaTo, type Json, schemaOf, ended as untilEnded } from '../support/migration.ts';
import { type Hold, holdAt, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer, startTestServer, type TestServer } from '../support/server.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { makeTraffic } from '../support/traffic.ts';
import { until } from '../support/wait-until.ts';

const BEFORE = {
  entities: {
    customers: {
      fields: { name: { type: 'string' } },
      relations: { orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' } },
    },
    orders: {
      fields: { code: { type: 'string' }, amount: { type: 'string' } },
      relations: {
        customer: { kind: 'belongsTo', entity: 'customers' },
        lines: { kind: 'hasMany', entity: 'lines', inverse: 'order' },
      },
    },
    lines: {
      fields: { text: { type: 'string' } },
      relations: { order: { kind: 'belongsTo', entity: 'orders' } },
    },
    notes: { fields: { text: { type: 'string' } } },
  },
};

const withAmount = (type: string): unknown => ({
  entities: {
    ...BEFORE.entities,
    orders: { ...BEFORE.entities.orders, fields: { code: { type: 'string' }, amount: { type } } },
  },
});
const AFTER = withAmount('integer');

/** The table is written anew and locked; nothing is committed. */
const REWRITTEN: Hold = { kind: 'ddl', like: '%alter column "amount%type %using%' };

let orders = 0;
const first = useServer();
const second = useServer({}, first);
prepare(() => prepareHolds(first.database));
const workspace = use(() => first.workspace('acme/shop', BEFORE));
prepare(async () => {
  await workspace.create('customers', [{ name: 'Ann' }]);
  await workspace.create('orders', [{ code: 'a', amount: '1', customerId: 1 }]);
  await workspace.create('lines', [{ text: 'x', orderId: 1 }, { text: 'y' }]);
  await workspace.create('notes', [{ text: 'n' }]);
});

type Call = Parameters<TestServer['call']>[1];
const ask = (server: TestServer, path: string, call: Call = {}): Promise<Answer> =>
  server.call(`/api/v1/acme/shop/${path}`, { credential: workspace.key, ...call });

async function put(url: string, body: unknown, query = '?strategy=blocking&wait=0'): Promise<Json> {
  const { status, text, json } = await applySchemaTo(url, workspace, body, query);
  assert.ok(status < 300, text);
  return json.data;
}

const ended = (id: number): Promise<Json> => untilEnded(workspace, id);

const gates = async (): Promise<Json> =>
  (await first.database.query("select gates from wda.workspace where slug = 'shop'"))[0]?.gates as Json;

function isRefusal(answer: Answer, entity: string, blocksReads = true): void {
  assert.equal(answer.status, 503, answer.text);
  const { retryAfterSeconds } = answer.json;
  assert.deepEqual(answer.json, {
    error: {
      code: 'SCHEMA_MIGRATION_IN_PROGRESS',
      message: `Table ${entity} is being migrated; retry after the migration completes`,
      reason: 'TABLE_MIGRATING',
    },
    retryAfterSeconds,
    blocksReads,
    blocksWrites: true,
  });
  assert.ok(Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 1 && retryAfterSeconds <= 60);
  assert.equal(answer.headers.get('retry-after'), String(retryAfterSeconds));
}

test('gates are closed in both processes before a lock is asked for', async () => {
  // The second process has it in memory that they are open.
  assert.equal((await ask(second, 'orders')).status, 200);
  // A reader that never ends keeps the lock away; until then the table would answer.
  const held = await holdAt(
    first.database,
    {
      kind: 'row',
      lock: `lock table ${await schema()}.orders in access share mode`,
      like: 'do %lock table%',
    },
    async () => {
      const { id } = await put(first.url, AFTER);
      await until('the gates are closed', async () => (await gates()).orders !== undefined);
      assert.equal((await workspace.admin(`migrations/${id}`)).json.data.state, 'running');
    },
  );
  try {
    for (const server of [first, second]) {
      isRefusal(await ask(server, 'orders'), 'orders');
      isRefusal(await ask(server, 'orders/1/_restore', { method: 'POST', body: { event: 'e_x' } }), 'orders');
    }
  } finally {
    await workspace.admin(`migrations/${await newest()}/cancel`, { method: 'POST' });
    await held.release();
  }
  assert.equal((await ended(await newest())).state, 'cancelled');
  assert.deepEqual(await gates(), {});
  for (const server of [first, second])
    await until('it answers', async () => (await ask(server, 'orders')).status === 200);
});

const schema = async (): Promise<string> => `"${await schemaOf(first, workspace)}"`;
const newest = async (): Promise<number> => (await workspace.admin('migrations?size=1')).json.data[0].id;

test('a write that was let in, and whose body came after the gate was closed, is refused for the migration', async () => {
  const late = request(`${first.url}/api/v1/acme/shop/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json', 'content-length': '15' },
  });
  const answered = once(late, 'response');
  late.write('{"code"');
  const lock = `lock table ${await schema()}.orders in share row exclusive mode`;
  const held = await holdAt(first.database, { kind: 'row', lock, like: 'do %lock table%' }, () =>
    put(first.url, AFTER),
  );
  try {
    late.end(':"late"}');
    const [response] = (await answered) as [IncomingMessage];
    const text = Buffer.concat(await response.toArray()).toString();
    assert.equal(response.statusCode, 503, text);
    assert.equal((JSON.parse(text) as Json).error.code, 'SCHEMA_MIGRATION_IN_PROGRESS');
  } finally {
    await workspace.admin(`migrations/${await newest()}/cancel`, { method: 'POST' });
    await held.release();
  }
  assert.equal((await ended(await newest())).state, 'cancelled');
});

test('while the table is written anew', async (t) => {
  const held = await holdAt(first.database, REWRITTEN, () => put(first.url, AFTER));
  const refused: readonly (readonly [what: string, path: string, call?: Call])[] = [
    ['a list', 'orders'],
    ['a record', 'orders/1'],
    ['a create', 'orders', { method: 'POST', body: { code: 'x' } }],
    [
      'a create whose body is no JSON',
      'orders',
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
    ],
    ['an update', 'orders/1', { method: 'PATCH', body: { code: 'x' } }],
    ['a deletion', 'orders/1', { method: 'DELETE' }],
    ['a query', 'orders/_query', { method: 'POST', body: {} }],
    ['an import', 'orders/_import', { method: 'POST', body: 'code\nx\n', headers: { 'content-type': 'text/csv' } }],
    ['an export', 'orders/_export?format=csv'],
    ['an unknown parameter', 'orders?nonsense=1'],
    ['an expansion from another entity', 'customers?expand=orders'],
    ['one to a single record', 'lines?expand=order'],
    ['a filter from another entity', 'customers?filter=orders.code,eq,a'],
    ['a sort from another entity', 'lines?sort=order.code,asc'],
    ['a record that is to refer to it', 'lines', { method: 'POST', body: { text: 'z', orderId: 1 } }],
    ['the deletion of a record that it may refer to', 'customers/1', { method: 'DELETE' }],
  ];
  try {
    for (const [name, server] of [
      ['this process', first],
      ['the other process', second],
    ] as const) {
      for (const [what, path, call] of refused) {
        await t.test(`${what} is refused by ${name}`, async () => isRefusal(await ask(server, path, call), 'orders'));
      }
      await t.test(`requests to other entities go on in ${name}`, async () => {
        // Answered while the migration is held: they do not wait for it.
        assert.equal((await ask(server, 'notes')).status, 200);
        assert.equal((await ask(server, 'notes', { method: 'POST', body: { text: 'm' } })).status, 201);
        assert.equal((await ask(server, 'customers')).status, 200);
        assert.equal((await ask(server, 'customers', { method: 'POST', body: { name: 'Bob' } })).status, 201);
        assert.equal((await ask(server, 'lines/2', { method: 'PATCH', body: { text: 'w' } })).status, 200);
        assert.equal((await ask(server, 'lines', { method: 'POST', body: { text: 'w' } })).status, 201);
      });
      await t.test(`credential and permission come before it in ${name}`, async () => {
        assert.equal((await ask(server, 'orders', { credential: null })).status, 401);
        assert.equal((await ask(server, 'orders', { credential: 'wda_wrong' })).status, 401);
        const write = { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } };
        assert.equal((await ask(server, 'orders', { ...write, credential: workspace.readOnlyKey })).status, 403);
        assert.equal((await ask(server, 'nothing')).status, 404);
      });
    }
  } finally {
    await held.release();
  }
  const migration = await ended(await newest());
  assert.equal(migration.state, 'succeeded', JSON.stringify(migration.error));
  for (const server of [first, second]) {
    await until('the new shape is there', async () => (await ask(server, 'orders/1')).json.data?.amount === 1);
  }
});

test('no acknowledged write is lost, and nothing else than the 503 is answered', async () => {
  let count = 100;
  const traffic = [first, second].map((server) =>
    makeTraffic((path, call) => ask(server, path, call), {
      entity: 'orders',
      body: () => ({ code: `t${++orders}`, customerId: 1 }),
      expected: ({ status, json }) => status === 503 && json.error.code === 'SCHEMA_MIGRATION_IN_PROGRESS',
      pauseMs: 2,
    }),
  );
  const other = makeTraffic((path, call) => ask(second, path, call), {
    entity: 'notes',
    body: () => ({ text: `n${++count}` }),
  });
  for (const type of ['string', 'integer']) {
    const { state, error } = await put(first.url, withAmount(type), '?strategy=blocking&wait=30');
    assert.equal(state, 'succeeded', JSON.stringify(error));
  }
  const acknowledged = await Promise.all(traffic.map((one) => one.stop()));
  await other.stop();
  for (const one of [...traffic, other]) {
    assert.deepEqual(one.surprises, []);
  }
  const rows = await first.database.query(`select id::int, code from ${await schema()}.orders`);
  const stored = new Map(rows.map(({ id, code }) => [id, code]));
  for (const one of acknowledged) for (const [id, { code }] of one) assert.equal(stored.get(id), code);
});

test('a killed process leaves no gate closed', async () => {
  const killed: ServerProcess = await startServerProcess({ DATABASE_URL: first.database.url });
  try {
    const held = await holdAt(first.database, REWRITTEN, () => put(killed.url, withAmount('string')));
    isRefusal(await ask(second, 'orders'), 'orders');
    await killed.kill();
    await held.release();
    for (const server of [first, second]) {
      await until('the entity is available', async () => (await ask(server, 'orders')).status === 200);
    }
  } finally {
    await killed.kill();
  }
  const migration = await ended(await newest());
  assert.deepEqual([migration.state, migration.error.code], ['failed', 'INTERRUPTED']);
  assert.deepEqual(await gates(), {});
  assert.equal((await ask(second, 'orders/1')).json.data.amount, 1);
});

test('it is cancelled while the gates close, and while the table is written anew', async () => {
  const gone = { state: 'cancelled', error: null };
  // A process that does not answer: the gates are known everywhere only after the time that it may use its memory.
  await first.database.query("insert into wda.process (id, place) values (gen_random_uuid(), 'nowhere')");
  const early = await put(first.url, withAmount('string'));
  await until('the gates are closed', async () => (await gates()).orders !== undefined);
  const answer = await workspace.admin(`migrations/${early.id}/cancel`, { method: 'POST' });
  assert.deepEqual([answer.status, answer.json.data.state], [200, 'cancelled']);
  const held = await holdAt(first.database, REWRITTEN, () => put(first.url, withAmount('string')));
  const late = await newest();
  const cancelled = await workspace.admin(`migrations/${late}/cancel`, { method: 'POST' });
  await held.release();
  assert.equal(cancelled.status, 200, cancelled.text);
  for (const id of [early.id, late]) {
    const { state, error } = await ended(id);
    assert.deepEqual({ state, error }, gone);
  }
  assert.deepEqual(await gates(), {});
  for (const server of [first, second]) {
    await until('it answers', async () => (await ask(server, 'orders/1')).status === 200);
  }
});

test('only writes are refused where only writes have to wait', async () => {
  const { entities } = BEFORE;
  const document = {
    entities: {
      ...entities,
      orders: { ...entities.orders, fields: { code: { type: 'string' }, amount: { type: 'integer' } } },
      notes: { fields: { text: { type: 'string', index: true } } },
    },
  };
  const held = await holdAt(first.database, { kind: 'ddl', like: 'create index%notes%' }, () =>
    put(first.url, document),
  );
  try {
    assert.equal((await ask(second, 'notes')).status, 200);
    isRefusal(await ask(second, 'notes', { method: 'POST', body: { text: 'x' } }), 'notes', false);
  } finally {
    await held.release();
  }
  assert.equal((await ended(await newest())).state, 'succeeded');
});

test('long migrations leave connections for everything else', async () => {
  const small = await startTestServer({}, first.database);
  try {
    const others = await small.workspace('acme/other', BEFORE);
    const third = await small.workspace('acme/third', BEFORE);
    for (const workspace of [others, third]) await workspace.create('orders', [{ amount: '1' }]);
    const held = await holdAt(first.database, REWRITTEN, () => put(small.url, withAmount('string')));
    const second = await third.admin('schema?strategy=blocking&wait=0', { method: 'PUT', body: AFTER });
    assert.equal(second.status, 202, second.text);
    const refused = await others.admin('schema?strategy=blocking', { method: 'PUT', body: AFTER });
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.json.error.code, 'SERVICE_UNAVAILABLE');
    assert.equal(refused.headers.get('retry-after'), '10');
    const quick = { entities: { ...BEFORE.entities, more: {} } };
    assert.equal((await others.admin('schema', { method: 'PUT', body: quick })).json.data.state, 'succeeded');
    const path = `/api/admin/v1/organizations/acme/workspaces/shop/migrations/${await newest()}/cancel`;
    const cancelled = await small.call(path, { method: 'POST', credential: ADMIN_KEY });
    await held.release();
    assert.deepEqual([cancelled.status, cancelled.json.data.state], [200, 'cancelled']);
  } finally {
    await small.stop();
  }
});
