import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listActions, listDestinations } from '../../../../console/src/shell/destinations.ts';

const workspace = { org: 'demo', ws: 'shop' };
const labels = (isAdministrator: boolean, entity?: string) =>
  listDestinations(workspace, isAdministrator, entity).map(({ label }) => label);

test('who administers sees all screens, who does not the API alone', () => {
  assert.deepEqual(labels(true, 'orders'), [
    'Schema',
    'Migrations',
    'Access',
    'Webhooks',
    'API',
    'Activity',
    'Settings',
  ]);
  assert.deepEqual(labels(false, 'orders'), ['API']);
});

test('a workspace without entities has no page of their API', () => {
  assert.deepEqual(labels(false), []);
});

test('who may not write is offered no action that writes', () => {
  const entities = [
    { name: 'orders', operations: ['list', 'create'] },
    { name: 'views', operations: ['list'] },
  ];
  const actions = (mayWrite: boolean, mayAdminister: boolean) =>
    listActions(workspace, { mayWrite, mayAdminister }, entities).map(({ label, to }) => `${label}: ${to}`);
  const writing = [
    'New record of orders: /demo/shop/data/orders/new',
    'Import into orders: /demo/shop/data/orders/import',
  ];
  assert.deepEqual(actions(true, true), [...writing, 'Import a file as a new entity: /demo/shop/import']);
  assert.deepEqual(actions(true, false), writing);
  assert.deepEqual(actions(false, false), []);
});
