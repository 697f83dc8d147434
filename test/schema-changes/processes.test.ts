// An entity that is renamed or dropped through one process while requests run against another: its name is 404, and never
// an error of ours. Changes of fields under such requests are in settle.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { applySchema } from '../support/migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import type { Answer } from '../support/server.ts';
import { makeTraffic } from '../support/traffic.ts';

const fields = { code: { type: 'string' } };
const first = useServer();
const second = useServer({}, first);
const workspace = use(() => first.workspace('acme/shop', { entities: { orders: { fields }, customers: {} } }));
prepare(() => workspace.create('orders', [{ code: 'first' }]));

const ask = (path: string, call = {}): Promise<Answer> =>
  second.call(`/api/v1/acme/shop/${path}`, { credential: workspace.key, ...call });

/** Changes the schema while the other process is asked for the entity; gives what that acknowledged. */
async function changeUnder(
  entity: string,
  entities: object,
): Promise<ReadonlyMap<number, { readonly code?: unknown }>> {
  let count = 0;
  const traffic = makeTraffic(ask, {
    entity,
    body: () => ({ code: `t${++count}` }),
    expected: ({ status }) => status === 404,
  });
  await sleep(100);
  const { data } = (await applySchema(workspace, { entities }, '?wait=30&allowDestructive=true')).json;
  assert.equal(data.state, 'succeeded', JSON.stringify(data));
  await sleep(1000);
  assert.equal((await ask(entity)).status, 404);
  const acknowledged = await traffic.stop();
  assert.deepEqual(traffic.surprises, []);
  return acknowledged;
}

test('an entity that is renamed has every record under its new name', async () => {
  const acknowledged = await changeUnder('orders', { purchases: { renamedFrom: 'orders', fields }, customers: {} });
  assert.equal((await ask('purchases/1')).json.data.code, 'first');
  for (const [kept, { code }] of acknowledged) assert.equal((await ask(`purchases/${kept}`)).json.data.code, code);
});

test('an entity that is dropped is gone', async () => {
  await changeUnder('purchases', { customers: {} });
});
