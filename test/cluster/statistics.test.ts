// How large workspaces are, by what the nodes of a Citus cluster know that have their tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { makeShop, ORDERS } from '../support/shop.ts';

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

  test('of a workspace whose worker is down there are none, and those of the others are told', async () => {
    await server.workspace('acme/near', { entities: { notes: { fields: { text: { type: 'string' } } } } });
    const places = `select p.groupid from pg_dist_placement p join pg_dist_shard s using (shardid) where s.logicalrelid`;
    const { length } = await server.database.query(
      `${places} = 'ws1_shop.orders'::regclass except ${places} = 'ws2_near.notes'::regclass`,
    );
    assert.equal(length, 1, 'they lie on two nodes');
    // For this database alone: nothing listens at the port.
    const turnTo = (port: string) =>
      server.database.query(
        `update pg_dist_node set nodeport = ${port} where groupid in (${places} = 'ws1_shop.orders'::regclass)`,
      );
    const [node] = await server.database.query(
      `select nodeport as port from pg_dist_node where groupid in (${places} = 'ws1_shop.orders'::regclass)`,
    );
    await turnTo('1');
    const refused = await shop.admin('statistics');
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json.error.message, /^The part of the database that has this workspace is not reachable/);
    assert.equal(refused.headers.get('retry-after'), '2');
    const listed = async (): Promise<readonly unknown[]> => {
      const path = '/api/admin/v1/organizations/acme/workspaces?statistics=true';
      const { status, text, json } = await server.call(path, { credential: ADMIN_KEY });
      assert.equal(status, 200, text);
      return json.data.map(({ slug, statistics }: { slug: string; statistics?: { entities: number } }) => [
        slug,
        statistics?.entities,
      ]);
    };
    assert.deepEqual(await listed(), [
      ['shop', undefined],
      ['near', 1],
    ]);
    await turnTo(String(node?.port));
    assert.equal((await orders())?.records, ORDERS.length);
    assert.deepEqual(await listed(), [
      ['shop', 8],
      ['near', 1],
    ]);
  });
}
