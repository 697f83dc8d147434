// Filters against the schema: names, operators and values by type, and what null means across relations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { MAX_PATH_LENGTH } from '../../../src/plan/condition.ts';
import { planPredicate } from '../../../src/plan/predicate.ts';
import { type FilterTree, parseFilters, parseFilterTree } from '../../../src/request/filter.ts';
import { makeWorkspace } from '../../../src/store/load-workspace.ts';
import { refuses } from '../../support/error-response.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { predicateText } from './plan-text.ts';

const SHOP = makeShop();
const RULED = makeShop({ customers: { rowRules: [{ column: 'country', claim: 'country', enabled: true }] } });
const tree = (...filters: string[]): FilterTree => parseFilters(filters, []) as FilterTree;

function plan(filter: FilterTree, entity = 'orders'): string {
  return predicateText(planPredicate(filter, getEntity(SHOP, entity), makePlanContext(SHOP)));
}

const COMPARISONS: readonly (readonly [filter: string, predicate: string])[] = [
  ['aString,ne,longer than maxLength', 'aString ne longer than maxLength:text'],
  ['anInteger,gt,100', 'anInteger gt 100:int4'],
  ['aDecimal,lte,1.005', 'aDecimal lte 1.005:numeric'],
  ['aDate,lt,1999-01-01', 'aDate lt 1999-01-01:date'],
];

const PARTS: readonly (readonly [filter: string, predicate: string])[] = [
  ['t,contains,abc', 't contains abc:text %abc%:text'],
  ['t,startsWith,Abc', 't startsWith Abc:text Abc%:text'],
  ['t,endsWith,a 007', 't endsWith a 007:text %a 007:text'],
  ['t,contains,50%_off\\', 't contains 50%_off\\:text %50\\%\\_off\\\\%:text'],
  // Nothing that the index could find.
  ['t,contains,ab', 't contains ab:text'],
  ['t,contains,a-b-c', 't contains a-b-c:text'],
  ['t,startsWith,', 't startsWith :text'],
  ['t,eq,abc', 't eq abc:text'],
  ['t,matches,abc', 't matches abc:text'],
  ['u,contains,abc', 'u contains abc:text'],
];
const fields = { t: { type: 'text', index: 'substring' }, u: { type: 'text', index: true } } as const;
const parts = makeWorkspace({
  id: '1',
  organization: 'acme',
  slug: 'parts',
  name: 'parts',
  version: '1',
  databaseSchema: 'ws1',
  document: { entities: { a: { fields } } },
  names: NO_NAMES,
  entityIds: {},
  gates: {},
});
for (const [filter, predicate] of PARTS) {
  test(`filter=${filter} of a field with an index of parts is ${predicate}`, () => {
    const planned = planPredicate(tree(filter), getEntity(parts, 'a'), makePlanContext(parts));
    assert.equal(predicateText(planned), predicate);
  });
}

for (const [filter, predicate] of COMPARISONS) {
  test(`a filter is not held to the bounds of its field: ${filter}`, () =>
    assert.equal(plan(tree(filter), 'things'), predicate));
}

for (const [filter, message] of [
  ['anInteger,eq,x', 'Filter value for anInteger must be an integer'],
  ['anInteger,eq,2147483648', 'Filter value for anInteger must fit into 32 bits'],
  ['aBigint,between,1,x', 'Filter value for aBigint must be an integer'],
  ['aDecimal,eq,1e99999', 'Filter value for aDecimal has too many digits'],
  ['aBoolean,eq,yes', 'Filter value for aBoolean must be true or false'],
  ['aDate,eq,31.1.2026', 'Filter value for aDate must be a date such as 2026-01-31'],
  ['aDatetime,eq,2026-01-31', /^Filter value for aDatetime must be an ISO 8601 datetime/],
  ['aUuid,eq,1', 'Filter value for aUuid must be a UUID'],
  ['aJson,eq,{', 'Filter value for aJson must be JSON'],
  ['anEnum,eq,blue', 'Filter value for anEnum must be one of red, green'],
  [
    'aBoolean,gt,true',
    'Filter operator gt does not apply to aBoolean of type boolean. Known: eq, ne, in, nin, isNull, notNull',
  ],
  [
    'aJson,between,1,2',
    'Filter operator between does not apply to aJson of type json. Known: eq, ne, in, nin, isNull, notNull',
  ],
  [
    'anInteger,contains,1',
    /^Filter operator contains does not apply to anInteger of type integer\. Known: eq, ne, gt, gte/,
  ],
  ['aJson,matches,x', /^Filter operator matches does not apply to aJson of type json\./],
  [`aText,matches,${'x'.repeat(201)}`, 'Filter value for aText must have at most 200 characters, has 201'],
  ['nothing,eq,1', /^Unknown field nothing on entity things\. Known: id, aString, /],
  ['astring,eq,1', /^Unknown field astring on entity things\. Did you mean aString\?/],
  ['__proto__,isNull', /^Unknown field __proto__ on entity things\./],
  ['aString.x,eq,1', 'Unknown relation aString on entity things. Known: none'],
] as const) {
  test(`filter=${filter} is refused`, () => refuses(() => plan(tree(filter), 'things'), message));
}

