// Filters against the schema: names, operators and values by type, and what null means across relations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { MAX_PATH_LENGTH, planPredicate } from '../../../src/plan/predicate.ts';
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
  ['aString,eq,x', 'aString eq x:text'],
  ['aString,eq,', 'aString eq :text'],
  ['aString,ne,longer than maxLength', 'aString ne longer than maxLength:text'],
  ['aString,in,a,b', 'aString in {a|b}:text[]'],
  ['aString,contains,x', 'aString contains x:text'],
  ['aText,startsWith,x', 'aText startsWith x:text'],
  ['anInteger,eq,5', 'anInteger eq 5:int4'],
  ['anInteger,gt,100', 'anInteger gt 100:int4'],
  ['anInteger,between,1,3', 'anInteger between 1:int4 3:int4'],
  ['aBigint,nin,1,2', 'aBigint nin {1|2}:int8[]'],
  ['aDecimal,lte,1.005', 'aDecimal lte 1.005:numeric'],
  ['aFreeDecimal,eq,0.10', 'aFreeDecimal eq 0.10:numeric'],
  ['aFloat,lt,1e3', 'aFloat lt 1000:float8'],
  ['aBoolean,eq,true', 'aBoolean eq true:bool'],
  ['aBoolean,in,true,false', 'aBoolean in {true|false}:bool[]'],
  ['aDate,gte,2026-01-31', 'aDate gte 2026-01-31:date'],
  ['aDate,lt,1999-01-01', 'aDate lt 1999-01-01:date'],
  ['aDatetime,gt,2026-01-31T12:00:00-01:00', 'aDatetime gt 2026-01-31T13:00:00.000Z:timestamptz'],
  ['aUuid,eq,3F2504E0-4F89-11D3-9A0C-0305E82C3301', 'aUuid eq 3f2504e0-4f89-11d3-9a0c-0305e82c3301:uuid'],
  ['aJson,eq,{"a": 1.50}', 'aJson eq {"a":1.50}:jsonb'],
  ['anEnum,ne,red', 'anEnum ne red:text'],
  ['anEnum,contains,re', 'anEnum contains re:text'],
  ['anEnum,matches,^r', 'anEnum matches ^r:text'],
  ['anEnum,gt,green', 'anEnum gt green:text'],
  ['aJson,isNull', 'aJson isNull'],
  ['id,eq,5', 'id eq 5:int8'],
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
  test(`filter=${filter} is ${predicate}`, () => assert.equal(plan(tree(filter), 'things'), predicate));
}

for (const [filter, message] of [
  ['anInteger,eq,x', 'Filter value for anInteger must be an integer'],
  ['anInteger,eq,1.5', 'Filter value for anInteger must be an integer'],
  ['anInteger,in,1,', 'Filter value for anInteger must be an integer'],
  ['anInteger,eq,2147483648', 'Filter value for anInteger must fit into 32 bits'],
  ['aBigint,between,1,x', 'Filter value for aBigint must be an integer'],
  ['aDecimal,eq,1e99999', 'Filter value for aDecimal has too many digits'],
  ['aFloat,eq,NaN', 'Filter value for aFloat must be a number'],
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
  ['aUuid,startsWith,a', /^Filter operator startsWith does not apply to aUuid of type uuid\./],
  ['aDate,endsWith,1', /^Filter operator endsWith does not apply to aDate of type date\./],
  ['aJson,matches,x', /^Filter operator matches does not apply to aJson of type json\./],
  [`aText,matches,${'x'.repeat(201)}`, 'Filter value for aText must have at most 200 characters, has 201'],
  ['nothing,eq,1', /^Unknown field nothing on entity things\. Known: id, aString, /],
  ['astring,eq,1', /^Unknown field astring on entity things\. Did you mean aString\?/],
  ['__proto__,isNull', /^Unknown field __proto__ on entity things\./],
  ['aString.x,eq,1', 'Unknown relation aString on entity things. Known: none'],
] as const) {
  test(`filter=${filter} is refused`, () => refuses(() => plan(tree(filter), 'things'), message));
}

const CUSTOMER = 'customers(id=customerId)';

