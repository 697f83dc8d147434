// Shared schemas of an organization: their versions, and workspaces that are made by them, begin and cease to follow them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON
type Json = any;

const server = useServer();

const admin = (method: string, path: string, body?: unknown, credential = ADMIN_KEY): Promise<Answer> =>
  server.call(`/api/admin/v1${path}`, { credential, method, ...(body === undefined ? {} : { body }) });
const expect = async (answer: Promise<Answer>, status: number): Promise<Json> => {
  const { status: actual, text, json } = await answer;
  assert.equal(actual, status, text);
  return json?.data;
};
const details = ({ json }: Answer): string[] =>
  json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

let count = 0;

/** An organization of its own with a shared schema of these versions; gives its path. */
async function publishAll(...documents: readonly Json[]): Promise<string> {
  const path = `/organizations/org-${++count}`;
  await expect(admin('POST', '/organizations', { slug: `org-${count}` }), 201);
  await expect(admin('POST', `${path}/schemas`, { name: 'helpdesk' }), 201);
  for (const document of documents) await expect(admin('POST', `${path}/schemas/helpdesk/versions`, document), 201);
  return path;
}

async function makeFollower(organization: string, slug: string, version?: number): Promise<string> {
  const follows = { schema: 'helpdesk', ...(version === undefined ? {} : { version }) };
  await expect(admin('POST', `${organization}/workspaces`, { slug, follows }), 201);
  return `${organization}/workspaces/${slug}`;
}

const records = (workspace: string, entity: string, method = 'GET', body?: unknown): Promise<Answer> => {
  const [, , organization, , slug] = workspace.split('/');
  return server.call(`/api/v1/${organization}/${slug}/${entity}`, {
    credential: ADMIN_KEY,
    method,
    ...(body === undefined ? {} : { body }),
  });
};

const text = { type: 'string' };
const tickets = (fields: Json, more: Json = {}): Json => ({ entities: { tickets: { fields, ...more } } });

test('a shared schema is made, listed, read and deleted', async () => {
  await expect(admin('POST', '/organizations', { slug: 'globex' }), 201);
  const made = await admin('POST', '/organizations/globex/schemas', { name: 'crm', description: 'For all' });
  const crm = { name: 'crm', description: 'For all', newest: null, followers: 0 };
  assert.deepEqual([made.status, made.json.data], [201, crm]);
  assert.equal(made.headers.get('location'), '/api/admin/v1/organizations/globex/schemas/crm');
  assert.equal((await expect(admin('POST', '/organizations/globex/schemas', { name: 'erp' }), 201)).description, null);
  const taken = await admin('POST', '/organizations/globex/schemas', { name: 'crm' });
  assert.deepEqual([taken.status, details(taken)], [409, ['name NOT_UNIQUE']]);
  const wrong = await admin('POST', '/organizations/globex/schemas', { name: 'CRM', descripton: '' });
  assert.deepEqual([wrong.status, details(wrong)], [400, ['name INVALID', 'descripton UNKNOWN_FIELD']]);
  assert.deepEqual(
    (await admin('GET', '/organizations/globex/schemas')).json.data.map(({ name }: Json) => name),
    ['crm', 'erp'],
  );
  assert.deepEqual(await expect(admin('GET', '/organizations/globex/schemas/crm'), 200), crm);
  const misspelt = await admin('GET', '/organizations/globex/schemas/crn');
  assert.equal(misspelt.status, 404);
  assert.match(misspelt.json.error.message, /Did you mean crm\?/);
  await expect(admin('DELETE', '/organizations/globex/schemas/crm'), 204);
  await expect(admin('GET', '/organizations/globex/schemas/crm'), 404);
  // It needs no shared schema to be gone first.
  await expect(admin('DELETE', '/organizations/globex'), 204);
});

