// Totals that a worker keeps while it is killed under writers and starts again, and when its standby takes over: exact, as
// they stand in the transactions that write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWatched } from '../support/logged-server.ts';
import { judgeNothing } from '../support/openapi-conformance.ts';
import {
  killPostgres,
  makeCluster,
  makeStandby,
  type OwnCluster,
  type OwnNode,
  skipOwnCluster,
} from '../support/own-cluster.ts';
import { promote } from '../support/postgres.ts';
import { use } from '../support/resources.ts';
import { type Answer, clientOf, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

// Which of the answers come is a matter of time.
judgeNothing();

if (skipOwnCluster === false) onCluster();
else test('totals of a worker that fails', { skip: skipOwnCluster }, () => undefined);

const SCHEMA = { entities: { things: { fields: { size: { type: 'integer' } } } } };
const RECORDS = 6000;
const WRITERS = 6;
// Of writers between two faults.
const ENOUGH = 200;

function onCluster(): void {
  const cluster: OwnCluster = use(makeCluster, (made) => made.remove());
  const server = use(
    () => startWatched({ DATABASE_URL: cluster.coordinator.url }),
    (made) => made.stop(),
  );
  const shop: TestWorkspace = use(async () => {
    await server.ready();
    return clientOf(server.url).workspace('acme/shop', SCHEMA);
  });
  const node: OwnNode = use(() => cluster.holderOf('ws1_shop.things'));

  async function importThings(): Promise<void> {
    const lines = Array.from({ length: RECORDS }, (_, index) => `${index}\n`);
    const headers = { 'content-type': 'text/csv' };
    const answer = await shop.call('things/_import', { method: 'POST', headers, body: `size\n${lines.join('')}` });
    assert.equal(answer.status, 200, answer.text);
  }

  const list = (): Promise<Answer> => shop.call('things?size=1&fields=id&count=exact');

  /** Whether the node keeps a total, and whether it is what there is: both in one snapshot. */
  async function kept(): Promise<{ readonly isKept: boolean; readonly isExact: boolean }> {
    const [names] = await cluster.coordinator.query(
      `select shard_name('ws1_shop.things'::regclass, t.shardid) as things, s.shardid as total
from pg_dist_shard t, pg_dist_shard s where t.logicalrelid = 'ws1_shop.things'::regclass and s.logicalrelid = 'ws1_shop."$total"'::regclass`,
    );
    const total = `ws1_shop."$total_of_${names?.total}"`;
    const [made] = await node.postgres.query('select to_regprocedure($1) is not null as made', [`${total}(oid)`]);
    if (made?.made !== true) return { isKept: false, isExact: true };
    const [row] = await node.postgres.query(
      `select ${total}('${names?.things}'::regclass) as kept, (select count(*) from ${names?.things}) as counted`,
    );
    return { isKept: row?.kept !== null, isExact: row?.kept === null || String(row?.kept) === String(row?.counted) };
  }

  /** Writers of every kind, beside lists, until `work` has ended; each answer is one that is allowed. */
  async function writeWhile(work: (acknowledged: () => number) => Promise<void>): Promise<void> {
    let isOver = false;
    let done = 0;
    const end = work(() => done).finally(() => {
      isOver = true;
    });
    const kinds = [
      () => shop.call('things', { method: 'POST', body: { size: 1 } }),
      () =>
        shop.call('things/_bulk', { method: 'POST', body: { data: Array.from({ length: 50 }, () => ({ size: 2 })) } }),
      async () => {
        const { json } = await shop.call('things?size=5&sort=id,desc&fields=id');
        const ids = json?.data?.map(({ id }: { id: number }) => id).join();
        return ids ? shop.call(`things/_bulk?ids=${ids}`, { method: 'DELETE' }) : list();
      },
      () =>
        shop.call('_batch', {
          method: 'POST',
          body: { operations: [{ method: 'POST', entity: 'things', body: { size: 3 } }] },
        }),
      list,
    ];
    await Promise.all([
      end,
      ...Array.from({ length: WRITERS }, async (_, index) => {
        for (let turn = index; !isOver; turn++) {
          const { status, text } = await (kinds[turn % kinds.length] as () => Promise<Answer>)();
          assert.ok(status < 300 || status === 503 || status === 404, `${status} ${text}`);
          if (status < 300) done++;
        }
      }),
    ]).finally(() => end.catch(() => undefined));
  }

  const more = async (done: () => number): Promise<void> => {
    const before = done();
    await until('writers write', () => done() > before + ENOUGH);
  };

  /** What a list says, what the node keeps, and what there is. */
  async function assertExact(): Promise<void> {
    await until('a total is kept', async () => {
      const answer = await list();
      assert.ok(answer.status === 200 || answer.status === 503, answer.text);
      const { isKept, isExact } = await kept();
      assert.ok(isExact);
      return isKept;
    });
    const [row] = await cluster.coordinator.query('select count(*)::int4 as n from ws1_shop.things');
    const { json, text } = await list();
    assert.equal(json.meta.totalElements, row?.n, text);
  }

  test('a worker that is killed under writers has exact totals when it is back, each time', async () => {
    await importThings();
    await assertExact();
    for (let round = 0; round < 3; round++) {
      await writeWhile(async (done) => {
        await more(done);
        await killPostgres(node.postgres);
        await node.postgres.start();
        await more(done);
      });
      await assertExact();
    }
  });

  test('the standby of a worker that takes over has exact totals, and other versions', async () => {
    const standby = await makeStandby(node.postgres);
    const old = node.postgres;
    await standby.start();
    const [{ id }] = await shop.create('things', [{ size: 7 }]);
    const tag = (await shop.call(`things/${id}`)).headers.get('etag') as string;
    try {
      await writeWhile(async (done) => {
        await more(done);
        // What was acknowledged may be missing there, as with any standby that nobody waits for.
        await killPostgres(old);
        await promote(standby);
        cluster.workers.find((one) => one.postgres === old)!.postgres = standby;
        node.address.to(standby.port, true);
        await more(done);
      });
      await assertExact();
      await until('versions are others', async () => {
        const read = await shop.call(`things/${id}`);
        return read.status === 404 || (read.status === 200 && read.headers.get('etag') !== tag);
      });
    } finally {
      await old.remove();
    }
  });
}
