// What of a record is shown: expand with its whitelist, depth and defaults, field selection (rules 1 to 5 of the
// specification) and the columns of exports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { hasLists, type Projection, planColumns, planProjection, projectRecord } from '../../../src/plan/projection.ts';
import { parseFields } from '../../../src/request/paths.ts';
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
    'a relation of a related record',
    'expand=customer.profile',
    'orders',
    `${ORDER} customer{${CUSTOMER} profile{id bio customerId}}`,
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
  ['expand=items.order.tags', 'Relationship tags is not expandable. Allowed: customer, items'],
  ['expand=customer.orders', 'Relationship orders is not expandable. Allowed: profile'],
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
  ['items.sort=total', /^Unknown field total on entity items\./],
  ['items.filter=total,gt,1', /^Unknown field total on entity items\./],
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

/** What a request of orders is shown. */
const fieldsOf = (query: string, workspace?: Workspace): string => projectionText(project(query, 'orders', workspace));

for (const [name, query, shown] of [
  ['without fields all columns are returned', '', ORDER],
  ['only what is named is returned, in the order asked for', 'fields=total,id', 'total id'],
  ['id is omitted when it is not named', 'fields=status', 'status'],
  ['a field named twice is there once', 'fields=status,status', 'status'],
  ['an empty fields returns all columns', 'fields=', ORDER],
  ['fields of an expanded record are limited by dots', 'expand=customer&fields=id,customer.name', 'id customer{name}'],
  [
    'naming a relation returns all of the expanded record',
    'expand=customer&fields=id,customer',
    `id customer{${CUSTOMER}}`,
  ],
  ['a relation that is expanded but not named is omitted', 'expand=customer,tags&fields=id,tags', 'id tags[id name]'],
  [
    'a relation named as a whole and in part is all of it',
    'expand=customer&fields=customer.name,customer',
    `customer{${CUSTOMER}}`,
  ],
  ['a relation below a relation', 'expand=customer.profile&fields=customer.profile.bio', 'customer{profile{bio}}'],
  [
    'all of a relation holds what is expanded below it',
    'expand=customer.profile&fields=customer',
    `customer{${CUSTOMER} profile{id bio customerId}}`,
  ],
  ['a star is every column', 'fields=*', ORDER],
  ['a star names no relation that is expanded', 'expand=customer&fields=*', ORDER],
  ['a star beside fields of a relation', 'expand=customer&fields=*,customer.name', `${ORDER} customer{name}`],
  ['a star of a relation', 'expand=customer&fields=id,customer.*', `id customer{${CUSTOMER}}`],
  [
    'a star of a relation leaves out what is expanded below it',
    'expand=customer.profile&fields=customer.*',
    `customer{${CUSTOMER}}`,
  ],
  [
    'unless that is named, too',
    'expand=customer.profile&fields=customer.*,customer.profile.bio',
    `customer{${CUSTOMER} profile{bio}}`,
  ],
  ['a star after a column: each column once', 'fields=total,*', 'total id status placedAt customerId'],
] as const) {
  test(name, () => assert.equal(fieldsOf(query), shown));
}

for (const [query, message] of [
  [
    'fields=nothing',
    'Unknown field nothing on entity orders. Known: id, status, total, placedAt, customerId, customer, items, tags',
  ],
  ['fields=Status', /^Unknown field Status on entity orders\. Did you mean status\?/],
  ['fields=__proto__', /^Unknown field __proto__ on entity orders\./],
  ['expand=customer&fields=customer.nmae', /^Unknown field nmae on entity customers\. Did you mean name\?/],
  ['fields=customer', 'fields: customer is a relation that is not expanded; add expand=customer'],
  [
    'expand=customer&fields=customer.profile',
    'fields: customer.profile is a relation that is not expanded; add expand=customer.profile',
  ],
  ['fields=*.id', 'fields: * stands for columns, which have nothing below them'],
  ['expand=customer&fields=customer.*.id', 'fields: customer.* stands for columns, which have nothing below them'],
  ['fields=status.name', 'fields: status is a field of orders, not a relation, and has nothing below it'],
  [
    'expand=customer&fields=customer.name.first',
    'fields: customer.name is a field of customers, not a relation, and has nothing below it',
  ],
] as const) {
  test(`${query} is refused`, () => refuses(() => fieldsOf(query), message));
}

test('a request without fields gets the default selection, one with fields does not', () => {
  const workspace = withSettings({ defaultFields: ['id', 'total'] });
  assert.equal(fieldsOf('', workspace), 'id total');
  assert.equal(fieldsOf('fields=status', workspace), 'status');
  assert.equal(fieldsOf('fields=', workspace), ORDER);
});

test('a default selection of nothing is none', () => {
  assert.equal(fieldsOf('', withSettings({ defaultFields: [] })), ORDER);
});

test('a default selection leaves out a relation that is not expanded', () => {
  const workspace = withSettings({ defaultFields: ['id', 'customer.name', 'items'] });
  assert.equal(fieldsOf('', workspace), 'id');
  assert.equal(fieldsOf('expand=customer', workspace), 'id customer{name}');
  assert.equal(fieldsOf('expand=items', workspace), 'id items[id product quantity orderId]');
});

test('a default selection may have stars', () => {
  const workspace = withSettings({ defaultFields: ['*', 'customer.*', 'items.quantity'] });
  assert.equal(fieldsOf('', workspace), ORDER);
  assert.equal(fieldsOf('expand=customer,items', workspace), `${ORDER} customer{${CUSTOMER}} items[quantity]`);
});

test('a default selection hides what is expanded but not named', () => {
  assert.equal(fieldsOf('expand=tags', withSettings({ defaultFields: ['id'] })), 'id');
});

test('a relation named in fields may be expanded by default', () => {
  const workspace = withSettings({ defaultExpand: ['customer'] });
  assert.equal(fieldsOf('fields=customer.name', workspace), 'customer{name}');
  refuses(
    () => fieldsOf('expand=&fields=customer.name', workspace),
    /^fields: customer is a relation that is not expanded/,
  );
});

test('an export has columns alone', () => {
  const orders = getEntity(SHOP, 'orders');
  const columns = (fields: string) =>
    planColumns(parseFields([fields]), orders)
      .map((field) => field.name)
      .join(' ');
  assert.equal(columns(''), ORDER);
  assert.equal(columns('total,id'), 'total id');
  assert.equal(columns('*'), ORDER);
  assert.equal(columns('total,*'), 'total id status placedAt customerId');
  refuses(
    () => columns('customer'),
    /^Unknown field customer on entity orders\. .*Known: id, status, total, placedAt, customerId$/,
  );
  refuses(() => columns('status.x'), 'fields: status is a field of orders, not a relation, and has nothing below it');
  refuses(() => columns('total,customer.name'), /^Unknown field customer on entity orders\./);
});
