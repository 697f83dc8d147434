// Relations: which of them lead to one record.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isToOne, type Relation } from '../../../src/model/relation.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

test('belongsTo and hasOne lead to one record, hasMany and manyToMany to many', () => {
  const { entities } = makeShop();
  const relation = (entity: string, name: string) => entities.get(entity)?.relations.get(name) as Relation;
  assert.equal(isToOne(relation('orders', 'customer')), true);
  assert.equal(isToOne(relation('customers', 'profile')), true);
  assert.equal(isToOne(relation('customers', 'orders')), false);
  assert.equal(isToOne(relation('orders', 'tags')), false);
});
