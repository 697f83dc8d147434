// The OpenAPI document of users with roles: that of their token, and the same for an owner who asks for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESK } from '../../support/desk-document.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const server = useServer(LOCAL_PROVIDER);
const desk = use(() => server.workspace('acme/desk', DESK));
const issuer = useIssuer();
const tokenOf = useUsers(desk, issuer);
const PATH = '_openapi.json';

prepare(async () => {
  const { status } = await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
  assert.equal(status, 200);
  await desk.create('companies', [{ name: 'One' }]);
  await desk.create('news', [{ title: 'new' }]);
});

for (const [query, roles] of [
  ['role=customer', ['customer']],
  ['role=agent&role=customer', ['customer', 'agent', 'stranger']],
  ['principal=external&role=robot&selection=fixed', ['robot']],
  ['principal=external', []],
  ['role=customer&entities=tickets', ['customer']],
] as const) {
  test(`an owner gets the document of users by ${query}`, async () => {
    const { status, text, headers } = await desk.call(`${PATH}?${query}`);
    assert.equal(status, 200, text);
    const own = new URLSearchParams(query);
    own.delete('role');
    own.delete('principal');
    const asUser = await desk.call(`${PATH}?${own}`, { credential: tokenOf({ roles }) });
    assert.equal(asUser.text, text);
    assert.equal(asUser.headers.get('etag'), headers.get('etag'));
  });
}

test('the document of a role follows what users may do by default, and changes of its grants', async () => {
  const operations = async (): Promise<string[]> => {
    const { json } = await desk.call(`${PATH}?role=agent`);
    return Object.values<Record<string, { operationId?: string }>>(json.paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId = '' }) =>
        operationId.startsWith('companies.') ? [operationId] : [],
      ),
    );
  };
  const reads = ['list', 'query', 'aggregate', 'summarize', 'export', 'read'].map((name) => `companies.${name}`);
  assert.deepEqual((await operations()).toSorted(), reads.toSorted());
  const grants = [{ role: 'agent', can: ['read', 'delete'] }];
  assert.equal((await desk.admin('entities/companies/grants', { method: 'PUT', body: grants })).status, 200);
  assert.ok((await operations()).includes('companies.delete'));
  const change = (defaultPermissions: string) =>
    desk.admin('identity-provider', { method: 'PUT', body: { defaultPermissions } });
  assert.equal((await change('READ_ONLY')).status, 200);
  assert.deepEqual((await operations()).toSorted(), reads.toSorted());
  assert.equal((await change('READ_WRITE')).status, 200);
  const { grants: before } = DESK.entities.companies;
  assert.equal((await desk.admin('entities/companies/grants', { method: 'PUT', body: before })).status, 200);
});

test('unknown roles are refused with those that exist', async () => {
  const unknown = await desk.call(`${PATH}?role=custmer`);
  assert.equal(unknown.status, 400);
  assert.equal(
    unknown.json.error.message,
    'Unknown role custmer. Did you mean customer? Known: agent, customer, robot, auditor',
  );
  assert.equal((await desk.call(`${PATH}?role=`)).status, 400);
  const entity = await desk.call(`${PATH}?role=robot&entities=comments`);
  assert.match(entity.json.error.message, /^Unknown entity comments\..* Known: companies, tickets, news$/);
  const owner = await desk.call(`${PATH}?principal=owner`);
  assert.equal(owner.json.error.message, 'Unknown principal owner. Known: external');
});

