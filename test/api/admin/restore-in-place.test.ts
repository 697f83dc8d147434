// Restores in the place of a workspace: clients go on with their credentials, and what it was is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ADMIN = '/api/admin/v1';
const SCHEMA = {
  entities: {
    notes: { fields: { text: { type: 'string' } } },
    tags: { fields: { name: { type: 'string' } } },
  },
};

const server = useServer();
const shop = use(() => server.workspace('acme/shop', SCHEMA));
const DAY = /^shop-before-\d{4}-\d\d-\d\d$/;

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const admin = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  server.call(`${ADMIN}${path}`, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });

async function backUp(): Promise<Buffer> {
  const answer = await fetch(`${server.url}${ADMIN}/organizations/acme/workspaces/shop/backup`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  return Buffer.from(await answer.arrayBuffer());
}

const restore = (body: Buffer | string, query: string): Promise<Answer> =>
  server.call(`${ADMIN}/restore?${query}`, {
    method: 'POST',
    credential: ADMIN_KEY,
    headers: { 'content-type': 'application/octet-stream' },
    body,
  });

const withKey = (credential: string, path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  server.call(`/api/v1/acme/shop/${path}`, { method, credential, ...(body === undefined ? {} : { body }) });
const textsOf = async (credential: string): Promise<string[]> =>
  ok(await withKey(credential, 'notes?sort=id')).data.map((note: { text: string }) => note.text);

let file: Buffer;
let client: { clientId: string; clientSecret: string };
const keys: Record<string, { id: number; key: string }> = {};
prepare(async () => {
  await shop.create('notes', [{ text: 'one' }, { text: 'two' }]);
  await shop.create('tags', [{ name: 'a' }]);
  const makeKey = async (name: string, body: object) => {
    const { data } = ok(await shop.admin('api-keys', { method: 'POST', body: { name, ...body } }));
    keys[name] = data;
  };
  await makeKey('revoked', { permissions: 'READ_WRITE' });
  file = await backUp();
  ok(await shop.admin(`api-keys/${keys.revoked?.id}`, { method: 'DELETE' }));
  // Made after the backup.
  await makeKey('scoped', { permissions: 'READ_WRITE', entities: ['notes'] });
  const provider = { issuerUrl: 'https://login.example.com', defaultPermissions: 'READ_ONLY', enabled: false };
  ok(await shop.admin('identity-provider', { method: 'PUT', body: provider }));
  ok(await shop.admin('mcp', { method: 'PUT', body: { writes: 'confirm', entities: ['tags'] } }));
  ok(await shop.admin('', { method: 'PUT', body: { name: 'Shop', corsOrigins: ['https://app.example.com'] } }));
  const made = await shop.admin('oauth-clients', { method: 'POST', body: { name: 'sync', permissions: 'READ_ONLY' } });
  client = ok(made).data;
  await shop.create('notes', [{ text: 'later' }]);
});

test('the workspace has the records of the file, and the credentials and settings that it had', async () => {
  const before = ok(await admin('/organizations/acme/workspaces/shop')).data;
  const { workspaces, leftOut, replaced } = ok(await restore(file, 'replace=acme/shop')).data;
  assert.match(replaced.slug, DAY);
  assert.equal(replaced.id, before.id);
  assert.deepEqual(replaced.entities, [
    { entity: 'notes', before: 3, after: 2 },
    { entity: 'tags', before: 1, after: 1 },
  ]);
  const { id, slug, records } = workspaces[0];
  assert.deepEqual([workspaces.length, slug, records, leftOut], [1, 'shop', 3, { apiKeys: 0, oauthClients: 0 }]);
  const after = ok(await admin('/organizations/acme/workspaces/shop')).data;
  assert.deepEqual([after.id, after.name, after.corsOrigins], [id, 'Shop', ['https://app.example.com']]);
  assert.notEqual(id, before.id);

  assert.deepEqual(await textsOf(shop.key), ['one', 'two']);
  const { key = '' } = keys.scoped ?? {};
  assert.equal(ok(await withKey(key, 'notes', 'POST', { text: 'three' })).data.id, 3);
  assert.equal((await withKey(key, 'tags')).status, 404);
  assert.equal((await withKey(keys.revoked?.key ?? '', 'notes')).status, 401);
  const token = await fetch(`${server.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }),
  });
  const { access_token: accessToken } = (await token.json()) as { access_token: string };
  assert.equal((await withKey(accessToken, 'notes')).status, 200);
  assert.equal(ok(await shop.admin('identity-provider')).data.issuerUrl, 'https://login.example.com');
  const { writes, entities } = ok(await shop.admin('mcp')).data;
  assert.deepEqual([writes, entities], ['confirm', ['tags']]);

  const [{ action, subject, details }] = ok(await admin('/activity?size=1')).data;
  assert.deepEqual([action, subject, details], ['backups.restore', 'shop', { records: 3, replaced: replaced.slug }]);
});

test('what it was is kept under another name, without credentials, also when there is one of this day', async () => {
  const [former = { slug: '' }] = ok(await admin('/workspaces?search=shop-before')).data;
  const list = ok(await server.call(`/api/v1/acme/${former.slug}/notes`, { credential: ADMIN_KEY }));
  assert.equal(list.data.length, 3);
  assert.deepEqual(ok(await admin(`/organizations/acme/workspaces/${former.slug}/api-keys`)).data, []);
  const { replaced } = ok(await restore(file, 'replace=acme/shop')).data;
  assert.equal(replaced.slug, `${former.slug}-2`);
  assert.deepEqual(await textsOf(shop.key), ['one', 'two']);
  const slugs = await server.database.query(`select slug from wda.slug_holder order by slug`);
  assert.deepEqual(
    slugs.map(({ slug }) => slug),
    ['shop', former.slug, replaced.slug],
  );
});

test('what cannot be restored changes nothing', async () => {
  const state = async () => [
    await server.database.query('select id, slug, version from wda.workspace order by id'),
    await server.database.query(`select count(*) from pg_namespace`),
    await textsOf(shop.key),
  ];
  const before = await state();
  const damaged = Buffer.from(file);
  damaged[file.length - 40] = (damaged[file.length - 40] as number) ^ 1;
  const refusals: readonly (readonly [Buffer | string, string, number, string])[] = [
    [damaged, 'replace=acme/shop', 400, 'BACKUP_DAMAGED'],
    [file, 'replace=acme/nothing', 404, 'WORKSPACE_NOT_FOUND'],
    [file, 'replace=acme', 400, 'INVALID_WORKSPACE_PATH'],
    [file, 'replace=acme/shop&as=acme/other', 400, 'INVALID_PARAMETER'],
  ];
  for (const [body, query, status, reason] of refusals) {
    const answer = await restore(body, query);
    assert.deepEqual([answer.status, answer.json.error.reason], [status, reason], answer.text);
  }
  const [open] = await server.database.query(
    `insert into wda.migration (workspace_id, strategy, steps, document)
select id, 'online', '[]', document from wda.workspace where slug = 'shop' returning id, workspace_id`,
  );
  await server.database.query('select pg_advisory_lock((7824481::int8 << 40) + $1::int8)', [open?.workspace_id]);
  const busy = await restore(file, 'replace=acme/shop');
  await server.database.query('select pg_advisory_unlock_all()');
  await server.database.query('delete from wda.migration where id = $1', [open?.id]);
  assert.deepEqual([busy.status, busy.json.error.code], [409, 'SCHEMA_MIGRATION_IN_PROGRESS'], busy.text);
  assert.deepEqual(await state(), before);
});

test('a workspace that is renamed meanwhile is not replaced', async () => {
  const other = new pg.Client({ connectionString: server.database.url });
  await other.connect();
  try {
    await other.query(`begin; update wda.workspace set slug = 'moved' where slug = 'shop'`);
    const running = restore(file, 'replace=acme/shop');
    await until('the restore waits', async () => {
      const waiting = await server.database.query(`select from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock' and query like '%for update%'`);
      return waiting.length > 0;
    });
    await other.query('commit');
    const { status, json, text } = await running;
    assert.deepEqual([status, json.error.reason], [409, 'WORKSPACE_CHANGED'], text);
  } finally {
    await other.end();
  }
});
