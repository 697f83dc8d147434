// The hand-over from a list, a query or an export to the feed: the cursor continues exactly where the answer ends, while
// others write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { prepare, use, useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = {
  entities: {
    folders: {
      fields: { name: { type: 'string' } },
      relations: { notes: { kind: 'hasMany', entity: 'notes', inverse: 'folder' } },
      settings: { changes: 'feed' },
    },
    notes: {
      fields: { n: { type: 'integer' }, text: { type: 'string', searchable: true } },
      relations: { folder: { kind: 'belongsTo', entity: 'folders' } },
      settings: { changes: 'feed' },
    },
    logs: { fields: { text: { type: 'string' } } },
  },
};
const RECORDS = 20;
const WRITERS = 6;
const TRANSACTIONS = 30;

const server = useServer();
const shop = use(() => server.workspace('acme/handover', SCHEMA));
let schema: string;

prepare(async () => {
  const [row] = await server.database.query(
    `select database_schema as name from wda.workspace where slug = 'handover'`,
  );
  schema = `"${row?.name}"`;
  await shop.create(
    'notes',
    Array.from({ length: RECORDS }, () => ({ n: 0 })),
  );
});

interface Note {
  readonly id: number;
  readonly n: number;
}

interface Event {
  readonly type: string;
  readonly recordId: number;
  readonly record: Note;
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  return client;
}

async function get(path: string): Promise<{ data: never[]; meta: Record<string, never> }> {
  const { status, text, json } = await shop.call(path);
  assert.equal(status, 200, text);
  return json;
}

async function readAll(cursor: string, size: number, query = ''): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = cursor; ; ) {
    const { data, meta } = await get(`notes/_changes?${query}size=${size}&after=${after}`);
    events.push(...data);
    after = meta.cursor as unknown as string;
    if (!meta.more) return events;
  }
}

