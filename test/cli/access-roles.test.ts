// `wda access test` with roles: records, fields and writes under grants in force and under grants that are tried.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useIssuer, useServer } from '../support/resources.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { type Outcome, wda } from './wda.ts';

const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const DESK = {
  roles: ['agent', 'customer'],
  entities: {
    companies: {
      fields: { name: { type: 'string', required: true } },
      relations: { tickets: { kind: 'hasMany', entity: 'tickets', inverse: 'company' } },
    },
    tickets: {
      fields: { subject: { type: 'string', required: true }, status: { type: 'string' }, notes: { type: 'text' } },
      relations: { company: { kind: 'belongsTo', entity: 'companies', required: true } },
      grants: [
        { role: 'agent', can: ['read', 'update', 'delete'] },
        {
          role: 'customer',
          can: ['read', 'create'],
          where: byCompany,
          fields: ['subject', 'status', 'companyId'],
          write: ['subject'],
          set: { status: 'open' },
        },
      ],
    },
    comments: {
      fields: { text: { type: 'string', required: true } },
      relations: { ticket: { kind: 'belongsTo', entity: 'tickets' } },
      grants: [{ role: 'agent', can: ['read', 'create'] }],
    },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const desk = use(() => server.workspace('acme/desk', DESK));
prepare(async () => {
  await desk.create('companies', [{ name: 'a' }, { name: 'b' }]);
  await desk.create(
    'tickets',
    [1, 1, 2].map((companyId) => ({ subject: `s${companyId}`, companyId })),
  );
  await desk.create('comments', [{ text: 'c', ticketId: 3 }]);
  const body = { issuerUrl: issuer.url, defaultPermissions: 'READ_WRITE', roleClaim: 'roles', enabled: true };
  assert.equal((await desk.admin('identity-provider', { method: 'PUT', body })).status, 200);
});

const run = (file: string, ...args: readonly string[]): Promise<Outcome> =>
  wda(['access', 'test', '-', ...args, '-w', 'acme/desk'], {
    env: { WDA_URL: server.url, WDA_KEY: desk.key },
    stdin: file,
  });
const CUSTOMER = '    claims: { roles: [customer], company_id: 1 }\n';
const ALL = `
cases:
  - name: customer
${CUSTOMER}    only: { tickets: [1, 2], comments: [] }
    fields: { tickets: [id, subject, status, companyId], comments: [] }
    may:
      create: { tickets: [{ subject: x }, { subject: x, status: open }] }
    mayNot:
      create: { tickets: [{ subject: x, companyId: 2 }, { subject: x, notes: y }], comments: [{ text: x }] }
      update: { tickets: { 1: { subject: x }, 3: { subject: x } } }
      delete: { tickets: [1, 3] }
  - name: agent
    claims: { roles: agent }
    only: { tickets: [1, 2, 3] }
    hidden: {}
    may:
      update: { tickets: { 3: { status: solved, notes: n } } }
      delete: { tickets: [1] }
      create: { comments: [{ text: x, ticketId: 1 }] }
    mayNot:
      create: { tickets: [{ subject: x, companyId: 1 }] }
      update: { comments: { 1: { text: x } } }
  - name: without a role
    claims: {}
    only: { tickets: [] }
    fields: { tickets: [], companies: [name] }
`;

test('records, fields and writes are as the file says, and nothing is written', async () => {
  const { code, stdout, stderr } = await run(ALL);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^3 cases, \d+ requests: no leak, and nothing missing$/m);
  assert.equal((await desk.call('tickets')).json.meta.totalElements, 3);
  assert.equal((await desk.call('tickets/3')).json.data.status, null);
});

for (const [members, message] of [
  ['fields: { tickets: [subject, status] }', /tickets: field companyId is seen: 200/],
  ['fields: { tickets: [subject, status, companyId, notes] }', /tickets: a field is not seen: 400 Unknown field notes/],
  ['fields: { tickets: [subject, nope] }', /tickets: there is no field nope\. Known: id, subject/],
  ['fields: { tickets: [] }', /tickets: tickets is there: 200/],
  ['fields: { comments: [text] }', /comments: a field is not seen: 404/],
  ['visible: { tickets: [3] }', /tickets: totalElements is 0, not 1/],
  [
    'visible: { comments: [1] }',
    /comments: the answer is 404 Entity comments does not exist\. Known: companies, tickets/,
  ],
  ['hidden: { tickets: [1] }', /tickets: totalElements is 1, not 0/],
  ['may: { update: { tickets: { 1: { subject: x } } } }', /update of record 1 is refused: 403 You may not update/],
  ['may: { delete: { tickets: [3] } }', /delete of record 3 is refused: 404 Record not found/],
  ['may: { create: { tickets: [{ notes: x }] } }', /create of \{"notes":"x"\} is refused: 400/],
  ['mayNot: { create: { tickets: [{ subject: x }] } }', /create of \{"subject":"x"\} is allowed/],
  [
    'mayNot: { create: { tickets: [{ subject: 7 }] } }',
    /is refused for everybody, so a test of it shows nothing: .*must be a string/s,
  ],
] as const) {
  test(`${members}: ${message.source}`, async () => {
    const { code, stderr } = await run(`cases:\n  - name: n\n${CUSTOMER}    ${members}\n`);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
    assert.match(stderr, /^Request: (GET|POST|PATCH|DELETE) \/api\/v1\/acme\/desk\/(tickets|comments)/m);
  });
}

test('grants and roles of a file are tried, and those in force stay', async () => {
  const { writeFile, rm } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const path = `${tmpdir()}/wda-access-roles-${process.pid}.yaml`;
  const test =
    'cases:\n  - claims: { roles: robot, team: 1 }\n    only: { tickets: [3] }\n    mayNot: { delete: { tickets: [3] } }\n';
  try {
    await writeFile(
      path,
      'roles: [agent, customer, robot]\ngrants:\n  tickets:\n    - role: robot\n      can: [read]\n      where: { field: id, op: gt, value: 2 }\nrules:\n  companies: []\n',
    );
    const good = await run(test, '--rules', path);
    assert.equal(good.code, 0, good.stderr);
    assert.equal((await run(test)).code, 1);
    await writeFile(path, 'grants:\n  tickets:\n    - role: robot\n      can: [read]\n');
    const wrong = await run(test, '--rules', path);
    assert.match(wrong.stderr, /line 3, grants\.tickets\.0\.role: /);
    await writeFile(path, 'grants: {}\ngrant: {}\n');
    const unknown = await run(test, '--rules', path);
    assert.match(unknown.stderr, /:2: grant means nothing here; known: rules, grants, roles/);
  } finally {
    await rm(path, { force: true });
  }
});
