// Grants of users with two roles on the tables of a helpdesk, over HTTP: what exists for each, which records and fields
// it reads, what it writes, and that nothing tells of the rest.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const HELPDESK = {
  roles: ['agent', 'customer', 'robot', 'partial'],
  entities: {
    companies: {
      fields: { name: { type: 'string', required: true }, rate: { type: 'integer' } },
      relations: { tickets: { kind: 'hasMany', entity: 'tickets', inverse: 'company' } },
      grants: [
        { role: 'agent', can: ['read'] },
        {
          role: 'customer',
          can: ['read'],
          where: { field: 'id', op: 'eq', value: { claim: 'company_id' } },
          fields: ['name'],
        },
      ],
    },
    teams: {
      fields: { name: { type: 'string' } },
      relations: { tickets: { kind: 'hasMany', entity: 'tickets', inverse: 'team' } },
      grants: [{ role: 'agent', can: ['read'] }],
    },
    tickets: {
      fields: {
        subject: { type: 'string', required: true },
        status: { type: 'enum', values: ['open', 'solved'], default: 'solved' },
        priority: { type: 'integer' },
        notes: { type: 'text', searchable: true },
        code: { type: 'string', unique: true },
      },
      relations: {
        company: { kind: 'belongsTo', entity: 'companies' },
        team: { kind: 'belongsTo', entity: 'teams' },
        comments: { kind: 'hasMany', entity: 'comments', inverse: 'ticket' },
      },
      grants: [
        {
          role: 'agent',
          can: ['read', 'create', 'update', 'delete'],
          where: { field: 'teamId', op: 'in', value: { claim: 'team_ids' } },
        },
        {
          role: 'customer',
          can: ['read', 'create'],
          where: byCompany,
          fields: ['id', 'subject', 'status', 'companyId'],
          write: ['subject', 'companyId', 'code'],
          set: { status: 'open', teamId: 1 },
        },
        // Another grant of the same role shows the priority of solved tickets.
        {
          role: 'customer',
          can: ['read'],
          where: { and: [byCompany, { field: 'status', op: 'eq', value: 'solved' }] },
          fields: ['priority'],
        },
        { role: 'robot', can: ['create'] },
        { role: 'partial', can: ['read'], fields: ['status'] },
        {
          role: 'partial',
          can: ['read'],
          where: { field: 'companyId', op: 'eq', value: 2 },
          fields: ['subject'],
        },
      ],
    },
    comments: {
      fields: { text: { type: 'string', required: true }, author: { type: 'string' } },
      relations: { ticket: { kind: 'belongsTo', entity: 'tickets', required: true, onDelete: 'cascade' } },
      grants: [
        { role: 'agent', can: ['read'] },
        {
          role: 'customer',
          can: ['read', 'create'],
          where: { field: 'ticket.companyId', op: 'eq', value: { claim: 'company_id' } },
          set: { author: { claim: 'sub' } },
        },
      ],
    },
    news: { fields: { title: { type: 'string' } } },
    visits: {
      fields: { note: { type: 'string' }, badge: { type: 'string', unique: true } },
      relations: { crew: { kind: 'belongsTo', entity: 'teams' } },
    },
    banners: {
      relations: { news: { kind: 'belongsTo', entity: 'news', onDelete: 'cascade' } },
      grants: [{ role: 'agent', can: ['read'] }],
    },
  },
};

const AGENT = { sub: 'ann', roles: ['agent'], team_ids: [1, 2] };
const CUSTOMER = { sub: 'cid', roles: ['customer', 'stranger', 7], company_id: 1 };

let desk: TestWorkspace;
let tokenOf: TokenOf;
const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
let count = 0;

