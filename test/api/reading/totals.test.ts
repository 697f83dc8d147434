// Totals that are kept by the transactions that change records: exact whatever writes, and whatever is undone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { ADMIN_KEY, startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { type KeptTotal, keptTotal } from '../../support/stored-totals.ts';

const RECORDS = 6000;
const SHOP = {
  entities: {
    groups: { fields: { name: { type: 'string' } } },
    things: {
      fields: { size: { type: 'integer', unique: true } },
      relations: { group: { kind: 'belongsTo', entity: 'groups', onDelete: 'cascade' } },
    },
  },
};

let database: TestDatabase;
let server: TestServer;
let workspace: TestWorkspace;
let table: string;
/** Where the total is kept. */
let there: KeptTotal;
before(async () => {
  database = await createTestDatabase();
  server = await startTestServer({}, database);
  workspace = await server.workspace('acme/totals', SHOP);
  table = '"ws1_totals".things';
  there = await keptTotal(database, 'ws1_totals', 'things');
  await workspace.create(
    'groups',
    Array.from({ length: 20 }, (_, index) => ({ name: `g${index}` })),
  );
  await importThings(1, RECORDS);
});
after(async () => {
  await server.stop();
  await there.close();
  await database.drop();
});

async function importThings(first: number, count: number): Promise<number> {
  const lines = Array.from({ length: count }, (_, index) => `${first + index},${1 + (index % 20)}`);
  const answer = await workspace.call('things/_import', {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: `size,groupId\n${lines.join('\n')}\n`,
  });
  return answer.status;
}

const total = async (): Promise<number> =>
  (await workspace.call('things?size=1&fields=id')).json.meta.totalElements as number;

const counted = async (): Promise<number> => Number((await database.query(`select count(*) as n from ${table}`))[0]?.n);

/** What is kept; null while nothing is. */
const kept = (): Promise<number | null> => there.total();

async function keeping(): Promise<void> {
  for (;;) {
    await total();
    if ((await kept()) !== null) return;
    await sleep(20);
  }
}

test('the total of a table that has grown large is kept from the first list on', async () => {
  assert.equal(await kept(), null);
  assert.equal(await total(), RECORDS);
  await keeping();
  assert.equal(await kept(), RECORDS);
  // The list shows what is kept, not what is counted.
  await there.query(`update ${there.named('total')} set n = n + 7 where slot < 0`);
  assert.equal(await total(), RECORDS + 7);
  assert.equal((await workspace.call('things?size=1&filter=id,gt,0')).json.meta.totalElements, RECORDS);
  const count = async (query: string): Promise<number> =>
    (await workspace.call(`things/_aggregate?select=count${query}`)).json.data[0]?.count;
  assert.equal(await count(''), RECORDS + 7);
  assert.equal(await count(`&having=count,gt,${RECORDS}`), RECORDS + 7);
  assert.equal(await count('&filter=id,gt,0'), RECORDS);
  assert.equal(await count(',max:size'), RECORDS);
  await there.query(`update ${there.named('total')} set n = n - 7 where slot < 0`);
});

test('far pages, which are read from the nearer end, are those of the other way', async () => {
  await keeping();
  await workspace.create('things', [{ size: null }, { size: null }, { size: null }]);
  const size = 100;
  const last = Math.ceil((await counted()) / size) - 1;
  for (const sort of ['id,asc', 'id,desc', 'size,asc', 'size,desc', 'group.name,asc&sort=size,desc'])
    for (const page of [0, 10, Math.floor(last / 2), Math.ceil(last / 2) + 1, last - 1, last, last + 1, last + 100]) {
      const read = async (count: string) => {
        const path = `things?fields=id,size&size=${size}&page=${page}&sort=${sort}&count=${count}`;
        const { status, json, text } = await workspace.call(path);
        assert.equal(status, 200, text);
        return json.data;
      };
      const records = await read('exact');
      assert.deepEqual(records, await read('none'), `${sort}, page ${page}`);
      assert.equal(records.length, page < last ? size : page === last ? (await counted()) - last * size : 0);
    }
});

test('a small table is counted', async () => {
  assert.equal((await workspace.call('groups')).json.meta.totalElements, 20);
  const rows = await there.query(`select 1 from ${there.named('total')} where relation like 'groups%'`);
  assert.deepEqual(rows, []);
});

