// Calls of the data API as parts of one transaction: they see what was written before them, nobody else does, row rules
// hold, and what fails is told to whoever began the transaction instead of being repeated.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { readConfig } from '../../../src/config.ts';
import { Deadline, type RequestContext } from '../../../src/data-api/context.ts';
import { makeRequest } from '../../../src/data-api/internal-request.ts';
import { makeOperations } from '../../../src/data-api/operations.ts';
import { makeQuotas } from '../../../src/data-api/quotas.ts';
import { isRetryable, isStaleSnapshot } from '../../../src/database/errors.ts';
import type { Database, Executor } from '../../../src/database/pool.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { Workspace } from '../../../src/model/workspace.ts';
import { makeCall } from '../../../src/request/call.ts';
import { makeDatabases } from '../../../src/store/databases.ts';
import { loadWorkspace } from '../../../src/store/load-workspace.ts';
import { makeWorkspaceCache } from '../../../src/store/workspace-cache.ts';
import { makeIdempotencyKeys } from '../../../src/workspace-schema/idempotency-keys.ts';
import { makeTotals } from '../../../src/workspace-schema/totals.ts';
import { openDatabase } from '../../support/database.ts';
import { makeNotes } from '../../support/notes-fixture.ts';
import { startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';

let server: TestServer;
let notes: TestWorkspace;
let db: Database;
let operations: ReturnType<typeof makeOperations>;
let workspace: Workspace;
let owner: Principal;
let app: Principal;

before(async () => {
  server = await startTestServer();
  notes = await makeNotes(server, 'acme/notes');
  const config = readConfig({ DATABASE_URL: server.database.url });
  const onError = (): void => undefined;
  db = openDatabase(server.database.url);
  const databases = makeDatabases(db);
  // A process that looks once, and never again.
  const cache = makeWorkspaceCache({
    load: (organization, slug) => loadWorkspace(databases, organization, slug),
    compare: async () => ({ versions: new Map([[workspace.id, workspace.version]]), asOf: 0 }),
    validFrom: () => 0,
    now: () => 0,
    maxBytes: 100_000,
  });
  workspace = (await cache.get('acme', 'notes')) as Workspace;
  operations = makeOperations({
    config,
    cache,
    databases,
    totals: makeTotals({ db, onError }),
    commonWords: { find: () => [] },
    quotas: makeQuotas({ databases, rateLimit: async () => undefined, keepTotal: () => undefined, now: () => 0 }),
    keys: makeIdempotencyKeys(db, 24, { maxBytes: 1e6, maxKeys: 1e6 }),
    feedSecret: async () => 'secret',
  });
  const workspaceId = workspace.id;
  owner = { kind: 'owner', permissions: 'OWNER', workspaceId, scope: null, credentialId: 'key:1' };
  app = {
    kind: 'external',
    permissions: 'READ_WRITE',
    workspaceId,
    scope: null,
    credentialId: 'sub:app',
    claims: { sub: 'app' },
    roles: [],
    onlyGrants: false,
  };
});
after(async () => {
  await db?.close();
  await server?.stop();
});

type Asked = readonly [method: string, path: string, body?: unknown];

/** The status of a call and its body; `path` as below the workspace. */
async function answer(
  executor: Executor,
  principal: Principal,
  [method, path, body]: Asked,
  next: () => Promise<void> = setImmediate,
) {
  const [place = '', query = ''] = path.split('?');
  const [entity = '', segment] = place.split('/');
  const now = performance.now();
  const signal = { isAborted: () => false, onAbort: () => () => undefined };
  const slices = { next, hasTime: () => true, addTime: () => undefined };
  const request = makeRequest({ method, path }, { id: 'test', arrivedAt: now, signal: signal, slices });
  const context: RequestContext = {
    request,
    outlive: () => context,
    signal,
    workspace,
    principal,
    deadline: new Deadline(5000),
    checkedAt: now,
    refresh: async () => context,
  };
  const call = makeCall(method, entity, segment, { query, conditions: {}, body: async () => body });
  const reply = await operations.execute(context, call, executor);
  return { status: reply.status, json: reply.body.kind === 'text' ? JSON.parse(reply.body.text) : undefined };
}

const UNDONE = new Error('undone');

/** Runs calls in a transaction that is rolled back. */
async function undone(
  principal: Principal,
  work: (ask: (...asked: Asked) => ReturnType<typeof answer>) => Promise<void>,
): Promise<void> {
  const all = db.transaction(async ({ executor }) => {
    await work((...asked) => answer(executor, principal, asked));
    throw UNDONE;
  });
  await assert.rejects(all, (error) => error === UNDONE);
}

const outside = async (path: string) => (await notes.call(path)).json;

test('create, read, update, list and delete in one transaction see each other, and are gone with it', async () => {
  const before_ = await outside('notes');
  await undone(owner, async (ask) => {
    const created = await ask('POST', 'notes', { text: 'three' });
    assert.equal(created.status, 201);
    const { id } = created.json.data;
    assert.deepEqual((await ask('GET', `notes/${id}`)).json, { data: { id, text: 'three' } });
    assert.deepEqual((await ask('PUT', `notes/${id}`, { text: 'tres' })).json, { data: { id, text: 'tres' } });
    const list = await ask('GET', 'notes?sort=id&fields=text');
    assert.deepEqual(list.json.data, [{ text: 'one' }, { text: 'two' }, { text: 'tres' }]);
    assert.equal(list.json.meta.totalElements, 3);
    const estimated = await ask('GET', 'notes?count=estimated&filter=text,eq,tres');
    assert.deepEqual(estimated.json.data, [{ id, text: 'tres' }]);
    assert.deepEqual(await outside('notes'), before_);
    assert.equal((await ask('DELETE', `notes/${id}`)).status, 204);
    await assert.rejects(ask('GET', `notes/${id}`), { status: 404 });
    assert.equal((await ask('GET', 'notes')).json.meta.totalElements, 2);
    await ask('DELETE', 'notes/1');
  });
  assert.deepEqual(await outside('notes'), before_);
});

test('new values are computed from stored ones in slices of the thread', async () => {
  for (const asked of [
    ['POST', 'notes/_update', { filter: { all: true }, set: { text: { $append: '!' } }, max: 10 }],
    ['PATCH', 'notes/1', { text: { $append: '!' } }],
  ] as const) {
    let slices = 0;
    const next = async (): Promise<void> => {
      slices++;
      await setImmediate();
    };
    const all = db.transaction(async ({ executor }) => {
      assert.equal((await answer(executor, owner, asked, next)).status, 200);
      throw UNDONE;
    });
    await assert.rejects(all, (error) => error === UNDONE);
    assert.ok(slices > 0, asked[1]);
  }
});

test('row rules hold in a transaction, and a refusal of ours ends nothing', async () => {
  const before_ = await outside('letters');
  await undone(app, async (ask) => {
    const created = await ask('POST', 'letters', { text: 'from the app' });
    assert.equal(created.json.data.owner, 'app');
    const list = await ask('GET', 'letters?sort=id&fields=text');
    assert.deepEqual(list.json.data, [{ text: 'to the app' }, { text: 'from the app' }]);
    const hidden: readonly Asked[] = [
      ['GET', 'letters/2'],
      ['PUT', 'letters/2', { text: 'mine' }],
      ['DELETE', 'letters/2'],
    ];
    for (const each of hidden) await assert.rejects(ask(...each), { status: 404, code: 'NOT_FOUND' });
    await assert.rejects(ask('POST', 'letters', { text: 1 }), { code: 'VALIDATION_FAILED' });
    assert.equal((await ask('GET', 'letters')).json.meta.totalElements, 2);
  });
  assert.deepEqual(await outside('letters'), before_);
});

test('a write that meets another of the same record is not repeated in the transaction', () =>
  assert.rejects(
    db.transaction(
      async ({ executor }) => {
        await answer(executor, owner, ['GET', 'notes/1']);
        assert.equal((await notes.call('notes/1', { method: 'PUT', body: { text: 'uno' } })).status, 200);
        await answer(executor, owner, ['PUT', 'notes/1', { text: 'ein' }]);
      },
      { isolation: 'repeatable read' },
    ),
    ({ status, cause }) => status === 503 && isRetryable(cause),
  ));

test('a call whose snapshot is of the past is planned again by whoever began the transaction', async () => {
  // As after a change of the schema of which this process knows nothing.
  const { schema, name } = workspace.entities.get('notes')?.table ?? assert.fail();
  await server.database.query(`alter table "${schema}"."${name}" rename to elsewhere`);
  const attempts: unknown[] = [];
  await assert.rejects(
    db.transaction(async ({ executor }) => {
      await answer(executor, owner, ['GET', 'notes/1']).catch((error) => {
        attempts.push(error);
        throw error;
      });
    }),
    isStaleSnapshot,
  );
  assert.equal(attempts.length, 1);
  assert.equal((attempts[0] as { code: string }).code, '42P01');
  // On the lanes it is planned again a few times, and then refused.
  await assert.rejects(answer(db, owner, ['GET', 'notes/1']), { status: 503 });
});
