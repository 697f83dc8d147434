// The history of records under grants: who reads it, what it shows, and who restores.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';

const SETTINGS = { changes: 'history' };
const HIDDEN = { field: 'status', op: 'ne', value: 'secret' };
const SCHEMA = {
  roles: ['agent', 'customer', 'auditor', 'reader', 'blind', 'late', 'narrow'],
  entities: {
    tickets: {
      fields: {
        subject: { type: 'string', required: true },
        status: { type: 'string' },
        notes: { type: 'string' },
        companyId: { type: 'integer' },
      },
      settings: { ...SETTINGS, historyForUsers: true },
      grants: [
        { role: 'agent', can: ['read', 'update', 'history'], where: HIDDEN },
        {
          role: 'customer',
          can: ['read', 'history'],
          where: { field: 'companyId', op: 'eq', value: { claim: 'company' } },
          fields: ['subject', 'status'],
        },
        { role: 'customer', can: ['update'], where: HIDDEN, write: ['subject'] },
        { role: ['auditor', 'reader'], can: ['read'], fields: ['subject', 'status'] },
        { role: 'auditor', can: ['history'], where: { field: 'status', op: 'eq', value: 'closed' } },
        { role: 'blind', can: ['history'] },
        { role: ['late', 'narrow'], can: ['read'] },
        { role: 'narrow', can: ['history'], fields: ['status'] },
        { role: 'late', can: ['history'], where: { field: 'status', op: 'ne', value: { claim: 'missing' } } },
      ],
    },
    events: {
      fields: { at: { type: 'datetime' } },
      settings: SETTINGS,
      grants: [{ role: 'agent', can: ['read', 'history'], where: { field: 'at', op: 'lt', value: { now: true } } }],
    },
  },
};

const server = useServer();
const desk = use(() => server.workspace('acme/desk', SCHEMA));
const keys = new Map<string, Call>();
const path = 'tickets/1';
prepare(async () => {
  for (const role of SCHEMA.roles) {
    const body = { name: role, permissions: 'GRANTS', roles: [role], claims: { company: 7 } };
    keys.set(role, { credential: ok(await desk.admin('api-keys', { method: 'POST', body })).data.key });
  }
  await desk.create('tickets', [{ subject: 'a', status: 'secret', notes: 'n1', companyId: 1 }]);
  for (const body of [
    { status: 'open', notes: 'n2' },
    { companyId: 7 },
    { subject: 'b', notes: 'n3' },
    { status: 'closed' },
  ])
    ok(await desk.call(path, { method: 'PATCH', body }));
  await desk.create('events', [{ at: '2020-01-01T00:00:00Z' }]);
});

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const as = (role: string): Call => keys.get(role) ?? assert.fail(role);
type Brief = readonly [
  type: string,
  changed: readonly string[] | undefined,
  record: object,
  previous: object | undefined,
];
const historyAs = async (role: string, query = ''): Promise<readonly Brief[]> =>
  ok(await desk.call(`${path}/_history${query}`, as(role))).data.map(
    ({ type, changed, record, previous }: Record<string, unknown>) => [type, changed, record, previous],
  );
const refused = async (place: string, call: Call): Promise<unknown[]> => {
  const { status, json } = await desk.call(place, call);
  return [status, json.error.code, json.error.message];
};

test('each image is shown by the grants for history, with their fields', async () => {
  const b = { id: 1, subject: 'b', status: 'closed', notes: 'n3', companyId: 7 };
  assert.deepEqual(await historyAs('agent'), [
    ['updated', ['status'], b, { status: 'open' }],
    ['updated', ['subject', 'notes'], { ...b, status: 'open' }, { subject: 'a', notes: 'n2' }],
    ['updated', ['companyId'], { ...b, subject: 'a', status: 'open', notes: 'n2' }, { companyId: 1 }],
    // Before, its status was one that the role does not see.
    ['created', undefined, { ...b, subject: 'a', status: 'open', notes: 'n2', companyId: 1 }, undefined],
  ]);
  assert.deepEqual(await historyAs('customer'), [
    ['updated', ['status'], { id: 1, subject: 'b', status: 'closed' }, { status: 'open' }],
    ['updated', ['subject'], { id: 1, subject: 'b', status: 'open' }, { subject: 'a' }],
    ['created', undefined, { id: 1, subject: 'a', status: 'open' }, undefined],
  ]);
  // A grant for history alone shows no more than can be read.
  assert.deepEqual(await historyAs('auditor'), [
    ['created', undefined, { id: 1, subject: 'b', status: 'closed' }, undefined],
  ]);
  // What changes other fields alone is not told.
  assert.deepEqual(await historyAs('narrow'), [
    ['updated', ['status'], { id: 1, status: 'closed' }, { status: 'open' }],
    ['updated', ['status'], { id: 1, status: 'open' }, { status: 'secret' }],
    ['created', undefined, { id: 1, status: 'secret' }, undefined],
  ]);
  assert.deepEqual(await historyAs('customer', '?fields=status'), [
    ['updated', ['status'], { status: 'closed' }, { status: 'open' }],
    ['created', undefined, { status: 'open' }, undefined],
  ]);
  assert.equal((await refused(`${path}/_history?fields=notes`, as('customer')))[0], 400);
});

