// Tests of access with roles: grants in force and grants that are tried, and writes that are rolled back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const DESK = {
  roles: ['agent', 'customer'],
  entities: {
    companies: { fields: { name: { type: 'string', required: true } } },
    tickets: {
      fields: { subject: { type: 'string', required: true }, status: { type: 'string' }, notes: { type: 'text' } },
      relations: { company: { kind: 'belongsTo', entity: 'companies' } },
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
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const desk = use(() => server.workspace('acme/desk', DESK));
const configure = async (defaultPermissions: string): Promise<void> => {
  const body = { issuerUrl: issuer.url, defaultPermissions, roleClaim: 'roles', enabled: true };
  assert.equal((await desk.admin('identity-provider', { method: 'PUT', body })).status, 200);
};
prepare(async () => {
  await desk.create('companies', [{ name: 'a' }, { name: 'b' }]);
  await desk.create(
    'tickets',
    [1, 1, 2].map((companyId) => ({ subject: `s${companyId}`, status: 'open', companyId })),
  );
  await configure('READ_WRITE');
});

const ask = (body: object): Promise<Answer> => desk.admin('access/test', { method: 'POST', body });
const answers = async (body: object): Promise<readonly (readonly [number, unknown])[]> => {
  const { status, json, text } = await ask(body);
  assert.equal(status, 200, text);
  return json.data.map((one: { status: number; body: { data?: unknown; error?: { message: string } } | null }) => [
    one.status,
    one.body?.data ?? one.body?.error?.message ?? null,
  ]);
};
const CUSTOMER = { roles: ['customer'], company_id: 1 };
const total = async (): Promise<number> => (await desk.call('tickets')).json.meta.totalElements;

test('the roles are those of the role claim', async () => {
  const requests = [{ path: 'tickets?fields=id' }, { path: 'tickets/1?fields=notes' }];
  assert.deepEqual(await answers({ claims: CUSTOMER, requests }), [
    [200, [{ id: 1 }, { id: 2 }]],
    [400, 'Unknown field notes on entity tickets. Known: id, subject, status, companyId, company'],
  ]);
  for (const [claims, status] of [
    [{ roles: 'agent' }, 200],
    [{}, 404],
  ] as const) {
    const statuses = (await answers({ claims, requests })).map(([one]) => one);
    assert.deepEqual(statuses, [status, status]);
  }
});

test('requests with a method are answered as the write would be, and nothing is written', async () => {
  const requests = [
    { path: 'tickets', method: 'POST', body: { subject: 'new' } },
    { path: 'tickets', method: 'POST', body: { subject: 'new', companyId: 2 } },
    { path: 'tickets/1', method: 'PATCH', body: { subject: 'new' } },
    { path: 'tickets/3', method: 'PATCH', body: { subject: 'new' } },
    { path: 'tickets/1', method: 'DELETE' },
    { path: 'tickets/_bulk', method: 'POST', body: { data: [{ subject: 'one' }, { subject: 'two' }] } },
    { path: 'tickets/_import', method: 'POST', body: [] },
    { path: 'tickets', body: { subject: 'new' } },
    { path: '_schema', method: 'DELETE' },
  ];
  const before = await total();
  const customer = await answers({ claims: CUSTOMER, requests });
  assert.deepEqual(
    customer.map(([status]) => status),
    [201, 403, 403, 404, 403, 201, 404, 403, 404],
  );
  const [[, created] = []] = customer;
  const { subject, status, companyId } = created as Record<string, unknown>;
  assert.deepEqual([subject, status, companyId], ['new', 'open', 1]);
  const agent = await answers({ claims: { roles: ['agent'] }, requests });
  assert.deepEqual(
    agent.map(([code]) => code),
    [403, 403, 200, 200, 204, 403, 404, 403, 404],
  );
  assert.equal(await total(), before);
  assert.equal((await desk.call('tickets/1')).json.data.subject, 's1');
});

test('a provider whose users may only read refuses every write', async () => {
  await configure('READ_ONLY');
  const requests = [
    { path: 'tickets', method: 'POST', body: { subject: 'new' } },
    { path: 'tickets/_import', method: 'POST', body: [] },
    { path: 'tickets/1', method: 'GET' },
  ];
  const statuses = (await answers({ claims: CUSTOMER, requests })).map(([status]) => status);
  assert.deepEqual(statuses, [403, 403, 200]);
  await configure('READ_WRITE');
});

describe('grants that are not in force', () => {
  const shown = async (parts: object, claims: object, path = 'tickets?fields=id&expand='): Promise<unknown> => {
    const [[status, data] = []] = await answers({ claims, requests: [{ path }], ...parts });
    return status === 200 ? data : status;
  };
  const ids = (...all: number[]) => all.map((id) => ({ id }));
  const solved = [{ role: 'agent', can: ['read'], where: { field: 'id', op: 'gt', value: 1 } }];

  for (const [words, parts, claims, expected] of [
    ['take the place of those in force', { grants: { tickets: solved } }, { roles: ['agent'] }, ids(2, 3)],
    ['leave other roles nothing', { grants: { tickets: solved } }, CUSTOMER, 404],
    ['close with an empty list', { grants: { tickets: [] } }, { roles: ['agent'] }, 404],
    ['open with null', { grants: { tickets: null } }, {}, ids(1, 2, 3)],
    [
      'hold together with row rules that are tried',
      { grants: { tickets: null }, rules: { tickets: [{ column: 'companyId', claim: 'company_id' }] } },
      { company_id: 2 },
      ids(3),
    ],
    [
      'may name roles that are tried',
      {
        roles: ['agent', 'customer', 'robot'],
        grants: { tickets: [{ role: 'robot', can: ['read'], where: { field: 'id', op: 'eq', value: 3 } }] },
      },
      { roles: ['robot'] },
      ids(3),
    ],
    ['and stay out of other entities', { grants: { companies: [] } }, CUSTOMER, ids(1, 2)],
  ] as const) {
    test(words, async () => {
      assert.deepEqual(await shown(parts, claims), expected);
      assert.deepEqual(await shown({}, CUSTOMER), ids(1, 2));
    });
  }

  test('are tried in writes, too', async () => {
    const requests = [{ path: 'companies', method: 'POST', body: { name: 'c' } }];
    const grants = { companies: [{ role: 'agent', can: ['read'] }] };
    assert.deepEqual(
      (await answers({ claims: CUSTOMER, requests })).map(([status]) => status),
      [201],
    );
    assert.deepEqual(await answers({ claims: { roles: ['agent'] }, requests, grants }), [
      [403, 'You may not create records of companies'],
    ]);
  });

  for (const [parts, fields] of [
    [{ grants: { ticket: [] } }, ['grants.ticket']],
    [
      { grants: { tickets: [{ role: 'robot', can: ['read'], where: { field: 'nope', op: 'eq', value: 1 } }] } },
      ['grants.tickets.0.role', 'grants.tickets.0.where.field'],
    ],
    [{ roles: ['agent'] }, ['grants.tickets.1.role']],
    [{ grants: { tickets: [{ can: ['fly'] }] } }, ['grants.tickets.0.can.0']],
    [{ grants: [] }, ['grants']],
    [{ grant: {} }, ['grant']],
  ] as const) {
    test(`mistakes are told at their place: ${fields.join(' ')}`, async () => {
      const { status, json, text } = await ask({ claims: {}, requests: [], ...parts });
      assert.equal(status, 400, text);
      assert.deepEqual(
        json.error.details.map(({ field }: { field: string }) => field),
        fields,
      );
    });
  }
});
