// /cluster where there is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../../support/citus.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';

const server = useServer();
const shop = use(() => server.workspace('acme/shop', { entities: { notes: { fields: { text: { type: 'text' } } } } }));
const skip = isCluster && 'the database is a cluster';

for (const [method, path, body] of [
  ['GET', '/cluster'],
  ['GET', '/cluster/workspaces'],
  ['GET', '/cluster/plan'],
  ['POST', '/cluster/rebalance'],
  ['GET', '/cluster/moves'],
  ['GET', '/cluster/moves/1'],
  ['POST', '/cluster/moves/1/cancel'],
  ['POST', '/organizations/acme/workspaces/shop/moves', { node: '10.0.0.12:5432' }],
] as const) {
  test(`${method} ${path} says that the database is no cluster`, { skip }, async () => {
    const answer = await server.call(`/api/admin/v1${path}`, { method, credential: ADMIN_KEY, body });
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.json.error.code, 'CONFLICT');
    assert.match(answer.json.error.message, /^The database is not a Citus cluster: /);
  });
}

test('a move needs the name of a node, and nothing else', { skip }, async () => {
  for (const body of [{}, { node: 5 }, { node: 'a:1', to: 'b:1' }]) {
    const answer = await shop.admin('moves', { method: 'POST', body });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
  }
});