test('without a grant for history there is none, whatever historyForUsers says', async () => {
  const denied = [403, 'FORBIDDEN', 'Users may not read the history of tickets'];
  assert.deepEqual(await refused(`${path}/_history`, as('reader')), denied);
  assert.deepEqual(await refused(`${path}/_history`, as('late')), denied);
  assert.deepEqual(await refused(`${path}/_history`, as('blind')), [404, 'NOT_FOUND', 'Record not found']);
  const open = ok(await desk.call('tickets', { method: 'POST', body: { subject: 'c', status: 'open', companyId: 1 } }));
  const other = `tickets/${open.data.id}/_history`;
  assert.deepEqual(await refused(other, as('auditor')), denied);
  assert.deepEqual(await refused(other, as('customer')), [404, 'NOT_FOUND', 'Record not found']);
  const [status, code, message] = await refused('events/1/_history', as('agent'));
  assert.deepEqual([status, code], [409, 'CHANGES_UNAVAILABLE']);
  assert.match(String(message), /grants\[0\]|grants\.0/);
  assert.deepEqual((await refused(`${path}/_history`, { method: 'DELETE', ...as('agent') })).slice(0, 2), [
    403,
    'FORBIDDEN',
  ]);
});

test('a restore writes the fields that differ, each of which must be granted', async () => {
  const events = ok(await desk.call(`${path}/_history`)).data;
  const restore = (event: string, role: string) => ({ method: 'POST', body: { event }, ...as(role) });
  const [, renamed, moved, , created] = events.map(({ id }: { id: string }) => id);
  assert.deepEqual(await refused(`${path}/_restore`, restore(moved, 'customer')), [
    403,
    'FORBIDDEN',
    'You may not write status of tickets',
  ]);
  assert.deepEqual((await refused(`${path}/_restore`, restore(created, 'agent'))).slice(0, 2), [404, 'NOT_FOUND']);
  assert.equal((await refused(`${path}/_restore`, restore(renamed, 'auditor')))[0], 404);
  ok(await desk.call(path, { method: 'PATCH', body: { status: 'open', notes: 'kept' } }));
  const answer = ok(await desk.call(`${path}/_restore`, restore(moved, 'customer'))).data;
  assert.deepEqual(answer, { id: 1, subject: 'a', status: 'open' });
  const { data } = ok(await desk.call(path));
  assert.deepEqual(data, { id: 1, subject: 'a', status: 'open', notes: 'kept', companyId: 7 });
  const { data: all } = ok(await desk.call(`${path}/_restore`, restore(renamed, 'agent')));
  assert.deepEqual(all, { id: 1, subject: 'b', status: 'open', notes: 'n3', companyId: 7 });
});

test('the operations of a role have the history where a grant has it', async () => {
  const operationsOf = async (role: string): Promise<readonly string[]> =>
    ok(await desk.call('', as(role)))
      .data.entities.filter(({ name }: { name: string }) => name === 'tickets')
      .flatMap(({ operations }: { operations: readonly string[] }) => operations)
      .filter((name: string) => /history|restore|forget/.test(name));
  assert.deepEqual(await operationsOf('agent'), ['history', 'historyEntry', 'restore']);
  assert.deepEqual(await operationsOf('auditor'), ['history', 'historyEntry']);
  assert.deepEqual(await operationsOf('reader'), []);
  const report = ok(await desk.admin('access/report')).data.entities;
  const rights = report[0].roles.map(({ role, history }: { role: string; history: object }) => [role, history]);
  assert.deepEqual(rights.slice(1, 4), [
    [
      'customer',
      {
        allowed: true,
        records: ['companyId is the claim company'],
        fields: ['id', 'subject', 'status'],
      },
    ],
    ['auditor', { allowed: true, records: ['status is "closed"'], fields: null }],
    ['reader', { allowed: false, records: [], fields: null }],
  ]);
  assert.match(
    report[0].grants[0],
    /^Users with the role agent may read, update and read the history of records of tickets/,
  );
});