async function makeDesk(): Promise<void> {
  desk = await server.workspace(`acme/desk${count++}`, HELPDESK);
  tokenOf = await makeUsers(desk, issuer);
  assert.equal((await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } })).status, 200);
  await desk.create('companies', [
    { name: 'One', rate: 10 },
    { name: 'Two', rate: 20 },
  ]);
  await desk.create('teams', [{ name: 'A' }, { name: 'B' }, { name: 'C' }]);
  await desk.create('tickets', [
    { subject: 'a', status: 'open', priority: 1, notes: 'secret apple', companyId: 1, teamId: 1, code: 'a' },
    { subject: 'b', status: 'solved', priority: 2, notes: 'secret pear', companyId: 1, teamId: 3, code: 'b' },
    { subject: 'c', status: 'open', priority: 3, notes: 'apple', companyId: 2, teamId: 2, code: 'c' },
    { subject: 'd', status: 'solved', priority: 4, notes: null, companyId: 2, teamId: 3, code: 'd' },
  ]);
  await desk.create('comments', [
    { text: 'x', author: 'z', ticketId: 1 },
    { text: 'y', author: 'z', ticketId: 3 },
  ]);
  await desk.create('news', [{ title: 'all' }]);
  await desk.create('banners', [{ newsId: 1 }]);
}

const as = (claims: object, path: string, call: Call = {}): Promise<Answer> =>
  desk.call(path, { credential: tokenOf(claims), ...call });
const agent = (path: string, call: Call = {}): Promise<Answer> => as(AGENT, path, call);
const customer = (path: string, call: Call = {}): Promise<Answer> => as(CUSTOMER, path, call);
/** A user who reads all tickets, and the subject of those of company 2 alone. */
const partial = (path: string): Promise<Answer> => as({ sub: 'p', roles: ['partial'] }, path);
// biome-ignore lint/suspicious/noExplicitAny: records of any entity
const dataOf = (answer: Answer): any => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json.data;
};
const idsOf = (answer: Answer): number[] => dataOf(answer).map(({ id }: { id: number }) => id);
const refuse = (answer: Answer, status: number, message: RegExp | string): void => {
  assert.equal(answer.status, status, answer.text);
  const actual = answer.json.error.message;
  if (typeof message === 'string') assert.equal(actual, message);
  else assert.match(actual, message);
};
const post = (body: unknown): Call => ({ method: 'POST', body });
const patch = (body: unknown, headers = {}): Call => ({ method: 'PATCH', body, headers });
const many = (data: unknown, method = 'POST'): Call => ({ method, body: { data } });
const DELETE: Call = { method: 'DELETE' };

describe('what exists', () => {
  before(makeDesk);

  test('an entity without a grant for the roles is unknown, with its relations; its columns stay', async () => {
    refuse(await customer('teams'), 404, /^Unknown entity teams|teams/);
    assert.deepEqual(
      (await customer('teams')).json.error.message.replaceAll('teams', 'X'),
      (await customer('nothing')).json.error.message.replaceAll('nothing', 'X'),
    );
    refuse(await customer('tickets?expand=team'), 400, /team/);
    refuse(await as({ sub: 'x', roles: [] }, 'tickets'), 404, /tickets/);
    assert.deepEqual(idsOf(await as({ sub: 'x', roles: [] }, 'news')), [1]);
    assert.deepEqual(idsOf(await as({ sub: 'x', roles: ['customer'] }, 'tickets')), []);
  });
  test('a field that no read grant of the roles shows is unknown everywhere', async () => {
    for (const path of [
      'tickets?fields=notes',
      'tickets?filter=notes,eq,x',
      'tickets?sort=notes',
      'tickets?distinct=notes',
      'tickets/_aggregate?select=max:notes',
      'tickets/_aggregate?select=count&group=notes',
      'comments?filter=ticket.notes,eq,x',
      'comments?sort=ticket.teamId',
      'tickets/_export?format=csv&fields=notes',
    ])
      refuse(await customer(path), 400, /notes|teamId/);
    refuse(await customer('tickets?search=apple'), 400, /searchable/);
    const { text } = await customer('_schema');
    assert.doesNotMatch(text, /notes|teamId|"rate"|"code"/);
    const { status, text: document } = await customer('_openapi.json');
    assert.equal(status, 200);
    // An import has notes of its own.
    const described = document.replaceAll('"notes":{"type":"array"', '');
    assert.equal(/"notes"|"rate"|teams/.exec(described)?.[0], undefined);
  });
});

