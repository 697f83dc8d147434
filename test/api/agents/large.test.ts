// What a workspace of 200 entities costs a model to know.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, connectAgent } from '../../support/agent.ts';
import { use, useServer } from '../../support/resources.ts';

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

const server = useServer();
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