for (const [filter, message] of [
  ['customer,eq,1', 'filter: customer is a relation of orders; name a field of it, such as customer.id'],
  [
    'custommer.name,eq,1',
    'Unknown relation custommer on entity orders. Did you mean customer? Known: customer, items, tags',
  ],
  ['customer.nmae,eq,1', /^Unknown field nmae on entity customers\. Did you mean name\?/],
] as const) {
  test(`across relations, filter=${filter} is refused`, () => refuses(() => plan(tree(filter)), message));
}

test(`a path has at most ${MAX_PATH_LENGTH} names`, () => {
  const path = (names: number) => [...Array(names - 1).fill('parent'), 'name'].join('.');
  plan(tree(`${path(MAX_PATH_LENGTH)},eq,x`), 'categories');
  refuses(() => plan(tree(`${path(MAX_PATH_LENGTH + 1)},eq,x`), 'categories'), /crosses more than 5 relations$/);
  refuses(() => plan(tree(`${path(90)},ne,x`), 'categories'), /crosses more than 5 relations$/);
});

test('values of a tree are those of a body: of the right JSON type', () => {
  refuses(
    () => plan(parseFilterTree({ field: 'total', op: 'eq', value: true })),
    'Filter value for total must be a number or a numeric string',
  );
  refuses(
    () => plan(parseFilterTree({ field: 'status', op: 'eq', value: 1 })),
    'Filter value for status must be a string',
  );
  refuses(
    () => plan(parseFilterTree({ field: 'status', op: 'eq', value: 'gone' })),
    'Filter value for status must be one of open, paid, shipped',
  );
});

test('the row filter of an entity stands wherever a filter crosses to it', () => {
  const user = external({ country: 'nl' });
  const text = (filter: string, principal: typeof user | typeof OWNER) =>
    predicateText(planPredicate(tree(filter), getEntity(RULED, 'orders'), makePlanContext(RULED, principal)));
  assert.equal(text('customer.name,ne,x', user), '!(some customers?(id=customerId) name eq x:text)');
  assert.equal(
    text('items.order.customer.name,eq,x', user),
    'some items(orderId=id) some orders(id=orderId) some customers?(id=customerId) name eq x:text',
  );
  assert.equal(text('customer.name,eq,x', OWNER), 'some customers(id=customerId) name eq x:text');
});

test('empty groups are constants and leave nothing behind', () => {
  const condition = '{"field":"aString","op":"eq","value":"x"}';
  const text = (json: string) => plan(parseFilterTree(parseExact(json)), 'things');
  const alone = text(condition);
  for (const json of [
    `{"and":[{"and":[]},${condition}]}`,
    `{"or":[${condition},{"or":[]}]}`,
    `{"and":[${condition}]}`,
  ]) {
    assert.equal(text(json), alone);
  }
  const [everything, nothing] = [text('{"and":[]}'), text('{"or":[]}')];
  assert.equal(text(`{"or":[{"and":[]},${condition}]}`), everything);
  assert.equal(text('{"not":{"or":[]}}'), everything);
  assert.equal(text(`{"and":[{"not":{"and":[{"and":[]}]}},${condition}]}`), nothing);
  assert.throws(() => text('{"or":[{"and":[]},{"field":"none","op":"eq","value":1}]}'), /Unknown field none/);
});