describe('what is read', () => {
  before(makeDesk);

  test('records of some grant alone, in lists, totals, one by one and across relations', async () => {
    assert.deepEqual(idsOf(await agent('tickets')), [1, 3]);
    assert.equal((await agent('tickets?size=1')).json.meta.totalElements, 2);
    assert.deepEqual(idsOf(await customer('tickets')), [1, 2]);
    refuse(await customer('tickets/3'), 404, 'Record not found');
    refuse(await agent('tickets/2'), 404, 'Record not found');
    assert.deepEqual(dataOf(await customer('companies?expand=tickets')), [
      {
        id: 1,
        name: 'One',
        tickets: [
          { id: 1, subject: 'a', status: 'open', priority: null, companyId: 1 },
          { id: 2, subject: 'b', status: 'solved', priority: 2, companyId: 1 },
        ],
      },
    ]);
    assert.deepEqual(
      dataOf(await agent('companies?expand=tickets&fields=id,tickets.id')).map(
        (one: { tickets: unknown }) => one.tickets,
      ),
      [[{ id: 1 }], [{ id: 3 }]],
    );
    assert.deepEqual(idsOf(await customer('comments')), [1]);
    assert.deepEqual(idsOf(await agent('comments')), [1, 2]);
    assert.deepEqual(dataOf(await customer('tickets/_aggregate?select=count,sum:priority')), [
      { count: 2, 'sum:priority': 2 },
    ]);
    assert.deepEqual(idsOf(await customer('comments?filter=ticket.subject,eq,c')), []);
    assert.deepEqual(idsOf(await agent('tickets?search=apple')), [1, 3]);
    assert.equal((await customer('tickets/_export?format=ndjson')).text.trim().split('\n').length, 2);
  });
  test('labels in an export are those of records that the reader sees, from fields that the reader sees', async () => {
    const labels = 'comments/_export?fields=text,ticketId&labels=true';
    assert.equal((await agent(labels)).text, 'text,ticketId,ticket\nx,1,a\ny,3,c\n');
    assert.equal((await as({ ...AGENT, team_ids: [1] }, labels)).text, 'text,ticketId,ticket\nx,1,a\ny,3,\n');
    assert.equal((await customer(labels)).text, 'text,ticketId,ticket\nx,1,a\n');
    const partial = { sub: 'x', roles: ['agent', 'partial'], team_ids: [] };
    assert.equal((await as(partial, labels)).text, 'text,ticketId,ticket\nx,1,\ny,3,\n');
  });
  test('a field of some records is null in the others, in filters, sorts and groups, too', async () => {
    assert.deepEqual(idsOf(await customer('tickets?filter=priority,eq,1')), []);
    assert.deepEqual(idsOf(await customer('tickets?filter=priority,isNull')), [1]);
    assert.deepEqual(idsOf(await customer('tickets?filter=priority,eq,2')), [2]);
    assert.deepEqual(idsOf(await customer('tickets?sort=priority,desc')), [1, 2]);
    assert.deepEqual(dataOf(await customer('tickets/_aggregate?select=count&group=priority&sort=priority')), [
      { priority: 2, count: 1 },
      { priority: null, count: 1 },
    ]);
    const first = await customer('tickets?sort=priority&size=1');
    assert.deepEqual(idsOf(first), [2]);
    assert.deepEqual(idsOf(await customer(`tickets?sort=priority&size=1&after=${first.json.meta.nextCursor}`)), [1]);
    assert.deepEqual(idsOf(await partial('tickets?sort=subject&size=1')), [3]);
    const page = await partial('tickets?sort=subject&size=3');
    assert.deepEqual(idsOf(page), [3, 4, 1]);
    assert.deepEqual(idsOf(await partial(`tickets?sort=subject&size=3&after=${page.json.meta.nextCursor}`)), [2]);
    assert.equal((await customer('tickets?count=estimated')).json.meta.totalElements, 2);
  });
  test('the tag of a record changes with what is shown of it', async () => {
    const one = await customer('tickets/2');
    const etag = one.headers.get('etag') ?? '';
    assert.equal((await customer('tickets/2', { headers: { 'if-none-match': etag } })).status, 304);
  });
});

