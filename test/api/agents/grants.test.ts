// Agents of users and keys whose grants limit what they may do: which tools they have, what these say of the schema, and
// that nothing of hidden fields and records is in any text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, connectAgent } from '../../support/agent.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const SECRET = 'xyzzy';
const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const DESK = {
  roles: ['agent', 'customer', 'reader', 'robot'],
  entities: {
    companies: {
      fields: { name: { type: 'string' }, rate: { type: 'integer' } },
      grants: [
        { role: ['agent', 'reader'], can: ['read'] },
        {
          role: 'customer',
          can: ['read'],
          where: { field: 'id', op: 'eq', value: { claim: 'company_id' } },
          fields: ['name'],
        },
      ],
    },
    teams: { fields: { name: { type: 'string' } }, grants: [{ role: 'agent', can: ['read'] }] },
    tickets: {
      fields: {
        subject: { type: 'string', required: true },
        status: { type: 'enum', values: ['open', 'solved'] },
        priority: { type: 'integer' },
        notes: { type: 'text', searchable: true },
        code: { type: 'string' },
      },
      relations: {
        company: { kind: 'belongsTo', entity: 'companies' },
        team: { kind: 'belongsTo', entity: 'teams' },
      },
      grants: [
        {
          role: 'agent',
          can: ['read', 'create', 'update', 'delete'],
          where: { field: 'teamId', op: 'in', value: { claim: 'team_ids' } },
        },
        {
          role: 'customer',
          can: ['read', 'create', 'update'],
          where: byCompany,
          fields: ['subject', 'status', 'companyId'],
          write: ['subject', 'code'],
          set: { status: 'open' },
        },
        {
          role: 'customer',
          can: ['read'],
          where: { and: [byCompany, { field: 'status', op: 'eq', value: 'solved' }] },
          fields: ['priority'],
        },
        { role: 'robot', can: ['create'] },
      ],
    },
  },
};

const issuer = useIssuer();
const server = useServer({ ...LOCAL_PROVIDER, WDA_MCP_RATE_LIMIT: '0' });
const desk = use(() => server.workspace('acme/desk', DESK));
const tokenOf = useUsers(desk, issuer);
prepare(async () => {
  await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
  await desk.admin('mcp', { method: 'PUT', body: { enabled: true, writes: 'on', entities: null } });
  await desk.create('companies', [
    { name: 'One', rate: 4711 },
    { name: `${SECRET}-two`, rate: 4711 },
  ]);
  await desk.create('teams', [{ name: `${SECRET}-team` }]);
  await desk.create('tickets', [
    { subject: 'mine', status: 'open', priority: 4711, notes: SECRET, code: SECRET, companyId: 1, teamId: 1 },
    { subject: SECRET, status: 'solved', priority: 4711, notes: SECRET, companyId: 2, teamId: 1 },
  ]);
});

const CUSTOMER = { sub: 'cid', roles: ['customer', 'stranger'], company_id: 1 };
const audience = 'http://localhost:0/api/v1/acme/desk/_mcp';
const connect = (claims: object): Promise<Agent> =>
  connectAgent(server, desk.path, tokenOf({ ...claims, aud: audience }));
const toolsOf = async ({ client }: Agent): Promise<string> =>
  (await client.listTools()).tools.map(({ name }) => name).join();
const DESCRIPTIONS = 'list_entities,describe_entities';
const READS = `${DESCRIPTIONS},query_records,count_records,aggregate_records,read_record`;

test('the tools are those that some grant of the roles needs', async () => {
  for (const [roles, tools] of [
    [
      'agent',
      `${READS},create_record,update_record,delete_record,update_matching_records,delete_matching_records,explain_access`,
    ],
    ['customer', `${READS},create_record,update_record,update_matching_records,explain_access`],
    ['reader', `${READS},explain_access`],
    ['robot', `${DESCRIPTIONS},create_record,explain_access`],
    ['nobody', `${DESCRIPTIONS},explain_access`],
  ] as const) {
    const agent = await connect({ sub: 'u', roles });
    assert.equal(await toolsOf(agent), tools, roles);
    await agent.close();
  }
  const reader = await connect({ sub: 'u', roles: 'reader' });
  assert.match(await reader.text('list_entities'), /^1 entities in acme\/desk\. You may read\.\ncompanies$/);
  assert.equal(
    await reader.refusal('create_record', { entity: 'companies', record: { name: 'x' } }),
    '403 FORBIDDEN: Nothing may be written here: no grant of your roles allows it',
  );
  await reader.close();
});

test('a description has the fields of the roles, and what may be written', async () => {
  const agent = await connect(CUSTOMER);
  const text = await agent.text('describe_entities', { entities: ['tickets', 'companies'] });
  const [, tickets, companies] = text.split('\n\n');
  assert.deepEqual(tickets?.split('\n'), [
    'tickets',
    '  subject string!; status open|solved? (set by your grants, you write it in a new record alone); priority integer? (you do not write it)',
    '  you write and do not see: code string?',
    '  company -> companies (one, key companyId?)',
    '  you see: the records and fields that the grants of your roles show',
    '  you may: read, create, change',
  ]);
  assert.deepEqual(companies?.split('\n').slice(-2), [
    '  you see: the records and fields that the grants of your roles show',
    '  you may: read',
  ]);
  assert.match(await agent.refusal('describe_entities', { entities: ['teams'] }), /^404 NOT_FOUND: .*teams/);
  await agent.close();
});

