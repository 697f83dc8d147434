// Imports of users whose grants limit the entity: which rows are written, and what a file cannot find out.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { before, describe, test } from 'node:test';
import { useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const SCHEMA = {
  roles: ['agent', 'customer', 'writer'],
  entities: {
    companies: {
      fields: { name: { type: 'string', unique: true } },
      grants: [
        { role: 'agent', can: ['read'], where: { field: 'id', op: 'in', value: { claim: 'company_ids' } } },
        { role: 'customer', can: ['read'], where: { field: 'id', op: 'eq', value: { claim: 'company_id' } } },
      ],
    },
    teams: { fields: { name: { type: 'string' } }, grants: [{ role: 'agent', can: ['read'] }] },
    tickets: {
      fields: {
        subject: { type: 'string', required: true },
        status: { type: 'enum', values: ['open', 'solved'], default: 'solved' },
        dueAt: { type: 'datetime' },
        notes: { type: 'text' },
        code: { type: 'string', unique: true },
        number: { type: 'integer' },
      },
      relations: {
        company: { kind: 'belongsTo', entity: 'companies' },
        team: { kind: 'belongsTo', entity: 'teams' },
      },
      indexes: [{ fields: ['companyId', 'number'], unique: true }],
      grants: [
        {
          role: 'agent',
          can: ['read', 'create', 'update'],
          where: { field: 'teamId', op: 'in', value: { claim: 'team_ids' } },
        },
        {
          role: 'customer',
          can: ['read', 'create', 'update'],
          where: byCompany,
          fields: ['subject', 'status', 'companyId', 'dueAt', 'number'],
          write: ['subject', 'code', 'number'],
          set: { teamId: 1, status: 'open', dueAt: '2030-01-01T00:00:00Z' },
        },
        { role: 'writer', can: ['create'], where: { field: 'companyId', op: 'eq', value: 1 } },
      ],
    },
  },
};

const AGENT = { sub: 'ann', roles: ['agent'], team_ids: [1, 2], company_ids: [1] };
const CUSTOMER = { sub: 'cid', roles: ['customer'], company_id: 1 };
const CSV = { 'content-type': 'text/csv' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
let desk: TestWorkspace;
let tokenOf: TokenOf;
let count = 0;

async function makeDesk(): Promise<void> {
  desk = await server.workspace(`acme/files${count++}`, SCHEMA);
  tokenOf = await makeUsers(desk, issuer);
  assert.equal((await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } })).status, 200);
  await desk.create('companies', [{ name: 'One' }, { name: 'Two' }]);
  await desk.create('teams', [{ name: 'A' }, { name: 'B' }, { name: 'C' }]);
  await desk.create('tickets', [
    { subject: 'a', status: 'open', companyId: 1, teamId: 1, code: 'a', number: 1 },
    { subject: 'b', status: 'solved', companyId: 2, teamId: 3, code: 'b', number: 1 },
  ]);
}

const load = (claims: object, query: string, body: string, headers: Record<string, string> = CSV): Promise<Answer> =>
  desk.call(`tickets/_import${query}`, { method: 'POST', body, headers, credential: tokenOf(claims) });
const counts = (answer: Answer): number[] => {
  assert.equal(answer.status, 200, answer.text);
  const { inserted, updated, skipped } = answer.json.data;
  return [inserted, updated, skipped];
};
const refusal = ({ status, json }: Answer): unknown[] => [
  status,
  json.error.message.replace(/: .*/, ''),
  ...(json.error.details ?? []).map(({ row, line, field }: Record<string, unknown>) => `${row} ${line} ${field}`),
];
// biome-ignore lint/suspicious/noExplicitAny: a record
const find = async (subject: string): Promise<any> =>
  (await desk.call(`tickets?filter=subject,eq,${subject}`)).json.data[0];
const total = async (): Promise<number> => (await desk.call('tickets')).json.meta.totalElements;

