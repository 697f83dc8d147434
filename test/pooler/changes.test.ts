// Changes of records behind a PgBouncer in transaction mode: what two servers over few backends write, number and tell is what
// it would be without it, each change with the actor of its own request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { readMessages } from '../support/event-stream.ts';
import { applyFeed, compareFeeds, type FeedEvent, keyOf } from '../support/feed-journal.ts';
import { startWatched, type WatchedServer } from '../support/logged-server.ts';
import { type PgBouncer, startPgBouncer, withoutNewerPgBouncer } from '../support/pgbouncer.ts';
import { makePostgres, type OwnPostgres } from '../support/postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { clientOf, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const skip = withoutNewerPgBouncer;
// Far fewer than there are clients.
const BACKENDS = 10;
const WRITERS = 8;
const ROUNDS = 15;
const SCHEMA = {
  entities: {
    notes: { fields: { text: { type: 'string' } }, settings: { changes: 'history' } },
    lines: {
      fields: { text: { type: 'string' } },
      relations: { note: { kind: 'belongsTo', entity: 'notes', onDelete: 'cascade' } },
      settings: { changes: 'feed' },
    },
  },
};

interface Event extends FeedEvent {
  readonly actor: { readonly requestId: string; readonly kind: string } | null;
}

let postgres: OwnPostgres;
let pooler: PgBouncer;
let servers: readonly WatchedServer[];
let workspace: TestWorkspace;

before(async () => {
  if (skip !== false) return;
  postgres = await makePostgres({ settings: `timezone = 'Europe/Berlin'\nsearch_path = 'public'` });
  await postgres.start();
  pooler = await startPgBouncer(postgres.port, {
    poolMode: 'transaction',
    isNewer: true,
    maxPrepared: 500,
    size: BACKENDS,
  });
  const env = {
    DATABASE_URL: pooler.url('postgres'),
    WDA_POOLER: 'transaction',
    DATABASE_DIRECT_URL: postgres.url,
    WDA_WEBHOOK_PRIVATE_NETWORK: 'allow',
  };
  servers = [await startWatched(env), await startWatched(env)];
  for (const server of servers) await server.ready();
  workspace = await clientOf((servers[0] as WatchedServer).url).workspace('acme/pooled', SCHEMA);
});
after(async () => {
  for (const server of servers ?? []) await server.stop();
  await pooler?.stop();
  await postgres?.remove();
});

const urlAt = (index: number, path: string): string =>
  `${(servers[index % 2] as WatchedServer).url}/api/v1/${workspace.path}/${path}`;

/** Sends a request to one of the servers; returns its body and its id. */
async function call(index: number, path: string, method = 'GET', body?: object) {
  const response = await fetch(urlAt(index, path), {
    method,
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
  return { json: text === '' ? undefined : JSON.parse(text), requestId: String(response.headers.get('x-request-id')) };
}

/** Creates, changes and deletes notes with lines; returns the records that each request has changed, by its id. */
async function write(writer: number): Promise<Map<string, string[]>> {
  const changed = new Map<string, string[]>();
  for (let round = 0; round < ROUNDS; round++) {
    const made = await call(writer, 'notes', 'POST', { text: `${writer}` });
    const { id } = made.json.data;
    changed.set(made.requestId, [keyOf('notes', id)]);
    const lines = { data: Array.from({ length: 3 }, () => ({ text: `${writer}`, noteId: id })) };
    const bulk = await call(round, 'lines/_bulk', 'POST', lines);
    const ids: number[] = bulk.json.data.map((line: { id: number }) => line.id);
    changed.set(
      bulk.requestId,
      ids.map((line) => keyOf('lines', line)),
    );
    const operations = [
      { method: 'PATCH', entity: 'notes', id, body: { text: 'changed' } },
      { method: 'PATCH', entity: 'lines', id: ids[0], body: { text: 'changed' } },
    ];
    const batch = await call(writer + round, '_batch', 'POST', { operations });
    changed.set(batch.requestId, [keyOf('notes', id), keyOf('lines', ids[0] as number)]);
    if (round % 3 > 0) continue;
    const deleted = await call(round, `notes/${id}`, 'DELETE');
    changed.set(deleted.requestId, [keyOf('notes', id), ...ids.map((line) => keyOf('lines', line))]);
  }
  return changed;
}

async function readPages(index: number, start: string, size: number, isOver: () => boolean): Promise<Event[]> {
  const events: Event[] = [];
  for (let cursor = start; ; ) {
    const wasOver = isOver();
    const wait = wasOver ? '' : '&wait=1';
    const { json } = await call(index, `_changes?previous=true&size=${size}&after=${cursor}${wait}`);
    events.push(...json.data);
    cursor = json.meta.cursor;
    if (wasOver && json.data.length === 0 && !json.meta.more) return events;
  }
}

/** Reads a stream until it has told of the text. */
async function readStream(index: number, start: string, last: string): Promise<Event[]> {
  const response = await fetch(urlAt(index, '_changes?previous=true'), {
    headers: { authorization: `Bearer ${workspace.key}`, accept: 'text/event-stream', 'last-event-id': start },
    signal: AbortSignal.timeout(60_000),
  });
  assert.equal(response.status, 200);
  const events: Event[] = [];
  for await (const { data } of readMessages(response.body as ReadableStream<Uint8Array>)) {
    if (data?.id === undefined) continue;
    events.push(data);
    if (data.record?.text === last) break;
  }
  return events;
}

test('pages, waits and streams of two servers have each change once, in one order, with the actor of its request', {
  skip,
}, async () => {
  const start = (await call(0, '_changes?previous=true')).json.meta.cursor;
  let isOver = false;
  const pages = [0, 1].map((index) => readPages(index, start, 5 + 40 * index, () => isOver));
  const streams = [0, 1].map((index) => readStream(index, start, 'the last one'));
  const changed = new Map(
    (await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))).flatMap((one) => [...one]),
  );
  const last = await call(0, 'notes', 'POST', { text: 'the last one' });
  changed.set(last.requestId, [keyOf('notes', last.json.data.id)]);
  isOver = true;
  const [feed, ...others] = [...(await Promise.all(pages)), ...(await Promise.all(streams))] as [Event[], ...Event[][]];
  assert.deepEqual(applyFeed(feed).wrong, []);
  for (const [index, other] of others.entries()) assert.deepEqual(compareFeeds(`reader ${index}`, other, feed), []);
  const byRequest = Map.groupBy(feed, ({ actor }) => String(actor?.requestId));
  const told = new Map(
    [...byRequest].map(([id, events]) => [id, events.map((event) => keyOf(event.entity, event.recordId as number))]),
  );
  const sort = (all: ReadonlyMap<string, string[]>) => [...all].map(([id, keys]) => [id, keys.toSorted()]).sort();
  assert.deepEqual(sort(told), sort(changed));
});

