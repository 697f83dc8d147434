// Limits of workspaces: what adds beyond them is refused as a whole, everything else goes on; and what is said of their use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ADMIN = '/api/admin/v1';
const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'string', unique: true } },
      settings: { changes: 'history' },
    },
    tags: { fields: { name: { type: 'string' } }, grants: [{ role: 'agent', can: ['read', 'create', 'update'] }] },
  },
  roles: ['agent'],
};
const LINKED = {
  entities: {
    posts: {
      fields: { text: { type: 'string' } },
      relations: { tags: { kind: 'manyToMany', entity: 'tags', through: 'postTags', from: 'post', to: 'tag' } },
    },
    tags: { fields: { text: { type: 'string' } } },
    postTags: {
      relations: {
        post: { kind: 'belongsTo', entity: 'posts', required: true },
        tag: { kind: 'belongsTo', entity: 'tags', required: true },
      },
    },
  },
};

const server = useServer();
/** Another process of the installation. */
const second = useServer({}, server);
const one = use(() => server.workspace('acme/one', SCHEMA));
const two = use(() => server.workspace('acme/two', SCHEMA));
const linked = use(() => server.workspace('globex/linked', LINKED));
let agent = '';

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const limit = async (limits: object, workspace = one): Promise<Answer['json']> =>
  ok(await workspace.admin('', { method: 'PUT', body: { limits } })).data;
const limitAll = async (limits: object): Promise<Answer['json']> =>
  ok(await server.call(`${ADMIN}/organizations/acme`, { method: 'PUT', credential: ADMIN_KEY, body: { limits } })).data;
const send = (path: string, body: unknown, call: Call = {}): Promise<Answer> =>
  one.call(path, { method: 'POST', body, ...call });
const count = async (): Promise<number> =>
  (await one.call('notes?size=1')).json.meta.totalElements + (await one.call('tags?size=1')).json.meta.totalElements;
const usage = async (workspace = one): Promise<Answer['json']> => ok(await workspace.admin('usage')).data;
const reasonOf = ({ status, json }: Answer) => [status, json?.error?.code, json?.error?.reason];
const NO_ROOM = [403, 'QUOTA_EXCEEDED', 'MAX_RECORDS'];
const named = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ text: `${from + index}` }));
const NDJSON = { 'content-type': 'application/x-ndjson' };
const toLines = (records: readonly object[]): string => records.map((record) => JSON.stringify(record)).join('\n');
const importNotes = (records: readonly object[], query = ''): Promise<Answer> =>
  send(`notes/_import?${query}`, toLines(records), { headers: NDJSON });

prepare(async () => {
  const key = { name: 'agent', permissions: 'GRANTS', roles: ['agent'] };
  agent = ok(await one.admin('api-keys', { method: 'POST', body: key })).data.key;
  await one.create('notes', named(1, 3));
  await limit({ maxRecords: 5 });
});

test('what adds records beyond the limit is refused as a whole, in every way', async () => {
  const before = await count();
  assert.equal(before, 3);
  const refused = async (answer: Promise<Answer>) => {
    assert.deepEqual(reasonOf(await answer), NO_ROOM, (await answer).text);
    assert.equal(await count(), before, 'nothing was added');
  };
  await refused(send('notes/_bulk', { data: named(4, 6) }));
  await refused(send('notes/_bulk?dryRun=true', { data: named(4, 6) }));
  await refused(send('notes/_bulk?onConflict=text', { data: named(3, 6) }));
  await refused(importNotes(named(4, 6)));
  await refused(importNotes(named(1, 6), 'onConflict=update&conflictOn=text'));
  const create = (text: string) => ({ method: 'POST', entity: 'notes', body: { text } });
  await refused(send('_batch', { operations: ['4', '5', '6'].map(create) }));
  await refused(send('tags/_bulk', { data: [{}, {}, {}] }, { credential: agent }));
  const [note] = (await one.call('notes?size=1&sort=id')).json.data;
  assert.equal(note.text, '1');
});

test('what fits is added, also when some of it exists already', async () => {
  assert.deepEqual(ok(await send('notes/_bulk?onConflict=text', { data: named(1, 5) })).meta.inserted, 2);
  assert.deepEqual(reasonOf(await send('notes', { text: '6' })), NO_ROOM);
  assert.deepEqual(reasonOf(await send('tags', {}, { credential: agent })), NO_ROOM);
  assert.deepEqual(reasonOf(await send('notes?onConflict=text', { text: '6' })), NO_ROOM);
  assert.equal((await send('notes?onConflict=text', { text: '5' })).status, 200);
  assert.equal(ok(await send('notes/_bulk?onConflict=text', { data: named(1, 5) })).meta.inserted, 0);
  assert.equal(ok(await importNotes(named(1, 5), 'onConflict=update&conflictOn=text')).data.inserted, 0);
});