describe('what is written', () => {
  before(makeDesk);

  test('a create stores what the grant sets and stamps, and names nothing else', async () => {
    const answer = await customer('tickets', post({ subject: 'new', companyId: 1 }));
    assert.equal(answer.status, 201, answer.text);
    const { id } = answer.json.data;
    assert.deepEqual(answer.json.data, { id, subject: 'new', status: 'open', priority: null, companyId: 1 });
    assert.ok(answer.headers.get('etag'));
    assert.deepEqual((await desk.call(`tickets/${id}`)).json.data.teamId, 1);
    const stamped = await customer('tickets', post({ subject: 'stamped', status: 'open' }));
    assert.equal(dataOf(stamped).companyId, 1);
    refuse(await customer('tickets', post({ subject: 'x', companyId: 2 })), 403, /may not create records of tickets/);
    refuse(
      await customer('tickets', post({ subject: 'x', status: 'solved' })),
      403,
      'You may not create records of tickets with these values',
    );
    refuse(
      await customer('tickets', post({ subject: 'x', priority: 1 })),
      403,
      'You may not write priority of tickets',
    );
    refuse(await customer('tickets', post({ subject: 'x', notes: 'n' })), 400, /notes/);
    refuse(await customer('tickets', post({})), 400, /subject/);
    refuse(await customer('companies', post({ name: 'x' })), 403, 'You may not create records of companies');
    refuse(await as({ sub: 'x', roles: ['customer'] }, 'tickets', post({ subject: 'x' })), 403, /tickets/);
  });
  test('a create without read answers with the id alone', async () => {
    const answer = await as({ sub: 'r', roles: ['robot'] }, 'tickets', post({ subject: 'r', notes: 'n' }));
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(Object.keys(answer.json.data), ['id']);
    assert.equal(answer.headers.get('etag'), null);
    const { id } = answer.json.data;
    assert.equal((await desk.call(`tickets/${id}`)).json.data.notes, 'n');
    refuse(await as({ sub: 'r', roles: ['robot'] }, `tickets/${id}`), 404, 'Record not found');
    assert.deepEqual(dataOf(await as({ sub: 'r', roles: ['robot'] }, 'tickets')), []);
  });
  test('references lead to records that can be read', async () => {
    refuse(await customer('comments', post({ text: 't', ticketId: 3 })), 403, /comments/);
    assert.equal(dataOf(await customer('comments', post({ text: 't', ticketId: 1 }))).author, 'cid');
    refuse(await customer('comments', post({ text: 't', ticketId: 1, author: 'me' })), 403, /comments/);
    refuse(await agent('tickets', post({ subject: 'x', teamId: 1, companyId: 99 })), 400, /companyId/);
  });
  test('a reference of an entity without grants leads to no hidden record, there or not, and may stay', async () => {
    const hidden = { crewId: 2 };
    const absent = { crewId: 99 };
    const kept = await desk.create('visits', [{ note: 'kept', badge: 'kept', crewId: 1 }]);
    const [{ id }] = kept as [{ id: number }];
    const upsert = 'visits?onConflict=badge';
    const bulkUpsert = 'visits/_bulk?onConflict=badge';
    const csv = (crewId: number): Call => ({
      method: 'POST',
      body: `note,crewId\nfile,${crewId}\n`,
      headers: { 'content-type': 'text/csv' },
    });
    const count = async (): Promise<number> => (await desk.call('visits')).json.meta.totalElements;
    const before = await count();
    for (const attempt of [
      (body: object) => customer('visits', post(body)),
      (body: object) => customer(`visits/${id}`, patch(body)),
      (body: object) => customer('visits/_bulk', many([{ note: 'free' }, body])),
      (body: object) => customer('visits/_bulk', many([{ id, ...body }], 'PATCH')),
      (body: object) => customer(upsert, post({ badge: 'new', ...body })),
      (body: object) => customer(upsert, post({ badge: 'kept', ...body })),
      (body: object) => customer(bulkUpsert, many([{ badge: 'new', ...body }])),
      (body: object) => customer(bulkUpsert, many([{ badge: 'kept', ...body }])),
    ]) {
      const answers = [await attempt(hidden), await attempt(absent)];
      for (const { status, json, text } of answers) {
        assert.equal(status, 400, text);
        assert.equal(json.error.details[0].code, 'REFERENCE_NOT_FOUND');
      }
      const [one, other] = answers.map(({ json }) => json.error.details);
      assert.deepEqual(one, other);
    }
    for (const crewId of [2, 99]) {
      const answer = await customer('visits/_import', csv(crewId));
      assert.ok(answer.status >= 400, answer.text);
      assert.match(answer.text, /refers to a record that does not exist/);
    }
    assert.equal(await count(), before);
    assert.deepEqual((await desk.call(`visits/${id}`)).json.data.crewId, 1);
    assert.equal(dataOf(await customer(`visits/${id}`, patch({ note: 'x', crewId: 1 }))).note, 'x');
    assert.equal(dataOf(await customer('visits/_bulk', many([{ id, note: 'y', crewId: 1 }], 'PATCH')))[0].note, 'y');
    assert.equal(dataOf(await customer('visits', post({ note: 'none', crewId: null }))).crewId, null);
    assert.equal(dataOf(await agent('visits', post({ note: 'seen', ...hidden }))).crewId, 2);
  });
  test('an update needs one grant before and any after', async () => {
    assert.equal(dataOf(await agent('tickets/1', patch({ priority: 9 }))).priority, 9);
    refuse(await agent('tickets/2', patch({ priority: 9 })), 404, 'Record not found');
    refuse(await agent('tickets/1', patch({ teamId: 3 })), 403, 'You may not update records of tickets');
    // A comparison with null is unknown, and unknown is no grant.
    refuse(await agent('tickets/1', patch({ teamId: null })), 403, 'You may not update records of tickets');
    assert.equal((await desk.call('tickets/1')).json.data.teamId, 1);
    assert.equal(dataOf(await agent('tickets/1', patch({ teamId: 2 }))).teamId, 2);
    refuse(await customer('tickets/1', patch({ subject: 'z' })), 403, 'You may not update records of tickets');
    refuse(await customer('tickets/3', patch({ subject: 'z' })), 404, 'Record not found');
    refuse(await agent('companies/1', patch({ rate: 1 })), 403, 'You may not update records of companies');
    const one = await agent('tickets/1');
    const etag = one.headers.get('etag') ?? '';
    assert.equal((await agent('tickets/1', patch({ priority: 1 }, { 'if-match': etag }))).status, 200);
    assert.equal((await agent('tickets/1', patch({ priority: 2 }, { 'if-match': etag }))).status, 412);
  });
  test('a delete needs a grant, and cascades as the schema says', async () => {
    refuse(await customer('tickets/1', DELETE), 403, 'You may not delete records of tickets');
    refuse(await customer('tickets/3', DELETE), 404, 'Record not found');
    refuse(await agent('tickets/4', DELETE), 404, 'Record not found');
    assert.equal((await agent('tickets/3', DELETE)).status, 204);
    assert.equal((await desk.call('comments/2')).status, 404);
  });
  test('many records: a refusal names one, and nothing is written', async () => {
    const before = (await desk.call('tickets')).json.meta.totalElements;
    const bad = await customer('tickets/_bulk', many([{ subject: 'm1' }, { subject: 'm2', companyId: 2 }]));
    refuse(bad, 403, /tickets/);
    assert.equal(bad.json.error.details[0].index, 1);
    assert.equal((await desk.call('tickets')).json.meta.totalElements, before);
    const good = await customer(
      'tickets/_bulk',
      many([{ subject: 'm1' }, { subject: 'm2', companyId: 1, code: 'm2' }]),
    );
    assert.deepEqual(
      dataOf(good).map(({ subject, companyId }: Record<string, unknown>) => [subject, companyId]),
      [
        ['m1', 1],
        ['m2', 1],
      ],
    );
    const [one] = dataOf(await agent('tickets?fields=id&size=1'));
    refuse(
      await agent(
        'tickets/_bulk',
        many(
          [
            { id: one.id, priority: 5 },
            { id: 2, priority: 5 },
          ],
          'PATCH',
        ),
      ),
      404,
      /2/,
    );
    refuse(await agent('tickets/_bulk', many([{ id: one.id, teamId: 3 }], 'PATCH')), 403, /tickets/);
    assert.equal(dataOf(await agent('tickets/_bulk', many([{ id: one.id, priority: 5 }], 'PATCH')))[0].priority, 5);
    refuse(await customer(`tickets/_bulk?ids=${one.id}`, DELETE), 403, /tickets/);
  });
  test('an upsert changes what can be read, and a hidden key is a conflict', async () => {
    const made = await agent('tickets?onConflict=code', post({ subject: 'u', teamId: 1, code: 'u' }));
    assert.equal(made.status, 201, made.text);
    const changed = await agent('tickets?onConflict=code', post({ subject: 'u2', teamId: 1, code: 'u' }));
    assert.deepEqual([changed.status, changed.json.data.subject], [200, 'u2']);
    refuse(await agent('tickets?onConflict=code', post({ subject: 'x', teamId: 1, code: 'b' })), 409, /code/);
    refuse(await customer('tickets?onConflict=code', post({ subject: 'x', code: 'u' })), 400, /onConflict/);
    const upserted = await agent(
      'tickets/_bulk?onConflict=code',
      many([
        { subject: 'u3', teamId: 1, code: 'u' },
        { subject: 'u4', teamId: 1, code: 'v' },
      ]),
    );
    assert.deepEqual([upserted.status, upserted.json.meta], [200, { inserted: 1, updated: 1 }]);
  });
  test('upserts of many records that wait for each other are all done', async () => {
    const body = [...'abcdefgh'].map((name) => ({ subject: name, teamId: 1, code: `wait-${name}` }));
    const upsert = (records: object[]): Promise<Answer> => agent('tickets/_bulk?onConflict=code', many(records));
    assert.equal((await upsert(body)).status, 200);
    const answers = await Promise.all([body, body.toReversed()].map(upsert));
    for (const { status, json, text } of answers) {
      assert.equal(status, 200, text);
      assert.deepEqual(json.meta, { inserted: 0, updated: 8 });
    }
  });
  test('a replay shows what may still be read, and nothing after the role was taken', async () => {
    const call = { ...post({ subject: 'once' }), headers: { 'idempotency-key': 'once' } };
    const first = await customer('tickets', call);
    const again = await customer('tickets', call);
    assert.deepEqual([again.status, again.json.data], [201, first.json.data]);
    assert.ok(again.headers.get('idempotent-replayed'));
    const blind = { ...post({ subject: 'blind' }), headers: { 'idempotency-key': 'blind' } };
    const robot = (): Promise<Answer> => as({ sub: 'r', roles: ['robot'] }, 'tickets', blind);
    assert.deepEqual((await robot()).json, (await robot()).json);
    const robots = async (path: string, key: string, body: unknown): Promise<void> => {
      const sent = { ...post(body), headers: { 'idempotency-key': key } };
      const [once, twice] = [
        await as({ sub: 'r', roles: ['robot'] }, path, sent),
        await as({ sub: 'r', roles: ['robot'] }, path, sent),
      ];
      assert.ok(once.status < 300, once.text);
      assert.deepEqual([twice.status, twice.json], [once.status, once.json]);
      assert.ok(twice.headers.get('idempotent-replayed'));
    };
    await robots('tickets/_bulk', 'many', { data: [{ subject: 'm' }, { subject: 'n' }] });
    await robots('tickets/_bulk?return=minimal', 'minimal', { data: [{ subject: 'm' }, { subject: 'n' }] });
    await robots('_batch', 'batch', {
      operations: [
        { method: 'POST', entity: 'tickets', body: { subject: 'o' } },
        { method: 'GET', entity: 'news', id: 1 },
      ],
    });
    assert.equal((await as({ ...CUSTOMER, roles: [] }, 'tickets', call)).status, 404);
    refuse(await as({ ...CUSTOMER, company_id: 2 }, 'tickets', call), 404, 'Record not found');
    const operations = [
      { method: 'GET', entity: 'tickets' },
      { method: 'POST', entity: 'tickets', body: { subject: 'second' } },
    ];
    const batch = { ...post({ operations }), headers: { 'idempotency-key': 'place' } };
    assert.equal((await customer('_batch', batch)).status, 200);
    const hidden = await as({ ...CUSTOMER, company_id: 2 }, '_batch', batch);
    refuse(hidden, 404, 'Record not found');
    assert.equal(hidden.json.error.operation, 1);
  });
  test('deletes of an entity without grants cascade into entities that the user does not have', async () => {
    assert.equal((await as({ sub: 'x' }, 'news/1', DELETE)).status, 204);
    assert.equal((await desk.call('banners')).json.meta.totalElements, 0);
  });
  test('a batch is refused whole', async () => {
    const operations = [
      { method: 'POST', path: 'tickets', body: { subject: 'batch' } },
      { method: 'PATCH', path: 'tickets/1', body: { subject: 'z' } },
    ];
    const answer = await customer('_batch', post({ operations }));
    assert.ok([400, 403, 404].includes(answer.status), answer.text);
    assert.deepEqual((await desk.call('tickets?filter=subject,eq,batch')).json.data, []);
  });
});

