import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../../console/src/api/json.ts';
import { findNeighbours, layOut, listEntities, listLines } from '../../../../console/src/schema/diagram.ts';

const DOCUMENT: Json = {
  entities: {
    constructor: { fields: { toString: { type: 'text', required: true } } },
    orders: {
      relations: {
        items: { kind: 'hasMany', entity: 'items', inverse: 'order' },
        tags: { kind: 'manyToMany', entity: 'tags', through: 'items', from: 'order', to: 'tag' },
      },
    },
    items: {
      relations: {
        order: { kind: 'belongsTo', entity: 'orders' },
        parent: { kind: 'belongsTo', entity: 'items' },
        gone: { kind: 'belongsTo', entity: 'nowhere' },
      },
    },
    tags: {
      relations: { orders: { kind: 'manyToMany', entity: 'orders', through: 'items', from: 'tag', to: 'order' } },
    },
  },
};

test('each pair of relations is one line, from the side that stores it', () => {
  const lines = listLines(listEntities(DOCUMENT)).map(({ id, to, isMany }) => `${id} ${isMany ? '<>' : '>'} ${to}`);
  assert.deepEqual(lines, ['orders.tags <> tags', 'items.order > orders', 'items.parent > items']);
});

test('neighbours are those that a line reaches', () => {
  const lines = listLines(listEntities(DOCUMENT));
  assert.deepEqual([...findNeighbours(lines, 'orders')].sort(), ['items', 'orders', 'tags']);
  assert.deepEqual([...findNeighbours(lines, 'constructor')], ['constructor']);
});

test('every entity has a place of its own', () => {
  const many = Array.from({ length: 100 }, (_, index): [string, Json] => [
    `e${index}`,
    {
      fields: { a: { type: 'text' } },
      relations: index % 5 === 0 ? {} : { up: { kind: 'belongsTo', entity: `e${Math.floor(index / 3)}` } },
    },
  ]);
  const entities = listEntities({ entities: Object.fromEntries(many) });
  const places = [...layOut(entities, listLines(entities)).values()];
  assert.equal(places.length, 100);
  const [width, height] = [
    Math.max(...places.map((one) => one.x + one.width)),
    Math.max(...places.map((one) => one.y + one.height)),
  ];
  assert.ok(width / height > 1 && width / height < 3, `${width} by ${height} px is no strip`);
  for (const [index, one] of places.entries())
    for (const other of places.slice(index + 1)) {
      const isApart =
        one.x + one.width <= other.x ||
        other.x + other.width <= one.x ||
        one.y + one.height <= other.y ||
        other.y + other.height <= one.y;
      assert.ok(isApart, JSON.stringify([one, other]));
    }
});
