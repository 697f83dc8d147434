// A workspace that is made with its schema, identity provider and keys in one request: all of it, or nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, useIssuer, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const ALL = '/api/admin/v1/organizations/acme/workspaces';
const SCHEMA = {
  roles: ['public'],
  entities: {
    notes: { fields: { text: { type: 'string' } }, grants: [{ role: 'public', can: ['read'] }] },
    tags: { fields: { name: { type: 'string' } } },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const other = useServer(LOCAL_PROVIDER, server);

prepare(async () => {
  const body = { slug: 'acme' };
  await server.call('/api/admin/v1/organizations', { method: 'POST', body, credential: ADMIN_KEY });
});

const make = (body: unknown, credential = ADMIN_KEY): Promise<Answer> =>
  server.call(ALL, { method: 'POST', body, credential });

const read = async (path: string): Promise<Answer> => server.call(`${ALL}/${path}`, { credential: ADMIN_KEY });

const provider = () => ({ issuerUrl: issuer.url, audience: 'api', defaultPermissions: 'READ_ONLY', enabled: true });

test('one request makes the workspace, its provider and its keys, which work in every process', async () => {
  const identityProvider = { ...provider(), requiredClaims: { org: 12345678901234567890n.toString() }, jwksUri: '' };
  const apiKeys = [
    { name: 'app' },
    { name: 'notes', permissions: 'READ_ONLY', entities: ['notes'], expiresAt: '2100-01-01T00:00:00Z' },
    { name: 'site', permissions: 'GRANTS', roles: ['public'], claims: { team: 7 } },
  ];
  const { status, json, headers, text } = await make({ slug: 'one', schema: SCHEMA, identityProvider, apiKeys });
  assert.equal(status, 201, text);
  assert.equal(headers.get('location'), `${ALL}/one`);
  const { data, meta } = json;
  assert.deepEqual(
    data.apiKeys.map(({ name, permissions, entities, expiresAt, roles, createdBy }: Record<string, unknown>) => [
      ...[name, permissions, entities, expiresAt, roles],
      (createdBy as { readonly kind: string }).kind,
    ]),
    [
      ['app', 'OWNER', null, null, undefined, 'operator'],
      ['notes', 'READ_ONLY', ['notes'], '2100-01-01T00:00:00Z', undefined, 'operator'],
      ['site', 'GRANTS', null, null, ['public'], 'operator'],
    ],
  );
  const stored = (await read('one/identity-provider')).json.data;
  assert.deepEqual(data.identityProvider, stored);
  assert.deepEqual(
    [stored.issuerUrl, stored.jwksUri, stored.requiredClaims],
    [issuer.url, null, { org: '12345678901234567890' }],
  );
  assert.match(meta.warnings.join('\n'), /1 entity has neither row rules nor grants.*tags/);
  const [app, notes, site] = data.apiKeys.map(({ key }: { readonly key: string }) => key);
  for (const [key, path, expected] of [
    [app, 'tags', 200],
    [notes, 'notes', 200],
    [notes, 'tags', 404],
    [site, 'notes', 200],
  ])
    assert.equal((await other.call(`/api/v1/acme/one/${path}`, { credential: key })).status, expected, `${path}`);
  const list = (await read('one/api-keys')).json.data;
  assert.deepEqual(
    list,
    data.apiKeys.map(({ key, ...shown }: { readonly key: string }) => shown),
  );
  const [entry] = (await read('one/activity')).json.data;
  assert.deepEqual([entry.action, entry.details.apiKeys.length], ['workspaces.create', 3]);
  assert.doesNotMatch(JSON.stringify(entry), /wda_/);
});

test('the mistakes of all parts come at once, with their paths, and nothing is made', async () => {
  const { status, json } = await make({
    slug: 'two',
    schema: { entities: { notes: { fields: { text: { type: 'strng' } } } } },
    identityProvider: { issuerUrl: 'ftp://x', defaultPermissions: 'ALL', requiredClaims: { '': 1 }, issuer: 'x' },
    apiKeys: [
      { name: 'a', permissions: 'ADMIN' },
      'key',
      { permissions: 'READ_ONLY', entities: ['note'] },
      { name: 'c', expiresAt: '2001-01-01T00:00:00Z', entities: ['notes'] },
      { name: 'nul\0', permissions: 'GRANTS', roles: ['public'] },
    ],
  });
  assert.equal(status, 400);
  assert.deepEqual(
    json.error.details.map(({ field, code }: Record<string, string>) => `${field} ${code}`),
    [
      'schema.entities.notes.fields.text.type NOT_IN_ENUM',
      'identityProvider.enabled REQUIRED',
      'identityProvider.issuerUrl INVALID',
      'identityProvider.defaultPermissions NOT_IN_ENUM',
      'identityProvider.requiredClaims INVALID',
      'identityProvider.issuer UNKNOWN_FIELD',
      'apiKeys.0.permissions NOT_IN_ENUM',
      'apiKeys.1 TYPE_MISMATCH',
      'apiKeys.2.name REQUIRED',
      'apiKeys.2.entities.0 REFERENCE_NOT_FOUND',
      'apiKeys.3.permissions INVALID',
      'apiKeys.3.expiresAt OUT_OF_RANGE',
      'apiKeys.4.name INVALID',
      'apiKeys.4.roles.0 REFERENCE_NOT_FOUND',
    ],
  );
  assert.equal((await read('two')).status, 404);
});

test('what only the database refuses makes nothing, either', async () => {
  const apiKeys = [{ name: 'app' }];
  const taken = await make({ slug: 'one', schema: SCHEMA, apiKeys, identityProvider: provider() });
  assert.deepEqual([taken.status, taken.json.error.details[0].field], [409, 'slug']);
  const schema = {
    entities: { notes: { searchLanguage: 'klingon', fields: { text: { type: 'text', searchable: true } } } },
  };
  const refused = await make({ slug: 'three', schema, apiKeys });
  assert.deepEqual(
    [refused.status, refused.json.error.details[0].field],
    [400, 'schema.entities.notes.searchLanguage'],
  );
  const [{ keys }] = (await server.database.query('select count(*)::int as keys from wda.api_key')) as [
    { keys: number },
  ];
  assert.equal(keys, 3);
  for (const slug of ['three']) assert.equal((await read(slug)).status, 404);
});

test('limits are stored with it, and in force with its first request', async () => {
  const limits = { maxRecords: 1, maxBytes: null };
  const { json, status, text } = await make({ slug: 'limited', schema: SCHEMA, apiKeys: [{ name: 'app' }], limits });
  assert.equal(status, 201, text);
  assert.deepEqual(json.data.limits, { maxRecords: 1 });
  assert.deepEqual((await read('limited')).json.data.limits, { maxRecords: 1 });
  const [{ details }] = (await read('limited/activity')).json.data;
  assert.deepEqual([details.limits, details.apiKeys.length], [limits, 1]);
  const create = (name: string) =>
    other.call('/api/v1/acme/limited/tags', { method: 'POST', credential: json.data.apiKeys[0].key, body: { name } });
  assert.equal((await create('one')).status, 201);
  assert.equal((await create('two')).json.error.code, 'QUOTA_EXCEEDED');
  const wrong = await make({ slug: 'wrong', limits: { maxRecords: -1, maxRows: 1 } });
  assert.deepEqual(
    [wrong.status, ...wrong.json.error.details.map(({ field }: { readonly field: string }) => field)],
    [400, 'limits.maxRecords', 'limits.maxRows'],
  );
});

test('a workspace without the parts is answered without them', async () => {
  const { json } = await make({ slug: 'four' });
  assert.deepEqual(Object.keys(json.data), ['id', 'organization', 'slug', 'name', 'createdAt', 'state']);
  assert.equal(json.meta, undefined);
  const none = await make({ slug: 'five', apiKeys: [] });
  assert.deepEqual(none.json.data.apiKeys, []);
  const many = await make({ slug: 'six', apiKeys: Array.from({ length: 21 }, () => ({ name: 'k' })) });
  assert.deepEqual([many.status, many.json.error.details[0].field], [400, 'apiKeys']);
  for (const wrong of [{ apiKeys: null }, { identityProvider: null }, { apiKeys: { name: 'k' } }])
    assert.equal((await make({ slug: 'seven', ...wrong })).json.error.details[0].code, 'TYPE_MISMATCH');
});
