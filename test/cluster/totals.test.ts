// Totals that are kept on the node of a cluster that holds the workspace: right beside writers who all come through the
// coordinator, after changes of the schema and after moves, and gone with the workspace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeClusterTotals } from '../../src/citus/totals.ts';
import { readConfig } from '../../src/config.ts';
import { makeDatabase } from '../../src/database/pool.ts';
import { isCluster } from '../support/citus.ts';
import { applySchema, settled } from '../support/migration.ts';
import { prepare, use, useDatabase, useServer } from '../support/resources.ts';
import {
  ADMIN_KEY,
  type Answer,
  type Call,
  startTestServer,
  type TestServer,
  type TestWorkspace,
} from '../support/server.ts';
import { type KeptTotal, keptTotal } from '../support/stored-totals.ts';
import { until } from '../support/wait-until.ts';

const RECORDS = 6000;
const entities = (name: string) => ({
  entities: { [name]: { fields: { size: { type: 'integer' }, note: { type: 'string' } } } },
});

if (isCluster) onCluster();
else test('totals on the nodes of a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();
  const server = useServer({}, { database });
  const far = useServer({ WDA_NODE_READS: 'off' }, { database });
  const shop = use(() => server.workspace('acme/shop', entities('things')));
  const blog = use(() => server.workspace('acme/blog', entities('things')));

  prepare(async () => {
    for (const workspace of [shop, blog]) await importThings(workspace, RECORDS);
  });

  async function importThings(workspace: TestWorkspace, count: number): Promise<void> {
    const lines = Array.from({ length: count }, (_, index) => `${index}\n`);
    const headers = { 'content-type': 'text/csv' };
    const answer = await workspace.call('things/_import', { method: 'POST', headers, body: `size\n${lines.join('')}` });
    assert.equal(answer.status, 200, answer.text);
  }

  /** What a list of a server says. */
  async function listed(workspace: TestWorkspace, by: TestServer = server, entity = 'things'): Promise<number> {
    const path = `/api/v1/${workspace.path}/${entity}?size=1&fields=id`;
    const answer = await by.call(path, { credential: workspace.key });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.meta.totalElements;
  }

  const count = async (table: string): Promise<number> =>
    Number((await database.query(`select count(*) as n from ${table}`))[0]?.n);

  async function withKept<T>(schema: string, work: (there: KeptTotal) => Promise<T>, table = 'things'): Promise<T> {
    const there = await keptTotal(database, schema, table);
    return work(there).finally(there.close);
  }

  const keeping = (there: KeptTotal, workspace: TestWorkspace, by: TestServer = server) =>
    until('the total is kept', async () => {
      await listed(workspace, by);
      return (await there.total()) !== null;
    });

  /** Both of one snapshot, past everybody else. */
  async function assertExact(there: KeptTotal): Promise<void> {
    const [row] = await there.query(
      `select ${there.named('total_of')}('${there.table}'::regclass) as kept, (select count(*) from ${there.table}) as counted`,
    );
    assert.equal(row?.kept, row?.counted);
  }

  test('totals of two workspaces are kept from their first lists on; lists through the coordinator count', async () => {
    await withKept('ws1_shop', (one) =>
      withKept('ws2_blog', async (two) => {
        await keeping(one, shop);
        await keeping(two, blog);
        assert.deepEqual([await one.total(), await two.total()], [RECORDS, RECORDS]);
        // Lists of the node show what is kept, and of the other workspace nothing is changed.
        await one.query(`update ${one.named('total')} set n = n + 7 where slot < 0`);
        assert.deepEqual([await listed(shop), await listed(blog)], [RECORDS + 7, RECORDS]);
        assert.equal(await listed(shop, far), RECORDS);
        await one.query(`update ${one.named('total')} set n = n - 7 where slot < 0`);
      }),
    );
  });

  test('whoever writes through the coordinator is counted, at every moment', async () => {
    await withKept('ws1_shop', async (there) => {
      await keeping(there, shop);
      const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
        shop.call(path, { method: 'POST', body, headers });
      const data = Array.from({ length: 200 }, (_, size) => ({ size }));
      const writers: readonly (() => Promise<unknown>)[] = [
        () => post('things', { size: 1 }),
        () => post('things', { size: 1 }, { 'idempotency-key': `key-${Math.random()}` }),
        () => post('things/_bulk', { data }),
        () => importThings(shop, 300),
        async () => {
          const some = (await shop.call('things?size=3&fields=id&sort=id,desc&count=none')).json.data;
          for (const { id } of some) await shop.call(`things/${id}`, { method: 'DELETE' });
        },
        () => sql('insert into ws1_shop.things (size) select i from generate_series(1, 40) i'),
        () => sql('delete from ws1_shop.things where id in (select id from ws1_shop.things order by id limit 30)'),
        // Two workspaces, as a rule on two nodes: their transactions are prepared first.
        () =>
          sql(
            'begin; insert into ws1_shop.things (size) values (1); insert into ws2_blog.things (size) values (1); commit',
          ),
        () =>
          sql(
            'begin; insert into ws1_shop.things (size) values (1); savepoint s; insert into ws1_shop.things (size) values (2); rollback to s; commit',
          ),
        () => sql('begin; insert into ws1_shop.things (size) values (1); rollback'),
      ];
      let running = true;
      const watching = (async () => {
        while (running) await assertExact(there);
      })();
      try {
        for (let round = 0; round < 3; round++) await Promise.all(writers.map((write) => write()));
        await sql(
          'truncate ws1_shop.things; insert into ws1_shop.things (size) select i from generate_series(1, 5500) i',
        );
        await Promise.all(writers.map((write) => write()));
      } finally {
        running = false;
        await watching;
      }
      assert.equal(await there.total(), await count('ws1_shop.things'));
      assert.equal(await listed(shop), await count('ws1_shop.things'));
      assert.equal(await listed(blog), await count('ws2_blog.things'));
    });
  });

  async function sql(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  test('a prepared transaction is one that has not ended', async () => {
    await withKept('ws1_shop', async (there) => {
      await keeping(there, shop);
      await there.query(
        `begin; insert into ${there.table} (id) values (7000001), (7000002); prepare transaction 'half'`,
      );
      // The next base has it pending.
      await there.query(`update ${there.named('total')} set pending = null where slot < 0`);
      assert.equal(await there.total(), null);
      const fresh = await otherServer();
      try {
        await keeping(there, shop, fresh);
      } finally {
        await fresh.stop();
      }
      await assertExact(there);
      await there.query(`select ${there.named('fold_totals')}(true)`);
      await assertExact(there);
      const before = await there.total();
      await there.query(`commit prepared 'half'`);
      assert.equal(await there.total(), Number(before) + 2);
      await there.query(`select ${there.named('fold_totals')}(true)`);
      await assertExact(there);
    });
  });

  /** One that has tried nothing yet. */
  const otherServer = (): Promise<TestServer> => startTestServer({}, database);

  test('a total of another node is nobody’s, also of a table with the same number', async () => {
    await withKept('ws2_blog', async (there) => {
      await keeping(there, blog);
      await there.query(`update ${there.named('total')} set relation = relation || '1', n = 1 where slot < 0`);
      assert.equal(await listed(blog), await count('ws2_blog.things'));
      await there.query(`select ${there.named('fold_totals')}(true)`);
      assert.equal(await there.total(), null);
    });
  });

  test('during a move there and back each list has the total of its moment, and after it totals are kept anew', async () => {
    for (const _ of ['there', 'and back']) {
      let number = await count('ws1_shop.things');
      await move(shop, async () => {
        const { status, text } = await shop.call('things', { method: 'POST', body: { size: 1 } });
        assert.equal(status, 201, text);
        number++;
        assert.equal(await listed(shop), number);
      });
      await shop.call('things', { method: 'POST', body: { size: 1 } });
      await withKept('ws1_shop', async (there) => {
        const fresh = await otherServer();
        try {
          assert.equal(await listed(shop, fresh), await count('ws1_shop.things'));
          await keeping(there, shop, fresh);
          await shop.call('things', { method: 'POST', body: { size: 2 } });
          await assertExact(there);
          assert.equal(await listed(shop, fresh), await count('ws1_shop.things'));
          // What came along is swept up.
          await there.query(`select ${there.named('fold_totals')}(true)`);
          const places = await there.query(`select distinct relid from ${there.named('total')}`);
          assert.equal(places.length, 1);
        } finally {
          await fresh.stop();
        }
      });
    }
  });

  const operator = (path: string, call: Call = {}): Promise<Answer> =>
    server.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, ...call });

  /** To another node; `meanwhile` is done again and again until it is there. */
  async function move(workspace: TestWorkspace, meanwhile: () => Promise<void>): Promise<void> {
    const slug = workspace.path.split('/')[1];
    const places = (await operator('/cluster/workspaces')).json.data as readonly Record<string, string>[];
    const here = places.find((place) => place.workspace === slug)?.node;
    const { nodes } = (await operator('/cluster')).json.data as { nodes: readonly Record<string, unknown>[] };
    const node = nodes.find(({ name, takesWorkspaces }) => takesWorkspaces === true && name !== here)?.name;
    const begun = await workspace.admin('moves', { method: 'POST', body: { node } });
    assert.equal(begun.status, 202, begun.text);
    let state = 'pending';
    await until('the move has ended', async () => {
      await meanwhile();
      state = (await operator(`/cluster/moves/${begun.json.data.id}`)).json.data.state;
      return state !== 'pending' && state !== 'running';
    });
    assert.equal(state, 'succeeded');
  }

  test('a table that is renamed has its total counted anew', async () => {
    const { things } = entities('things').entities;
    const goods = { entities: { goods: { ...things, renamedFrom: 'things' } } };
    const change = await applySchema(shop, goods, '?wait=60');
    assert.equal(change.status, 200, change.text);
    await settled(server, 'shop');
    const number = await count('ws1_shop.goods');
    assert.equal(await listed(shop, server, 'goods'), number);
    await withKept(
      'ws1_shop',
      async (there) => {
        assert.match(there.table, /goods/);
        await until('the total is that of the new name', async () => {
          assert.equal(await listed(shop, server, 'goods'), number);
          const bases = await there.query(`select relation from ${there.named('total')} where slot < 0`);
          return bases.some(({ relation }) => String(relation).startsWith('goods_'));
        });
        assert.equal(await there.total(), number);
      },
      'goods',
    );
  });

  test('servers that are not connected to a node keep what writers add there small', async () => {
    await withKept('ws2_blog', async (there) => {
      const fresh = await otherServer();
      await keeping(there, blog, fresh).finally(() => fresh.stop());
      // Triggers that add for nobody.
      await there.query(`delete from ${there.named('total')} where slot < 0`);
      await sql('insert into ws2_blog.things (size) values (1)');
      const connection = { connectionString: database.url };
      const db = makeDatabase({ ...readConfig({}), connection, processes: 1, onError: assert.ifError });
      const totals = makeClusterTotals({ db, nodes: { usable: () => [] }, onError: assert.ifError });
      await totals.foldAll().finally(() => db.close());
      assert.deepEqual(await there.query(`select * from ${there.named('total')}`), []);
    });
  });

  test('a workspace that is deleted leaves nothing on any node', async () => {
    const path = '/organizations/acme/workspaces/shop?confirm=shop';
    const answer = await operator(path, { method: 'DELETE' });
    assert.equal(answer.status, 204, answer.text);
    const left = await database.query(
      `select result from run_command_on_all_nodes('select count(*) from pg_namespace where nspname = ''ws1_shop''')`,
    );
    assert.ok(left.length > 1 && left.every(({ result }) => result === '0'), JSON.stringify(left));
    assert.equal(await listed(blog), await count('ws2_blog.things'));
  });
}
