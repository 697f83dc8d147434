// Webhooks follow renamed entities and fields, and are disabled when what they name is gone.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../support/server.ts';

const ORDERS = {
  fields: { status: { type: 'string' }, total: { type: 'integer' }, note: { type: 'text' } },
  relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
  settings: { changes: 'feed' },
};
const CUSTOMERS = { fields: { name: { type: 'string' } }, settings: { changes: 'feed' } };
const FILTER = {
  or: [
    { field: 'status', op: 'eq', value: 'paid' },
    {
      not: {
        and: [
          { field: 'total', op: 'gte', value: 10 },
          { field: 'customerId', op: 'notNull' },
        ],
      },
    },
  ],
};

const server = useServer({ WDA_WEBHOOKS: 'off', WDA_WEBHOOK_PRIVATE_NETWORK: 'allow' });
let made = 0;

function useShop() {
  const shop = use(() =>
    server.workspace(`acme/shop-${++made}`, { entities: { orders: ORDERS, customers: CUSTOMERS } }),
  );
  const call = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
    shop.admin(path, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
  return {
    create: (entity: string, records: readonly Record<string, unknown>[]) => shop.create(entity, records),
    call,
    async makeWebhook(members: object): Promise<number> {
      const answer = await call('webhooks', 'POST', { name: `hook ${++made}`, url: 'http://127.0.0.1:9/', ...members });
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    },
    read: async (id: number) => (await call(`webhooks/${id}`)).json.data,
    async apply(entities: object): Promise<void> {
      const answer = await call('schema?allowDestructive=true&wait=30', 'PUT', { entities });
      assert.equal(answer.status, 200, answer.text);
    },
  };
}

describe('a renamed entity', () => {
  const shop = useShop();
  test('keeps its webhooks, with the fields and the filter by their new names', async () => {
    const id = await shop.makeWebhook({ entities: ['orders'], fields: ['id', 'status', 'note'], filter: FILTER });
    const other = await shop.makeWebhook({ entities: ['customers', 'orders'] });
    await shop.apply({
      sales: {
        ...ORDERS,
        renamedFrom: 'orders',
        fields: { state: { type: 'string', renamedFrom: 'status' }, total: { type: 'integer' } },
        relations: { client: { kind: 'belongsTo', entity: 'customers', renamedFrom: 'customer' } },
      },
      customers: CUSTOMERS,
    });
    const { entities, fields, filter, state } = await shop.read(id);
    assert.deepEqual([entities, state], [['sales'], 'ok']);
    // A field that is only shown is left out when it is dropped.
    assert.deepEqual(fields, ['id', 'state']);
    assert.deepEqual(filter, {
      or: [
        { field: 'state', op: 'eq', value: 'paid' },
        {
          not: {
            and: [
              { field: 'total', op: 'gte', value: 10 },
              { field: 'clientId', op: 'notNull' },
            ],
          },
        },
      ],
    });
    assert.deepEqual((await shop.read(other)).entities, ['customers', 'sales']);
    await shop.create('sales', [{ state: 'paid', total: 1 }]);
    await shop.create('sales', [{ state: 'open', total: 20, clientId: null }]);
  });
});

describe('a field of a filter', () => {
  for (const [what, fields] of [
    ['is dropped', { status: { type: 'string' }, note: { type: 'text' } }],
    ['changes its type', { ...ORDERS.fields, total: { type: 'bigint' } }],
  ] as const) {
    const shop = useShop();
    test(`that ${what} disables the webhook until it has another filter`, async () => {
      const id = await shop.makeWebhook({ entities: ['orders'], filter: FILTER });
      const other = await shop.makeWebhook({ entities: ['orders'], filter: FILTER.or[0] });
      await shop.apply({ orders: { ...ORDERS, fields }, customers: CUSTOMERS });
      const { enabled, state, disabledReason, pending } = await shop.read(id);
      assert.deepEqual([enabled, state, disabledReason, pending], [false, 'disabled', 'invalid', 0]);
      assert.equal((await shop.read(other)).enabled, true);
      const [entry] = (await shop.call('activity?action=webhooks.disable')).json.data;
      assert.deepEqual([entry.details.id, entry.details.reason, entry.actor.kind], [id, 'invalid', 'operator']);
      if (what === 'is dropped') {
        const refused = await shop.call(`webhooks/${id}`, 'PUT', { enabled: true });
        assert.deepEqual([refused.status, refused.json.error.details[0].field], [400, 'filter'], refused.text);
      }
      const mended = await shop.call(`webhooks/${id}`, 'PUT', { enabled: true, filter: null });
      assert.deepEqual([mended.status, mended.json.data.disabledReason], [200, null], mended.text);
    });
  }
});

describe('an entity that is dropped', () => {
  const shop = useShop();
  test('disables the webhooks that name it, and not those of all entities', async () => {
    const one = await shop.makeWebhook({ entities: ['orders'], fields: ['status'] });
    const two = await shop.makeWebhook({ entities: ['orders', 'customers'] });
    const all = await shop.makeWebhook({});
    await shop.apply({ customers: CUSTOMERS });
    assert.deepEqual(
      await Promise.all(
        [one, two, all].map(async (id) => {
          const { entities, disabledReason } = await shop.read(id);
          return [entities, disabledReason];
        }),
      ),
      [
        [[], 'invalid'],
        [['customers'], 'invalid'],
        [null, null],
      ],
    );
    const refused = await shop.call(`webhooks/${one}`, 'PUT', { enabled: true });
    assert.deepEqual([refused.status, refused.json.error.code], [400, 'VALIDATION_FAILED'], refused.text);
    // What has nothing to do with it may be changed.
    const renamed = await shop.call(`webhooks/${one}`, 'PUT', { name: 'renamed', maxBatch: 3, enabled: false });
    assert.deepEqual([renamed.status, renamed.json.data?.maxBatch], [200, 3], renamed.text);
    assert.equal((await shop.call(`webhooks/${two}`, 'PUT', { enabled: true })).status, 200);
    // A new entity of the name is another one.
    await shop.apply({ customers: CUSTOMERS, orders: ORDERS });
    assert.deepEqual((await shop.read(one)).entities, []);
  });
});
