// A part of a snapshot is a snapshot of its own: closed, and without a word of what lies outside.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type EntitySettings, NO_SETTINGS } from '../../../src/model/entity.ts';
import { narrowScope } from '../../../src/model/principal.ts';
import { getUnrestricted, restrictWorkspace } from '../../../src/model/restricted.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { makeShop, OWNER } from '../../support/field-types-fixture.ts';

const IDS = new Map(
  ['customers', 'profiles', 'orders', 'items', 'tags', 'orderTags'].map((name, at) => [name, `${at}`]),
);
const SHOP = { ...makeShop(), entityIds: IDS };
const part = (...names: readonly string[]) => restrictWorkspace(SHOP, new Set(names));
const relations = (names: readonly string[], entity: string): string =>
  [...getEntity(part(...names), entity).relations.keys()].join(' ');

for (const [names, entity, left] of [
  [['orders'], 'orders', ''],
  [['orders', 'customers'], 'orders', 'customer'],
  [['orders', 'items'], 'orders', 'items'],
  [['orders', 'tags'], 'orders', ''],
  [['orders', 'orderTags'], 'orders', ''],
  [['orders', 'tags', 'orderTags'], 'orders', 'tags'],
  [['customers', 'orders'], 'customers', 'orders'],
  [['customers', 'nothing', '__proto__'], 'customers', ''],
] as const) {
  test(`in ${names.join()}, ${entity} has the relations ${left || 'none'}`, () => {
    assert.equal(relations(names, entity), left);
  });
}

test('a column that stores the key of an entity outside is a plain one', () => {
  const { fields } = getEntity(part('orders'), 'orders');
  assert.deepEqual([...fields.keys()], [...getEntity(SHOP, 'orders').fields.keys()]);
  assert.equal(fields.get('customerId')?.relation, undefined);
  assert.equal(getEntity(part('orders', 'customers'), 'orders').fields.get('customerId')?.relation, 'customer');
});

const NO_CHANGES = { changes: null, historyDays: null, historyForUsers: null, changesOmit: null };

test('settings say nothing about what lies outside', () => {
  const settings: EntitySettings = {
    ...NO_SETTINGS,
    defaultExpand: ['items', 'customer.profile', 'tags'],
    expandable: ['items', 'customer', 'tags'],
    maxExpandDepth: 4,
    defaultFields: ['id', '*', 'customerId', 'customer', 'customer.*', 'customer.profile.bio', 'items.quantity'],
    label: null,
  };
  const shop = { ...makeShop({ orders: { settings } }), entityIds: IDS };
  const within = (...names: readonly string[]) => getEntity(restrictWorkspace(shop, new Set(names)), 'orders').settings;
  assert.deepEqual(within('orders'), {
    defaultExpand: [],
    expandable: [],
    maxExpandDepth: 4,
    defaultFields: ['id', '*', 'customerId'],
    label: null,
    ...NO_CHANGES,
  });
  assert.deepEqual(within('orders', 'customers'), {
    defaultExpand: ['customer'],
    expandable: ['customer'],
    maxExpandDepth: 4,
    defaultFields: ['id', '*', 'customerId', 'customer', 'customer.*'],
    label: null,
    ...NO_CHANGES,
  });
  assert.deepEqual(within(...IDS.keys()), settings);
});

test('any part is closed and names nothing outside; a part of a part is the part of both', () => {
  const names = fc.subarray([...IDS.keys()]);
  fc.assert(
    fc.property(names, names, (first, second) => {
      const one = part(...first);
      assert.deepEqual([...one.entities.keys()].sort(), first.toSorted());
      assert.deepEqual([...one.entityIds.keys()].sort(), first.toSorted());
      const outside = [...IDS.keys()].filter((name) => !first.includes(name));
      const told = JSON.stringify([
        [...one.entities.values()].map((entity) => [...entity.relations.values()]),
        [...one.constraints.values()].map(({ entity }) => entity),
      ]);
      for (const name of outside) assert.ok(!told.includes(`"${name}"`), `${name} in ${told}`);
      const both = first.filter((name) => second.includes(name));
      const twice = restrictWorkspace(one, new Set(second));
      assert.deepEqual({ ...twice, part: null }, { ...part(...both), part: null });
      assert.equal(twice.part?.key, part(...both).part?.key);
      assert.equal(getUnrestricted(twice), SHOP);
      assert.equal(twice.part?.key === one.part?.key, both.length === first.length);
    }),
  );
});

test('a principal is narrowScope, never widened', () => {
  const some = narrowScope(OWNER, ['1', '2']);
  assert.deepEqual(some, { ...OWNER, scope: ['1', '2'] });
  assert.deepEqual(narrowScope(some, ['2', '3']).scope, ['2']);
  assert.deepEqual(narrowScope(some, []).scope, []);
});