/** Raises n of random records, deletes some and creates them again, in transactions of a few statements. */
async function write(seed: number): Promise<void> {
  let state = seed;
  const random = (limit: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  const client = await connect();
  for (let count = 0; count < TRANSACTIONS; count++) {
    const ids = [...new Set(Array.from({ length: 1 + random(3) }, () => 1 + random(RECORDS)))].sort((a, b) => a - b);
    await client.query('begin');
    for (const id of ids) {
      const { rows } = await client.query(`select n from ${schema}.notes where id = $1 for update`, [id]);
      const [{ n } = { n: 0 }] = rows;
      if (random(4) === 0) {
        await client.query(`delete from ${schema}.notes where id = $1`, [id]);
        if (rows.length > 0) await client.query(`insert into ${schema}.notes (id, n) values ($1, $2)`, [id, n + 1]);
      } else await client.query(`update ${schema}.notes set n = n + 1 where id = $1`, [id]);
      if (random(6) === 0) await client.query('select pg_sleep(0.01)');
    }
    await client.query(random(5) === 0 ? 'rollback' : 'commit');
  }
  await client.end();
}

/** Applies events to the records of a list; each change of a record must follow the one before. */
function apply(records: readonly Note[], events: readonly Event[]): Note[] {
  const byId = new Map(records.map(({ id, n }) => [id, n]));
  const deleted = new Map<number, number>();
  for (const { type, recordId, record } of events) {
    const current = byId.get(recordId);
    if (type === 'removed') {
      assert.notEqual(current, undefined, `record ${recordId} was removed twice`);
      deleted.set(recordId, current as number);
      byId.delete(recordId);
      continue;
    }
    if (type === 'created') assert.equal(current, undefined, `record ${recordId} was created twice`);
    assert.equal(record.n, (current ?? deleted.get(recordId) ?? 0) + 1, `record ${recordId}`);
    byId.set(recordId, record.n);
  }
  return [...byId].map(([id, n]) => ({ id, n })).sort((a, b) => a.id - b.id);
}

test('a list, a query or an export with all events after its cursor is the table, under concurrent writers', async () => {
  let isDone = false;
  const moments: { readonly kind: string; readonly records: Note[]; readonly cursor: string }[] = [];
  async function listen(kind: string, list: () => Promise<readonly [Note[], string]>): Promise<void> {
    while (!isDone) {
      const [records, cursor] = await list();
      moments.push({ kind, records, cursor });
    }
  }
  const readers = [
    listen('list', async () => {
      const { data, meta } = await get('notes?size=100&fields=id,n&changes=true');
      return [data, meta.changes as unknown as string];
    }),
    listen('query', async () => {
      const body = { size: 100, fields: ['id', 'n'], changes: true };
      const { json } = await shop.call('notes/_query', { method: 'POST', body });
      return [json.data, json.meta.changes];
    }),
    listen('export', async () => {
      const { text, headers } = await shop.call('notes/_export?format=ndjson&fields=id,n&changes=true');
      const records = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
      return [records, String(headers.get('changes-cursor'))];
    }),
    // Others give positions to changes, too.
    listen('feed', async () => {
      await get('notes/_changes?after=now');
      return [[], ''];
    }),
  ];
  await Promise.all(Array.from({ length: WRITERS }, (_, index) => write(index + 1)));
  isDone = true;
  await Promise.all(readers);
  const { data: table } = await get('notes?size=100&fields=id,n');
  const seen = new Set<string>();
  const shown = moments.filter(({ kind }) => kind !== 'feed');
  const step = Math.ceil(shown.length / 40);
  for (const [index, { kind, records, cursor }] of shown.entries()) {
    seen.add(kind);
    // To read the rest for each of hundreds of moments takes long.
    if (index % step > 0) continue;
    assert.deepEqual(apply(records, await readAll(cursor, index % 2 === 0 ? 3 : 1000, 'fields=id,n&')), table, kind);
  }
  assert.equal(seen.size, 3);
});

async function makeNote(): Promise<number> {
  const { json } = await shop.call('notes', { method: 'POST', body: { n: 0 } });
  return json.data.id;
}

test('a transaction that commits after the list and has its place before changes that the list shows', async () => {
  const client = await connect();
  const other = await connect();
  const [first, second] = await Promise.all([makeNote(), makeNote()]);
  await client.query(`begin; update ${schema}.notes set n = n + 1 where id = ${first}`);
  await other.query(`update ${schema}.notes set n = n + 1 where id = ${second}`);
  // Nobody gives positions until the transaction is committed.
  await other.query(`select pg_advisory_lock(7824481, '${schema}."$change"'::regclass::oid::int4)`);
  const listing = get('notes?size=100&fields=id,n&changes=true');
  await until('the list waits for positions', async () => {
    const [row] = await server.database.query(
      `select count(*)::int as n from pg_locks where locktype = 'advisory' and classid = 7824481 and not granted`,
    );
    return Number(row?.n) > 0;
  });
  await client.query('commit');
  await other.query('select pg_advisory_unlock_all()');
  await client.end();
  await other.end();
  const { data, meta } = await listing;
  const shown = (id: number): number | undefined => (data as Note[]).find((note) => note.id === id)?.n;
  assert.deepEqual([shown(first), shown(second)], [0, 1], 'the list sees the second transaction alone');
  const cursor = meta.changes as unknown as string;
  for (const size of [1, 100]) {
    const events = await readAll(cursor, size, 'fields=id,n&');
    assert.deepEqual(
      events.map(({ recordId, record }) => [recordId, record.n]),
      [[first, 1]],
    );
  }
});

test('changes that were committed after others began to give positions are in the answer', async () => {
  const { meta } = await get('folders/_changes');
  await shop.create('folders', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  await server.database.query(`select ${schema}."$number_changes_ws1"(2)`);
  await shop.create('folders', [{ name: 'd' }]);
  const { data } = await get(`folders/_changes?after=${meta.cursor}`);
  assert.deepEqual(
    data.map(({ record }: { record: { name: string } }) => record.name),
    ['a', 'b', 'c', 'd'],
  );
});

test('the cursor is of the same view, however the filter was written', async () => {
  const body = { filter: { and: [{ field: 'n', op: 'gt', value: 5 }] }, fields: ['n'], changes: true };
  const { json } = await shop.call('notes/_query', { method: 'POST', body });
  await get(`notes/_changes?filter=n,gt,5&fields=n&after=${json.meta.changes}`);
  const { status, text } = await shop.call(`notes/_changes?filter=n,gt,6&fields=n&after=${json.meta.changes}`);
  assert.equal(status, 400, text);
});

const REFUSED: readonly (readonly [path: string, status: number, message: RegExp])[] = [
  ['logs?changes=true', 409, /logs keeps no changes/],
  ['logs/_export?changes=true', 409, /logs keeps no changes/],
  ['notes?changes=true&search=a', 400, /changes=true and search/],
  ['notes?changes=true&distinct=n', 400, /changes=true and distinct/],
  ['folders?changes=true&expand=notes', 400, /no expanded lists/],
  ['notes?changes=true&filter=folder.name,eq,a', 400, /own fields/],
  ['notes/_export?changes=true&filter=folder.name,eq,a', 400, /own fields/],
  ['notes?changes=1', 400, /changes/],
];
for (const [path, status, message] of REFUSED) {
  test(`${path} is ${status}`, async () => {
    const answer = await shop.call(path);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.json.error.message, message);
  });
}

test('what no query string of a feed says is refused', async () => {
  const filter = { not: { field: 'n', op: 'eq', value: 5 } };
  const answer = await shop.call('notes/_query', { method: 'POST', body: { filter, changes: true } });
  assert.equal(answer.status, 400, answer.text);
  const operations = [{ method: 'GET', path: 'notes?changes=true' }];
  const batch = await shop.call('_batch', { method: 'POST', body: { operations } });
  assert.equal(batch.status, 400, batch.text);
});

test('a relation to one may be expanded', async () => {
  const { meta } = await get('notes?changes=true&expand=folder');
  await get(`notes/_changes?after=${meta.changes}`);
});
