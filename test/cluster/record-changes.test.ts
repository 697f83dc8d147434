// Changes of records are not kept on a cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { useServer } from '../support/resources.ts';

if (isCluster) onCluster();
else test('changes of records', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const server = useServer();

  test('turning changes on is refused, and nothing is changed', async () => {
    const shop = await server.workspace('acme/shop', { entities: { notes: { fields: { n: { type: 'integer' } } } } });
    const { status, json } = await shop.admin('entities/notes/settings', { method: 'PUT', body: { changes: 'feed' } });
    assert.deepEqual([status, json.error.code], [409, 'CHANGES_UNAVAILABLE']);
    assert.equal((await shop.call('notes/_changes')).json.error.code, 'CHANGES_OFF');
    await shop.create('notes', [{ n: 1 }]);
  });
}
