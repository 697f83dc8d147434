// Totals on the nodes of a cluster: nodes that are away or say nothing keep nobody waiting, and are no news.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { UsableNode } from '../../../src/citus/node-reads.ts';
import { makeClusterTotals } from '../../../src/citus/totals.ts';
import { openDatabase } from '../../support/database.ts';
import { use, useDatabase } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = 'ws1_shop';

const database = useDatabase();
const db = use(
  async () => openDatabase(database.url),
  (own) => own.close(0),
);
const silent = use(listenInSilence, ({ close }) => close());

/** Takes connections and never says anything. */
async function listenInSilence() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

for (const [what, portOf] of [
  ['away', () => 1],
  ['silent', () => silent.port],
] as const) {
  test(`a node that is ${what} is waited for by nobody, and is no error`, async () => {
    const { username } = new URL(database.url);
    const node: UsableNode = {
      group: '2',
      database: openDatabase(`postgres://${username}@127.0.0.1:${portOf()}/none`),
    };
    const errors: unknown[] = [];
    const totals = makeClusterTotals({
      db,
      nodes: { usable: () => [node] },
      onError: (_, error) => errors.push(error),
    });
    try {
      totals.maintain({ table: { schema: SCHEMA, name: 'orders_7', total: { shard: '6', group: '2' } } });
      await totals.fold();
      if (what === 'silent') await until('the node was asked', () => silent.connections() > 0);
    } finally {
      await Promise.all([totals.stop(), node.database.close(0)]);
    }
    assert.deepEqual(errors, []);
  });
}

test('the coordinator keeps no total of a table that lies on a node', async () => {
  const totals = makeClusterTotals({ db, nodes: { usable: () => [] }, onError: assert.ifError });
  const table = { schema: SCHEMA, name: 'orders' };
  assert.equal(totals.maintain({ table, statementForms: {} }), true);
  assert.equal(totals.maintain({ table: { ...table, total: { shard: '6', group: '3' } }, statementForms: {} }), true);
  assert.equal(totals.maintain({ table }), false);
  await totals.stop();
});

test('a node is not used before what is kept there was looked at', async () => {
  const totals = makeClusterTotals({ db, nodes: { usable: () => [] }, onError: assert.ifError });
  const { username } = new URL(database.url);
  const node: UsableNode = { group: '2', database: openDatabase(`postgres://${username}@127.0.0.1:1/none`) };
  await assert.rejects(totals.check(node));
  await Promise.all([totals.stop(), node.database.close(0)]);
});