test('access is explained with the roles, the operations and the claims that are missing', async () => {
  const customer = await connect(CUSTOMER);
  assert.deepEqual((await customer.text('explain_access')).split('\n'), [
    'You are the user whose sub is cid, with READ_WRITE permissions and the role customer, in acme/desk.',
    'You may read and write.',
    'Records that you see:',
    'companies: the records and fields that the grants of your roles show; you may: read',
    'tickets: the records and fields that the grants of your roles show; you may: read, create, change',
  ]);
  await customer.close();
  const lost = await connect({ sub: 'x', roles: ['agent', 'customer'] });
  const lines = (await lost.text('explain_access', { entity: 'tickets' })).split('\n');
  assert.equal(
    lines[3],
    'tickets: no record: claim team_ids is missing; claim company_id is missing; you may: read, create, change, delete',
  );
  assert.match(lines[0] as string, /and the roles agent, customer, in/);
  await lost.close();
});

test('nothing of a hidden record or field is in any text, whatever is asked', async () => {
  const agent = await connect(CUSTOMER);
  const tickets = { entity: 'tickets' };
  const calls: readonly (readonly [string, Record<string, unknown>])[] = [
    ['list_entities', {}],
    ['describe_entities', { entities: ['tickets', 'companies'] }],
    ['explain_access', {}],
    ['query_records', tickets],
    ['query_records', { ...tickets, fields: ['notes'] }],
    ['query_records', { ...tickets, sort: ['priority'], expand: ['company'] }],
    ['query_records', { ...tickets, filter: { field: 'notes', op: 'startsWith', value: 'x' } }],
    ['query_records', { ...tickets, filter: { field: 'company.rate', op: 'gt', value: 1 } }],
    ['query_records', { ...tickets, search: 'xyz' }],
    ['query_records', { ...tickets, expand: ['team'] }],
    ['count_records', { ...tickets, filter: { field: 'teamId', op: 'eq', value: 1 } }],
    ['aggregate_records', { ...tickets, select: ['count', 'max:priority'], group: ['company.name'] }],
    ['aggregate_records', { ...tickets, select: ['min:notes'] }],
    ['read_record', { ...tickets, id: 1, expand: ['company'] }],
    ['read_record', { ...tickets, id: 2 }],
    ['read_record', { entity: 'teams', id: 1 }],
    ['update_record', { ...tickets, id: 1, changes: { subject: 'mine' } }],
    ['update_record', { ...tickets, id: 2, changes: { subject: 'mine' } }],
    ['update_record', { ...tickets, id: 1, changes: { notes: 'z' } }],
    ['create_record', { ...tickets, record: { subject: 'new', companyId: 2 } }],
  ];
  for (const [tool, args] of calls)
    assert.doesNotMatch(await agent.text(tool, args), /xyzzy|4711/, `${tool} ${JSON.stringify(args)}`);
  assert.equal(await agent.text('count_records', tickets), '1');
  assert.equal(await agent.text('read_record', { ...tickets, id: 2 }), '404 NOT_FOUND: Record not found');
  await agent.close();
});

test('a change of a field that cannot be read is confirmed without its value', async () => {
  await desk.admin('mcp', { method: 'PUT', body: { enabled: true, writes: 'confirm', entities: null } });
  const agent = await connect(CUSTOMER);
  const call = { entity: 'tickets', id: 1, changes: { code: 'c2', subject: 'mine too' } };
  const preview = await agent.text('update_record', call);
  assert.doesNotMatch(preview, /xyzzy/);
  assert.match(preview, /\n {2}code: \? -> "c2"\n {2}subject: "mine" -> "mine too"\n/);
  const confirmation = /with confirmation "([^"]+)"/.exec(preview)?.[1];
  assert.match(await agent.text('update_record', { ...call, confirmation }), /^Changed\. /);
  assert.equal((await desk.call('tickets/1')).json.data.code, 'c2');
  const onlyHidden = { entity: 'tickets', id: 1, changes: { code: 'c3' } };
  assert.match(await agent.text('update_record', onlyHidden), /\n {2}code: \? -> "c3"\n/);
  assert.match(
    await agent.refusal('update_record', { ...onlyHidden, changes: { notes: 'z' } }),
    /^400 VALIDATION_FAILED/,
  );
  await agent.close();
  await desk.admin('mcp', { method: 'PUT', body: { enabled: true, writes: 'on', entities: null } });
});

test('a key that acts as a role has the tools and entities of its grants', async () => {
  const body = { name: 'worker', permissions: 'GRANTS', roles: ['customer'], claims: { company_id: 2 } };
  const made = await desk.admin('api-keys', { method: 'POST', body });
  const agent = await connectAgent(server, desk.path, made.json.data.key);
  assert.equal(await toolsOf(agent), `${READS},create_record,update_record,update_matching_records,explain_access`);
  assert.match(
    await agent.text('explain_access'),
    /^You are the credential key:\S+ with the role customer in acme\/desk\.\nYou may read and write\./,
  );
  assert.match(await agent.data('query_records', { entity: 'tickets' }), /^\{"data":\[\{"id":2,/);
  const text = await agent.text('create_record', { entity: 'tickets', record: { subject: 'by key' } });
  assert.match(text, /^Created\. /);
  await agent.close();
});
