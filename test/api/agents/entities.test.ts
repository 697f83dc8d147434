// Entities that agents do not reach, by the settings of the workspace or by the address: they are not there, whichever way
// leads to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, connectAgent, sendMessage } from '../../support/agent.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { fillShop, SHOP_SCHEMA } from '../../support/shop.ts';

const server = useServer({ WDA_MCP_RATE_LIMIT: '0' });
const shop = use(() => server.workspace('acme/shop', SHOP_SCHEMA));
prepare(() => fillShop(shop));

const settings = async (body: object) => {
  const answer = await shop.admin('mcp', { method: 'PUT', body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
};

async function reachesOrdersAlone(agent: Agent): Promise<void> {
  assert.match(await agent.text('list_entities'), /^2 entities in acme\/shop\. .*\norders.*\nitems/s);
  const description = await agent.text('describe_entities', { entities: ['orders', 'items'] });
  assert.doesNotMatch(description, /customers|-> tags/);
  assert.match(description, /customerId bigint/);
  for (const [tool, args] of [
    ['query_records', { entity: 'customers' }],
    ['count_records', { entity: 'customers' }],
    ['aggregate_records', { entity: 'customers', select: ['count'] }],
    ['read_record', { entity: 'customers', id: 1 }],
    ['describe_entities', { entities: ['customers'] }],
    ['explain_access', { entity: 'customers' }],
    ['query_records', { entity: 'orders', expand: ['customer'] }],
    ['query_records', { entity: 'items', expand: ['order.customer'] }],
    ['query_records', { entity: 'orders', fields: ['customer.name'] }],
    ['query_records', { entity: 'orders', sort: ['customer.name'] }],
    ['query_records', { entity: 'orders', filter: { field: 'customer.name', op: 'contains', value: 'a' } }],
    ['read_record', { entity: 'orders', id: 1, expand: ['customer'] }],
  ] as const) {
    const refusal = await agent.refusal(tool, args);
    assert.match(refusal, /^40[04] /);
    assert.doesNotMatch(refusal, /Ada|Known: .*customers/);
  }
  const { data } = JSON.parse(await agent.data('query_records', { entity: 'orders', expand: ['items'] }));
  assert.ok(data.length > 0);
}

test('the address names entities, and no others are there', async () => {
  const agent = await connectAgent(server, shop.path, shop.key, { query: '?entities=orders,items' });
  await reachesOrdersAlone(agent);
  await agent.close();
  const wrong = await sendMessage(server, shop.path, {
    method: 'tools/list',
    query: '?entities=order',
    credential: shop.key,
  });
  assert.equal(wrong.status, 400);
  assert.match(wrong.json.error.message, /^entities: there is no entity order\. Did you mean orders\? Known: /);
});

test('the settings of the workspace name entities, also when one is renamed; the address only takes away', async () => {
  assert.deepEqual(await settings({ entities: ['orders', 'items'] }), {
    enabled: true,
    writes: 'off',
    entities: ['items', 'orders'],
  });
  const agent = await connectAgent(server, shop.path, shop.key);
  await reachesOrdersAlone(agent);
  await agent.close();
  const beyond = await sendMessage(server, shop.path, {
    method: 'tools/list',
    query: '?entities=customers',
    credential: shop.key,
  });
  assert.equal(beyond.status, 400);
  // The data API is as it was.
  assert.equal((await shop.call('customers/1')).status, 200);
  const wrong = await shop.admin('mcp', { method: 'PUT', body: { entities: ['order'] } });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Did you mean orders\?/);
  assert.equal((await settings({ entities: null })).entities, null);
});

test('a key for some entities reaches no others as an agent either', async () => {
  const made = await shop.admin('api-keys', {
    method: 'POST',
    body: { name: 'agent', permissions: 'READ_ONLY', entities: ['orders', 'items'] },
  });
  assert.equal(made.status, 201, made.text);
  const agent = await connectAgent(server, shop.path, made.json.data.key);
  await reachesOrdersAlone(agent);
  await agent.close();
});

/* ---- what a workspace of 200 entities costs a model to know ---- */

const ENTITIES = 200;
const name = (index: number): string => `warehouseEntity${index}`;

const entityOf = (index: number) => ({
  description: `Records of kind ${index}, as the warehouse of the north keeps them since the change of systems`,
  fields: {
    title: { type: 'string', required: true, maxLength: 200, description: 'As it is printed on the label' },
    status: { type: 'enum', values: ['open', 'paid', 'shipped', 'returned'], default: 'open' },
    ...Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [
        `measure${at}`,
        at % 3 === 0
          ? { type: 'decimal', precision: 12, scale: 2 }
          : at % 3 === 1
            ? { type: 'datetime' }
            : { type: 'text' },
      ]),
    ),
  },
  relations: {
    ...(index === 0 ? {} : { parent: { kind: 'belongsTo', entity: name(index - 1), required: true } }),
    ...(index === ENTITIES - 1 ? {} : { children: { kind: 'hasMany', entity: name(index + 1), inverse: 'parent' } }),
  },
  timestamps: true,
});

const warehouse = use(() =>
  server.workspace('acme/warehouse', {
    entities: Object.fromEntries(Array.from({ length: ENTITIES }, (_, index) => [name(index), entityOf(index)])),
  }),
);
const agent: Agent = use(
  () => connectAgent(server, warehouse.path, warehouse.readOnlyKey),
  (connected) => connected.close(),
);

test('the list of 200 entities is shorter than 12 kB, and names each', async () => {
  const text = await agent.text('list_entities');
  assert.ok(Buffer.byteLength(text) < 12_000, `${Buffer.byteLength(text)} bytes`);
  for (let index = 0; index < ENTITIES; index++) assert.match(text, new RegExp(`^${name(index)}(:|$)`, 'm'));
});

test('the description of 20 entities is shorter than 16 kB, and names each field', async () => {
  const entities = Array.from({ length: 20 }, (_, index) => name(index));
  const text = await agent.text('describe_entities', { entities });
  assert.ok(Buffer.byteLength(text) < 16_000, `${Buffer.byteLength(text)} bytes`);
  for (const field of ['title', 'status', 'measure11', 'createdAt', 'parent', 'children']) {
    assert.ok(text.split(`${field} `).length > entities.length - 1, field);
  }
});

test('more than 20 are asked for in parts', async () => {
  const entities = Array.from({ length: 21 }, (_, index) => name(index));
  const refusal = await agent.refusal('describe_entities', { entities });
  assert.equal(refusal, '400 BAD_REQUEST: entities takes 1 to 20 names');
});
