// What a class of principals may do with the entities of a workspace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildViews, type EntityView, getPrincipalClass, type PrincipalClass } from '../../../src/openapi/view.ts';
import { external, makeShop, OPERATOR, OWNER } from '../../support/field-types-fixture.ts';

const OWNERS: PrincipalClass = { kind: 'owner', mayWrite: true };
const READERS: PrincipalClass = { kind: 'owner', mayWrite: false };
const USERS: PrincipalClass = { kind: 'external', mayWrite: true };
const RULES = { rowRules: [{ column: 'customerId', claim: 'customer', enabled: true }] };

function viewsOf(who: PrincipalClass, changes: Parameters<typeof makeShop>[0] = {}): Map<string, EntityView> {
  return new Map(buildViews(makeShop(changes), who).map((view) => [view.entity.name, view]));
}

const seen = (who: PrincipalClass, name: string, changes?: Parameters<typeof makeShop>[0]): EntityView =>
  viewsOf(who, changes).get(name) as EntityView;

for (const [name, principal, expected] of [
  ['an operator is an owner', OPERATOR, OWNERS],
  ['a key of an owner', OWNER, OWNERS],
  ['a key that writes', { ...OWNER, permissions: 'READ_WRITE' }, OWNERS],
  ['a key that reads', { ...OWNER, permissions: 'READ_ONLY' }, READERS],
  ['a user who writes', external({}), USERS],
  ['a user who reads', external({}, 'READ_ONLY'), { kind: 'external', mayWrite: false }],
] as const) {
  test(`class: ${name}`, () => assert.deepEqual(getPrincipalClass(principal), expected));
}

test('every entity has a view, in the order of the schema', () => {
  assert.deepEqual([...viewsOf(OWNERS).keys()], [...makeShop().entities.keys()]);
});

test('who may write has all operations, who may not those that read', () => {
  const writes = 'import bulkCreate bulkUpdate bulkDelete bulkDeleteListed updateWhere deleteWhere';
  const all = `list create query aggregate summarize ${writes} export read update delete`;
  assert.deepEqual(seen(OWNERS, 'orders').operations, all.split(' '));
  const reads = ['list', 'query', 'aggregate', 'summarize', 'export', 'read'];
  assert.deepEqual(seen(READERS, 'orders').operations, reads);
});

test('a create needs what is required and has no default', () => {
  assert.deepEqual([...seen(OWNERS, 'items').required], ['quantity', 'orderId']);
  assert.deepEqual([...seen(OWNERS, 'orders').required], ['customerId']);
  assert.deepEqual([...seen(OWNERS, 'categories').required], []);
});

test('what a row rule sets from the token a user need not give', () => {
  const changes = { orders: RULES };
  const forUsers = seen(USERS, 'orders', changes);
  assert.deepEqual([[...forUsers.required], [...forUsers.ruleColumns]], [[], ['customerId']]);
  const forOwners = seen(OWNERS, 'orders', changes);
  assert.deepEqual([[...forOwners.required], [...forOwners.ruleColumns]], [['customerId'], []]);
});

test('a to-one relation is null unless it is required', () => {
  const { relations } = seen(OWNERS, 'customers');
  assert.deepEqual([relations.get('profile')?.isNullable, relations.get('orders')?.isList], [true, true]);
  assert.equal(seen(OWNERS, 'orders').relations.get('customer')?.isNullable, false);
  assert.equal(seen(OWNERS, 'categories').relations.get('parent')?.isNullable, true);
});

test('a required to-one relation is null where row rules hide the record from users', () => {
  const rowRules = [{ column: 'country', claim: 'country', enabled: true }];
  const customerOf = (who: PrincipalClass, enabled: boolean) => {
    const customers = { rowRules: rowRules.map((rule) => ({ ...rule, enabled })) };
    return seen(who, 'orders', { customers }).relations.get('customer')?.isNullable;
  };
  assert.deepEqual([customerOf(USERS, true), customerOf(USERS, false), customerOf(OWNERS, true)], [true, false, false]);
});

test('only what the settings allow may be expanded', () => {
  const orders = seen(OWNERS, 'orders', { orders: { settings: { expandable: ['items'], maxExpandDepth: 1 } } });
  assert.deepEqual([[...orders.relations.keys()], orders.expandDepth], [['items'], 1]);
  assert.equal(seen(OWNERS, 'orders').expandDepth, 3);
});
