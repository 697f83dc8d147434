// Whose a constraint is, by its name alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findConstraintOwner } from '../../../src/model/constraint-owner.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const LONG = `${'a'.repeat(50)}$email$uq`;
const EMAIL = { entity: 'customers', kind: 'unique', fields: ['email'], relation: undefined } as const;
const ALIKE = ['id', 'code'].map((field) => {
  const owner = { entity: 'customers', kind: 'unique', fields: [field], relation: undefined } as const;
  return [`${'c'.repeat(55)}$${field}$uq`, owner] as const;
});
const WORKSPACE = { entities: SHOP.entities, constraints: new Map([...SHOP.constraints, [LONG, EMAIL], ...ALIKE]) };

for (const [name, entity, fields] of [
  ['customers$email$uq', 'customers', ['email']],
  ['customers$email$uq$next', 'customers', ['email']],
  [LONG, 'customers', ['email']],
  // Citus cuts a name that leaves no room for the number of a shard, and puts a hash behind it.
  [`${LONG.slice(0, 47)}_1a2b3c4d`, 'customers', ['email']],
  [`${'b'.repeat(47)}_1a2b3c4d`, undefined, undefined],
  // What is left may be the beginning of several.
  [`${'c'.repeat(47)}_1a2b3c4d`, undefined, undefined],
  ['somebody_elses', undefined, undefined],
  [undefined, undefined, undefined],
] as const) {
  test(`${name} is of ${entity}`, () => {
    const owner = findConstraintOwner(name, WORKSPACE);
    assert.deepEqual([owner?.entity, owner?.fields], [entity, fields]);
  });
}