test('a version is checked against the one before it, and never changes', async () => {
  const path = `${await publishAll(tickets({ subject: text, price: { type: 'decimal', default: 1.5 } }, { grants: [] }))}/schemas/helpdesk`;
  const versions = `${path}/versions`;
  const second = tickets({ title: { ...text, renamedFrom: 'subject' }, price: { type: 'decimal', default: 1.5 } });
  const planned = await expect(admin('POST', `${versions}?dryRun=true`, second), 200);
  assert.equal((await expect(admin('GET', path), 200)).newest, 1);
  const made = await admin('POST', versions, second);
  assert.deepEqual(planned, made.json.data);
  assert.deepEqual([made.status, made.json.data.version], [201, 2]);
  assert.equal(made.headers.get('location'), `/api/admin/v1${versions}/2`);
  assert.deepEqual(made.json.data.steps, [
    {
      entity: 'tickets',
      kind: 'renameField',
      description: 'rename field subject of tickets to title',
      destructive: false,
    },
  ]);
  // The same once more, as by a script that ran twice.
  assert.deepEqual(await expect(admin('POST', versions, second), 200), made.json.data);

  const refused = await admin(
    'POST',
    versions,
    tickets({ name: { ...text, renamedFrom: 'titel' }, price: { type: 'date' } }),
  );
  assert.deepEqual(
    [refused.status, details(refused)],
    [400, ['entities.tickets.fields.name.renamedFrom REFERENCE_NOT_FOUND']],
  );
  assert.equal((await admin('POST', versions, tickets({ title: text, price: { type: 'date' } }))).status, 400);
  const drops = await expect(admin('POST', versions, tickets({ title: text })), 201);
  assert.deepEqual(
    drops.steps.map(({ kind, destructive }: Json) => [kind, destructive]),
    [['dropField', true]],
  );

  const read = await admin('GET', `${versions}/2`);
  const { createdAt, ...rest } = read.json.data;
  assert.deepEqual(rest, {
    version: 2,
    schema: tickets({ title: text, price: { type: 'decimal', default: 1.5 } }, { grants: [] }),
    steps: made.json.data.steps,
  });
  const unchanged = await server.call(`/api/admin/v1${versions}/2`, {
    credential: ADMIN_KEY,
    headers: { 'if-none-match': read.headers.get('etag') as string },
  });
  assert.equal(unchanged.status, 304);
  const all = await admin('GET', `${versions}?size=2`);
  assert.deepEqual([all.json.data.map(({ version }: Json) => version), all.json.meta.totalElements], [[3, 2], 3]);
  assert.deepEqual(all.json.data[1], { version: 2, createdAt });
  assert.equal((await expect(admin('GET', path), 200)).newest, 3);
  const missing = await admin('GET', `${versions}/4`);
  assert.deepEqual(
    [missing.status, missing.json.error.message],
    [404, 'Version 4 of shared schema helpdesk does not exist: the newest is 3'],
  );
  for (const malformed of ['0', 'x', '1.5', '-1']) await expect(admin('GET', `${versions}/${malformed}`), 400);
});

test('a workspace is made at the newest version or at another one, whatever was renamed on the way', async () => {
  const organization = await publishAll(tickets({ subject: text }), {
    entities: { cases: { renamedFrom: 'tickets', fields: { title: { ...text, renamedFrom: 'subject' } } } },
  });
  const made = await expect(
    admin('POST', `${organization}/workspaces`, { slug: 'new', follows: { schema: 'helpdesk' } }),
    201,
  );
  assert.deepEqual(made.follows, { schema: 'helpdesk', version: 2 });
  await expect(records(`${organization}/workspaces/new`, 'cases', 'POST', { title: 'It rains' }), 201);
  const old = await makeFollower(organization, 'old', 1);
  await expect(records(old, 'tickets', 'POST', { subject: 'It snows' }), 201);
  assert.deepEqual((await expect(admin('GET', old), 200)).follows, { schema: 'helpdesk', version: 1 });
  assert.equal((await expect(admin('GET', `${organization}/schemas/helpdesk`), 200)).followers, 2);
  const followed = await admin('DELETE', `${organization}/schemas/helpdesk`);
  assert.deepEqual([followed.status, followed.json.error.reason], [409, 'SHARED_SCHEMA_FOLLOWED']);

  await expect(admin('POST', `${organization}/schemas`, { name: 'empty' }), 201);
  for (const [body, mistakes] of [
    [{ follows: { schema: 'helpdeks' } }, ['follows.schema REFERENCE_NOT_FOUND']],
    [{ follows: { schema: 'empty' } }, ['follows.schema REFERENCE_NOT_FOUND']],
    [{ follows: { schema: 'helpdesk', version: 3 } }, ['follows.version REFERENCE_NOT_FOUND']],
    [{ follows: { schema: 'helpdesk', version: 0 } }, ['follows.version OUT_OF_RANGE']],
    [{ follows: {} }, ['follows.schema REQUIRED']],
    [{ follows: { schema: 'helpdesk' }, schema: tickets({}) }, ['follows INVALID']],
  ] as const) {
    const refused = await admin('POST', `${organization}/workspaces`, { slug: 'third', ...body });
    assert.deepEqual([refused.status, details(refused)], [400, mistakes], JSON.stringify(body));
  }
});

