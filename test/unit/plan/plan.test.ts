// The way from a request to a plan: who is admitted, in which order it is refused, and what a plan holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MigrationGate } from '../../../src/model/entity.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import {
  admit,
  getNextPageCheck,
  type ListPlan,
  planCreate,
  planDelete,
  planExport,
  planList,
  planRead,
  planReferences,
  planUpdate,
} from '../../../src/plan/plan.ts';
import { scan } from '../../../src/plan/scan.ts';
import { parseExportRequest, parseListRequest, parseReadRequest } from '../../../src/request/record-request.ts';
import { refusalOf, refuses } from '../../support/error-response.ts';
import {
  external,
  LIMITS,
  makePlanContext,
  makeShop,
  OPERATOR,
  OWNER,
  withGate,
} from '../../support/field-types-fixture.ts';
import { operandText, projectionText } from './plan-text.ts';

const SHOP = makeShop();
const RULED = makeShop({ customers: { rowRules: [{ column: 'country', claim: 'country' }] } });
const READER = external({}, 'READ_ONLY');
const USER = external({ country: 'nl' });

function list(query: string, entity = 'orders', workspace: Workspace = SHOP, principal: Principal = OWNER): ListPlan {
  return planList(parseListRequest(query, LIMITS), getEntity(workspace, entity), makePlanContext(workspace, principal));
}

const gate = (blocksReads: boolean, blocksWrites: boolean): MigrationGate => ({
  blocksReads,
  blocksWrites,
  retryAfterSeconds: 7,
});

test('an entity is admitted by its name', () => {
  assert.equal(admit(SHOP, OWNER, 'orders', 'write').name, 'orders');
  assert.equal(admit(SHOP, READER, 'orders', 'read').name, 'orders');
  assert.equal(admit(SHOP, OPERATOR, 'orders', 'write').name, 'orders');
});

for (const [name, message] of [
  [
    'order',
    'Entity order does not exist. Did you mean orders? Known: customers, profiles, orders, items, tags, orderTags, categories, things',
  ],
  ['Orders', /^Entity Orders does not exist\. Did you mean orders\?/],
  ['', /^Entity {2}does not exist\. Known: /],
  ['__proto__', /^Entity __proto__ does not exist\. Known: /],
] as const) {
  test(`entity ${name} does not exist`, () => refuses(() => admit(SHOP, OWNER, name, 'read'), message, 'NOT_FOUND'));
}

test('Read Only may not write: 403 with the words of the specification', () => {
  const message = 'READ_ONLY permissions - data modifications are not allowed';
  for (const principal of [READER, { ...OWNER, permissions: 'READ_ONLY' } as const]) {
    refuses(() => admit(SHOP, principal, 'orders', 'write'), message, 'FORBIDDEN');
  }
});

test('permission is asked before the entity, the entity before the gate', () => {
  const migrating = withGate(SHOP, 'orders', gate(true, true));
  assert.equal(refusalOf(() => admit(migrating, READER, 'nothing', 'write')).status, 403);
  assert.equal(refusalOf(() => admit(migrating, READER, 'orders', 'write')).status, 403);
  assert.equal(refusalOf(() => admit(migrating, OWNER, 'nothing', 'write')).status, 404);
  assert.equal(refusalOf(() => admit(migrating, OWNER, 'orders', 'write')).status, 503);
});

for (const [blocksReads, blocksWrites, operation, passes] of [
  [false, false, 'read', true],
  [false, false, 'write', true],
  [true, false, 'read', false],
  [true, false, 'write', true],
  [false, true, 'read', true],
  [false, true, 'write', false],
  [true, true, 'read', false],
  [true, true, 'write', false],
] as const) {
  test(`a gate of ${JSON.stringify({ blocksReads, blocksWrites })} ${passes ? 'passes' : 'stops'} a ${operation}`, () => {
    const workspace = withGate(SHOP, 'orders', gate(blocksReads, blocksWrites));
    const runs = [
      () => admit(workspace, OWNER, 'orders', operation),
      () => scan(getEntity(workspace, 'orders'), OWNER, operation),
    ];
    for (const run of runs) {
      if (passes) run();
      else
        refuses(
          run,
          'Table orders is being migrated; retry after the migration completes',
          'SCHEMA_MIGRATION_IN_PROGRESS',
        );
    }
  });
}

