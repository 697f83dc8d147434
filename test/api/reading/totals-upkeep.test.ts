// Kept totals under bad conditions: writers past the triggers, old snapshots, and many writers at once while totals are
// folded and counted again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { buildNodeTotals } from '../../../src/citus/node-total.ts';
import { makeDatabase } from '../../../src/database/pool.ts';
import { recount } from '../../../src/workspace-schema/count.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { type KeptTotal, keptTotal } from '../../support/stored-totals.ts';
import { until } from '../../support/wait-until.ts';

const RECORDS = 5500;
const SCHEMA = '"ws1_upkeep"';
const TABLE = `${SCHEMA}.things`;

let database: TestDatabase;
let server: TestServer;
let workspace: TestWorkspace;
/** Where the total is kept. */
let there: KeptTotal;
before(async () => {
  database = await createTestDatabase();
  server = await startTestServer({}, database);
  workspace = await server.workspace('acme/upkeep', {
    entities: { things: { fields: { size: { type: 'integer' } } } },
  });
  await query(`insert into ${TABLE} (size) select i from generate_series(1, ${RECORDS}) i`);
  there = await keptTotal(database, 'ws1_upkeep', 'things');
});
after(async () => {
  await server?.stop();
  await there?.close();
  await database?.drop();
});

const query = (text: string) => database.query(text);
const fold = (isThorough: boolean) => there.query(`select ${there.named('fold_totals')}(${isThorough})`);

const total = async (): Promise<number> => (await workspace.call('things?size=1')).json.meta.totalElements as number;
const kept = () => there.total();
async function rowsOf(table: string): Promise<number> {
  const [row] = await there.query(`select count(*) as n from ${table}`);
  return Number(row?.n);
}
const counted = () => rowsOf(there.table);

async function keeping(): Promise<void> {
  await until('the total is kept', async () => {
    await total();
    return (await kept()) !== null;
  });
}

async function assertExact(): Promise<void> {
  const count = await counted();
  assert.equal(await kept(), count);
  assert.equal(await total(), count);
}

