// A change made through one process while requests run against another: nobody notices but by the new shape.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { useServer } from '../support/resources.ts';
import type { Answer, TestWorkspace } from '../support/server.ts';
import { makeTraffic } from '../support/traffic.ts';

let workspace: TestWorkspace;
let count = 0;
const first = useServer();
const second = useServer({}, first);

type Fields = Readonly<Record<string, unknown>>;

const document = (fields: Fields, entity = 'orders', more: Fields = {}): unknown => ({
  entities: {
    [entity]: { fields, relations: { customer: { kind: 'belongsTo', entity: 'customers' } }, ...more },
    customers: {
      fields: { name: { type: 'string' } },
      relations: { orders: { kind: 'hasMany', entity, inverse: 'customer' } },
    },
  },
});

const KEPT = { code: { type: 'string' } };

/** Each change begins with the shape that the one before has left. */
const CHANGES: readonly {
  readonly what: string;
  readonly to: unknown;
  /** A field of the new shape, as a record answers it. */
  readonly shows: (record: Record<string, unknown>) => boolean;
}[] = [
  {
    what: 'a wider type',
    to: document({ ...KEPT, amount: { type: 'bigint' }, spare: { type: 'string' } }),
    shows: (record) => record.amount === 7,
  },
  {
    what: 'another type',
    to: document({ ...KEPT, amount: { type: 'string' }, spare: { type: 'string' } }),
    shows: (record) => record.amount === '7',
  },
  {
    what: 'a field that is renamed',
    to: document({ ...KEPT, sum: { type: 'string', renamedFrom: 'amount' }, spare: { type: 'string' } }),
    shows: (record) => record.sum === '7' && !('amount' in record),
  },
  {
    what: 'a field that is dropped',
    to: document({ ...KEPT, sum: { type: 'string' } }),
    shows: (record) => !('spare' in record),
  },
  {
    what: 'another type of the one that was renamed, and a new field of the dropped name',
    to: document({
      ...KEPT,
      sum: { type: 'decimal', precision: 10, scale: 2 },
      spare: { type: 'integer', default: 3 },
    }),
    shows: (record) => record.sum === 7 && record.spare === 3,
  },
];

test('a change through one process while requests run against the other', async (t) => {
  workspace = await first.workspace(
    'acme/shop',
    document({ ...KEPT, amount: { type: 'integer' }, spare: { type: 'string' } }),
  );
  const ask = (path: string, call = {}): Promise<Answer> =>
    second.call(`/api/v1/acme/shop/${path}`, { credential: workspace.key, ...call });
  await workspace.create('customers', [{ name: 'Ann' }]);
  const made = await workspace.create('orders', [{ code: 'first', amount: 7, customerId: 1 }]);
  const { id } = made[0];
  const { query } = first.database;
  const schema = (await query('select database_schema as name from wda.workspace'))[0]?.name;
  await query(`insert into "${schema}".orders (code, amount) select 'c', n from generate_series(1, 2000) n`);
  for (const { what, to, shows } of CHANGES) {
    await t.test(what, async (t) => {
      // Words of the fields that stay: everything that is asked has an answer before, during and after.
      const traffic = ['', '&expand=customer', '&fields=id,code'].map((words) =>
        makeTraffic((path, call) => ask(path.includes('?') ? path + words : path, call), {
          entity: 'orders',
          body: () => ({ code: `t${++count}`, customerId: 1 }),
          pauseMs: 1,
        }),
      );
      const expanding = makeTraffic((path, call) => ask(path.includes('?') ? `${path}&expand=orders` : path, call), {
        entity: 'customers',
        body: () => ({ name: `n${++count}` }),
      });
      t.after(() => Promise.all([...traffic, expanding].map((one) => one.stop())));
      await sleep(100);
      const { data } = (await workspace.admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body: to }))
        .json;
      assert.equal(data.state, 'succeeded', JSON.stringify(data));
      await sleep(1000);
      const answer = await ask(`orders/${id}`);
      assert.ok(shows(answer.json.data), `the other process still answers ${answer.text}`);
      for (const one of [...traffic, expanding]) {
        const acknowledged = await one.stop();
        assert.deepEqual(one.surprises, []);
        assert.ok(acknowledged.size > 0);
      }
      const total = (await ask('orders?size=1')).json.meta.totalElements;
      const rows = await query(`select count(*)::int as n from "${schema}".orders`);
      assert.equal(total, rows[0]?.n);
    });
  }

  await t.test('an entity that is renamed: its old name is 404, and never an error of ours', async () => {
    const fields = {
      ...KEPT,
      sum: { type: 'decimal', precision: 10, scale: 2 },
      spare: { type: 'integer', default: 3 },
    };
    const traffic = makeTraffic((path, call) => ask(path, call), {
      entity: 'orders',
      body: () => ({ code: `t${++count}` }),
      expected: ({ status }) => status === 404,
    });
    await sleep(100);
    const to = document(fields, 'purchases', { renamedFrom: 'orders' });
    const { data } = (await workspace.admin('schema?wait=30', { method: 'PUT', body: to })).json;
    assert.equal(data.state, 'succeeded', JSON.stringify(data));
    await sleep(1000);
    assert.equal((await ask(`purchases/${id}`)).json.data.sum, 7);
    assert.equal((await ask('orders')).status, 404);
    const acknowledged = await traffic.stop();
    assert.deepEqual(traffic.surprises, []);
    for (const [kept, { code }] of acknowledged) assert.equal((await ask(`purchases/${kept}`)).json.data.code, code);
  });

  await t.test('an entity that is dropped, too', async () => {
    const traffic = makeTraffic((path, call) => ask(path, call), {
      entity: 'purchases',
      body: () => ({ code: `t${++count}` }),
      expected: ({ status }) => status === 404,
    });
    await sleep(100);
    const to = { entities: { customers: { fields: { name: { type: 'string' } } } } };
    const query = 'schema?wait=30&allowDestructive=true';
    const { data } = (await workspace.admin(query, { method: 'PUT', body: to })).json;
    assert.equal(data.state, 'succeeded', JSON.stringify(data));
    await sleep(1000);
    assert.equal((await ask('purchases')).status, 404);
    await traffic.stop();
    assert.deepEqual(traffic.surprises, []);
  });
});