test('changes, deletes and reads go on, and what is deleted makes room at once', async () => {
  assert.equal((await one.call('notes/1', { method: 'PUT', body: { text: 'one' } })).status, 200);
  assert.equal((await one.call('notes/1', { method: 'DELETE' })).status, 204);
  assert.equal((await send('notes', { text: '6' })).status, 201);
  const [removed] = ok(await one.call('notes/1/_history')).data;
  const restored = await send('notes/1/_restore', { event: removed.id });
  assert.deepEqual(reasonOf(restored), NO_ROOM, restored.text);
  // A write that fails uses nothing.
  assert.equal((await one.call('notes/2', { method: 'DELETE' })).status, 204);
  for (let attempt = 0; attempt < 3; attempt++) assert.equal((await send('notes', { text: '6' })).status, 409);
  assert.equal((await send('notes', { text: '7' })).status, 201);
  assert.equal(await count(), 5);
});

test('of many creates at once no more are done than there is room for', async () => {
  await limit({ maxRecords: 9 });
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => send('notes', { text: `many ${index}` })));
  assert.ok((await count()) <= 9);
  for (const answer of answers) if (answer.status !== 201) assert.deepEqual(reasonOf(answer), NO_ROOM);
  for (let index = 0; (await send('notes', { text: `more ${index}` })).status === 201; index++);
  assert.equal(await count(), 9);
});

test('another process refuses as well', async () => {
  const body = { text: 'of another process' };
  const path = `/api/v1/acme/one/notes`;
  assert.deepEqual(reasonOf(await second.call(path, { method: 'POST', credential: one.key, body })), NO_ROOM);
});

test('a workspace without a limit has that of its organization, and null gives it back', async () => {
  assert.equal('limits' in ok(await two.admin('')).data, false);
  assert.deepEqual((await limitAll({ maxRecords: 1, maxRequestsPerMinute: 1000 })).limits, {
    maxRecords: 1,
    maxRequestsPerMinute: 1000,
  });
  await two.create('notes', named(1, 1));
  const refused = await two.call('notes', { method: 'POST', body: { text: '2' } });
  assert.deepEqual(reasonOf(refused), NO_ROOM);
  assert.deepEqual((await usage(two)).limits, { maxRecords: 1, maxBytes: null, maxRequestsPerMinute: 1000 });
  assert.deepEqual((await limit({ maxRecords: 2 }, two)).limits, { maxRecords: 2 });
  await two.create('notes', named(2, 2));
  assert.equal('limits' in (await limit({ maxRecords: null }, two)), false);
  assert.deepEqual(reasonOf(await two.call('notes', { method: 'POST', body: { text: '3' } })), NO_ROOM);
  assert.deepEqual((await limitAll({ maxRecords: null })).limits, { maxRequestsPerMinute: 1000 });
  await two.create('notes', named(3, 3));
});

test('keys for some entities fill the room of all', async () => {
  const makeKey = async (entity: string): Promise<string> => {
    const body = { name: entity, permissions: 'READ_WRITE', entities: [entity] };
    return ok(await linked.admin('api-keys', { method: 'POST', body })).data.key;
  };
  const [forPosts, forTags] = [await makeKey('posts'), await makeKey('tags')];
  await linked.create('posts', named(1, 8));
  await limit({ maxRecords: 10 }, linked);
  const create = (entity: string, credential: string, data: readonly object[]): Promise<Answer> =>
    linked.call(`${entity}/_bulk`, { method: 'POST', credential, body: { data } });
  assert.deepEqual(reasonOf(await create('tags', forTags, named(1, 3))), NO_ROOM);
  assert.equal((await create('tags', forTags, named(1, 1))).status, 201);
  assert.deepEqual(reasonOf(await create('posts', forPosts, named(9, 10))), NO_ROOM);
});

