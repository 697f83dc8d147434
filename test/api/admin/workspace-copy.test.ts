// Copies of workspaces: what they have, at which moment, and that nothing is left of one that was cut off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const ADMIN = '/api/admin/v1';
const SCHEMA = {
  entities: {
    tenants: { fields: { name: { type: 'string', required: true } } },
    notes: {
      fields: { text: { type: 'string', unique: true }, size: { type: 'decimal', precision: 38, scale: 10 } },
      relations: { tenant: { kind: 'belongsTo', entity: 'tenants' } },
      settings: { changes: 'history' },
      rowRules: [{ column: 'tenantId', claim: 'tenant' }],
    },
  },
};

const server = useServer(LOCAL_PROVIDER);
const source = use(() => server.workspace('acme/production', SCHEMA));

const call = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  server.call(path, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
const copy = (body: unknown): Promise<Answer> => source.admin('copy', { method: 'POST', body });
const adminOf = async (path: string, rest: string): Promise<Answer['json']> => {
  const [organization, slug] = path.split('/');
  return (await call(`${ADMIN}/organizations/${organization}/workspaces/${slug}${rest}`)).json.data;
};
const listNotes = async (path: string): Promise<Answer['json']> =>
  (await call(`/api/v1/${path}/notes?size=100&sort=id`)).json.data;

prepare(async () => {
  await source.create('tenants', [{ name: 'one' }]);
  await source.create('notes', [
    { text: 'tab\t, \\N', size: '0.0000000001', tenantId: 1 },
    { text: 'two' },
    { text: 'gone' },
  ]);
  assert.equal((await source.call('notes/1', { method: 'PUT', body: { text: 'one' } })).status, 200);
  assert.equal((await source.call('notes/3', { method: 'DELETE' })).status, 204);
  const put = async (path: string, body: unknown): Promise<void> => {
    const { status, text } = await source.admin(path, { method: 'PUT', body });
    assert.equal(status, 200, text);
  };
  await put('mcp', { writes: 'confirm' });
  await put('identity-provider', {
    issuerUrl: 'https://login.example.com',
    defaultPermissions: 'READ_ONLY',
    enabled: false,
  });
  await put('', { corsOrigins: ['https://app.example.com'] });
  assert.equal((await call(`${ADMIN}/organizations`, 'POST', { slug: 'other', name: 'Other' })).status, 201);
});

test('a copy has the schema, the settings and the records with their ids, and no keys and no provider', async () => {
  const { status, json, headers, text } = await copy({ slug: 'staging', name: 'Staging' });
  assert.equal(status, 201, text);
  const { organization, slug, name, corsOrigins } = json.data;
  assert.deepEqual(
    { organization, slug, name, corsOrigins },
    { organization: 'acme', slug: 'staging', name: 'Staging', corsOrigins: ['https://app.example.com'] },
  );
  assert.equal(headers.get('location'), `${ADMIN}/organizations/acme/workspaces/staging`);
  assert.deepEqual(await adminOf('acme/staging', '/schema'), await adminOf('acme/production', '/schema'));
  assert.deepEqual(await listNotes('acme/staging'), await listNotes('acme/production'));
  assert.deepEqual(await adminOf('acme/staging', '/api-keys'), []);
  assert.deepEqual(await adminOf('acme/staging', '/migrations'), []);
  assert.equal((await adminOf('acme/staging', '/mcp')).writes, 'confirm');
  const at = `${ADMIN}/organizations/acme/workspaces/staging/identity-provider`;
  assert.equal((await call(at)).status, 404);
  assert.equal((await server.call('/api/v1/acme/staging/notes', { credential: source.key })).status, 401);
  // The id of the record that was deleted is not given again.
  const created = await call('/api/v1/acme/staging/notes', 'POST', { text: 'three', tenantId: 1 });
  assert.equal(created.json.data.id, 4);
  assert.equal((await listNotes('acme/production')).length, 2);
  const activity = await call(`${ADMIN}/activity?size=1`);
  const [{ action, workspace, subject, details }] = activity.json.data;
  assert.deepEqual(
    [action, workspace, subject, details],
    [
      'workspaces.copy',
      'staging',
      'staging',
      { name: 'Staging', from: 'acme/production', withoutRecords: false, records: 3 },
    ],
  );
});

test('its records have their history, and its feed begins with it', async () => {
  const history = await call('/api/v1/acme/staging/notes/1/_history');
  assert.equal(history.json.data.length, 2, history.text);
  const readChanges = (path: string, after = '') => call(`/api/v1/acme/${path}/notes/_changes${after}`);
  const cursorOf = ({ json }: Answer): string => `?after=${json.meta.cursor}`;
  const cursor = cursorOf(await readChanges('staging'));
  assert.equal((await readChanges('staging', cursorOf(await readChanges('production')))).status, 400);
  assert.equal((await call('/api/v1/acme/staging/notes', 'POST', { text: 'five' })).status, 201);
  const { json, text } = await readChanges('staging', cursor);
  assert.deepEqual(
    json.data.map((event: { type: string; recordId: number }) => [event.type, event.recordId]),
    [['created', 5]],
    text,
  );
});

test('without records a copy is empty, in another organization too', async () => {
  const { status, json, text } = await copy({ slug: 'trial', organization: 'other', withoutRecords: true });
  assert.equal(status, 201, text);
  assert.deepEqual([json.data.organization, json.data.name], ['other', 'trial']);
  assert.deepEqual(await adminOf('other/trial', '/schema'), await adminOf('acme/production', '/schema'));
  assert.deepEqual(await listNotes('other/trial'), []);
  assert.equal((await call('/api/v1/other/trial/notes', 'POST', { text: 'one' })).json.data.id, 1);
});

test('what is no copy is refused, and makes nothing', async () => {
  const refusals: readonly (readonly [unknown, number, string])[] = [
    [{ slug: 'production' }, 409, 'NOT_UNIQUE'],
    [{ slug: 'staging-2', organization: 'nothing' }, 404, 'ORGANIZATION_NOT_FOUND'],
    [{ slug: 'Staging' }, 400, 'VALIDATION_FAILED'],
    [{ slug: 'staging-2', records: false }, 400, 'VALIDATION_FAILED'],
    [{}, 400, 'VALIDATION_FAILED'],
  ];
  const before = await countWorkspaces();
  for (const [body, status, reason] of refusals) {
    const answer = await copy(body);
    assert.deepEqual([answer.status, answer.json.error.reason], [status, reason], answer.text);
  }
  assert.deepEqual(await countWorkspaces(), before);
});

const countWorkspaces = () =>
  server.database.query(`select (select count(*) from wda.workspace) as workspaces,
  (select count(*) from pg_namespace where nspname like 'ws%') as schemas`);

/** Runs `work` while copies wait, after their records, for the settings of agents. */
async function whileWaiting(work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    await client.query('begin; lock table wda.agent_settings in share mode');
    await work();
  } finally {
    await client.end();
  }
}