test('the keys of a workspace that is made by a version name its entities', async () => {
  const organization = await publishAll(tickets({ subject: text }));
  const make = (entities: readonly string[]): Promise<Answer> =>
    admin('POST', `${organization}/workspaces`, {
      slug: 'shop',
      follows: { schema: 'helpdesk' },
      apiKeys: [{ name: 'server', permissions: 'READ_WRITE', entities }],
    });
  const refused = await make(['tickets', 'orders']);
  assert.deepEqual([refused.status, details(refused)], [400, ['apiKeys.0.entities.1 REFERENCE_NOT_FOUND']]);
  assert.deepEqual((await expect(make(['tickets']), 201)).apiKeys[0].entities, ['tickets']);
});

test('the schema of a workspace that follows is changed by versions alone', async () => {
  const organization = await publishAll(tickets({ subject: text }));
  const workspace = await makeFollower(organization, 'shop');
  const entity = `${workspace}/entities/tickets`;
  for (const [path, body] of [
    [`${workspace}/schema`, tickets({ subject: text, note: text })],
    [`${entity}/settings`, { label: 'subject' }],
    [`${entity}/row-rules`, []],
    [`${entity}/grants`, []],
  ] as const) {
    const refused = await admin('PUT', path, body);
    assert.deepEqual([refused.status, refused.json.error.code], [409, 'FOLLOWS_SHARED_SCHEMA'], path);
    assert.match(refused.json.error.message, /shared schema helpdesk \(version 1\).*"follows": null/);
  }
  const plan = await expect(admin('POST', `${workspace}/schema/plan`, tickets({ subject: text, note: text })), 200);
  assert.equal(plan.steps.length, 1);
  const ended = await expect(admin('PUT', workspace, { follows: null }), 200);
  assert.equal('follows' in ended, false);
  await expect(admin('PUT', `${workspace}/schema`, tickets({ subject: text, note: text })), 200);
});

