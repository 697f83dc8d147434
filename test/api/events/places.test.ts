// Where changes can be kept: not on a cluster, and in a restored workspace from then on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../src/errors.ts';
import { prepareChange } from '../../../src/migrations/plan.ts';
import { createWorkspace } from '../../../src/migrations/workspace.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import { makeDatabases } from '../../../src/store/databases.ts';
import { ONE_DATABASE } from '../../../src/topology/topology.ts';
import { skipOnCluster } from '../../support/citus.ts';
import { openDatabase } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';

const makeSchema = (changes: string): object => ({
  entities: { notes: { fields: { text: { type: 'string' } }, settings: { changes } } },
});
const parse = (changes: string) => parseSchemaDocument(parseExact(JSON.stringify(makeSchema(changes))));

const server = useServer();
const db = use(
  async () => openDatabase(server.database.url),
  (database) => database.close(),
);

test('without triggers on all tables, as on a cluster, it is refused to keep changes', async () => {
  const topology = { ...ONE_DATABASE, keepsChanges: false };
  const isRefused = (error: unknown): boolean =>
    error instanceof ApiError &&
    error.code === 'CHANGES_UNAVAILABLE' &&
    /leave "changes" of notes off/.test(error.message);
  await server.workspace('acme/off', makeSchema('off'));
  const databases = makeDatabases(db, () => topology);
  const document = parse('feed');
  assert.ok(document.ok);
  const workspace = { organization: 'acme', slug: 'on', name: 'on', document: document.document };
  await assert.rejects(createWorkspace(databases, workspace), isRefused);
  const [row] = await server.database.query(`select id::text from wda.workspace where slug = 'off'`);
  const prepare = (changes: string): Promise<unknown> =>
    db.transaction((session) => prepareChange(session, String(row?.id), () => parse(changes), 'online', { topology }));
  await assert.rejects(prepare('history'), isRefused);
  await prepare('off');
});

test(
  'a restored workspace has no changes of before, and keeps those from then on',
  skipOnCluster('it keeps none'),
  async () => {
    const shop = await server.workspace('acme/shop', makeSchema('history'));
    const [record] = await shop.create('notes', [{ text: 'before' }]);
    const { json } = await shop.call('notes/_changes');
    const admin = '/api/admin/v1';
    const backup = await fetch(`${server.url}${admin}/organizations/acme/workspaces/shop/backup`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    });
    const restored = await server.call(`${admin}/restore?as=acme/copy`, {
      method: 'POST',
      credential: ADMIN_KEY,
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.from(await backup.arrayBuffer()),
    });
    assert.equal(restored.status, 200, restored.text);
    const call = (path: string, method = 'GET', body?: object) =>
      server.call(`/api/v1/acme/copy/${path}`, {
        method,
        credential: ADMIN_KEY,
        ...(body === undefined ? {} : { body }),
      });
    assert.deepEqual((await call('notes/_changes?after=oldest')).json.data, []);
    assert.equal((await call(`notes/_changes?after=${json.meta.cursor}`)).status, 400);
    assert.equal((await call(`notes/${record.id}`, 'PATCH', { text: 'after' })).status, 200);
    const { data } = (await call('notes/_changes?after=oldest&previous=true')).json;
    assert.deepEqual(
      data.map(({ type, record: now, previous }: Record<string, unknown>) => [type, now, previous]),
      [['updated', { id: record.id, text: 'after' }, { text: 'before' }]],
    );
  },
);