const findWaiting = () =>
  server.database.query(`select pid from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock' and query like '%agent_settings%'`);

test('a copy is of one moment, while others write', async () => {
  let running: Promise<Answer> | undefined;
  await whileWaiting(async () => {
    running = copy({ slug: 'moment' });
    await until('the copy waits', async () => (await findWaiting()).length === 1);
    await source.create('tenants', [{ name: 'later' }]);
    await source.create('notes', [{ text: 'later', tenantId: 2 }]);
    // Nobody sees a part of it.
    assert.equal((await call(`/api/v1/acme/moment/notes`)).status, 404);
  });
  assert.equal((await running)?.status, 201);
  assert.equal((await listNotes('acme/moment')).length, 2);
  assert.equal((await listNotes('acme/production')).length, 3);
});

test('nothing is left of a copy whose connection is lost', async () => {
  const before = await countWorkspaces();
  await whileWaiting(async () => {
    const running = copy({ slug: 'lost' });
    await until('the copy waits', async () => (await findWaiting()).length === 1);
    const [waiting] = await findWaiting();
    await server.database.query('select pg_terminate_backend($1)', [waiting?.pid]);
    assert.equal((await running).status, 503);
  });
  assert.deepEqual(await countWorkspaces(), before);
  assert.equal((await copy({ slug: 'lost' })).status, 201);
});
