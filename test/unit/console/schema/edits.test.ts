import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../../console/src/api/json.ts';
import {
  changeFieldType,
  changeRelationKind,
  findFreeName,
  listColumns,
  renameMember,
} from '../../../../console/src/schema/edits.ts';
import { getAt, setAt } from '../../../../console/src/schema/json-value.ts';

const DOCUMENT: Json = {
  entities: {
    customers: {
      fields: { name: { type: 'string' } },
      settings: { label: 'name' },
      relations: { orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' } },
    },
    orders: {
      fields: { total: { type: 'decimal', precision: '12', min: '0', default: '1' } },
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
      indexes: [{ fields: ['total', 'customerId'] }],
      settings: { defaultExpand: ['customer'], defaultFields: ['total', 'customer.name'] },
      rowRules: [{ column: 'customerId', claim: 'id' }],
    },
  },
};

test('a renamed entity is named so by what leads to it, and keeps its records', () => {
  const next = renameMember(DOCUMENT, ['entities', 'customers'], 'buyers', DOCUMENT);
  assert.equal(getAt(next, ['entities', 'buyers', 'renamedFrom']), 'customers');
  assert.equal(getAt(next, ['entities', 'orders', 'relations', 'customer', 'entity']), 'buyers');
  assert.deepEqual(renameMember(next, ['entities', 'buyers'], 'customers', DOCUMENT), DOCUMENT);
});

test('a renamed relation takes its column, indexes, rules, settings and the other side along', () => {
  const path = ['entities', 'orders', 'relations', 'customer'];
  const next = renameMember(DOCUMENT, path, 'buyer', DOCUMENT);
  assert.deepEqual(getAt(next, ['entities', 'orders', 'indexes']), [{ fields: ['total', 'buyerId'] }]);
  assert.deepEqual(getAt(next, ['entities', 'orders', 'rowRules']), [{ column: 'buyerId', claim: 'id' }]);
  assert.deepEqual(getAt(next, ['entities', 'orders', 'settings']), {
    defaultExpand: ['buyer'],
    defaultFields: ['total', 'buyer.name'],
  });
  assert.equal(getAt(next, ['entities', 'customers', 'relations', 'orders', 'inverse']), 'buyer');
  assert.deepEqual(renameMember(next, [...path.slice(0, -1), 'buyer'], 'customer', DOCUMENT), DOCUMENT);
});

test('a renamed field stays the label of its records', () => {
  const path = ['entities', 'customers', 'fields', 'name'];
  const next = renameMember(DOCUMENT, path, 'title', DOCUMENT);
  assert.equal(getAt(next, ['entities', 'customers', 'settings', 'label']), 'title');
  assert.deepEqual(renameMember(next, [...path.slice(0, -1), 'title'], 'name', DOCUMENT), DOCUMENT);
  const labelled = setAt(DOCUMENT, ['entities', 'customers', 'settings', 'label'], '{name} ({name})');
  const renamed = renameMember(labelled, path, 'title', DOCUMENT);
  assert.equal(getAt(renamed, ['entities', 'customers', 'settings', 'label']), '{title} ({title})');
});

test('a renamed field stays out of the changes that are kept', () => {
  const path = ['entities', 'customers', 'fields', 'name'];
  const document = setAt(DOCUMENT, ['entities', 'customers', 'settings', 'changesOmit'], ['name']);
  const next = renameMember(document, path, 'title', DOCUMENT);
  assert.deepEqual(getAt(next, ['entities', 'customers', 'settings', 'changesOmit']), ['title']);
});

test('what is not in force yet has no former name', () => {
  const next = renameMember(DOCUMENT, ['entities', 'orders', 'fields', 'total'], 'amount', { entities: {} });
  assert.equal(getAt(next, ['entities', 'orders', 'fields', 'amount', 'renamedFrom']), undefined);
  assert.deepEqual(getAt(next, ['entities', 'orders', 'indexes']), [{ fields: ['amount', 'customerId'] }]);
});

test('another type or kind loses what it does not know', () => {
  const total = ['entities', 'orders', 'fields', 'total'];
  assert.deepEqual(getAt(changeFieldType(DOCUMENT, total, 'integer'), total), { type: 'integer', min: '0' });
  assert.deepEqual(getAt(changeFieldType(DOCUMENT, total, 'enum'), total), { type: 'enum', values: ['first'] });
  const orders = ['entities', 'customers', 'relations', 'orders'];
  assert.deepEqual(getAt(changeRelationKind(DOCUMENT, orders, 'belongsTo'), orders), {
    kind: 'belongsTo',
    entity: 'orders',
  });
});

test('columns are fields and what stores relations', () => {
  assert.deepEqual(listColumns(getAt(DOCUMENT, ['entities', 'orders'])), ['total', 'customerId']);
  assert.equal(findFreeName('total', ['total', 'total2']), 'total3');
});