test('only owners ask for the document of others', async () => {
  const key = async (permissions: string, rest: object = {}): Promise<string> => {
    const answer = await desk.admin('api-keys', { method: 'POST', body: { name: permissions, permissions, ...rest } });
    return answer.json.data.key;
  };
  const credentials = [
    tokenOf({ roles: ['customer'] }),
    desk.readOnlyKey,
    desk.readWriteKey,
    await key('GRANTS', { roles: ['customer'] }),
  ];
  for (const credential of credentials) {
    // Nothing tells which roles exist.
    for (const role of ['customer', 'agent', 'nobody']) {
      const { status, json } = await desk.call(`${PATH}?role=${role}`, { credential });
      assert.equal(status, 403);
      assert.equal(json.error.message, 'Only owners may ask for the OpenAPI document of other users');
    }
  }
  assert.equal((await desk.call(`${PATH}?principal=external`, { credential: desk.readOnlyKey })).status, 403);
  const user = tokenOf({ roles: ['customer'] });
  const own = await desk.call(PATH, { credential: user });
  assert.equal((await desk.call(`${PATH}?principal=external`, { credential: user })).text, own.text);
  assert.equal(/wda\.Role|wda\.Principal/.exec(own.text), null);
  assert.equal(/wda\.Role/.exec((await desk.call(PATH)).text)?.[0], 'wda.Role');
});

test('a key that acts as a role has no entity without grants in its document', async () => {
  const body = { name: 'site', permissions: 'GRANTS', roles: ['robot'] };
  const { json } = await desk.admin('api-keys', { method: 'POST', body });
  const document = await desk.call(PATH, { credential: json.data.key });
  assert.deepEqual(
    document.json.tags.map(({ name }: { name: string }) => name),
    ['This workspace', 'companies', 'tickets'],
  );
});

test('the index and the schema have the operations of the role', async () => {
  const credential = tokenOf({ roles: ['robot', 'auditor'] });
  const creates = ['create', 'import', 'bulkCreate'];
  const { json: index } = await desk.call('', { credential });
  const schema = (await desk.call('_schema', { credential })).json.data.entities;
  assert.deepEqual(index.data.entities.find(({ name }: { name: string }) => name === 'tickets').operations, creates);
  assert.deepEqual(schema.tickets.operations, creates);
});

test('answers to a role are as its document says: the id alone where the record cannot be read', async () => {
  const credential = tokenOf({ roles: ['robot'] });
  const body = { subject: 'a', status: 'open', companyId: 1 };
  const created = await desk.call('tickets', { method: 'POST', body, credential });
  assert.deepEqual([created.status, created.json], [201, { data: { id: 1 } }]);
  const many = await desk.call('tickets/_bulk', { method: 'POST', body: { data: [body, body] }, credential });
  assert.deepEqual(many.json.data, [{ id: 2 }, { id: 3 }]);
});

test('examples of bodies in the document of a role are accepted', async () => {
  const users = { agent: {}, customer: { company_id: 1, sub: 'cid' }, robot: {} };
  for (const [role, claims] of Object.entries(users)) {
    const credential = tokenOf({ roles: [role], ...claims });
    const ticket = { subject: 'a', ...(role === 'customer' ? {} : { status: 'open', companyId: 1 }) };
    const created = await desk.call('tickets', { method: 'POST', body: ticket, credential });
    assert.equal(created.status, 201, created.text);
    const { components } = (await desk.call(PATH, { credential })).json;
    for (const [name, { content }] of Object.entries<{
      content: Record<string, { examples: Record<string, { value: Record<string, unknown> }> }>;
    }>(components.requestBodies)) {
      const [entity, kind] = name.split('.');
      if (kind !== 'Create' && kind !== 'Update') continue;
      for (const { value } of Object.values(content['application/json']?.examples ?? {})) {
        const id = entity === 'tickets' ? created.json.data.id : 1;
        const [method, item, expected]: readonly [string, object, number] =
          kind === 'Create' ? ['POST', value, 201] : ['PATCH', { ...value, id }, 200];
        const body = { data: [item] };
        const { status, text } = await desk.call(`${entity}/_bulk?dryRun=true`, { method, body, credential });
        assert.equal(status, expected, `${role} ${name} ${JSON.stringify(value)}: ${text}`);
      }
    }
  }
});
