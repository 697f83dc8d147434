// The list of migrations that have not ended: all of them for the operator, its own for an owner.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdAt, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const server = useServer();
prepare(() => prepareHolds(server.database));
const withTotal = (type: string): unknown => ({ entities: { orders: { fields: { total: { type } } } } });
const shop = use(() => server.workspace('acme/shop', withTotal('string')));
const other = use(() => server.workspace('globex/other', withTotal('string')));
prepare(() => shop.create('orders', [{ total: '1' }]));
prepare(() => other.create('orders', [{ total: '1' }]));

async function running(credential: string, query = '?state=running'): Promise<readonly string[]> {
  const { status, json, text } = await server.call(`/api/admin/v1/migrations${query}`, { credential });
  assert.equal(status, 200, text);
  return json.data.map(
    ({ organization, workspace, state }: Record<string, string>) => `${organization}/${workspace} ${state}`,
  );
}

test('a migration is listed until it has ended', async () => {
  assert.deepEqual(await running(ADMIN_KEY), []);
  const held = await holdAt(server.database, { kind: 'ddl', like: '%drop column if exists "total"' }, () =>
    shop.admin('schema?wait=0', { method: 'PUT', body: withTotal('integer') }),
  );
  try {
    assert.deepEqual(await running(ADMIN_KEY), ['acme/shop running']);
    assert.deepEqual(await running(ADMIN_KEY, ''), ['acme/shop running']);
    assert.deepEqual(await running(shop.key), ['acme/shop running']);
    assert.deepEqual(await running(other.key), []);
  } finally {
    await held.release();
  }
  await until('it has ended', async () => (await running(ADMIN_KEY)).length === 0);
  assert.equal((await shop.admin('migrations')).json.meta.totalElements, 1);
});

test('who cancels one is told', async () => {
  const held = await holdAt(server.database, { kind: 'ddl', like: '%drop column if exists "total"' }, () =>
    other.admin('schema?wait=0', { method: 'PUT', body: withTotal('integer') }),
  );
  const [{ id }] = (await other.admin('migrations?size=1')).json.data;
  try {
    const cancelled = await other.admin(`migrations/${id}/cancel`, { method: 'POST', credential: other.key });
    assert.equal(cancelled.json.data.state, 'cancelled', cancelled.text);
  } finally {
    await held.release();
  }
  const [{ action, subject, actor }] = (await other.admin('activity?size=1')).json.data;
  assert.deepEqual([action, subject, actor.kind, actor.name], ['migrations.cancel', String(id), 'key', 'OWNER']);
});

test('ended ones are listed by their workspaces', async () => {
  const { status, json } = await server.call('/api/admin/v1/migrations?state=failed', { credential: ADMIN_KEY });
  assert.equal(status, 400);
  assert.equal(json.error.message, 'state must be running: those that have ended are listed by their workspaces');
});
