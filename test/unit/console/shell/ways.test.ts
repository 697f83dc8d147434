import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Permissions, Session } from '../../../../console/src/api/session.ts';
import { waysOf } from '../../../../console/src/shell/ways.ts';

const place = { org: 'demo', ws: 'shop' };
const as = (permissions: Permissions | null): Session => ({
  kind: permissions === null ? 'operator' : 'owner',
  name: 'key',
  permissions,
  workspaces: [],
  expiresAt: null,
});
const labels = (permissions: Permissions | null, entity?: string) =>
  waysOf(place, as(permissions), entity).map(({ label }) => label);

test('who administers sees all screens, who does not the API alone', () => {
  const all = ['Schema', 'Migrations', 'Access', 'API', 'Activity', 'Settings'];
  assert.deepEqual(labels(null, 'orders'), all);
  assert.deepEqual(labels('OWNER', 'orders'), all);
  assert.deepEqual(labels('READ_WRITE', 'orders'), ['API']);
  assert.deepEqual(labels('READ_ONLY', 'orders'), ['API']);
});

test('a workspace without entities has no page of their API', () => {
  assert.deepEqual(labels('READ_ONLY'), []);
});