test('SQL of another client of the pooler has no actor, on a backend that a server has used before', {
  skip,
}, async () => {
  const start = (await call(0, 'notes/_changes')).json.meta.cursor;
  const [table] = await postgres.query(`select oid::regclass::text as name from pg_class where relname = 'notes'`);
  const others = Array.from({ length: BACKENDS }, () => new pg.Client({ connectionString: pooler.url('postgres') }));
  for (const other of others) await other.connect();
  for (let turn = 0; turn < 5; turn++) {
    await Promise.all([
      ...others.map((other) => other.query(`insert into ${table?.name} (text) values ('by SQL')`)),
      ...others.map((_, index) => call(index, 'notes', 'POST', { text: 'by a request' })),
    ]);
  }
  for (const other of others) await other.end();
  const { json } = await call(1, `notes/_changes?size=1000&after=${start}`);
  assert.equal(json.data.length, 10 * BACKENDS);
  for (const { record, actor } of json.data as (Event & { record: { text: string } })[])
    assert.equal(actor === null, record.text === 'by SQL', record.text);
});

test('a list with changes=true and its feed are the list of now, and history is read, restored and forgotten', {
  skip,
}, async () => {
  const list = await call(0, 'notes?size=1000&sort=id&changes=true');
  const toRecords = (records: readonly { id: number }[]) =>
    new Map(records.map((record) => [keyOf('notes', record.id), record]));
  await Promise.all([write(100), write(101)]);
  const made = await call(1, 'notes', 'POST', { text: 'first' });
  const path = `notes/${made.json.data.id}`;
  await call(0, path, 'PATCH', { text: 'second' });
  const { json: history } = await call(1, `${path}/_history`);
  assert.deepEqual(
    history.data.map(({ record }: Event) => record?.text),
    ['second', 'first'],
  );
  const restored = await call(0, `${path}/_restore`, 'POST', { event: history.data[1].id });
  assert.equal(restored.json.data.text, 'first');
  const events = await readNotes(list.json.meta.changes);
  const { records, wrong } = applyFeed(events, { start: toRecords(list.json.data) as never });
  assert.deepEqual(wrong, []);
  assert.deepEqual(records, toRecords((await call(0, 'notes?size=1000&sort=id')).json.data));
  await call(1, `${path}/_history`, 'DELETE');
  const forgotten = (await call(0, `${path}/_history`)).json.data;
  assert.deepEqual(
    forgotten.map((event: { redacted?: boolean; record?: object }) => [event.redacted, event.record]),
    [
      [true, undefined],
      [true, undefined],
      [true, undefined],
    ],
  );
});

test('webhooks of two servers send each message once, in the order of the feed', { skip }, async () => {
  const receiver = await startReceiver();
  try {
    const body = { name: 'notes', url: `${receiver.origin}/notes`, entities: ['notes'], previous: true, maxBatch: 5 };
    const made = await workspace.admin('webhooks', { method: 'POST', body });
    assert.equal(made.status, 201, made.text);
    const start = (await call(1, 'notes/_changes?previous=true')).json.meta.cursor;
    await Promise.all([write(200), write(201), write(202)]);
    const feed = await readNotes(start);
    const listEvents = (): Event[] => receiver.messages.flatMap(({ body }) => JSON.parse(body).data);
    await until('all events are sent', () => listEvents().length >= feed.length);
    assert.deepEqual(compareFeeds('the receiver', listEvents(), feed), []);
    const ids = receiver.messages.map(({ headers }) => headers['webhook-id']);
    assert.equal(new Set(ids).size, ids.length);
  } finally {
    await receiver.stop();
  }
});

async function readNotes(start: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let cursor = start, more = true; more; ) {
    const { json } = await call(1, `notes/_changes?previous=true&size=1000&after=${cursor}`);
    events.push(...json.data);
    ({ cursor, more } = json.meta);
  }
  return events;
}