describe('regular expressions', () => {
  const papers = (limits: object): object => ({
    fields: { title: { type: 'string' }, owner: { type: 'integer' } },
    relations: { shelf: { kind: 'belongsTo', entity: 'shelves' } },
    settings: { changes: 'feed' },
    ...limits,
  });
  const read = (where: object): object => papers({ grants: [{ role: 'reader', can: ['read'], where }] });
  const owner = { field: 'owner', op: 'eq', value: { claim: 'owner' } };

  test('are never compared with hidden records, as their time would tell what these hold', async () => {
    const library = await server.workspace('acme/library', {
      roles: ['reader'],
      entities: {
        shelves: {
          fields: { isOpen: { type: 'boolean' } },
          relations: { open: { kind: 'hasMany', entity: 'openPapers', inverse: 'shelf' } },
          grants: [{ role: 'reader', can: ['read'] }],
        },
        ruledPapers: papers({
          grants: [{ role: 'reader', can: ['read'] }],
          rowRules: [{ column: 'owner', claim: 'owner' }],
        }),
        ownPapers: read(owner),
        openPapers: read({ field: 'shelf.isOpen', op: 'eq', value: true }),
        fewPapers: papers({
          grants: [
            { role: 'reader', can: ['read'], fields: ['title'], where: owner },
            { role: 'reader', can: ['read'], where: { and: [owner, { field: 'title', op: 'ne', value: 'x' }] } },
          ],
        }),
      },
    });
    for (const isOpen of [true, false]) await library.call('shelves', post({ isOpen }));
    const letters = Array.from({ length: 300 }, (_, at) => String.fromCharCode(97 + ((at * at + 7 * at) % 26))).join(
      '',
    );
    const names = ['ruledPapers', 'ownPapers', 'openPapers', 'fewPapers'];
    for (const name of names) {
      const hidden = Array.from({ length: 100 }, () => ({ title: `SECRET ${letters}`, owner: 2, shelfId: 2 }));
      const data = [{ title: 'mine', owner: 1, shelfId: 1 }, ...hidden];
      assert.equal((await library.call(`${name}/_bulk`, post({ data }))).status, 201);
    }
    const body = { name: 'reader', permissions: 'GRANTS', roles: ['reader'], claims: { owner: 1 } };
    const { key } = (await library.admin('api-keys', { method: 'POST', body })).json.data;
    const slow = encodeURIComponent('^SECRET (.+)(.+)(.+)\\3\\2\\1$');
    const paths = [
      ...names.map((name) => `${name}?filter=title,matches,${slow}`),
      `openPapers/_aggregate?select=count&filter=title,matches,${slow}`,
      `shelves?filter=open.title,matches,${slow}`,
      `shelves?expand=open&open.filter=title,matches,${slow}`,
      `ownPapers/_changes?after=oldest&filter=title,matches,${slow}`,
      `ownPapers/_export?filter=title,matches,${slow}`,
    ];
    for (const path of paths) {
      const { status, text } = await library.call(path, { credential: key });
      assert.deepEqual([path, status], [path, 200], text);
      assert.ok(!text.includes('SECRET'));
    }
  });
});

