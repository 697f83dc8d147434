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
