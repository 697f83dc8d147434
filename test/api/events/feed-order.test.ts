// The order of the feed while many transactions write at once: nothing is missing, nothing comes twice, the changes of a
// record are in their order and a transaction is in one piece, for every reader.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { applyFeed, compareFeeds, type FeedEvent, keyOf, type Records } from '../../support/feed-journal.ts';
import { prepare, use, useServer } from '../../support/resources.ts';

const SCHEMA = {
  entities: { notes: { fields: { n: { type: 'integer' }, batch: { type: 'string' } }, settings: { changes: 'feed' } } },
};
const WRITERS = 12;
const TRANSACTIONS = 40;
const RECORDS = 20;

const server = useServer();
const shop = use(() => server.workspace('acme/order', SCHEMA));
let table: string;

prepare(async () => {
  const [row] = await server.database.query(`select database_schema as name from wda.workspace where slug = 'order'`);
  table = `"${row?.name}".notes`;
  await shop.create(
    'notes',
    Array.from({ length: RECORDS }, () => ({ n: 0 })),
  );
});

/** Pseudo-random numbers, the same in every run (Park and Miller, 1988). */
function makeRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
}

/** Updates random records in transactions, some of which are rolled back; returns the committed batches with their records. */
async function write(seed: number): Promise<Map<string, number[]>> {
  const random = makeRandom(seed);
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  const committed = new Map<string, number[]>();
  for (let count = 0; count < TRANSACTIONS; count++) {
    const batch = `${seed}-${count}`;
    // Records in the order of their ids: no deadlocks.
    const ids = [...new Set(Array.from({ length: 1 + random(4) }, () => 1 + random(RECORDS)))].sort((a, b) => a - b);
    const isKept = random(5) > 0;
    await client.query('begin');
    for (const [index, id] of ids.entries()) {
      if (index === 1) await client.query('savepoint a');
      await client.query(`update ${table} set n = n + 1, batch = $1 where id = $2`, [batch, id]);
      if (random(10) === 0) await client.query('select pg_sleep(0.02)');
    }
    await client.query(isKept ? 'commit' : 'rollback');
    if (isKept) committed.set(batch, ids);
  }
  await client.end();
  return committed;
}

/** Reads until the writers are done and nothing is left. */
async function read(after: string, size: number, isDone: () => boolean): Promise<FeedEvent[]> {
  const changes: FeedEvent[] = [];
  for (let cursor = after; ; ) {
    const wasDone = isDone();
    const { status, text, json } = await shop.call(`notes/_changes?previous=true&size=${size}&after=${cursor}`);
    assert.equal(status, 200, text);
    changes.push(...json.data);
    cursor = json.meta.cursor;
    if (wasDone && json.data.length === 0 && !json.meta.more) return changes;
  }
}

async function listRecords(): Promise<Records> {
  const { json } = await shop.call('notes?size=100&sort=id');
  return new Map(json.data.map((record: { id: number }) => [keyOf('notes', record.id), record]));
}

test('many transactions at once: every reader has each change once, in the order of its record', async () => {
  const start = await listRecords();
  const after = (await shop.call('notes/_changes?previous=true')).json.meta.cursor;
  let isDone = false;
  const readers = [read(after, 7, () => isDone), read(after, 100, () => isDone)];
  const committed = (await Promise.all(Array.from({ length: WRITERS }, (_, seed) => write(seed + 1)))).flatMap(
    (one) => [...one],
  );
  isDone = true;
  const feed = await read(after, 1000, () => true);
  const expected = committed.flatMap(([batch, ids]) => ids.map((id) => `${batch} ${id}`)).sort();
  assert.deepEqual(feed.map(({ record, recordId }) => `${record?.batch} ${recordId}`).sort(), expected);
  assert.equal(new Set(feed.map(({ transaction }) => transaction)).size, committed.length);
  const { records, wrong } = applyFeed(feed, { start });
  assert.deepEqual(wrong, []);
  assert.deepEqual(records, await listRecords());
  for (const other of await Promise.all(readers)) assert.deepEqual(compareFeeds('another reader', other, feed), []);
});

test('a transaction that is open for long delays its own changes alone', async () => {
  const start = (await shop.call('notes/_changes')).json.meta.cursor;
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  await client.query(`begin; update ${table} set batch = 'open' where id = 1`);
  await shop.call('notes/2', { method: 'PATCH', body: { batch: 'short' } });
  const batches = async (): Promise<string[]> =>
    (await shop.call(`notes/_changes?after=${start}`)).json.data.map(({ record }: FeedEvent) => record?.batch);
  assert.deepEqual(await batches(), ['short']);
  await client.query('commit');
  await client.end();
  assert.deepEqual(await batches(), ['short', 'open']);
});

test('changes are numbered in small pieces while others write: each one once, each transaction in one piece', async () => {
  const [before] = await server.database.query(
    `select max(seq)::text as seq from ${table.replace('notes', '"$change"')}`,
  );
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  let isDone = false;
  const number = async (): Promise<void> => {
    for (let isMore = true; isMore || !isDone; )
      isMore = (await client.query(`select more from ${table.replace('notes', '"$number_changes_ws1"')}(3)`)).rows[0]
        .more;
  };
  const numbering = number();
  await Promise.all(Array.from({ length: WRITERS }, (_, seed) => write(seed + 100)));
  isDone = true;
  await numbering;
  const { rows } = await client.query(
    `select c.xid::text, c.id::text, c.seq::text, p.pos::text from ${table.replace('notes', '"$change"')} c
left join ${table.replace('notes', '"$change_position"')} p on p.seq = c.seq where c.seq > $1 order by p.pos`,
    [before?.seq ?? 0],
  );
  await client.end();
  assert.ok(rows.length > WRITERS * TRANSACTIONS * 0.5 && rows.every(({ pos }) => pos !== null));
  assert.equal(new Set(rows.map(({ seq }) => seq)).size, rows.length, 'each change once');
  const pieces = rows.filter(({ xid }, index) => rows[index - 1]?.xid !== xid);
  assert.equal(pieces.length, new Set(rows.map(({ xid }) => xid)).size, 'a transaction is in one piece');
  const last = new Map<string, bigint>();
  for (const { id, seq } of rows) {
    assert.ok(BigInt(seq) > (last.get(id) ?? 0n), `record ${id}`);
    last.set(id, BigInt(seq));
  }
});
