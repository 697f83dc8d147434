// Reads of a workspace of a Citus cluster go straight to the node that holds it, and tell the same as those through the
// coordinator, while it is moved about by others, too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { isCluster } from '../support/citus.ts';
import { use, useDatabase, useIssuer, useServer, useUsers } from '../support/resources.ts';
import type { TestServer } from '../support/server.ts';
import { makeShop } from '../support/shop.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { until } from '../support/wait-until.ts';

const READS = [
  'orders?expand=customer.country,items.product,tags&sort=customer.name&filter=items.product.sku,eq,TEA-02&size=2&items.size=1',
  'orders?count=none&expand=items',
  'orders?page=1&size=3&sort=status',
  'orders/1?expand=customer.country,items.product,tags',
  'orders/99',
  'countries?expand=customers.orders.items',
  'customers?filter=referrer.name,contains,a&expand=referrals',
  'orders/_aggregate?select=count,avg:total,max:customer.name&group=customer.country.name&sort=count,desc',
];

if (isCluster) onCluster();
else test('reads on the nodes of a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();
  const server = useServer(LOCAL_PROVIDER, { database });
  const far = useServer({ WDA_NODE_READS: 'off' }, { database });
  const second = useServer(LOCAL_PROVIDER, { database });
  const shop = use(() => makeShop(server));
  const tokenOf = useUsers(shop, useIssuer());

  interface Place {
    readonly host: string;
    readonly port: number;
  }

  /** Where the schema lies. */
  async function place(): Promise<Place> {
    const [row] = await database.query(
      `select nodename as host, nodeport as port from citus_shards where table_name = 'ws1_shop.orders'::regclass`,
    );
    return row as unknown as Place;
  }

  /** How many sessions of servers have read the table by the name that it has on its node. */
  async function readersThere(): Promise<number> {
    const { host, port } = await place();
    const client = new pg.Client({
      connectionString: Object.assign(new URL(database.url), { host: `${host}:${port}` }).href,
    });
    await client.connect();
    try {
      const { rows } = await client.query(
        `select 1 from pg_stat_activity where application_name = 'workspace-data-api' and query ~ '"ws1_shop"."orders_[0-9]+"'`,
      );
      return rows.length;
    } finally {
      await client.end();
    }
  }

  const untilThere = (): Promise<void> =>
    until('reads go to the node', async () => {
      await shop.call('orders/1');
      return (await readersThere()) > 0;
    });

  test('reads of all kinds are run on the node, and tell the same', async () => {
    await untilThere();
    for (const path of READS) {
      const near = await shop.call(path);
      const other = await far.call(`/api/v1/acme/shop/${path}`, { credential: shop.key });
      assert.equal(near.status, other.status, path);
      assert.equal(near.text, other.text, path);
      assert.equal(near.headers.get('etag'), other.headers.get('etag'), path);
    }
  });

  test('a row rule holds for reads on the node from the next request on, in every process', async () => {
    await untilThere();
    const credential = tokenOf({ sub: 'ada', customer: 1 });
    const seen = async (on: TestServer): Promise<number[]> => {
      const answer = await on.call('/api/v1/acme/shop/orders?fields=customerId&size=100', { credential });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data.map(({ customerId }: { customerId: number }) => customerId);
    };
    const rules = async (...rowRules: object[]): Promise<void> => {
      const answer = await shop.admin('entities/orders/row-rules', { method: 'PUT', body: rowRules });
      assert.equal(answer.status, 200, answer.text);
    };
    const all = await seen(second);
    assert.ok(new Set(all).size > 1);
    for (let round = 0; round < 5; round++) {
      await rules({ column: 'customerId', claim: 'customer' });
      for (const on of [second, server, second, server]) assert.deepEqual([...new Set(await seen(on))], [1]);
      await rules();
      for (const on of [second, server]) assert.deepEqual(await seen(on), all);
    }
  });

  test('an estimate asks the planner of the node', async () => {
    const { meta } = (await shop.call('orders?count=estimated&size=1')).json;
    assert.ok(meta.totalElements > 0, JSON.stringify(meta));
  });

  test('a write is seen by the next read, wherever others move the workspace meanwhile', async () => {
    await untilThere();
    const nodes = (await database.query(
      'select nodename as host, nodeport as port from pg_dist_node where groupid > 0 order by nodeport',
    )) as unknown as readonly Place[];
    let isMoving = true;
    const moves = (async () => {
      for (let turn = 0; turn < 4; turn++) {
        const here = await place();
        const next = nodes.find(({ port }) => port !== here.port) as Place;
        await database.query(`select citus_schema_move('ws1_shop', $1, $2, 'block_writes')`, [next.host, next.port]);
      }
    })().finally(() => {
      isMoving = false;
    });
    let written = 0;
    while (isMoving) {
      const note = `note ${++written}`;
      // The cluster keeps writers off while it moves a table.
      await until('the write is done', async () => {
        const put = await shop.call('orders/2', { method: 'PUT', body: { note } });
        assert.ok([200, 503].includes(put.status), put.text);
        return put.status === 200;
      });
      const [one, listed] = await Promise.all([
        shop.call('orders/2?expand=customer'),
        shop.call('customers?filter=orders.id,eq,2&expand=orders&count=none'),
      ]);
      assert.equal(one.json.data?.note, note, one.text);
      assert.match(listed.text, new RegExp(`"${note}"`));
    }
    await moves;
    assert.ok(written > 4);
    await untilThere();
  });
}