describe('keys that act as a role', () => {
  before(makeDesk);

  test('have the grants of their roles and no entity without grants', async () => {
    const body = { name: 'w', permissions: 'GRANTS', roles: ['customer'], claims: { company_id: 2, sub: 'w' } };
    const made = await desk.admin('api-keys', { method: 'POST', body });
    assert.equal(made.status, 201, made.text);
    const { key, roles, claims } = made.json.data;
    assert.deepEqual([roles, claims], [['customer'], { company_id: 2, sub: 'w' }]);
    const call = (path: string): Promise<Answer> => desk.call(path, { credential: key });
    assert.deepEqual(idsOf(await call('tickets')), [3, 4]);
    assert.equal((await call('news')).status, 404);
    assert.equal((await desk.admin('schema', { credential: key })).status, 403);
    refuse(await server.call('/api/admin/v1/session', { credential: key }), 403, /keys that act as a role/);
    const wrong = { name: 'w', permissions: 'READ_ONLY', roles: ['customer'] };
    assert.equal((await desk.admin('api-keys', { method: 'POST', body: wrong })).status, 400);
    const unknown = { name: 'w', permissions: 'GRANTS', roles: ['nobody'] };
    refuse(await desk.admin('api-keys', { method: 'POST', body: unknown }), 400, /role/);
  });
});