test('the refusal of a gate says what it blocks and when to come back', () => {
  const workspace = withGate(SHOP, 'orders', gate(true, true));
  const { status, members, headers } = refusalOf(() => admit(workspace, OWNER, 'orders', 'read'));
  assert.equal(status, 503);
  assert.deepEqual(members, { retryAfterSeconds: 7, blocksReads: true, blocksWrites: true });
  assert.deepEqual(headers, { 'Retry-After': '7' });
});

for (const [name, query] of [
  ['an expansion', 'expand=customer'],
  ['a nested expansion', 'expand=items.order.customer'],
  ['a filter', 'filter=customer.name,eq,x'],
  ['a filter that denies', 'filter=customer.name,isNull'],
  ['a sort', 'sort=customer.name'],
  ['the filter of an expanded list', 'expand=items&items.filter=order.customer.name,eq,x'],
] as const) {
  test(`${name} that reaches an entity whose reads are blocked is refused`, () => {
    const workspace = withGate(SHOP, 'customers', gate(true, true));
    assert.equal(refusalOf(() => list(query, 'orders', workspace)).code, 'SCHEMA_MIGRATION_IN_PROGRESS');
    list(query, 'orders', withGate(SHOP, 'customers', gate(false, true)));
  });
}

test('the entity between the two of a many-to-many relation is one that is reached', () => {
  const workspace = withGate(SHOP, 'orderTags', gate(true, true));
  for (const query of ['expand=tags', 'filter=tags.name,eq,x']) {
    refuses(
      () => list(query, 'orders', workspace),
      /^Table orderTags is being migrated/,
      'SCHEMA_MIGRATION_IN_PROGRESS',
    );
  }
});

test('the farthest page of the largest size has an exact offset', () => {
  const { start } = list('page=1000000000000&size=1000');
  assert.equal(start.kind === 'page' && operandText(start.offset), '1000000000000000:int8');
});

test('how a page finds out whether another follows', () => {
  const after = (query: string): string => `${query}&after=${Buffer.from('["id,asc","5"]').toString('base64url')}`;
  for (const [query, way] of [
    ['', 'none'],
    ['expand=items', 'none'],
    ['count=none', 'extra'],
    ['count=estimated', 'extra'],
    ['count=none&expand=customer', 'extra'],
    ['count=none&expand=items', 'window'],
    [after(''), 'extra'],
    [after('expand=items'), 'window'],
  ] as const) {
    assert.equal(getNextPageCheck(list(query)), way, query);
  }
});

for (const [name, entity, query, principal, count] of [
  ['an owner', 'customers', '', OWNER, 'estimated'],
  ['a user under rules of the entity', 'customers', '', USER, 'exact'],
  ['a user under rules of an entity that the filter reaches', 'orders', 'filter=customer.name,eq,x', USER, 'exact'],
  ['the same, deep in a denial', 'orders', 'or=customer.name,isNull;total,gt,1', USER, 'exact'],
  ['a user under rules of no entity that counts', 'orders', 'expand=customer', USER, 'estimated'],
] as const) {
  test(`an estimate tells nothing of hidden rows: ${name} gets count=${count}`, () => {
    assert.equal(list(`count=estimated&${query}`, entity, RULED, principal).count, count);
  });
}

test('a create holds what is stamped, an update what is given, both answer with the whole record', () => {
  const customers = getEntity(RULED, 'customers');
  const values = new Map([['name', 'Ann']]);
  const create = planCreate(values, customers, makePlanContext(RULED, USER));
  assert.deepEqual(
    [...create.values],
    [
      ['name', 'Ann'],
      ['country', 'nl'],
    ],
  );
  const update = planUpdate(values, customers, makePlanContext(RULED, USER), true);
  assert.deepEqual([...update.values], [['name', 'Ann']]);
  assert.equal(update.guarded, true);
  for (const { projection } of [create, update]) {
    assert.equal(projectionText(projection), 'id name email country createdAt updatedAt');
  }
});