test('a job gives back the room that it has reserved for links', async () => {
  await limit({ maxRecords: null }, linked);
  const addMany = (entity: string, from: number, to: number): Promise<Answer> =>
    linked.call(`${entity}/_import`, { method: 'POST', body: toLines(named(from, to)), headers: NDJSON });
  ok(await addMany('posts', 9, 10_100));
  await limit({ maxRecords: 25_000 }, linked);
  const body = { filter: { all: true }, set: { tags: { $add: [1] } }, max: 20_000 };
  const started = await linked.call('posts/_update', { method: 'POST', body });
  assert.equal(started.status, 202, started.text);
  const path = `_jobs/${started.json.data.id}`;
  await until('the job has ended', async () => ok(await linked.call(path)).data.state === 'succeeded');
  assert.equal((await linked.call('postTags?size=1')).json.meta.totalElements, 10_100);
  ok(await addMany('tags', 2, 1000));
});

test('many records at once are not forgotten while the total of their table is an estimate', async () => {
  const most = 40_000;
  const counts = ['posts', 'tags', 'postTags'].map(async (entity): Promise<number> => {
    return (await linked.call(`${entity}?size=1`)).json.meta.totalElements;
  });
  const others = (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
  await limit({ maxRecords: most }, linked);
  const body = { data: named(1, 1000) };
  let added = 0;
  const client = async (): Promise<void> => {
    for (let request = 0; request < 3; request++)
      if ((await linked.call('tags/_bulk?return=minimal', { method: 'POST', body })).status === 201) added += 1000;
  };
  await Promise.all(Array.from({ length: 15 }, client));
  assert.ok(added > 0 && others + added <= most, `${others} and ${added} of ${most}`);
});

test('maxBytes refuses what adds, and nothing else', async () => {
  await limit({ maxRecords: null, maxBytes: 1 });
  const refused = [403, 'QUOTA_EXCEEDED', 'MAX_BYTES'];
  assert.deepEqual(reasonOf(await send('notes', { text: 'bytes' })), refused);
  assert.deepEqual(reasonOf(await importNotes([{ text: 'bytes' }])), refused);
  const [{ id }] = (await one.call('notes?size=1')).json.data;
  assert.equal((await one.call(`notes/${id}`, { method: 'PUT', body: { text: 'changed' } })).status, 200);
  await limit({ maxBytes: 1_000_000_000 });
  assert.equal((await send('notes', { text: 'bytes' })).status, 201);
});

test('maxRequestsPerMinute is of the workspace, whoever asks', async () => {
  await limit({ maxRequestsPerMinute: 3 }, two);
  const answers: Answer[] = [];
  for (const credential of [two.key, two.readOnlyKey, ADMIN_KEY, two.key, two.readOnlyKey])
    answers.push(await two.call('notes', { credential }));
  assert.equal(answers[0]?.status, 200);
  const last = answers.at(-1);
  assert.deepEqual(reasonOf(last as Answer), [429, 'RATE_LIMITED', 'WORKSPACE_RATE_LIMITED']);
  assert.ok(Number(last?.headers.get('retry-after')) > 0);
  assert.equal((await one.call('notes?size=1')).status, 200);
  // The admin API does not count.
  assert.equal((await two.admin('usage')).status, 200);
  await limit({ maxRequestsPerMinute: null }, two);
});

test('the use of a workspace is told with its limits and days, to its owners too', async () => {
  const { records, bytes, limits, days } = ok(await one.admin('usage', { credential: one.key })).data;
  assert.equal(records, await count());
  assert.ok(bytes > 0);
  assert.deepEqual(limits, { maxRecords: null, maxBytes: 1_000_000_000, maxRequestsPerMinute: 1000 });
  const today = new Date().toISOString().slice(0, 10);
  assert.equal(days.at(-1).date, today);
  assert.equal(days.at(-1).records, records);
  await until('the requests are stored', async () => (await usage()).requests > 50);
  const metrics = await server.metrics();
  assert.match(metrics, /^wda_quota_refusals_total\{limit="maxRecords"\} [1-9]/m);
  assert.match(metrics, /^wda_workspace_requests_total\{workspace="acme\/one"\} [1-9]/m);
  assert.match(metrics, /^wda_workspace_records\{workspace="acme\/one"\} [1-9]/m);
});

test('limits are the operator’s, and wrong ones are refused', async () => {
  const put = (body: unknown, credential = ADMIN_KEY) => one.admin('', { method: 'PUT', credential, body });
  assert.deepEqual(reasonOf(await put({ limits: {} }, one.key)), [403, 'FORBIDDEN', 'OPERATOR_REQUIRED']);
  for (const limits of [{ maxRecords: -1 }, { maxRecords: 1.5 }, { maxRecords: '5' }, { maxRows: 5 }, 5, null])
    assert.equal((await put({ limits })).status, 400, JSON.stringify(limits));
  assert.equal(ok(await one.admin('')).data.limits.maxBytes, 1_000_000_000);
});