async function withClient<T>(
  work: (client: pg.Client) => Promise<T>,
  { url }: Pick<TestDatabase, 'url'> = database,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const pastTriggers = (text: string) =>
  there.query(`begin; set local session_replication_role = replica; ${text}; commit`);

test('writers that do without triggers are counted', async () => {
  await keeping();
  await pastTriggers(`insert into ${there.table} (id, size) select 1000000 + i, i from generate_series(1, 500) i`);
  await pastTriggers(`delete from ${there.table} where id <= 7`);
  await assertExact();
});

test('while triggers are disabled there is no total, and once they are enabled it is counted anew', async () => {
  await keeping();
  await there.query(`alter table ${there.table} disable trigger user`);
  await query(`insert into ${TABLE} (size) select i from generate_series(1, 100) i`);
  await fold(true);
  assert.equal(await kept(), null);
  assert.equal(await total(), await counted());
  // It is not made to speak against the will of whoever silenced it.
  await total();
  const states = async () =>
    (
      await there.query(
        `select distinct tgenabled from pg_trigger where tgrelid = '${there.table}'::regclass and tgname ~ '^.total'`,
      )
    ).map(({ tgenabled }) => tgenabled);
  assert.deepEqual(await states(), ['D']);
  await query(`insert into ${TABLE} (size) select i from generate_series(1, 100) i`);
  await there.query(`alter table ${there.table} enable trigger user`);
  await restart();
  await keeping();
  assert.deepEqual(await states(), ['A']);
  await query(`insert into ${TABLE} (size) select i from generate_series(1, 100) i`);
  await assertExact();
});

/** Disabled, written past and enabled again between two looks: `enable trigger` leaves another state than ours. */
test('triggers that were silent for a moment are noticed', async () => {
  await keeping();
  await there.query(`alter table ${there.table} disable trigger all`);
  await query(`insert into ${TABLE} (size) values (1)`);
  await there.query(`alter table ${there.table} enable trigger all`);
  await fold(true);
  // The server folds, too: where it was first, it has counted anew.
  assert.ok([null, await counted()].includes(await kept()));
  assert.equal(await total(), await counted());
});

test('a difference is found and mended in the background', async () => {
  await restart();
  await keeping();
  await there.query(`update ${there.named('total')} set n = n + 7 where slot < 0`);
  assert.equal(await kept(), (await counted()) + 7);
  await until('the difference is mended', async () => {
    // Whoever has made the base says a moment later when it is counted again.
    await there.query(
      `update ${there.named('total')} set recount_at = now() - interval '1 second' where slot < 0 and (${there.named('total_of')}(relid) <> (select count(*) from ${there.table}))`,
    );
    return (await kept()) === (await counted());
  });
  await until('it is not counted again at once', async () => {
    const [row] = await there.query(`select recount_at > now() as later from ${there.named('total')} where slot < 0`);
    return row?.later === true;
  });
  await assertExact();
});

test('a total whose triggers somebody has dropped is not believed', async () => {
  await keeping();
  for (const event of ['insert', 'delete', 'truncate'])
    await there.query(`drop trigger "$total_${event}" on ${there.table}`);
  await query(`insert into ${TABLE} (size) values (1)`);
  await restart();
  await until('it is kept anew', async () => {
    const count = await counted();
    assert.equal(await total(), count);
    return (await kept()) === count;
  });
  await assertExact();
});

test('of a table that logical replication writes to no total is kept', async () => {
  await keeping();
  await there.query(`create subscription incoming connection 'dbname=none' publication none
with (connect = false, slot_name = none, enabled = false)`);
  try {
    // What a subscription notes of its tables, which it learns by connecting.
    await there.query(`set allow_system_table_mods = on;
insert into pg_subscription_rel (srsubid, srrelid, srsubstate)
select oid, '${there.table}'::regclass, 'r' from pg_subscription where subname = 'incoming'`);
    await fold(true);
    assert.equal(await kept(), null);
    await pastTriggers(
      `alter table ${there.table} disable trigger user; insert into ${there.table} (id, size) values (2000000, 1)`,
    );
    assert.equal(await total(), await counted());
    assert.equal(await kept(), null);
  } finally {
    await there.query(
      `alter table ${there.table} enable always trigger "$total_insert"; alter table ${there.table} enable always trigger "$total_delete"`,
    );
    await there.query(`alter table ${there.table} enable always trigger "$total_truncate"; drop subscription incoming`);
  }
});

test('an old snapshot makes neither writes nor lists look at what is gone', async () => {
  await restart();
  await keeping();
  await withClient(async (old) => {
    await old.query(`begin isolation level repeatable read; select count(*) from ${there.named('total')}`);
    await withClient(async (writer) => {
      // Statistics of a moment in which much was added and nothing folded: all of it is of one table.
      await writer.query(`do $$ begin for i in 1..3000 loop insert into ${TABLE} (size) values (i); end loop; end $$`);
      await there.query(`analyze ${there.named('total')}`);
      for (let round = 0; round < 40; round++) {
        await writer.query(`do $$ begin for i in 1..100 loop insert into ${TABLE} (size) values (i); end loop; end $$`);
        for (let index = 0; index < 20; index++) await writer.query(`insert into ${TABLE} (size) values (1)`);
        await fold(false);
      }
      // Other folders may have been at it; what is left is little.
      await until('everything is folded', async () => {
        await fold(false);
        return (await rowsOf(there.named('total'))) < 70;
      });
      // A call that comes after an invalidation (the first of a session, or one after an autovacuum) reads
      // catalogues, too: the least of ten tells what the total itself needs.
      const blocks: number[] = [];
      for (let call = 0; call < 10; call++) {
        const [row] = await there.query(
          `explain (analyze, buffers, format json) select ${there.named('total_of')}('${there.table}'::regclass)`,
        );
        const plans = row?.['QUERY PLAN'] as readonly { Plan: { 'Shared Hit Blocks': number } }[] | undefined;
        blocks.push(plans?.[0]?.Plan['Shared Hit Blocks'] ?? Number.POSITIVE_INFINITY);
      }
      assert.ok(Math.min(...blocks) < 40, `${blocks} blocks for one total`);
      assert.equal(await kept(), await counted());
    });
  }, there);
  await assertExact();
});

test('a truncation counts for what its snapshot does not see, too', async () => {
  await keeping();
  await withClient(async (late) => {
    await late.query('begin isolation level repeatable read; select 1');
    await query(`insert into ${TABLE} (size) values (1), (2), (3)`);
    await late.query(`truncate ${TABLE}; insert into ${TABLE} (size) values (4), (5)`);
    await late.query('commit');
  });
  assert.equal(await total(), 2);
  assert.equal(await kept(), null);
  await query(`insert into ${TABLE} (size) select i from generate_series(1, ${RECORDS}) i`);
  await fold(true);
  await restart();
  await keeping();
  await assertExact();
});

test('many writers, folding and counting at once: nobody is refused, and the total is exact at every moment', async () => {
  await keeping();
  const db = makeDatabase({
    connection: { connectionString: there.url },
    processes: 1,
    readConnections: 1,
    writeConnections: 1,
    slowConnections: 1,
    transferConnections: 1,
    batchConnections: 2,
    maxQueue: 100,
    statementTimeoutMs: 60_000,
    maxResponseBytes: 1_048_576,
    onError: () => undefined,
  });
  const { signal } = new AbortController();
  const { group } = there.counted.total ?? {};
  const node = group === undefined ? undefined : buildNodeTotals(group);
  let running = true;
  let folds = 0;
  let counts = 0;
  const upkeep = [
    (async () => {
      while (running) {
        await fold(true);
        folds++;
        const [row] = await there.query(
          `select ${there.named('total_of')}('${there.table}'::regclass) as kept, (select count(*) from ${there.table}) as counted`,
        );
        assert.equal(row?.kept, row?.counted);
      }
    })(),
    (async () => {
      while (running) {
        assert.equal(await recount(db, there.counted, 'again', { signal, node }), undefined);
        counts++;
      }
    })(),
  ];
  const writers = Array.from({ length: 16 }, (_, writer) =>
    withClient(async (client) => {
      for (let round = 0; round < 12; round++) {
        await client.query(`begin isolation level ${writer % 2 === 0 ? 'repeatable read' : 'read committed'}`);
        for (let index = 0; index < 4; index++) await client.query(`insert into ${TABLE} (size) values (${index})`);
        await client.query(`savepoint s; delete from ${TABLE} where size = -${writer + 1}`);
        await client.query(round % 3 === 0 ? 'rollback to s' : 'release s');
        await client.query(`insert into ${TABLE} (size) select -${writer + 1} from generate_series(1, 3)`);
        await client.query(round % 4 === 0 ? 'rollback' : 'commit');
      }
    }),
  );
  try {
    await Promise.all(writers);
    await withClient((client) => client.query(`truncate ${TABLE}; insert into ${TABLE} (size) values (1)`));
  } finally {
    running = false;
    await Promise.all(upkeep).finally(() => db.close());
  }
  assert.ok(folds > 1 && counts > 0);
  assert.equal(await counted(), 1);
  await fold(false);
  assert.equal(await kept(), 1);
  assert.ok((await rowsOf(there.named('total'))) < 70);
});

/** Another server over the same database, which has tried nothing yet. */
async function restart(): Promise<void> {
  await server.stop();
  server = await startTestServer({}, database);
  const { key } = workspace;
  const { call } = server;
  workspace = {
    ...workspace,
    call: (path, options = {}) => call(`/api/v1/acme/upkeep/${path}`, { credential: key, ...options }),
  };
}