test('a workspace begins to follow by names, unless something would be dropped or records are in the way', async () => {
  const organization = await publishAll(tickets({ subject: { ...text, required: true } }));
  const schema = tickets({ subject: text, note: text });
  await expect(admin('POST', `${organization}/workspaces`, { slug: 'shop', schema }), 201);
  const workspace = `${organization}/workspaces/shop`;
  await expect(records(workspace, 'tickets', 'POST', { note: 'no subject' }), 201);
  const follow = (query = '', follows: Json = { schema: 'helpdesk' }): Promise<Answer> =>
    admin('PUT', `${workspace}${query}`, { follows });

  const destructive = await follow();
  assert.deepEqual(
    [destructive.status, destructive.json.error.code, details(destructive)],
    [409, 'DESTRUCTIVE_CHANGE', ['entities.tickets.fields.note DESTRUCTIVE']],
  );
  const conflict = await follow('?allowDestructive=true');
  assert.deepEqual(
    [conflict.status, conflict.json.error.code, details(conflict)],
    [409, 'DATA_CONFLICT', ['tickets.subject INVALID']],
  );
  assert.match(
    conflict.json.error.message,
    /^1 record stands in the way in tickets: .*\(ids 1\)\. Nothing was changed$/,
  );
  assert.equal('follows' in (await expect(admin('GET', workspace), 200)), false);
  const both = await admin('PUT', workspace, { name: 'Shop', follows: { schema: 'helpdesk' } });
  assert.deepEqual([both.status, details(both)], [400, ['follows INVALID']]);
  const unknown = await follow('', { schema: 'helpdesk', version: 2 });
  assert.deepEqual([unknown.status, details(unknown)], [400, ['follows.version REFERENCE_NOT_FOUND']]);

  await expect(records(workspace, 'tickets/1', 'PATCH', { subject: 'It rains' }), 200);
  const following = await expect(follow('?allowDestructive=true&wait=60'), 200);
  assert.deepEqual(following.follows, { schema: 'helpdesk', version: 1 });
  assert.deepEqual(await expect(records(workspace, 'tickets/1'), 200), { id: 1, subject: 'It rains' });
  // It has that version already.
  assert.deepEqual(await expect(follow(), 200), following);
});

test('one that follows goes on to a later version with all that was renamed, and never back', async () => {
  const organization = await publishAll(
    { entities: { tickets: { fields: { subject: text, note: text } }, people: { fields: { name: text } } } },
    {
      entities: {
        cases: { renamedFrom: 'tickets', fields: { title: { ...text, renamedFrom: 'subject' } } },
        people: { fields: { name: text } },
      },
    },
    {
      entities: {
        cases: {
          fields: { headline: { ...text, renamedFrom: 'title' }, note: text },
          relations: { by: { kind: 'belongsTo', entity: 'people' } },
        },
        people: { fields: { name: text } },
      },
    },
    {
      entities: {
        issues: {
          renamedFrom: 'cases',
          fields: { headline: text, note: text },
          relations: { author: { kind: 'belongsTo', entity: 'people', renamedFrom: 'by' } },
        },
        people: { fields: { name: text } },
      },
    },
  );
  const workspace = await makeFollower(organization, 'shop', 1);
  await expect(records(workspace, 'tickets', 'POST', { subject: 'It rains', note: 'of version 1' }), 201);
  const follow = (query: string, version: number): Promise<Answer> =>
    admin('PUT', `${workspace}${query}`, { follows: { schema: 'helpdesk', version } });
  // The note was dropped in version 2: that of version 3 is another one.
  assert.deepEqual(details(await follow('', 4)), ['entities.issues.fields.note DESTRUCTIVE']);
  assert.deepEqual((await expect(follow('?allowDestructive=true', 4), 200)).follows, {
    schema: 'helpdesk',
    version: 4,
  });
  assert.deepEqual(await expect(records(workspace, 'issues/1'), 200), {
    id: 1,
    headline: 'It rains',
    note: null,
    authorId: null,
  });
  await expect(records(workspace, 'tickets'), 404);
  const back = await follow('?allowDestructive=true', 3);
  assert.deepEqual([back.status, details(back)], [400, ['follows.version INVALID']]);
});

test('owners read the shared schemas of their organization, and follow none', async () => {
  const organization = await publishAll(tickets({ subject: text }));
  const workspace = await makeFollower(organization, 'shop');
  const { key } = await expect(admin('POST', `${workspace}/api-keys`, { name: 'owner', permissions: 'OWNER' }), 201);
  for (const path of ['schemas', 'schemas/helpdesk', 'schemas/helpdesk/versions', 'schemas/helpdesk/versions/1'])
    await expect(admin('GET', `${organization}/${path}`, undefined, key), 200);
  const refused = await admin('PUT', workspace, { follows: null }, key);
  assert.deepEqual([refused.status, refused.json.error.reason], [403, 'OPERATOR_REQUIRED']);
  await expect(admin('PUT', workspace, { name: 'Shop' }, key), 200);
});
