// What of a record is shown: field selection (rules 1 to 5 of the specification) and the columns of exports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planColumns, planProjection } from '../../../src/plan/projection.ts';
import { parseFields } from '../../../src/request/paths.ts';
import { parseReadRequest } from '../../../src/request/record-request.ts';
import type { SettingsDocument } from '../../../src/schema/format.ts';
import { refuses } from '../../support/error-response.ts';
import { LIMITS, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';
import { projectionText } from './plan-text.ts';

const SHOP = makeShop();
const ORDER = 'id status total placedAt customerId';
const CUSTOMER = 'id name email country createdAt updatedAt';

function project(query: string, workspace: Workspace = SHOP): string {
  const { selection } = parseReadRequest(query, LIMITS);
  return projectionText(planProjection(selection, getEntity(workspace, 'orders'), makePlanContext(workspace)));
}

const withSettings = (settings: SettingsDocument): Workspace => makeShop({ orders: { settings } });

for (const [name, query, shown] of [
  ['without fields all columns are returned', '', ORDER],
  ['only what is named is returned, in the order asked for', 'fields=total,id', 'total id'],
  ['id is omitted when it is not named', 'fields=status', 'status'],
  ['a field named twice is there once', 'fields=status,status', 'status'],
  ['several parameters are joined', 'fields=status&fields=id', 'status id'],
  ['an empty fields returns all columns', 'fields=', ORDER],
  ['an empty fields returns what is expanded too', 'fields=&expand=customer', `${ORDER} customer{${CUSTOMER}}`],
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
  ['the same the other way round', 'expand=customer&fields=customer,customer.name', `customer{${CUSTOMER}}`],
  ['a relation below a relation', 'expand=customer.profile&fields=customer.profile.bio', 'customer{profile{bio}}'],
  [
    'all of a relation holds what is expanded below it',
    'expand=customer.profile&fields=customer',
    `customer{${CUSTOMER} profile{id bio customerId}}`,
  ],
  ['fields of a list', 'expand=items&fields=items.product,items.id', 'items[product id]'],
  ['the foreign key alone', 'expand=customer&fields=customerId', 'customerId'],
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
  ['a star after a relation: the order asked for', 'expand=tags&fields=tags.*,*', `tags[id name] ${ORDER}`],
] as const) {
  test(name, () => assert.equal(project(query), shown));
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
  ['fields=customer.name', 'fields: customer is a relation that is not expanded; add expand=customer'],
  [
    'expand=customer&fields=customer.profile',
    'fields: customer.profile is a relation that is not expanded; add expand=customer.profile',
  ],
  ['expand=&fields=tags', 'fields: tags is a relation that is not expanded; add expand=tags'],
  ['fields=*.id', 'fields: * stands for columns, which have nothing below them'],
  ['expand=customer&fields=customer.*.id', 'fields: customer.* stands for columns, which have nothing below them'],
  ['fields=customer.*', 'fields: customer is a relation that is not expanded; add expand=customer'],
  ['fields=id*', /^Unknown field id\* on entity orders\./],
  ['fields=**', /^Unknown field \*\* on entity orders\./],
  ['fields=status.name', 'fields: status is a field of orders, not a relation, and has nothing below it'],
  [
    'expand=customer&fields=customer.name.first',
    'fields: customer.name is a field of customers, not a relation, and has nothing below it',
  ],
] as const) {
  test(`${query} is refused`, () => refuses(() => project(query), message));
}

test('a request without fields gets the default selection, one with fields does not', () => {
  const workspace = withSettings({ defaultFields: ['id', 'total'] });
  assert.equal(project('', workspace), 'id total');
  assert.equal(project('fields=status', workspace), 'status');
  assert.equal(project('fields=', workspace), ORDER);
});

test('a default selection of nothing is none', () => {
  assert.equal(project('', withSettings({ defaultFields: [] })), ORDER);
});

test('a default selection leaves out a relation that is not expanded', () => {
  const workspace = withSettings({ defaultFields: ['id', 'customer.name', 'items'] });
  assert.equal(project('', workspace), 'id');
  assert.equal(project('expand=customer', workspace), 'id customer{name}');
  assert.equal(project('expand=items', workspace), 'id items[id product quantity orderId]');
});

test('a default selection may have stars', () => {
  const workspace = withSettings({ defaultFields: ['*', 'customer.*', 'items.quantity'] });
  assert.equal(project('', workspace), ORDER);
  assert.equal(project('expand=customer,items', workspace), `${ORDER} customer{${CUSTOMER}} items[quantity]`);
});

test('a default selection hides what is expanded but not named', () => {
  assert.equal(project('expand=tags', withSettings({ defaultFields: ['id'] })), 'id');
});

test('a relation named in fields may be expanded by default', () => {
  const workspace = withSettings({ defaultExpand: ['customer'] });
  assert.equal(project('fields=customer.name', workspace), 'customer{name}');
  refuses(
    () => project('expand=&fields=customer.name', workspace),
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
