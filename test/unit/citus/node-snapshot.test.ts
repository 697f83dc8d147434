// A snapshot as it is on the node of a cluster that holds it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildNodeRoot, buildNodeSnapshot } from '../../../src/citus/node-snapshot.ts';
import type { Entity } from '../../../src/model/entity.ts';
import { restrictWorkspace } from '../../../src/model/restricted.ts';
import type { Placement } from '../../../src/model/workspace.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const shop = makeShop();
const node = { group: '2', host: 'db2', port: 5432 };

/** As Citus names tables on their node. */
const placement: Placement = {
  node,
  shard: '102008',
  tables: new Map(
    ['$total', ...[...shop.entities.values()].map(({ table }) => table.name)].map((name) => [name, `${name}_1`]),
  ),
};
const placed = { ...shop, placement };

test('without a placement there is no other snapshot', () => {
  assert.equal(buildNodeSnapshot(shop), undefined);
  assert.equal(buildNodeSnapshot({ ...shop, placement: null }), undefined);
});

test('every entity has the name of its table on the node, and nothing else is another', () => {
  const near = buildNodeSnapshot(placed);
  assert.ok(near !== undefined);
  assert.deepEqual([...near.entities.keys()], [...shop.entities.keys()]);
  for (const [name, entity] of shop.entities) {
    const { table, ...rest } = near.entities.get(name) as Entity;
    const { table: own, ...same } = entity;
    assert.deepEqual(table, { schema: own.schema, name: `${own.name}_1`, total: { shard: '1', group: '2' } });
    assert.deepEqual(rest, same);
  }
  const { entities, ...others } = near;
  const { entities: _, ...asBefore } = placed;
  assert.deepEqual(others, asBefore);
});

test('while a table is not known to lie there, there is none', () => {
  for (const missing of placement.tables.keys()) {
    const tables = new Map([...placement.tables].filter(([name]) => name !== missing));
    assert.equal(buildNodeSnapshot({ ...shop, placement: { ...placement, tables } }), undefined, missing);
  }
});

test('of a part it has the entities of the part alone', () => {
  const part = restrictWorkspace(placed, new Set(['customers']));
  assert.deepEqual([...(buildNodeSnapshot(part)?.entities.keys() ?? [])], ['customers']);
});

test('the root of a statement is read only while it lies there', () => {
  const near = buildNodeSnapshot(placed)?.entities.get('customers') as Entity;
  const root = buildNodeRoot(placement, near);
  const { node: own, ...table } = root.table;
  assert.deepEqual(table, near.table);
  assert.equal(own?.key, '2:102008');
});
