// What users with roles may do with the entities of a workspace: operations, fields of bodies, answers to writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantWorkspace } from '../../../src/model/granted.ts';
import { buildViews, type EntityView } from '../../../src/openapi/view.ts';
import { deskFor } from '../../support/desk-document.ts';
import { workspaceOf } from '../../support/field-types-fixture.ts';

const USERS = { kind: 'external', mayWrite: true } as const;
const READS = ['list', 'query', 'aggregate', 'summarize', 'export', 'read'];
const CREATES = ['create', 'import', 'bulkCreate'];
const UPDATES = ['bulkUpdate', 'update', 'updateWhere'];
const DELETES = ['bulkDelete', 'bulkDeleteListed', 'delete', 'deleteWhere'];

function view(entity: string, ...roles: readonly string[]): EntityView {
  const views = buildViews(deskFor(...roles), USERS);
  return views.find((one) => one.entity.name === entity) as EntityView;
}

for (const [entity, role, expected] of [
  ['tickets', 'agent', [...READS, ...CREATES, ...UPDATES, ...DELETES]],
  ['tickets', 'customer', [...READS, ...CREATES]],
  ['tickets', 'robot', CREATES],
  // What cannot be read can be neither changed nor deleted.
  ['tickets', 'auditor', []],
  // No create has everything that is required.
  ['comments', 'agent', READS],
  ['comments', 'customer', [...READS, ...CREATES]],
  ['news', 'customer', [...READS, ...CREATES, ...UPDATES, ...DELETES]],
] as const) {
  test(`operations on ${entity} of the role ${role}`, () =>
    assert.deepEqual(view(entity, role).operations.toSorted(), expected.toSorted()));
}

test('an entity without a grant of the role has no view', () => {
  assert.equal(view('tickets'), undefined);
  assert.equal(view('companies', 'auditor'), undefined);
});

test('an import may only update', () => {
  const grants = [{ can: ['read', 'update'], fields: ['a'] }];
  const document = { entities: { notes: { fields: { a: { type: 'integer' } }, grants } } };
  const workspace = grantWorkspace(workspaceOf(document), { roles: [], onlyGrants: false });
  const [notes] = buildViews(workspace, USERS);
  assert.deepEqual(notes?.operations.toSorted(), [...READS, ...UPDATES, 'import'].toSorted());
});

test('READ_ONLY leaves the operations that read', () => {
  const [, tickets] = buildViews(deskFor('agent'), { kind: 'external', mayWrite: false });
  assert.deepEqual(tickets?.operations.toSorted(), READS.toSorted());
});

const namesOf = (fields: Iterable<{ readonly name: string }>): string[] => [...fields].map(({ name }) => name);

for (const [entity, role, creates, required, updates] of [
  [
    'tickets',
    'agent',
    'subject status priority notes code companyId',
    'subject status companyId',
    'subject status priority notes code companyId',
  ],
  // The status is set by the grant, the company by its condition.
  ['tickets', 'customer', 'subject status code', 'subject', ''],
  ['tickets', 'robot', 'subject status companyId', 'subject status companyId', ''],
  ['comments', 'customer', 'text author ticketId', 'text ticketId', ''],
] as const) {
  test(`bodies of ${entity} of the role ${role}`, () => {
    const { createFields, updateFields, required: needed } = view(entity, role);
    assert.deepEqual(
      [namesOf(createFields).join(' '), [...needed].join(' '), namesOf(updateFields).join(' ')],
      [creates, required, updates],
    );
  });
}

for (const [entity, roles, expected] of [
  // Each record that the grants let through is read by the same grants.
  ['tickets', ['agent'], false],
  ['tickets', ['customer'], false],
  ['tickets', ['robot'], true],
  ['tickets', ['robot', 'customer'], true],
  ['comments', ['customer'], true],
  // Another grant reads everything.
  ['comments', ['customer', 'auditor'], false],
] as const) {
  test(`whether ${roles.join(' and ')} may write ${entity} without reading them`, () =>
    assert.equal(view(entity, ...roles).mayHideWritten, expected));
}

test('keys of upserts can be read and given', () => {
  assert.deepEqual(view('tickets', 'agent').keys, [['code']]);
  assert.deepEqual(view('tickets', 'customer').keys, []);
  assert.deepEqual(view('tickets', 'robot', 'agent').keys, [['code']]);
});

test('a relation to an entity that is never read has no record', () => {
  const [companies] = buildViews(deskFor('agent'), USERS);
  assert.deepEqual([companies?.relations.get('tickets')?.isEmpty], [false]);
  const ticket = view('comments', 'auditor').relations.get('ticket');
  assert.deepEqual([ticket?.isEmpty, ticket?.isNullable], [true, true]);
});

test('a reference to records that grants hide is given by no create', () => {
  const key = { kind: 'belongsTo', entity: 'hidden', required: true };
  const document = {
    roles: ['user'],
    entities: {
      hidden: { fields: { a: { type: 'integer' } }, grants: [{ role: 'user', can: ['create'] }] },
      open: { relations: { key: { ...key, required: false } } },
      closed: { relations: { key } },
      written: { relations: { key }, grants: [{ role: 'user', can: ['read', 'create', 'update'] }] },
      stored: { relations: { key }, grants: [{ role: 'user', can: ['read', 'create'], set: { keyId: 7 } }] },
    },
  };
  const workspace = grantWorkspace(workspaceOf(document), { roles: ['user'], onlyGrants: false });
  const rows = buildViews(workspace, USERS).map(({ entity, operations, createFields, updateFields }) =>
    [entity.name, operations.includes('create'), ...namesOf(createFields), '/', ...namesOf(updateFields)].join(' '),
  );
  assert.deepEqual(rows, [
    'hidden true a /',
    'open true / keyId',
    'closed false / keyId',
    'written false / keyId',
    'stored true keyId /',
  ]);
});

test('where the id is decided by a row rule or a grant nothing is created', () => {
  const fields = { a: { type: 'integer' } };
  const document = {
    roles: ['user'],
    entities: {
      ruled: { fields, rowRules: [{ column: 'id', claim: 'sub' }] },
      granted: {
        fields,
        grants: [{ role: 'user', can: ['read', 'create'], where: { field: 'id', op: 'eq', value: { claim: 'sub' } } }],
      },
    },
  };
  const workspace = grantWorkspace(workspaceOf(document), { roles: ['user'], onlyGrants: false });
  for (const { entity, operations } of buildViews(workspace, USERS))
    assert.ok(!operations.includes('create') && !operations.includes('bulkCreate'), entity.name);
  const owners = buildViews(workspaceOf(document), { kind: 'owner', mayWrite: true });
  for (const { operations } of owners) assert.ok(operations.includes('create'));
});