test('a write is scanned as one: a gate on writes stops it, one on reads does not', () => {
  const values = new Map([['name', 'x']]);
  const plans = (workspace: Workspace) => {
    const [tags, view] = [getEntity(workspace, 'tags'), makePlanContext(workspace)];
    return [
      () => planCreate(values, tags, view),
      () => planUpdate(values, tags, view, false),
      () => planDelete(tags, view, false),
    ];
  };
  for (const run of plans(withGate(SHOP, 'tags', gate(true, false)))) run();
  for (const run of plans(withGate(SHOP, 'tags', gate(false, true)))) assert.equal(refusalOf(run).status, 503);
});

test('deleting passes the gates of the entities whose records refer to the one deleted', () => {
  const remove = (entity: string, migrating: string, reads: boolean) => {
    const workspace = withGate(SHOP, migrating, gate(reads, true));
    return () => planDelete(getEntity(workspace, entity), makePlanContext(workspace), false);
  };
  const message = 'Table orders is being migrated; retry after the migration completes';
  refuses(remove('customers', 'orders', true), message, 'SCHEMA_MIGRATION_IN_PROGRESS');
  // Restricted, it only looks at them; in a cascade it deletes them, and so on.
  remove('customers', 'orders', false)();
  assert.equal(refusalOf(remove('orders', 'items', false)).status, 503);
  remove('customers', 'items', true)();
  remove('items', 'orders', true)();
});

test('references of a body are looked up with the row filter of their entity', () => {
  const references = (values: Record<string, string | null>, principal: Principal) => {
    const plan = planReferences(
      new Map(Object.entries(values)),
      getEntity(RULED, 'orders'),
      makePlanContext(RULED, principal),
      'create',
    );
    return plan?.checks.map((check) => `${check.field.name} ${check.scan.entity.name} ${check.scan.filter.kind}`);
  };
  assert.deepEqual(references({ customerId: '5', total: '1' }, OWNER), ['customerId customers unrestricted']);
  assert.deepEqual(references({ customerId: '5' }, USER), ['customerId customers rules']);
  assert.equal(references({ customerId: null }, OWNER), undefined);
  assert.equal(references({ total: '1' }, OWNER), undefined);
});

test('the statement of a write checks the references that a foreign key does not guard', () => {
  const values = new Map([['customerId', '5']]);
  const orders = getEntity(RULED, 'orders');
  const checked = (principal: Principal) =>
    planCreate(values, orders, makePlanContext(RULED, principal)).references.length;
  assert.equal(checked(OWNER), 0);
  assert.equal(checked(USER), 1);
  assert.equal(planUpdate(values, orders, makePlanContext(RULED, USER), false).references.length, 1);
});

test('an export does not take the default selection of the entity', () => {
  const workspace = makeShop({ tags: { settings: { defaultFields: ['id'] } } });
  const plan = planExport(parseExportRequest(''), getEntity(workspace, 'tags'), makePlanContext(workspace));
  assert.equal(projectionText(plan.projection), 'id name');
});

test('labels of related records follow the references of an export, where a list may expand them', () => {
  const exported = (query: string, workspace = SHOP) =>
    projectionText(
      planExport(parseExportRequest(query), getEntity(workspace, 'orders'), makePlanContext(workspace)).projection,
    );
  assert.equal(exported('labels=true&fields=id,customerId'), 'id customerId customer{name}');
  assert.equal(exported('labels=true&fields=id'), 'id');
  assert.equal(exported('labels=false&fields=customerId'), 'customerId');
  const closed = makeShop({ orders: { settings: { expandable: ['items'] } } });
  assert.equal(exported('labels=true&fields=customerId', closed), 'customerId');
});

test('a read is scanned with the row filter of the principal', () => {
  const read = (principal: Principal) =>
    planRead(parseReadRequest('', LIMITS), getEntity(RULED, 'customers'), makePlanContext(RULED, principal));
  assert.equal(read(USER).scan.filter.kind, 'rules');
  assert.equal(read(OWNER).scan.filter.kind, 'unrestricted');
});
