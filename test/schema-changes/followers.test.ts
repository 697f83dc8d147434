// Workspaces that follow a shared schema, planned for a version and migrated to it: what is answered, and what is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrateFollower, planFollower } from '../../src/migrations/followers.ts';
import { makeRunner } from '../../src/migrations/runner.ts';
import { makeDatabases } from '../../src/store/databases.ts';
import { openDatabase } from '../support/database.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON
type Json = any;

const server = useServer();
const db = use(
  async () => openDatabase(server.database.url),
  (database) => database.close(),
);
const databases = makeDatabases(db);
const runner = makeRunner({
  databases,
  changed: () => undefined,
  invalidateAll: async () => undefined,
  onError: () => undefined,
  isDrained: async () => true,
  forgottenAfterMs: 0,
  maxDocumentBytes: 1_000_000,
  maxLong: 2,
});
const audit = { actor: { kind: 'operator', id: 'operator', name: 'operator' }, write: async () => undefined } as const;
const options = { allowDestructive: false, audit };

async function admin(method: string, path: string, body?: Json): Promise<Json> {
  const answer = await server.call(`/api/admin/v1${path}`, {
    credential: ADMIN_KEY,
    method,
    ...(body === undefined ? {} : { body }),
  });
  assert.ok(answer.status < 300, answer.text);
  return answer.json?.data;
}

let count = 0;

/** A workspace that follows version 1 of a schema of these versions. */
async function makeFollower(...documents: readonly Json[]) {
  const slug = `org-${++count}`;
  await admin('POST', '/organizations', { slug });
  await admin('POST', `/organizations/${slug}/schemas`, { name: 'helpdesk' });
  for (const document of documents) await admin('POST', `/organizations/${slug}/schemas/helpdesk/versions`, document);
  const { id } = await admin('POST', `/organizations/${slug}/workspaces`, {
    slug: 'shop',
    follows: { schema: 'helpdesk', version: 1 },
  });
  const [row] = await server.database.query('select shared_schema_id::text as id from wda.workspace where id = $1', [
    id,
  ]);
  const workspace = `/organizations/${slug}/workspaces/shop`;
  return {
    id: String(id),
    schemaId: String(row?.id),
    create: (entity: string, record: Json) =>
      server.call(`/api/v1/${slug}/shop/${entity}`, { credential: ADMIN_KEY, method: 'POST', body: record }),
    read: () => admin('GET', workspace),
    update: (body: Json) => admin('PUT', workspace, body),
    remove: () => admin('DELETE', `${workspace}?confirm=shop`),
  };
}

const text = { type: 'string' };
const tickets = (fields: Json): Json => ({ entities: { tickets: { fields } } });

test('a follower is planned, migrated to a version, and then has it', async () => {
  const follower = await makeFollower(
    tickets({ subject: text, note: text }),
    tickets({ title: { ...text, renamedFrom: 'subject' }, note: text }),
    tickets({ headline: { ...text, renamedFrom: 'title' } }),
  );
  const target = { schemaId: follower.schemaId, version: 3 };
  const plan = await planFollower(databases, follower.id, target);
  assert.ok(plan.state === 'ready');
  assert.deepEqual([plan.destructive, plan.steps.map(({ kind }) => kind)], [true, ['renameField', 'dropField']]);
  await assert.rejects(migrateFollower({ databases, runner }, follower.id, target, options), {
    code: 'DESTRUCTIVE_CHANGE',
  });
  assert.equal((await follower.read()).follows.version, 1);
  const ids: string[] = [];
  const allowed = { allowDestructive: true, audit, onStarted: (id: string) => void ids.push(id) };
  const result = await migrateFollower({ databases, runner }, follower.id, target, allowed);
  assert.ok(result.state === 'succeeded');
  assert.deepEqual(ids, [result.migration.id]);
  assert.equal((await follower.read()).follows.version, 3);
  for (const version of [2, 3]) {
    const older = { ...target, version };
    assert.deepEqual(await planFollower(databases, follower.id, older), { state: 'unchanged' });
    assert.deepEqual(await migrateFollower({ databases, runner }, follower.id, older, allowed), { state: 'unchanged' });
  }
});

test('records in the way are named in the plan and in the failure, and the version stays', async () => {
  const follower = await makeFollower(tickets({ subject: text }), tickets({ subject: { ...text, required: true } }));
  assert.equal((await follower.create('tickets', {})).status, 201);
  const target = { schemaId: follower.schemaId, version: 2 };
  const plan = await planFollower(databases, follower.id, target);
  assert.ok(plan.state === 'conflicts');
  assert.deepEqual(plan.conflicts, [{ entity: 'tickets', field: 'subject', count: 1, sampleIds: [1] }]);
  const result = await migrateFollower({ databases, runner }, follower.id, target, options);
  assert.ok(result.state === 'failed');
  const { code, entity, field, count: records, sampleIds } = result.error;
  assert.deepEqual([code, entity, field, records, sampleIds], ['DATA_CONFLICT', 'tickets', 'subject', 1, [1]]);
  assert.equal((await follower.read()).follows.version, 1);
});

test('a workspace that has ceased to follow, or is gone, is left alone', async () => {
  const follower = await makeFollower(tickets({ subject: text }), tickets({ subject: text, note: text }));
  const target = { schemaId: follower.schemaId, version: 2 };
  await follower.update({ follows: null });
  const results = async (): Promise<Json> => [
    await planFollower(databases, follower.id, target),
    await migrateFollower({ databases, runner }, follower.id, target, options),
  ];
  assert.deepEqual(await results(), [{ state: 'unfollowed' }, { state: 'unfollowed' }]);
  await follower.remove();
  assert.deepEqual(await results(), [{ state: 'unfollowed' }, { state: 'unfollowed' }]);
});