test('writing while the keeping begins is not lost', async () => {
  await there.query(`delete from ${there.named('total')}`);
  await server.stop();
  server = await startTestServer({}, database);
  const same = workspace;
  const call: TestWorkspace['call'] = (path, options = {}) =>
    server.call(`/api/v1/acme/totals/${path}`, { credential: same.key, ...options });
  const create: TestWorkspace['create'] = (entity, records) =>
    Promise.all(records.map(async (body) => (await call(entity, { method: 'POST', body })).json.data));
  workspace = { ...same, call, create };
  let running = true;
  let made = 0;
  const writers = Array.from({ length: 4 }, async () => {
    while (running) {
      const { status } = await workspace.call('things', { method: 'POST', body: { size: 1_000_000 + made++ } });
      assert.equal(status, 201);
    }
  });
  await keeping();
  running = false;
  await Promise.all(writers);
  assert.ok(made > 0);
  assert.equal(await total(), await counted());
  assert.equal(await kept(), await counted());
});

test('whatever is written, by whom and with what end, the total is the number of records', async () => {
  await keeping();
  let size = 2_000_000;
  const next = (count: number): number => {
    size += count;
    return size - count;
  };
  // Statements that delete the same rows at once may deadlock; PostgreSQL ends one, which is to be sent again.
  const direct = async (text: string): Promise<void> => {
    try {
      await database.query(text);
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01') throw error;
      await direct(text);
    }
  };
  const client = async <T>(work: (one: pg.Client) => Promise<T>): Promise<T> => {
    const one = new pg.Client({ connectionString: database.url });
    await one.connect();
    return work(one).finally(() => one.end());
  };
  const ids = async (): Promise<number[]> =>
    (await workspace.call('things?size=50&fields=id&sort=id,desc&count=none')).json.data.map(
      (thing: { id: number }) => thing.id,
    );
  const operations: Record<string, () => Promise<unknown>> = {
    create: () => workspace.call('things', { method: 'POST', body: { size: size++ } }),
    // Made by the first of them, if at all.
    refused: () => workspace.call('things', { method: 'POST', body: { size: -1 } }),
    remove: async () => workspace.call(`things/${(await ids())[0] ?? 1}`, { method: 'DELETE' }),
    many: async () =>
      Promise.all(
        Array.from({ length: 24 }, () => workspace.call('things', { method: 'POST', body: { size: size++ } })),
      ),
    import: () => importThings(next(300), 300),
    'failed import': async () => assert.notEqual(await importThings(1, 50_000), 500),
    cascade: async () => {
      const [group] = await workspace.create('groups', [{ name: 'short' }]);
      await workspace.create('things', [
        { size: size++, groupId: group.id },
        { size: size++, groupId: group.id },
      ]);
      assert.equal((await workspace.call(`groups/${group.id}`, { method: 'DELETE' })).status, 204);
    },
    'several rows': () => direct(`insert into ${table} (size) select ${next(60)} + i from generate_series(1, 50) i`),
    'some gone': () => direct(`delete from ${table} where id in (select id from ${table} order by id desc limit 30)`),
    truncate: () => direct(`truncate ${table}`),
    'rolled back': () =>
      client(async (one) => {
        await one.query(`begin; insert into ${table} (size) values (${size++}); savepoint s; delete from ${table}`);
        await one.query(`rollback to s; insert into ${table} (size) values (${size++}); rollback`);
      }),
    'beside a long one': () =>
      client(async (one) => {
        await one.query(`begin; insert into ${table} (size) values (${size++})`);
        await operations.many?.();
        await one.query('commit');
      }),
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...Object.keys(operations)), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (names, together) => {
        const work = names.filter((name) => !together || name !== 'truncate').map((name) => operations[name]);
        if (together) await Promise.all(work.map((one) => one?.()));
        else for (const one of work) await one?.();
        const number = await counted();
        assert.equal(await kept(), number);
        assert.equal(await total(), number);
      },
    ),
    { numRuns: 40 },
  );
});

test('a total whose triggers are gone is counted again', async () => {
  await keeping();
  await there.query(`alter table ${there.table} disable trigger all; delete from ${there.table} where id % 2 = 0`);
  await server.stop();
  server = await startTestServer({}, database);
  const answer = await server.call('/api/v1/acme/totals/things?size=1', { credential: ADMIN_KEY });
  assert.equal(answer.json.meta.totalElements, await counted());
});
