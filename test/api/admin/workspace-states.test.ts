// The state of a workspace: what the data API refuses when it is suspended or read-only, in every process, with the answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { readMessages } from '../../support/event-stream.ts';
import { startReceiver } from '../../support/receiver.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = { entities: { notes: { fields: { text: { type: 'text' } }, settings: { changes: 'history' } } } };
const SUSPENDED = [403, 'WORKSPACE_SUSPENDED'];
const READ_ONLY = [403, 'WORKSPACE_READ_ONLY'];

const ENV = { WDA_WEBHOOK_PRIVATE_NETWORK: 'allow' };
const server = useServer(ENV);
const other = useServer(ENV, server);
const receiver = use(startReceiver, (one) => one.stop());
const shop = use(() => server.workspace('acme/states', SCHEMA));

prepare(() => shop.create('notes', [{ text: 'one' }]));

const outcome = ({ status, json }: Answer): unknown[] => [status, json?.error?.code];

async function setState(state: string, call: Call = {}): Promise<Answer> {
  return shop.admin('', { method: 'PUT', body: { state }, ...call });
}

async function put(state: string): Promise<void> {
  const answer = await setState(state);
  assert.deepEqual([answer.status, answer.json.data?.state], [200, state], answer.text);
}

/** Sends the request to both processes. */
async function ask(path: string, call: Call = {}): Promise<unknown[][]> {
  const url = `/api/v1/${shop.path}/${path}`;
  return Promise.all(
    [server, other].map(async (one) => outcome(await one.call(url, { credential: shop.key, ...call }))),
  );
}

async function isEach(expected: unknown[], path: string, call?: Call): Promise<void> {
  assert.deepEqual(await ask(path, call), [expected, expected], `${call?.method ?? 'GET'} ${path}`);
}

const post = (body: unknown): Call => ({ method: 'POST', body });
const READS: readonly (readonly [string, Call?])[] = [
  ['notes'],
  ['notes/1'],
  ['notes/_query', post({})],
  ['notes/_aggregate?select=count'],
  ['notes/_export'],
  ['notes/1/_history'],
  ['notes/_changes?after=now'],
  ['_openapi.json'],
  [''],
];
const WRITES: readonly (readonly [string, Call])[] = [
  ['notes', post({ text: 'two' })],
  ['notes?dryRun=true', post({ text: 'two' })],
  ['notes/1', { method: 'PATCH', body: { text: 'two' } }],
  ['notes/1', { method: 'DELETE' }],
  ['notes/_bulk', post([{ text: 'two' }])],
  ['notes/_update', post({ filter: { text: 'one' }, set: { text: 'two' } })],
  ['notes/_delete', post({ filter: { text: 'one' } })],
  ['notes/_import', { method: 'POST', body: 'text\ntwo\n', headers: { 'content-type': 'text/csv' } }],
  ['_batch', post({ operations: [{ method: 'POST', entity: 'notes', body: { text: 'two' } }] })],
  ['notes', { ...post({ text: 'two' }), headers: { 'idempotency-key': 'state-1' } }],
];

test('a read-only workspace is read, and nothing is written to it', async () => {
  await put('readOnly');
  for (const [path, call] of READS) await isEach([200, undefined], path, call);
  for (const [path, call] of WRITES) await isEach(READ_ONLY, path, call);
  // The credential comes first, then the state, then the entity.
  await isEach([403, 'FORBIDDEN'], 'notes', { ...post({}), credential: shop.readOnlyKey });
  await isEach(READ_ONLY, 'nothing', post({}));
  await isEach([404, 'NOT_FOUND'], 'nothing');
  const operations = [{ method: 'GET', entity: 'notes', id: 1 }];
  await isEach([200, undefined], '_batch', post({ operations }));
  await put('active');
  await isEach([201, undefined], 'notes', post({ text: 'two' }));
});

