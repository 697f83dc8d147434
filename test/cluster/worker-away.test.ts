// A worker of a cluster that is away costs its own workspaces alone: all others read and write whatever they could before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { RULED_SHOP, SENDERS } from '../support/cluster-calls.ts';
import { judgeNothing } from '../support/openapi-conformance.ts';
import { prepare, use, useDatabase, useIssuer, useServer, useUsers } from '../support/resources.ts';
import { ADMIN_KEY, startTestServer } from '../support/server.ts';
import { fillShop } from '../support/shop.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';

// What is answered is judged where the same is asked of one PostgreSQL.
judgeNothing();

if (isCluster) onCluster();
else test('a worker that is away', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();
  const server = useServer(LOCAL_PROVIDER, { database });
  const shop = use(() => server.workspace('acme/shop', RULED_SHOP));
  const far = use(() =>
    server.workspace('acme/far', { entities: { notes: { fields: { text: { type: 'string' } } } } }),
  );
  const tokenOf = useUsers(shop, useIssuer());
  prepare(() => shop.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } }));
  prepare(() => fillShop(shop));
  // For this database alone: nothing listens at the port.
  prepare(() =>
    database.query(`update pg_dist_node set nodeport = 1 where groupid > 0 and groupid not in (
  select p.groupid from pg_dist_placement p join pg_dist_shard s using (shardid) where s.logicalrelid = 'ws1_shop.orders'::regclass)`),
  );

  for (const [who, claims, calls] of SENDERS) {
    for (const [path, call] of calls) {
      test(`${call.method ?? 'GET'} ${path} of ${who} is answered while another worker is away`, async () => {
        const answer = await shop.call(path, {
          ...call,
          credential: claims === undefined ? shop.key : tokenOf(claims),
        });
        assert.ok(answer.status < 500, answer.text);
      });
    }
  }

  test('a server that starts while another worker is away serves', async () => {
    const another = await startTestServer({}, database);
    try {
      const { status, text } = await another.call('/api/v1/acme/shop/orders', { credential: shop.key });
      assert.equal(status, 200, text);
    } finally {
      await another.stop();
    }
  });

  test('a backup of a workspace is made while another worker is away; one that needs that worker is refused', async () => {
    const made = await shop.admin('backup');
    assert.equal(made.status, 200, made.text);
    const ofIt = await far.admin('backup');
    assert.equal(ofIt.status, 503, ofIt.text);
    assert.match(ofIt.text, /The part of the database that has this workspace is not reachable/);
    const ofAll = await server.call('/api/admin/v1/backup', { credential: ADMIN_KEY });
    assert.equal(ofAll.status, 503, ofAll.text);
    assert.match(ofAll.text, /A node of the cluster does not answer/);
  });
}