describe('changes of grants', () => {
  before(makeDesk);

  test('are in force when they are answered, and shown in plans', async () => {
    const { json } = await desk.admin('entities/tickets/grants');
    assert.deepEqual(json.data, HELPDESK.entities.tickets.grants);
    assert.equal((await desk.admin('entities/tickets/grants', { method: 'PUT', body: [] })).status, 200);
    assert.equal((await agent('tickets')).status, 404);
    assert.equal((await desk.admin('entities/tickets/grants', { method: 'PUT' })).status, 400);
    const opened = await desk.admin('entities/tickets/grants', { method: 'PUT', body: null });
    assert.equal(opened.status, 200, opened.text);
    assert.equal((await agent('tickets')).json.meta.totalElements, 4);
    const bad = [{ role: 'x', can: ['read'], where: { field: 'nope', op: 'eq', value: 1 } }];
    const refused = await desk.admin('entities/tickets/grants', { method: 'PUT', body: bad });
    assert.deepEqual(
      refused.json.error.details.map(({ field }: { field: string }) => field),
      ['0.role', '0.where.field'],
    );
  });
  test('a plan says new grants in words', async () => {
    const entities = { ...HELPDESK.entities, teams: { ...HELPDESK.entities.teams, grants: [{ can: ['read'] }] } };
    const { json } = await desk.admin('schema/plan', { method: 'POST', body: { entities } });
    const step = json.data.steps.find(({ entity }: { entity: string }) => entity === 'teams');
    assert.deepEqual(step.grants, ['Every user may read all records of teams']);
  });
  test('a plan marks what opens an entity', async () => {
    const { grants: _, ...companies } = HELPDESK.entities.companies;
    const entities = { ...HELPDESK.entities, companies: { ...companies, grants: null } };
    const { json } = await desk.admin('schema/plan', { method: 'POST', body: { entities } });
    const steps = json.data.steps.map(({ kind, entity, opens }: Record<string, unknown>) => [kind, entity, opens]);
    assert.deepEqual(
      steps.filter(([, entity]: unknown[]) => entity === 'companies'),
      [['changeGrants', 'companies', true]],
    );
  });
});
