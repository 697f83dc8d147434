import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyExact } from '../../../../console/src/api/json.ts';
import { parseSchema } from '../../../../console/src/api/schema.ts';
import { makeSample } from '../../../../console/src/webhooks/sample.ts';
import { NEW_WEBHOOK } from '../../../../console/src/webhooks/settings.ts';

const entity = (operations: readonly string[]) => ({
  fields: { status: { type: 'enum', values: ['open', 'paid'] }, total: { type: 'decimal' } },
  relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
  timestamps: true,
  operations,
  settings: { defaultFields: null },
});
const schema = parseSchema({
  organization: 'demo',
  workspace: 'shop',
  name: 'Shop',
  entities: { customers: entity(['list']), orders: entity(['list', 'changes']) },
} as never);
const sampleOf = (change: object) => JSON.parse(stringifyExact(makeSample({ ...NEW_WEBHOOK, ...change }, schema)));

test('a sample is about an entity that keeps changes, in the form of one event or of a list', () => {
  const { type, workspace, data } = sampleOf({});
  assert.deepEqual([type, workspace, data.entity, data.type], ['orders.updated', 'demo/shop', 'orders', 'updated']);
  assert.deepEqual(data.changed, ['status']);
  assert.deepEqual(Object.keys(data.record), ['id', 'status', 'total', 'customerId', 'createdAt', 'updatedAt']);
  assert.equal(data.previous, undefined);
  const batch = sampleOf({ maxBatch: '10' });
  assert.deepEqual([batch.type, batch.data.length], ['changes', 1]);
});

test('it has the fields, types and values before that the settings choose', () => {
  const chosen = { entities: ['orders'], fields: ['total'], previous: true };
  const { data } = sampleOf({ ...chosen, types: ['updated'] });
  assert.deepEqual([Object.keys(data.record), data.changed, data.previous], [['total'], ['total'], { total: null }]);
  const removed = sampleOf({ ...chosen, types: ['removed'] });
  assert.deepEqual([removed.type, removed.data.record], ['orders.removed', undefined]);
  assert.deepEqual(Object.keys(removed.data.previous), ['total']);
});

test('without an entity that keeps changes there is none', () => {
  const { entities, ...rest } = schema;
  const none = { ...rest, entities: new Map([...entities].slice(0, 1)) };
  assert.equal(makeSample(NEW_WEBHOOK, none), undefined);
});
