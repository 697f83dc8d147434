// What of a record is shown: expand, the whitelist and the depth of it, and its defaults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { hasLists, type Projection, planProjection, projectRecord } from '../../../src/plan/projection.ts';
import { parseReadRequest } from '../../../src/request/record-request.ts';
import type { SettingsDocument } from '../../../src/schema/format.ts';
import { refuses } from '../../support/error-response.ts';
import { LIMITS, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';
import { projectionText } from './plan-text.ts';

const SHOP = makeShop();
const ORDER = 'id status total placedAt customerId';
const CUSTOMER = 'id name email country createdAt updatedAt';

function project(query: string, entity = 'orders', workspace: Workspace = SHOP): Projection {
  const { selection } = parseReadRequest(query, LIMITS);
  return planProjection(selection, getEntity(workspace, entity), makePlanContext(workspace));
}

const withSettings = (settings: SettingsDocument, more: Record<string, SettingsDocument> = {}): Workspace =>
  makeShop({
    orders: { settings },
    ...Object.fromEntries(Object.entries(more).map(([name, own]) => [name, { settings: own }])),
  });

for (const [name, query, entity, shown] of [
  ['nothing is expanded unless it is asked for', '', 'orders', ORDER],
  [
    'a relation is expanded under its name, beside the foreign key',
    'expand=customer',
    'orders',
    `${ORDER} customer{${CUSTOMER}}`,
  ],
  [
    'several are expanded in the order asked for',
    'expand=items,customer',
    'orders',
    `${ORDER} items[id product quantity orderId] customer{${CUSTOMER}}`,
  ],
  [
    'several parameters are joined',
    'expand=tags&expand=customer',
    'orders',
    `${ORDER} tags[id name] customer{${CUSTOMER}}`,
  ],
  [
    'a relation of a related record',
    'expand=customer.profile',
    'orders',
    `${ORDER} customer{${CUSTOMER} profile{id bio customerId}}`,
  ],
  [
    'flat and nested forms can be mixed',
    'expand=customer.profile,tags,customer',
    'orders',
    `${ORDER} customer{${CUSTOMER} profile{id bio customerId}} tags[id name]`,
  ],
  [
    'an entity related to itself',
    'expand=parent.parent,children',
    'categories',
    'id name parentId parent{id name parentId parent{id name parentId}} children[id name parentId]',
  ],
  ['an empty expand expands nothing', 'expand=', 'orders', ORDER],
] as const) {
  test(name, () => assert.equal(projectionText(project(query, entity)), shown));
}

test('a request without expand gets defaultExpand, one with expand does not', () => {
  const workspace = withSettings({ defaultExpand: ['customer.profile', 'tags'] });
  const both = `${ORDER} customer{${CUSTOMER} profile{id bio customerId}} tags[id name]`;
  assert.equal(projectionText(project('', 'orders', workspace)), both);
  assert.equal(projectionText(project('expand=', 'orders', workspace)), ORDER);
  assert.equal(projectionText(project('expand=tags', 'orders', workspace)), `${ORDER} tags[id name]`);
});

test('defaults are those of the entity that is read, not of the entities expanded', () => {
  const workspace = withSettings({}, { customers: { defaultExpand: ['profile'], defaultFields: ['name'] } });
  assert.equal(projectionText(project('expand=customer', 'orders', workspace)), `${ORDER} customer{${CUSTOMER}}`);
});

for (const [query, message] of [
  ['expand=tags', 'Relationship tags is not expandable. Allowed: customer, items'],
  ['expand=customer,tags', 'Relationship tags is not expandable. Allowed: customer, items'],
  ['expand=items.order.tags', 'Relationship tags is not expandable. Allowed: customer, items'],
  ['expand=customer.orders', 'Relationship orders is not expandable. Allowed: profile'],
  ['expand=tags.nothing', 'Relationship tags is not expandable. Allowed: customer, items'],
] as const) {
  test(`each level is held against the whitelist of its own entity: ${query}`, () => {
    const workspace = withSettings({ expandable: ['customer', 'items'] }, { customers: { expandable: ['profile'] } });
    refuses(() => project(query, 'orders', workspace), message);
  });
}

test('an empty whitelist allows nothing', () => {
  refuses(
    () => project('expand=customer', 'orders', withSettings({ expandable: [] })),
    'Relationship customer is not expandable. Allowed: ',
  );
});

for (const [depth, query, message] of [
  [null, 'expand=customer.orders.customer', undefined],
  [
    null,
    'expand=customer.orders.customer.orders',
    'Expand depth exceeds maximum of 3: customer.orders.customer.orders',
  ],
  [
    null,
    'expand=tags,customer.orders.customer.orders.items,items',
    'Expand depth exceeds maximum of 3: customer.orders.customer.orders.items',
  ],
  [1, 'expand=customer,tags', undefined],
  [1, 'expand=customer.profile', 'Expand depth exceeds maximum of 1: customer.profile'],
  [5, 'expand=customer.orders.customer.orders.items', undefined],
  [
    5,
    'expand=customer.orders.customer.orders.customer.orders',
    'Expand depth exceeds maximum of 5: customer.orders.customer.orders.customer.orders',
  ],
] as const) {
  test(`maximum depth ${depth}: ${query} is ${message === undefined ? 'fine' : 'refused'}`, () => {
    const run = () => project(query, 'orders', withSettings({ maxExpandDepth: depth }));
    if (message === undefined) run();
    else refuses(run, message);
  });
}

test('the depth limit is the one of the root entity', () => {
  const workspace = withSettings({ maxExpandDepth: 4 }, { customers: { maxExpandDepth: 1 } });
  project('expand=customer.orders.customer.orders', 'orders', workspace);
  refuses(
    () => project('expand=orders.tags', 'customers', workspace),
    'Expand depth exceeds maximum of 1: orders.tags',
  );
});

for (const [query, message] of [
  [
    'expand=custommer',
    'Unknown relation custommer on entity orders. Did you mean customer? Known: customer, items, tags',
  ],
  [
    'expand=customerId',
    'Unknown relation customerId on entity orders. Did you mean customer? Known: customer, items, tags',
  ],
  ['expand=status', 'Unknown relation status on entity orders. Known: customer, items, tags'],
  ['expand=customer.friends', 'Unknown relation friends on entity customers. Known: profile, orders'],
  ['expand=__proto__', 'Unknown relation __proto__ on entity orders. Known: customer, items, tags'],
  ['expand=customer.constructor', 'Unknown relation constructor on entity customers. Known: profile, orders'],
] as const) {
  test(`${query} is refused`, () => refuses(() => project(query), message));
}

test('an entity without relations says so', () => {
  refuses(() => project('expand=x', 'things'), 'Unknown relation x on entity things. Known: none');
});

for (const [name, query, shown] of [
  ['by a size', 'items.size=5', 'items[id product quantity orderId] size 5'],
  ['by a sort', 'items.sort=quantity,desc', 'items[id product quantity orderId] sort quantity,desc;id,desc'],
  [
    'by filters',
    'items.filter=quantity,gt,1&items.filter=product,notNull',
    'items[id product quantity orderId] where (quantity gt 1:int4 & product notNull)',
  ],
  [
    'by all of them',
    'items.size=1&items.sort=product&items.filter=quantity,gt,1',
    'items[id product quantity orderId] sort product,asc;id,asc where quantity gt 1:int4 size 1',
  ],
] as const) {
  test(`an expanded list is narrowed ${name}`, () => {
    assert.equal(projectionText(project(`expand=items&fields=items&${query}`)), shown);
  });
}

test('a list further down is narrowed by its path', () => {
  assert.equal(
    projectionText(project('expand=customer.orders&fields=customer.orders.id&customer.orders.size=2')),
    'customer{orders[id] size 2}',
  );
});

test('a list that defaultExpand expands is narrowed too', () => {
  const workspace = withSettings({ defaultExpand: ['items'] });
  assert.equal(projectionText(project('fields=items.id&items.size=2', 'orders', workspace)), 'items[id] size 2');
});

for (const [query, path, known] of [
  ['items.size=5', 'items', 'none'],
  ['expand=customer&customer.size=5', 'customer', 'none'],
  ['expand=items&fields=id&items.size=5', 'items', 'none'],
  ['expand=customer&customer.orders.size=5', 'customer.orders', 'none'],
  ['expand=items,customer.orders&tags.size=5', 'tags', 'items, customer.orders'],
] as const) {
  test(`${query} narrows nothing, so it is refused`, () => {
    refuses(
      () => project(query),
      `${path} cannot be narrowed: it is no to-many relation that this request expands and returns. Known: ${known}`,
    );
  });
}

for (const [query, message] of [
  ['item.size=5', /^Unknown relation item on entity orders\. Did you mean items\? Known: customer, items, tags$/],
  ['status.size=5', /^Unknown relation status on entity orders\. Known: customer, items, tags$/],
  ['items.nothing.size=5', /^Unknown relation nothing on entity items\./],
  ['items.sort=total', /^Unknown field total on entity items\./],
  ['items.filter=total,gt,1', /^Unknown field total on entity items\./],
  ['items.filter=quantity,gt,x', 'Filter value for quantity must be an integer'],
] as const) {
  test(`a narrowing is about the records of the list: ${query} is refused`, () => {
    refuses(() => project(`expand=items&${query}`), message);
  });
}

test('a response with lists in it is known by its projection', () => {
  for (const [query, verdict] of [
    ['', false],
    ['expand=customer.profile', false],
    ['expand=items', true],
    ['expand=customer.orders', true],
    ['expand=items&fields=id', false],
  ] as const) {
    assert.equal(hasLists(project(query)), verdict, query);
  }
});

test('writes answer with every column and nothing expanded', () => {
  const workspace = withSettings({ defaultExpand: ['customer'], defaultFields: ['id'] });
  assert.equal(projectionText(projectRecord(getEntity(workspace, 'orders'))), ORDER);
});
