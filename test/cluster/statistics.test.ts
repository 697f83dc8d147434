// How large workspaces are, by what the nodes of a Citus cluster know that have their tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { makeShop, ORDERS } from '../support/shop.ts';
import { use, useServer } from '../support/use.ts';

if (isCluster) onCluster();
else test('statistics of a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const server = useServer();
  const shop = use(() => makeShop(server));

  interface Line {
    readonly entity: string;
    readonly records: number;
    readonly tableBytes: number;
  }

  const orders = async (): Promise<Line | undefined> => {
    await server.database.query('analyze ws1_shop.orders');
    const { data } = (await shop.admin('statistics')).json as { data: readonly Line[] };
    assert.equal(data.length, 8, JSON.stringify(data));
    return data.find(({ entity }) => entity === 'orders');
  };

  test('of a workspace on a worker', async () => {
    const told = await orders();
    assert.equal(told?.records, ORDERS.length);
    assert.ok(told.tableBytes > 0);
  });
}