describe('an import under grants', () => {
  before(makeDesk);

  test('stores what the grant sets, from CSV and from lines', async () => {
    assert.deepEqual(counts(await load(CUSTOMER, '', 'subject,code,number\nc1,x1,11\nc2,,\n')), [2, 0, 0]);
    const { id: _, updatedAt: _u, createdAt: _c, ...record } = await find('c1');
    assert.deepEqual(record, {
      subject: 'c1',
      status: 'open',
      dueAt: '2030-01-01T00:00:00Z',
      notes: null,
      code: 'x1',
      number: 11,
      companyId: 1,
      teamId: 1,
    });
    const lines =
      '{"subject":"l1"}\n\n{"subject":"l2","status":"open","teamId":1,"dueAt":"2030-01-01T01:00:00+01:00"}\n';
    assert.deepEqual(counts(await load(CUSTOMER, '', lines, NDJSON)), [2, 0, 0]);
    assert.equal((await find('l2')).companyId, 1);
  });

  test('names the rows and lines that are refused, and writes nothing', async () => {
    const before = await total();
    assert.deepEqual(refusal(await load(AGENT, '', 'subject,teamId\nok,1\nno,3\n\nnone,\n')), [
      403,
      'You may not create records of tickets',
      '2 3 null',
      '3 5 null',
    ]);
    assert.deepEqual(
      refusal(await load(CUSTOMER, '', '{"subject":"ok"}\n{"subject":"no","status":"solved"}\n', NDJSON)),
      [403, 'You may not create records of tickets with these values', '2 2 null'],
    );
    assert.deepEqual(refusal(await load(CUSTOMER, '', 'subject,companyId\nno,1\n')), [
      403,
      'You may not write companyId of tickets',
      '1 2 companyId',
    ]);
    assert.deepEqual(refusal(await load(CUSTOMER, '', 'subject,notes\nno,1\n')), [
      400,
      'Validation failed',
      '0 undefined notes',
    ]);
    assert.deepEqual(refusal(await load(AGENT, '?maxErrors=1', 'subject,teamId\nno,3\nno,3\n')), [
      403,
      'You may not create records of tickets',
      '1 2 null',
    ]);
    assert.equal(await total(), before);
  });

  test('is refused before the file where nothing can be created', async () => {
    const grants = [{ role: 'agent', can: ['read'] }];
    assert.equal((await desk.admin('entities/companies/grants', { method: 'PUT', body: grants })).status, 200);
    const answer = await desk.call('companies/_import', {
      method: 'POST',
      body: 'wrong\nx\n',
      headers: CSV,
      credential: tokenOf(AGENT),
    });
    assert.deepEqual(refusal(answer), [403, 'You may not create records of companies']);
    const restored = { method: 'PUT', body: SCHEMA.entities.companies.grants };
    assert.equal((await desk.admin('entities/companies/grants', restored)).status, 200);
    assert.equal((await load({ sub: 'x', roles: ['other'] }, '', 'subject\nx\n')).status, 404);
  });

  test('changes records that can be read under a grant that carries the change', async () => {
    assert.deepEqual(counts(await load(CUSTOMER, '?onConflict=update', 'id,subject\n1,changed\n,new\n')), [1, 1, 0]);
    assert.equal((await find('changed')).status, 'open');
    const hidden = await load(CUSTOMER, '?onConflict=update', 'id,subject\n2,z\n');
    const absent = await load(CUSTOMER, '?onConflict=update', 'id,subject\n999,z\n');
    assert.deepEqual(refusal(hidden), [400, 'Validation failed', '1 2 id']);
    assert.deepEqual(refusal(absent), refusal(hidden));
    assert.deepEqual(refusal(await load(AGENT, '?onConflict=update', 'id,teamId\n1,3\n')), [
      403,
      'You may not update records of tickets',
      '1 2 null',
    ]);
    assert.deepEqual(refusal(await load(CUSTOMER, '?onConflict=update', '{"id":1,"status":"open"}\n', NDJSON)), [
      403,
      'You may not write status of tickets',
      '1 1 status',
    ]);
    assert.deepEqual(counts(await load(CUSTOMER, '?onConflict=skip', 'id,subject\n1,kept\n')), [0, 0, 1]);
    assert.equal((await find('changed')).id, 1);
  });

  test('finds records by a key of which the grant sets a part', async () => {
    const file = 'number,subject\n1,by key\n77,made\n';
    assert.deepEqual(counts(await load(CUSTOMER, '?onConflict=update&conflictOn=companyId,number', file)), [1, 1, 0]);
    assert.equal((await find('by key')).id, 1);
    assert.equal((await find('made')).companyId, 1);
    assert.equal((await desk.call('tickets/2')).json.data.subject, 'b');
    const lines = '{"number":77,"subject":"again"}\n';
    const again = await load(CUSTOMER, '?onConflict=update&conflictOn=companyId,number', lines, NDJSON);
    assert.deepEqual(counts(again), [0, 1, 0]);
    // The customer cannot read the code, and so finds nothing by it.
    assert.equal((await load(CUSTOMER, '?onConflict=update&conflictOn=code', 'code,subject\na,z\n')).status, 400);
  });

  test('cannot write over a hidden record, nor tell it by its values', async () => {
    const taken = await load(AGENT, '?onConflict=update&conflictOn=code', 'code,subject,teamId\nb,z,1\n');
    assert.deepEqual([taken.status, taken.json.error.code], [409, 'CONFLICT']);
    assert.equal((await desk.call('tickets/2')).json.data.subject, 'b');
  });

  test('tells no value of a field that the user may not read', async () => {
    const [hidden, shown] = [
      await load(CUSTOMER, '', 'subject,code\na,same\nb,same\n'),
      await load(CUSTOMER, '', 'subject,number\na,x\n'),
    ];
    const tell = ({ json }: Answer) =>
      json.error.details.map(({ field, value }: Record<string, unknown>) => [field, value]);
    assert.deepEqual(tell(hidden), [['code', undefined]]);
    assert.deepEqual(tell(shown), [['number', 'x']]);
    const lines = await load(CUSTOMER, '', '{"subject":"a","code":1}\n', NDJSON);
    assert.deepEqual(tell(lines), [['code', undefined]]);
  });

  test('looks references up among readable records', async () => {
    const query = '?map=firm:company.name';
    assert.deepEqual(counts(await load(AGENT, query, 'subject,teamId,firm\nlooked,1,One\n')), [1, 0, 0]);
    assert.equal((await find('looked')).companyId, 1);
    const hidden = await load(AGENT, query, 'subject,teamId,firm\nz,1,Two\n');
    const absent = await load(AGENT, query, 'subject,teamId,firm\nz,1,Six\n');
    assert.deepEqual(refusal(hidden), [400, 'Validation failed', '1 2 companyId']);
    assert.deepEqual(refusal(absent), refusal(hidden));
    const ids = [
      await load(AGENT, '', 'subject,teamId,companyId\nz,1,2\n'),
      await load(AGENT, '', 'subject,teamId,companyId\nz,1,99\n'),
    ];
    for (const answer of ids) assert.deepEqual(refusal(answer), [400, 'Validation failed', '1 2 companyId']);
    // What a grant sets, or the row repeats, only has to exist.
    const writer = { sub: 'w', roles: ['writer'] };
    assert.deepEqual(counts(await load(writer, '', 'subject,companyId\nblind,1\n')), [1, 0, 0]);
  });

  test('rejects refused rows alone, and tries everything in a dry run', async () => {
    const before = await total();
    const body = 'subject,teamId,code\nr1,1,r1\nr2,3,r2\n,1,r3\nr4,2,b\nr5,2,r5\nr6,,r6\n';
    const dry = await load(AGENT, '?dryRun=true', 'subject,teamId\nd,1\n');
    assert.deepEqual([counts(dry), dry.json.meta], [[1, 0, 0], { dryRun: true }]);
    assert.equal(await total(), before);
    const answer = await load(AGENT, '?rejects=true', body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('import-inserted'), '2');
    assert.deepEqual(answer.text.trimEnd().split('\n').slice(1), [
      'r2,3,r2,2,is not granted',
      ',1,r3,3,subject: is required',
      'r4,2,b,4,code: must be unique: another record has this value',
      'r6,,r6,6,is not granted',
    ]);
    assert.equal(await total(), before + 2);
    const lines = '{"subject":"s1"}\n{"subject":"s2","companyId":1}\n{"subject":"s3","status":"solved"}\n';
    const rejected = await load(CUSTOMER, '?rejects=true', lines, NDJSON);
    assert.deepEqual(rejected.text.trimEnd().split('\n'), [
      '{"subject":"s2","companyId":1,"_row":2,"_reason":"companyId: is not granted"}',
      '{"subject":"s3","status":"solved","_row":3,"_reason":"is not granted"}',
    ]);
  });

  test('writes files of several parts, all or nothing', async () => {
    const before = await total();
    const lines = Array.from({ length: 2500 }, (_, index) => `p${index},1`);
    assert.deepEqual(counts(await load(AGENT, '', `subject,teamId\n${lines.join('\n')}\n`)), [2500, 0, 0]);
    assert.equal(await total(), before + 2500);
    const bad = await load(AGENT, '', `subject,teamId\n${lines.join('\n')}\nz,3\n`);
    assert.deepEqual(refusal(bad), [403, 'You may not create records of tickets', '2501 2502 null']);
    assert.equal(await total(), before + 2500);
    const wide = Array.from({ length: 12 }, (_, index) =>
      JSON.stringify({ subject: `w${index}`, teamId: 1, notes: 'n'.repeat(900_000) }),
    );
    assert.deepEqual(counts(await load(AGENT, '', wide.join('\n'), NDJSON)), [12, 0, 0]);
    assert.equal((await find('w11')).notes.length, 900_000);
  });

  test('obeys the grants that are in force when its file has arrived', async () => {
    const { grants } = SCHEMA.entities.tickets;
    const setGrants = async (value: unknown): Promise<void> => {
      const answer = await desk.admin('entities/tickets/grants', { method: 'PUT', body: value });
      assert.equal(answer.status, 200, answer.text);
    };
    const narrower = grants.map((grant) =>
      grant.role === 'agent' ? { ...grant, where: { field: 'teamId', op: 'eq', value: 2 } } : grant,
    );
    const before = await total();
    for (const [changed, status, message] of [
      [narrower, 403, 'You may not create records of tickets'],
      [[], 404, 'Entity tickets does not exist. Known'],
      [null, 503, 'The schema or who may see what changed while the file came in; nothing was imported, retry'],
    ] as const) {
      const sent = request(`${server.url}/api/v1/${desk.path}/tickets/_import`, {
        method: 'POST',
        headers: { ...CSV, authorization: `Bearer ${tokenOf(AGENT)}` },
      });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      sent.write('subject,teamId\nslow,1\n');
      await until('the file is copied', async () => {
        const rows = await server.database.query(
          `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like 'copy pg_temp%'`,
        );
        return rows.length > 0;
      });
      await setGrants(changed);
      sent.end('slower,1\n');
      const [response] = await answered;
      const text = Buffer.concat(await response.toArray()).toString();
      assert.deepEqual([response.statusCode, JSON.parse(text).error.message.replace(/: .*/, '')], [status, message]);
      assert.equal(await total(), before);
      await setGrants(grants);
    }
  });

  test('is done once for a key, and its replay needs the right to import', async () => {
    const headers = { ...CSV, 'idempotency-key': 'import-1' };
    const before = await total();
    const send = (): Promise<Answer> => load(AGENT, '', 'subject,teamId\nonce,1\n', headers);
    assert.deepEqual(counts(await send()), [1, 0, 0]);
    assert.deepEqual(counts(await send()), [1, 0, 0]);
    assert.equal(await total(), before + 1);
    const reader = [{ role: 'agent', can: ['read'] }];
    await desk.admin('entities/tickets/grants', { method: 'PUT', body: reader });
    assert.deepEqual(refusal(await send()), [403, 'You may not create records of tickets']);
    await desk.admin('entities/tickets/grants', { method: 'PUT', body: SCHEMA.entities.tickets.grants });
  });
});
