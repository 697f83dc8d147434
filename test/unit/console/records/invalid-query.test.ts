import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../console/src/api/api-error.ts';
import type { EntityDocument, WorkspaceSchema } from '../../../../console/src/api/schema.ts';
import type { Chip } from '../../../../console/src/records/filter.ts';
import { correctPart, findInvalidPart, hasPart, omitPart } from '../../../../console/src/records/invalid-query.ts';

const entity = (name: string, relations: Record<string, string>): [string, EntityDocument] => [
  name,
  {
    name,
    relations: new Map(Object.entries(relations).map(([relation, target]) => [relation, { entity: target }])),
  } as unknown as EntityDocument,
];
const SCHEMA = {
  entities: new Map([entity('orders', { customer: 'customers' }), entity('customers', {}), entity('odd', {})]),
} as unknown as WorkspaceSchema;

const chips = (...texts: readonly string[]): readonly Chip[] => texts.map((text) => ({ kind: 'filter', text }));
const refuse = (message: string, status = 400) => new ApiError(message, { status, code: 'BAD_REQUEST' });
const QUERY = {
  chips: chips('name,contains,99', 'customer.name,eq,x', 'total,gte,abc'),
  sort: ['name', 'customer.name,desc', 'total'],
  search: '',
};
const findIn = (message: string, query = QUERY) => {
  const part = findInvalidPart(refuse(message), query, SCHEMA, 'orders');
  return part === undefined ? undefined : [part.chips.map(({ text }) => text), part.sort];
};

test('an error is about filters and sort keys with its name on its entity', () => {
  for (const [message, filters, sort] of [
    ['Unknown field name on entity orders. Did you mean note? Known: id', ['name,contains,99'], ['name']],
    ['Unknown field name on entity customers. Known: id', ['customer.name,eq,x'], ['customer.name,desc']],
    ['Unknown relation customer on entity orders', ['customer.name,eq,x'], ['customer.name,desc']],
    ['Filter value for total must be a number', ['total,gte,abc'], []],
    ['Unknown filter operator contains. Did you mean eq? Known: eq', ['name,contains,99'], []],
    ['Unknown sort direction down in sort=total. Known: asc, desc', [], ['total']],
    // A name that the schema of the page does not lead to.
    [
      'Unknown field name on entity gone. Known: id',
      ['name,contains,99', 'customer.name,eq,x'],
      ['name', 'customer.name,desc'],
    ],
  ] as const)
    assert.deepEqual(findIn(message), [filters, sort], message);
  const key = { chips: [], sort: ['name,down'], search: '' };
  assert.deepEqual(findIn('Unknown sort direction down in sort=name,down. Known: asc, desc', key), [[], ['name,down']]);
});

test('an error about neither marks nothing', () => {
  assert.equal(findIn('Unknown field colour on entity orders. Known: id'), undefined);
  assert.equal(findIn('Too many records'), undefined);
  assert.equal(findInvalidPart(refuse('Filter value for total', 503), QUERY, SCHEMA, 'orders'), undefined);
  assert.equal(findInvalidPart(new Error('Unknown field name on entity orders'), QUERY, SCHEMA, 'orders'), undefined);
});

test('the rest is applied, and a suggestion corrects filters and sort at once', () => {
  const part = findInvalidPart(
    refuse('Unknown field name on entity orders. Did you mean note? Known: id, note'),
    QUERY,
    SCHEMA,
    'orders',
  );
  assert.ok(part !== undefined);
  assert.deepEqual(omitPart(QUERY, part), {
    chips: chips('customer.name,eq,x', 'total,gte,abc'),
    sort: ['customer.name,desc', 'total'],
    search: '',
  });
  assert.deepEqual(correctPart(QUERY, part), {
    chips: chips('note,contains,99', 'customer.name,eq,x', 'total,gte,abc'),
    sort: ['note', 'customer.name,desc', 'total'],
  });
  assert.equal(hasPart(QUERY, part), true);
  assert.equal(hasPart(omitPart(QUERY, part), part), false);
  assert.equal(
    correctPart(QUERY, { ...part, error: refuse('Unknown field name on entity orders. Known: id') }),
    undefined,
  );
});

test('a search of an entity that has nothing to search is left out', () => {
  const query = { ...QUERY, search: 'abc' };
  const part = findInvalidPart(refuse('orders has no searchable field. An owner makes one'), query, SCHEMA, 'orders');
  assert.ok(part !== undefined);
  assert.equal(hasPart(query, part), true);
  assert.deepEqual(omitPart(query, part), QUERY);
  assert.equal(hasPart(QUERY, part), false);
});