const ACROSS: readonly (readonly [entity: string, filter: string, predicate: string])[] = [
  // some related record matches
  ['orders', 'customer.name,eq,x', `some ${CUSTOMER} name eq x:text`],
  ['orders', 'items.quantity,gt,1', 'some items(orderId=id) quantity gt 1:int4'],
  ['orders', 'tags.name,eq,x', 'some tags(via orderTags orderId>tagId) name eq x:text'],
  ['customers', 'profile.bio,contains,x', 'some profiles(customerId=id) bio contains x:text'],
  ['customers', 'orders.items.product,eq,x', 'some orders(customerId=id) some items(orderId=id) product eq x:text'],
  ['categories', 'parent.parent.name,eq,x', 'some categories(id=parentId) some categories(id=parentId) name eq x:text'],
  // through to-one relations, no related record is null: what denies holds for it
  ['orders', 'customer.name,ne,x', `!(some ${CUSTOMER} name eq x:text)`],
  ['orders', 'customer.name,nin,x,y', `!(some ${CUSTOMER} name in {x|y}:text[])`],
  ['orders', 'customer.name,isNull', `!(some ${CUSTOMER} name notNull)`],
  ['orders', 'customer.name,notNull', `some ${CUSTOMER} name notNull`],
  ['customers', 'profile.bio,ne,x', '!(some profiles(customerId=id) bio eq x:text)'],
  [
    'categories',
    'parent.parent.name,isNull',
    '!(some categories(id=parentId) some categories(id=parentId) name notNull)',
  ],
  // through to-many relations a record must be there
  ['orders', 'items.product,ne,x', 'some items(orderId=id) product ne x:text'],
  ['orders', 'items.product,isNull', 'some items(orderId=id) product isNull'],
  ['orders', 'customer.orders.status,ne,open', `some ${CUSTOMER} some orders(customerId=id) status ne open:text`],
  // beyond the last to-many relation the path is to-one again
  ['customers', 'orders.customer.name,ne,x', `some orders(customerId=id) !(some ${CUSTOMER} name eq x:text)`],
];

for (const [entity, filter, predicate] of ACROSS) {
  test(`${entity} filter=${filter} is ${predicate}`, () => assert.equal(plan(tree(filter), entity), predicate));
}

for (const [filter, message] of [
  ['customer,eq,1', 'filter: customer is a relation of orders; name a field behind it, such as customer.id'],
  ['customer.orders,isNull', 'filter: orders is a relation of customers; name a field behind it, such as orders.id'],
  [
    'custommer.name,eq,1',
    'Unknown relation custommer on entity orders. Did you mean customer? Known: customer, items, tags',
  ],
  ['customer.nmae,eq,1', /^Unknown field nmae on entity customers\. Did you mean name\?/],
  ['customer.nmae,ne,1', /^Unknown field nmae on entity customers\./],
  ['status.x,eq,1', 'Unknown relation status on entity orders. Known: customer, items, tags'],
  ['items.quantity,eq,x', 'Filter value for quantity must be an integer'],
] as const) {
  test(`across relations, filter=${filter} is refused`, () => refuses(() => plan(tree(filter)), message));
}

test(`a path has at most ${MAX_PATH_LENGTH} names`, () => {
  const path = (names: number) => [...Array(names - 1).fill('parent'), 'name'].join('.');
  plan(tree(`${path(MAX_PATH_LENGTH)},eq,x`), 'categories');
  refuses(() => plan(tree(`${path(MAX_PATH_LENGTH + 1)},eq,x`), 'categories'), /crosses more than 5 relations$/);
  refuses(() => plan(tree(`${path(90)},ne,x`), 'categories'), /crosses more than 5 relations$/);
});

const TREES: readonly (readonly [json: string, predicate: string])[] = [
  ['{"and":[]}', '()'],
  ['{"not":{"field":"status","op":"eq","value":"open"}}', '!(status eq open:text)'],
  [
    '{"or":[{"field":"total","op":"gt","value":1.50},{"and":[{"field":"status","op":"in","value":["open","paid"]},{"field":"customer.email","op":"isNull"}]}]}',
    `(total gt 1.50:numeric | (status in {open|paid}:text[] & !(some ${CUSTOMER} email notNull)))`,
  ],
  ['{"field":"status","op":"in","value":[]}', 'status in {}:text[]'],
  ['{"field":"customerId","op":"eq","value":9007199254740993}', 'customerId eq 9007199254740993:int8'],
];

for (const [json, predicate] of TREES) {
  test(`${json} is ${predicate}`, () => assert.equal(plan(parseFilterTree(parseExact(json))), predicate));
}

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
