import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../../console/src/api/json.ts';
import { applyRename, findRenames } from '../../../../console/src/schema/renames.ts';

const document = (entities: Json): Json => ({ entities });
const IN_FORCE = document({
  orders: {
    fields: { total: { type: 'decimal', scale: '2' }, note: { type: 'text' } },
    relations: { customer: { kind: 'belongsTo', entity: 'people' } },
  },
  people: { fields: { name: { type: 'string' }, age: { type: 'integer' } } },
});

const found = (draft: Json) =>
  findRenames(IN_FORCE, draft).map(({ kind, path, from }) => `${kind} ${from} > ${path.join('.')}`);

test('one field went and one of its type came', () => {
  const draft = document({
    orders: {
      fields: { amount: { type: 'decimal', scale: '2' }, other: { type: 'decimal' }, note: { type: 'text' } },
      relations: { buyer: { kind: 'belongsTo', entity: 'people' } },
    },
    people: { fields: { name: { type: 'string' }, age: { type: 'integer' } } },
  });
  const renamings = findRenames(IN_FORCE, draft);
  assert.deepEqual(found(draft), [
    'field total > entities.orders.fields.amount',
    'relation customer > entities.orders.relations.buyer',
  ]);
  const accepted = renamings.reduce(applyRename, draft);
  assert.deepEqual(found(accepted), []);
});

test('an entity whose fields are mostly those of one that went; inside of it, too', () => {
  const orders = { fields: { total: { type: 'decimal', scale: '2' }, note: { type: 'text' } }, relations: {} };
  const persons = { fields: { name: { type: 'string' }, age: { type: 'integer' } } };
  assert.deepEqual(found(document({ orders, persons })), ['entity people > entities.persons']);
  assert.deepEqual(
    found(
      document({
        orders,
        persons: { renamedFrom: 'people', fields: { title: { type: 'string' }, age: { type: 'integer' } } },
      }),
    ),
    ['field name > entities.persons.fields.title'],
  );
});

test('another type is another field, and names of Object.prototype are nothing special', () => {
  assert.deepEqual(
    found(document({ orders: { fields: { constructor: { type: 'uuid' }, note: { type: 'text' } } } })),
    [],
  );
});
