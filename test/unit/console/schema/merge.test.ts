import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Json, stringifyExact } from '../../../../console/src/api/json.ts';
import { mergeDocuments, takeTheirs } from '../../../../console/src/schema/merge.ts';

const BASE = { entities: { orders: { fields: { total: { type: 'decimal' }, note: { type: 'text' } } } } };

const withFields = (fields: Json): Json => ({ entities: { orders: { fields } } });

test('what only one touched is taken over, each field for itself', () => {
  const mine = withFields({ total: { type: 'integer' }, note: { type: 'text' }, mine: { type: 'date' } });
  const theirs = withFields({ total: { type: 'decimal', min: 'x' }, theirs: { type: 'uuid' } });
  assert.deepEqual(mergeDocuments(BASE, mine, theirs), {
    value: withFields({ total: { type: 'integer', min: 'x' }, theirs: { type: 'uuid' }, mine: { type: 'date' } }),
    conflicts: [],
  });
});

test('what both touched is named, and mine until it is decided', () => {
  const mine = withFields({ total: { type: 'integer' }, note: { type: 'text' } });
  const theirs = withFields({ total: { type: 'float' }, note: { type: 'text' } });
  const { value, conflicts } = mergeDocuments(BASE, mine, theirs);
  assert.deepEqual(value, mine);
  const path = ['entities', 'orders', 'fields', 'total', 'type'];
  assert.deepEqual(conflicts, [{ path, base: 'decimal', mine: 'integer', theirs: 'float' }]);
  assert.deepEqual(takeTheirs(value, conflicts), theirs);
});

test('a field that one dropped and the other changed is a conflict', () => {
  const { value, conflicts } = mergeDocuments(
    BASE,
    withFields({ total: { type: 'decimal' } }),
    withFields({ total: { type: 'decimal' }, note: { type: 'string' } }),
  );
  assert.deepEqual(
    conflicts.map(({ path }) => path.join('.')),
    ['entities.orders.fields.note'],
  );
  assert.deepEqual(takeTheirs(value, conflicts), withFields({ total: { type: 'decimal' }, note: { type: 'string' } }));
});

test('with one who changed nothing, the merge is the other', () => {
  const member = fc.constantFrom('a', 'b', 'constructor', '__proto__');
  const documents = fc.dictionary(
    member,
    fc.dictionary(member, fc.constantFrom<Json>('x', 'y', ['z'])),
  ) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(documents, documents, (base, other) => {
      assert.equal(stringifyExact(mergeDocuments(base, base, other).value), stringifyExact(other));
      assert.equal(stringifyExact(mergeDocuments(base, other, base).value), stringifyExact(other));
      assert.deepEqual(mergeDocuments(base, other, other).conflicts, []);
    }),
  );
});
