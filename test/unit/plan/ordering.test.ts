// Sorts and cursors against the schema; the id is always the last key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getEntity } from '../../../src/model/workspace.ts';
import { type Ordering, planCursor, planOrdering } from '../../../src/plan/ordering.ts';
import type { Cursor } from '../../../src/request/page.ts';
import { parseSort } from '../../../src/request/sort.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';
import { external, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';
import { operandText, orderingText } from './plan-text.ts';

const SHOP = makeShop();

function order(sorts: readonly string[], entity = 'orders'): Ordering {
  return planOrdering(parseSort(sorts), getEntity(SHOP, entity), makePlanContext(SHOP));
}

const ORDERINGS: readonly (readonly [entity: string, sorts: readonly string[], keys: string])[] = [
  ['orders', [], 'id asc'],
  ['orders', ['total'], 'total asc, id asc'],
  ['orders', ['total,desc'], 'total desc, id desc'],
  ['orders', ['total,asc', 'status,desc'], 'total asc, status desc, id desc'],
  ['orders', ['total', 'id,desc'], 'total asc, id desc'],
  ['orders', ['id', 'total'], 'id asc'],
  ['orders', ['customer.name,desc'], 'customers(id=customerId).name desc, id desc'],
  ['categories', ['parent.parent.name'], 'categories(id=parentId).categories(id=parentId).name asc, id asc'],
];

for (const [entity, sorts, keys] of ORDERINGS) {
  test(`${entity} sorted by ${JSON.stringify(sorts)} is ${keys}`, () =>
    assert.equal(orderingText(order(sorts, entity)), keys));
}

test('every type but json can be sorted by', () => {
  for (const field of getEntity(SHOP, 'things').fields.values()) {
    if (field.type === 'json')
      refuses(() => order([field.name], 'things'), 'sort aJson: a field of type json has no order');
    else assert.equal(order([field.name], 'things').keys[0]?.field, field);
  }
});

for (const [sorts, message] of [
  [['totl'], 'Unknown field totl on entity orders. Did you mean total? Known: id, status, total, placedAt, customerId'],
  [['customer'], 'sort: customer is a relation of orders; name a field of it, such as customer.id'],
  [['custmer.name'], 'Unknown relation custmer on entity orders. Did you mean customer? Known: customer, items, tags'],
  [['customer.nmae'], /^Unknown field nmae on entity customers\./],
  [
    ['items.quantity'],
    'sort items.quantity crosses items, which leads to many records; only to-one relations give an order',
  ],
  [['customer.orders.total'], /^sort customer\.orders\.total crosses orders, which leads to many records/],
  [['total', 'total'], 'sort names total twice'],
  [['id', 'id,desc'], 'sort names id twice'],
  [['customer.customer.customer.customer.customer.customer.name'], /crosses more than 5 relations$/],
] as const) {
  test(`sort=${sorts.join('&sort=')} is refused`, () => refuses(() => order(sorts), message));
}

test('the row filter of an entity stands wherever a sort crosses to it', () => {
  const ruled = makeShop({ customers: { rowRules: [{ column: 'country', claim: 'country' }] } });
  const ordering = planOrdering(
    parseSort(['customer.name']),
    getEntity(ruled, 'orders'),
    makePlanContext(ruled, external({})),
  );
  assert.equal(orderingText(ordering), 'customers?(id=customerId).name asc, id asc');
});

const cursor = (sort: string, ...keys: (string | null)[]): Cursor => ({ sort, keys });
const keysOf = (after: Cursor, sorts: readonly string[], entity = 'orders') =>
  planCursor(after, order(sorts, entity)).map(operandText).join(', ');

for (const [entity, sorts, after, keys] of [
  ['orders', [], cursor('id,asc', '5'), '5:int8'],
  ['orders', ['total,desc'], cursor('total,desc;id,desc', '1.50', '5'), '1.50:numeric, 5:int8'],
  ['orders', ['total'], cursor('total,asc;id,asc', null, '5'), 'null, 5:int8'],
  [
    'orders',
    ['placedAt'],
    cursor('placedAt,asc;id,asc', '2026-01-31T12:00:00Z', '5'),
    '2026-01-31T12:00:00.000Z:timestamptz, 5:int8',
  ],
  // an enum value that has left the schema still has its place in the order
  ['orders', ['status'], cursor('status,asc;id,asc', 'cancelled', '5'), 'cancelled:text, 5:int8'],
  ['things', ['aFloat'], cursor('aFloat,asc;id,asc', '1e+21', '5'), '1e+21:float8, 5:int8'],
] as const) {
  test(`the cursor ${JSON.stringify(after.keys)} of ${after.sort} continues after ${keys}`, () => {
    assert.equal(keysOf(after, sorts, entity), keys);
  });
}

for (const [name, sorts, after] of [
  ['another sort', ['total'], cursor('total,desc;id,desc', '1', '5')],
  ['too few keys', ['total'], cursor('total,asc;id,asc', '5')],
  ['too many keys', [], cursor('id,asc', '5', '6')],
  ['an id that is null', [], cursor('id,asc', null)],
  ['an id that is no number', [], cursor('id,asc', 'x')],
  ['an id beyond 64 bits', [], cursor('id,asc', '9223372036854775808')],
  ['a datetime without a zone', ['placedAt'], cursor('placedAt,asc;id,asc', '2026-01-31T12:00:00', '5')],
  ['NUL in a text', ['customer.name'], cursor('customer.name,asc;id,asc', 'a\u0000', '5')],
  ['null for a field that is never null', ['customerId'], cursor('customerId,asc;id,asc', null, '5')],
] as const) {
  test(`a cursor of ${name} is refused`, () =>
    refuses(() => keysOf(after, sorts), /^after is not a cursor of this list/));
}

test('a cursor with the epoch of another workspace is refused by that', () => {
  const ordering = (epoch: string) => planOrdering([], { ...getEntity(SHOP, 'orders'), epoch }, makePlanContext(SHOP));
  const current = ordering('0123abcd');
  assert.equal(planCursor(cursor('id,asc;0123abcd', '5'), current).map(operandText).join(', '), '5:int8');
  for (const sort of ['id,asc;4567abcd', 'id,asc'])
    refuses(
      () => planCursor(cursor(sort, '5'), current),
      /^after is not a cursor of this list: it is from another workspace/,
    );
  for (const sort of ['id,desc;0123abcd', 'id,desc;4567abcd', 'total,asc;id,asc;4567abcd'])
    refuses(() => planCursor(cursor(sort, '5'), current), /with the same sort$/);
});

test('no cursor makes anything but operands or a 400', () => {
  const sorts = fc.constantFrom<readonly string[]>(
    [],
    ['total'],
    ['placedAt,desc', 'status'],
    ['customer.name'],
    ['customerId'],
  );
  const key = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('1', '1.5', '2026-01-31T12:00:00Z')), {
    nil: null,
  });
  fc.assert(
    fc.property(sorts, fc.array(key, { maxLength: 4 }), (terms, keys) => {
      const ordering = order(terms);
      const operands = unlessBadRequest(() => planCursor({ sort: ordering.text, keys }, ordering));
      if (operands !== undefined) assert.equal(operands.length, ordering.keys.length);
    }),
  );
});
