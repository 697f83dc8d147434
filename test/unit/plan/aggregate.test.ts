// Aggregates against the schema: which function fits which type, what is joined, what is put in order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD_TYPE_NAMES, type FieldTypeName, fieldType } from '../../../src/model/field-types.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { type AggregatePlan, averageDigits, isTotal, planAggregate } from '../../../src/plan/aggregate.ts';
import { parseAggregateRequest } from '../../../src/request/aggregate.ts';
import { refusalOf, refuses } from '../../support/error-response.ts';
import { external, makePlanContext, makeShop, OWNER, withGate } from '../../support/field-types-fixture.ts';
import { linkText } from './plan-text.ts';

const SHOP = makeShop();

function plan(
  query: string,
  entity = 'orders',
  workspace: Workspace = SHOP,
  principal = OWNER as never,
): AggregatePlan {
  return planAggregate(
    parseAggregateRequest(query),
    getEntity(workspace, entity),
    makePlanContext(workspace, principal),
  );
}

/** What fits each type; a type without a row does not compile. */
const FITTING: Readonly<Record<FieldTypeName, string>> = {
  string: 'count countDistinct min max; group',
  text: 'count countDistinct min max; group',
  integer: 'count countDistinct sum avg min max; group',
  bigint: 'count countDistinct sum avg min max; group',
  decimal: 'count countDistinct sum avg min max; group',
  float: 'count countDistinct sum avg min max; group',
  boolean: 'count countDistinct; group',
  date: 'count countDistinct min max; group year quarter month week day',
  datetime: 'count countDistinct min max; group year quarter month week day hour',
  time: 'count countDistinct min max; group',
  uuid: 'count countDistinct min max; group',
  json: 'count countDistinct; ',
  enum: 'count countDistinct min max; group',
};

test('each function and each group takes the types that it fits, and refuses the others by naming those', () => {
  const fields = [...getEntity(SHOP, 'things').fields.values()];
  assert.deepEqual(new Set(fields.map(({ type }) => type)), new Set(FIELD_TYPE_NAMES));
  const takes = (query: string): boolean => {
    try {
      plan(query, 'things');
      return true;
    } catch {
      const { code, message } = refusalOf(() => plan(query, 'things'));
      assert.equal(code, 'BAD_REQUEST');
      assert.match(message, /applies to|Known: |Only fields of these types/);
      return false;
    }
  };
  for (const { name, type } of fields) {
    const functions = ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'].filter((one) =>
      takes(`select=${one}:${name}`),
    );
    const parts = ['year', 'quarter', 'month', 'week', 'day', 'hour'].filter((part) =>
      takes(`select=count&group=${name}:${part}`),
    );
    const groups = takes(`select=count&group=${name}`) ? ['group', ...parts] : parts;
    assert.equal(`${functions.join(' ')}; ${groups.join(' ')}`, FITTING[type], type);
  }
});

test('an average has six digits more than its field', () => {
  const digits = [...getEntity(SHOP, 'things').fields.values()].flatMap((field) =>
    fieldType(field.type).summing === undefined ? [] : [[field.name, averageDigits(field)]],
  );
  assert.deepEqual(Object.fromEntries(digits), {
    id: 6,
    anInteger: 6,
    aBigint: 6,
    aDecimal: 8,
    aFreeDecimal: undefined,
    aFloat: undefined,
  });
  const field = { ...getEntity(SHOP, 'things').fields.get('aDecimal'), precision: 1000, scale: 1000 } as never;
  assert.equal(averageDigits(field), 1000);
});

for (const [query, total] of [
  ['select=count', true],
  ['select=count&having=count,gt,5', true],
  ['select=count,count:id', false],
  ['select=count&group=status', false],
  ['select=count&filter=id,gt,0', false],
  ['select=sum:id', false],
] as const) {
  test(`?${query} asks ${total ? 'only' : 'not only'} for the number of all records`, () =>
    assert.equal(isTotal(plan(query)), total));
}

for (const [query, message] of [
  [
    'select=sum:totl',
    'Unknown field totl on entity orders. Did you mean total? Known: id, status, total, placedAt, customerId',
  ],
  ['select=sum:customer', 'select: customer is a relation of orders; name a field of it, such as customer.id'],
  ['select=count&group=customer', 'group: customer is a relation of orders; name a field of it, such as customer.id'],
  [
    'select=count&group=items.product',
    'group items.product crosses items, which leads to many records; only to-one relations can be crossed here',
  ],
  ['select=count&group=a.b.c.d.e.f.g', 'group a.b.c.d.e.f.g crosses more than 5 relations'],
  [
    'select=sum:status',
    'select sum:status: sum does not apply to a field of type enum. It applies to integer, bigint, decimal, float; to status apply count, countDistinct, min, max',
  ],
  [
    'select=count&group=total:month',
    'group total:month: a field of type decimal has no month. Only fields of these types have parts: date, datetime',
  ],
  ['select=count&having=sum:total,gt,1', 'having names sum:total, which is not selected. Known: count'],
  ['select=count&having=customer.name,eq,x', 'having names customer.name, which is not selected. Known: count'],
  [
    'select=count&having=count,contains,1',
    /^Filter operator contains does not apply to count of type bigint\. Known: eq,/,
  ],
  [
    'select=count&group=status&sort=total',
    'sort names total, which is neither a group nor selected. Known: status, count',
  ],
  ['select=count&sort=count&sort=count,desc', 'sort names count twice'],
] as const) {
  test(`?${query} is refused`, () => refuses(() => plan(query), message));
}

test('a request follows so many relations at most, filters and groups together', () => {
  const deep = (count: number): string =>
    Array.from({ length: count }, () => 'filter=parent.parent.parent.parent.parent.name,eq,x').join('&');
  assert.equal(plan(`select=count&group=parent.parent.name&${deep(11)}`, 'categories').joins.length, 2);
  refuses(
    () =>
      plan(`select=count&group=parent.parent.parent.parent.parent.name,parent.children.name&${deep(12)}`, 'categories'),
    /crosses children/,
  );
  refuses(
    () => plan(`select=count&group=parent.name&${deep(12)}`, 'categories'),
    /follows more than 60 relations.* select and group:/,
  );
});

test('every table has the row rules of the user, and its gate is asked', () => {
  const rules = makeShop({
    customers: { rowRules: [{ column: 'country', claim: 'country' }] } as never,
    orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } as never,
  });
  const found = plan('select=count&group=customer.name', 'orders', rules, external({ country: 'SE' }) as never);
  assert.equal(found.scan.filter.kind, 'rules');
  assert.deepEqual(
    found.joins.map(({ link }) => linkText(link)),
    ['customers?(id=customerId)'],
  );
  assert.equal(isTotal(plan('select=count', 'orders', rules, external({}) as never)), false);
  const gated = withGate(SHOP, 'customers', { blocksReads: true, blocksWrites: true, retryAfterSeconds: 3 });
  refuses(() => plan('select=count&group=customer.name', 'orders', gated), /customers/, 'SCHEMA_MIGRATION_IN_PROGRESS');
  assert.ok(plan('select=count', 'orders', gated));
});