test('a suspended workspace answers nobody, and the admin API goes on', async () => {
  await put('suspended');
  for (const [path, call] of [...READS, ...WRITES]) await isEach(SUSPENDED, path, call);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  for (const path of ['nothing', 'notes/999', '_schema']) await isEach(SUSPENDED, path);
  await isEach(SUSPENDED, '_mcp', post(message));
  await isEach(SUSPENDED, 'notes', { credential: ADMIN_KEY });
  await isEach([401, 'UNAUTHORIZED'], 'notes', { credential: 'wda_no' });
  for (const path of ['', 'schema', 'statistics', 'api-keys'])
    assert.equal((await shop.admin(path, { credential: shop.key })).status, 200, path);
  const tried = { principal: { permissions: 'READ_ONLY' }, requests: [{ method: 'GET', path: 'notes' }] };
  const trial = await shop.admin('access/test', { method: 'POST', body: tried });
  assert.doesNotMatch(trial.text, /"text":"/);
  await put('active');
  await isEach([200, undefined], 'notes');
});

test('an owner reads the state, and only the operator sets it', async () => {
  for (const state of ['suspended', 'active'])
    assert.deepEqual(outcome(await setState(state, { credential: shop.key })), [403, 'FORBIDDEN']);
  const rename = { method: 'PUT', body: { name: 'States' }, credential: shop.key };
  assert.deepEqual((await shop.admin('', rename)).json.data.state, 'active');
  for (const state of ['paused', null, true]) {
    const answer = await setState(state as string);
    assert.deepEqual([answer.status, answer.json.error.details[0].field], [400, 'state'], `${state}: ${answer.text}`);
  }
  await put('readOnly');
  await put('active');
  const { data } = (await shop.admin('activity?action=workspaces.update&size=2')).json;
  assert.deepEqual(
    data.map(({ details }: { readonly details: unknown }) => details),
    [{ state: 'active' }, { state: 'readOnly' }],
  );
});

test('streams and pages that wait end with the suspension, in every process', async () => {
  const url = `${other.url}/api/v1/${shop.path}/notes/_changes`;
  const headers = { authorization: `Bearer ${shop.key}` };
  const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } });
  const messages = readMessages(stream.body as unknown as AsyncIterable<Uint8Array>);
  assert.equal((await messages.next()).value?.event, 'caught-up');
  const waiting = fetch(`${url}?after=now&wait=30`, { headers });
  await until('both are open', async () => /^wda_streams[^\n]* [12]$/m.test(await other.metrics()));
  await put('suspended');
  const page = await waiting;
  assert.deepEqual([page.status, ((await page.json()) as { error: { code: string } }).error.code], SUSPENDED);
  const end = (await messages.next()).value;
  assert.deepEqual([end?.event, end?.data.code], ['end', 'WORKSPACE_SUSPENDED']);
  await put('active');
});

test('an import whose file is still being read is not committed', async () => {
  for (const [state, expected] of [
    ['readOnly', READ_ONLY],
    ['suspended', SUSPENDED],
  ] as const) {
    const headers = { authorization: `Bearer ${shop.key}`, 'content-type': 'text/csv' };
    const upload = request(`${other.url}/api/v1/${shop.path}/notes/_import`, { method: 'POST', headers });
    upload.write('text\nimported\n');
    const isCopying = async (): Promise<boolean> => {
      const rows = await server.database.query(
        `select from pg_stat_activity where datname = current_database() and state = 'active' and query ilike 'copy %'`,
      );
      return rows.length > 0;
    };
    await until('the import has begun', isCopying);
    await put(state);
    upload.end('more\n');
    const [response] = (await once(upload, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response) text += chunk;
    assert.deepEqual([response.statusCode, JSON.parse(text).error.code], expected);
    await put('active');
    const found = await shop.call('notes?filter=text,eq,imported&count=exact');
    assert.deepEqual(found.json.data, []);
  }
});

test('webhooks of a suspended workspace wait, and miss nothing', async () => {
  const body = { name: 'hook', url: `${receiver.origin}/hook`, entities: ['notes'] };
  const hook = await shop.admin('webhooks', { method: 'POST', body });
  assert.equal(hook.status, 201, hook.text);
  await shop.create('notes', [{ text: 'before' }]);
  await receiver.receive(1);
  receiver.answer(503);
  await shop.create('notes', [{ text: 'during' }]);
  await receiver.receive(2);
  await put('suspended');
  const lease = (): Promise<unknown[]> =>
    server.database.query('select from wda.webhook where lease_until is not null');
  await until('no process sends', async () => (await lease()).length === 0);
  receiver.clear();
  receiver.answer(204);
  // The time of the next attempt comes, and passes.
  await server.database.query('update wda.webhook set due_at = now()');
  await shop.admin('', { method: 'PUT', body: { name: 'Waiting' } });
  assert.deepEqual(receiver.messages, []);
  await put('active');
  const [message] = await receiver.receive(1);
  assert.match(message?.body ?? '', /during/);
});

test('a backup has the state, and a restored workspace keeps it', async () => {
  await put('readOnly');
  const file = await fetch(`${server.url}/api/admin/v1/organizations/acme/workspaces/states/backup`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  const restored = await fetch(`${server.url}/api/admin/v1/restore?as=acme/restored`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/octet-stream' },
    body: await file.arrayBuffer(),
  });
  assert.equal(restored.status, 200, await restored.text());
  const { data } = (
    await server.call('/api/admin/v1/organizations/acme/workspaces/restored', { credential: ADMIN_KEY })
  ).json;
  assert.equal(data.state, 'readOnly');
  await put('active');
});
