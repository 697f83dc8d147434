// The coordinator is killed again and again between the two phases of a COMMIT on several nodes: each key of a request has one
// record, changes of the schema come to an end, and no prepared transaction keeps anybody waiting for good.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connected } from '../support/citus.ts';
import { assertOneForEach, createWhile, LINES } from '../support/keyed-clients.ts';
import { startWatched } from '../support/logged-server.ts';
import { judgeNothing } from '../support/openapi-conformance.ts';
import {
  killPostgres,
  makeCluster,
  type OwnCluster,
  type OwnNode,
  pausePostgres,
  skipOwnCluster,
} from '../support/own-cluster.ts';
import { use } from '../support/resources.ts';
import { clientOf, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

// Which of the answers come is a matter of time.
judgeNothing();

if (skipOwnCluster === false) onCluster();
else test('a coordinator that is killed', { skip: skipOwnCluster }, () => undefined);

const KILLS = 3;
const PREPARED = 'select gid from pg_prepared_xacts';

const ATTEMPTS = 40;

/**
 * Until the coordinator has one node's word that it can commit, and waits for that of the other, which hangs; after some attempts
 * also at another moment. Gives the function that lets the other go on.
 */
async function betweenPhases(ready: OwnNode, other: OwnNode): Promise<() => void> {
  return connected(ready.postgres.url, async (client) => {
    const look = async (): Promise<readonly string[]> => (await client.query(PREPARED)).rows.map(({ gid }) => gid);
    for (let attempt = 0; ; attempt++) {
      await sleep(Math.random() * 150);
      const goOn = pausePostgres(other.postgres);
      for (let time = 0; time < 10; time++) {
        const before = await look();
        await sleep(30);
        if (attempt === ATTEMPTS || (await look()).some((gid) => before.includes(gid))) return goOn;
      }
      goOn();
    }
  });
}

function onCluster(): void {
  const cluster: OwnCluster = use(makeCluster, (made) => made.remove());
  const server = use(
    () => startWatched({ DATABASE_URL: cluster.coordinator.url }),
    (made) => made.stop(),
  );
  const shop: TestWorkspace = use(async () => {
    await server.ready();
    return clientOf(server.url).workspace('acme/shop', LINES);
  });

  /** There and back, until `isOver`; gives how often one was acknowledged. */
  function changeSchema(isOver: () => boolean): { readonly count: () => number; readonly end: Promise<void> } {
    let count = 0;
    async function change(): Promise<void> {
      for (let turn = 0; !isOver(); turn++) {
        const more = turn % 2 === 0 ? { more: { type: 'integer' } } : {};
        const body = { entities: { lines: { fields: { text: { type: 'text' }, ...more } } } };
        const { status, text } = await shop.admin('schema?allowDestructive=true', { method: 'PUT', body });
        // 409: one whose process lost its connection is being taken back.
        assert.ok(status < 300 || status === 503 || status === 409, `${status} ${text}`);
        if (status < 300) count++;
        await sleep(50);
      }
    }
    return { count: () => count, end: change() };
  }

  test('each key has one record, changes of the schema end, and nothing stays prepared', async () => {
    let isOver = false;
    const clients = { path: shop.path, credential: shop.key, urls: () => [server.url] };
    const keys = await createWhile(async (acknowledged) => {
      const changes = changeSchema(() => isOver);
      const bothGoOn = async (): Promise<void> => {
        const [records, changed] = [acknowledged(), changes.count()];
        await until('clients create, and the schema changes', () => {
          return acknowledged() > records + 30 && changes.count() > changed + 2;
        });
      };
      try {
        for (let kill = 0; kill < KILLS; kill++) {
          await bothGoOn();
          const [ready, other] = cluster.workers as readonly [OwnNode, OwnNode];
          const goOn = await (kill % 2 === 0 ? betweenPhases(ready, other) : betweenPhases(other, ready));
          await killPostgres(cluster.coordinator);
          goOn();
          await cluster.coordinator.start();
        }
        await bothGoOn();
      } finally {
        isOver = true;
        await changes.end;
      }
    }, clients);
    await assertOneForEach(keys, cluster.coordinator.query, 'shop');
    await until('no change of the schema is under way', async () => {
      const { json, text } = await shop.admin('migrations');
      const states: string[] = (json?.data ?? assert.fail(text)).map((one: { state: string }) => one.state);
      return !states.some((state) => state === 'pending' || state === 'running');
    });
    for (const { postgres } of cluster.workers)
      await until('nothing is prepared', async () => (await postgres.query(PREPARED)).length === 0);
  });
}
