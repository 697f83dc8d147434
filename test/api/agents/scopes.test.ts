// An agent with a key for some entities: no tool tells of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, connectAgent } from '../../support/agent.ts';
import { use, useServer } from '../../support/resources.ts';
import { keyFor } from '../../support/scopes.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));
const agent: Agent = use(
  () => keyFor(shop, ['orders', 'items'], 'READ_ONLY').then((key) => connectAgent(server, shop.path, key)),
  (connected) => connected.close(),
);
const OUTSIDE = /customers|countries|profiles|products|tags|orderTags/;

test('the tools tell of what the key reaches', async () => {
  const list = await agent.text('list_entities');
  assert.match(list, /^2 entities in acme\/shop/);
  assert.doesNotMatch(list, OUTSIDE);
  const described = await agent.text('describe_entities', { entities: ['orders', 'items'] });
  assert.match(described, /items/);
  assert.doesNotMatch(described, OUTSIDE);
  assert.doesNotMatch(await agent.text('query_records', { entity: 'orders', expand: ['items'] }), OUTSIDE);
});

test('and refuse the rest as what is not there', async () => {
  for (const [tool, asked] of [
    ['describe_entities', { entities: ['customers'] }],
    ['query_records', { entity: 'customers' }],
    ['read_record', { entity: 'customers', id: 1 }],
    ['count_records', { entity: 'customers' }],
  ] as const) {
    assert.match(
      await agent.refusal(tool, asked),
      /^404 NOT_FOUND: Entity customers does not exist\..* Known: (orders, items|items, orders)$/,
    );
  }
  assert.match(
    await agent.refusal('query_records', { entity: 'orders', expand: ['customer'] }),
    /^400 BAD_REQUEST: Unknown relation customer/,
  );
});
