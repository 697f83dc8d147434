// The matrix of roles, entities and operations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EntityReport, reportAccess } from '../../../src/model/access-report.ts';
import { GRANT_OPERATIONS, type GrantOperation } from '../../../src/model/grant.ts';
import { workspaceOf } from '../../support/field-types-fixture.ts';

const ROLES = ['agent', 'customer'];
const byCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const COMPANY = 'companyId is the claim company_id';

/** The report of an entity with these grants and row rules, under the permission of a provider. */
function report(tickets: object, defaultPermissions: 'READ_ONLY' | 'READ_WRITE' = 'READ_WRITE'): EntityReport {
  const workspace = workspaceOf({
    roles: ROLES,
    entities: {
      companies: { fields: { name: { type: 'string' } } },
      tickets: {
        fields: { subject: { type: 'string' }, status: { type: 'string' } },
        relations: { company: { kind: 'belongsTo', entity: 'companies' } },
        timestamps: true,
        ...tickets,
      },
    },
  });
  const identityProvider = {
    issuerUrl: 'https://login.example.com/',
    jwksUri: null,
    audience: null,
    defaultPermissions,
    roleClaim: 'roles',
    requiredClaims: null,
    enabled: true,
  } as const;
  const { roles, permission, entities } = reportAccess({ ...workspace, identityProvider }, ROLES);
  assert.deepEqual([roles, permission], [ROLES, defaultPermissions]);
  const found = [...entities].find(({ entity }) => entity === 'tickets');
  assert.ok(found);
  assert.deepEqual(
    found.roles.map(({ role }) => role),
    [...ROLES, null],
  );
  return found;
}

/** Returns `role: operation, …` of the operations that are allowed. */
const summarize = ({ roles }: EntityReport): readonly string[] =>
  roles.map((role) => `${role.role}: ${GRANT_OPERATIONS.filter((operation) => role[operation]?.allowed).join()}`);

const cell = ({ roles }: EntityReport, name: string | null, operation: GrantOperation) => {
  const { records, fields } = roles.find(({ role }) => role === name)?.[operation] ?? assert.fail();
  return { records, fields };
};

const ALL = ROLES.concat('null').map((role) => `${role}: read,create,update,delete`);
const OWN = { column: 'subject', claim: 'sub' };

for (const [words, tickets, access, roles] of [
  ['an entity without rules is open', {}, 'open', ALL],
  ['one with rules that are switched off, too', { rowRules: [{ ...OWN, enabled: false }] }, 'open', ALL],
  ['row rules limit everybody', { rowRules: [OWN] }, 'rowRules', ALL],
  [
    'a rule by id allows no new record',
    { rowRules: [{ column: 'id', claim: 'id' }] },
    'rowRules',
    ROLES.concat('null').map((role) => `${role}: read,update,delete`),
  ],
  [
    'no new record without a required field',
    {
      fields: { subject: { type: 'string', required: true }, status: { type: 'string' } },
      grants: [
        { role: 'agent', can: ['read', 'create'], write: ['status'] },
        { role: 'customer', can: ['read', 'create'], write: ['status'], set: { subject: { claim: 'sub' } } },
      ],
    },
    'grants',
    ['agent: read', 'customer: read,create', 'null: '],
  ],
  ['an empty list of grants closes', { grants: [] }, 'closed', ['agent: ', 'customer: ', 'null: ']],
  [
    'grants allow by role; without a role only what everybody may',
    {
      grants: [
        { role: 'agent', can: ['create', 'update'] },
        { can: ['read'], where: byCompany },
      ],
    },
    'grants',
    ['agent: read,create,update', 'customer: read', 'null: read'],
  ],
  [
    'a record that cannot be read is neither changed nor deleted, and none can be made with a certain id',
    {
      grants: [
        { role: 'agent', can: ['create', 'update', 'delete'] },
        { role: 'customer', can: ['read', 'create'], where: { field: 'id', op: 'eq', value: { claim: 'id' } } },
      ],
    },
    'grants',
    ['agent: create', 'customer: read', 'null: '],
  ],
  [
    'history of an entity that keeps one is read by who may read its records and has a grant for it',
    {
      settings: { changes: 'history', historyForUsers: true },
      grants: [
        { role: 'agent', can: ['read', 'history'] },
        { role: 'customer', can: ['history'] },
      ],
    },
    'grants',
    ['agent: read,history', 'customer: ', 'null: '],
  ],
  [
    'history of an entity without grants is read by all users where they may',
    { settings: { changes: 'history', historyForUsers: true } },
    'open',
    ROLES.concat('null').map((role) => `${role}: read,create,update,delete,history`),
  ],
  ['history of an entity without grants is for keys', { settings: { changes: 'history' } }, 'open', ALL],
] as const) {
  test(words, () => {
    const found = report(tickets);
    assert.equal(found.access, access);
    assert.deepEqual(summarize(found), roles);
  });
}

test('READ_ONLY leaves reads alone', () => {
  const grants = [{ role: 'agent', can: ['read', 'create', 'delete'] }];
  assert.deepEqual(summarize(report({ grants }, 'READ_ONLY')), ['agent: read', 'customer: ', 'null: ']);
  assert.deepEqual(
    summarize(report({}, 'READ_ONLY')),
    ROLES.concat('null').map((role) => `${role}: read`),
  );
});

test('records and fields of an operation are those of the grants that have it', () => {
  const found = report({
    rowRules: [OWN],
    grants: [
      { role: 'agent', can: ['read', 'update', 'delete'] },
      {
        role: 'customer',
        can: ['read', 'create'],
        where: byCompany,
        fields: ['subject', 'companyId'],
        write: ['subject'],
        set: { status: 'open' },
      },
      { role: 'customer', can: ['read'], where: { field: 'status', op: 'eq', value: 'solved' } },
    ],
  });
  assert.deepEqual(found.rowRules, ['subject is the claim sub']);
  assert.equal(found.grants.length, 3);
  assert.equal(found.grants[0], 'Users with the role agent may read, update and delete all records of tickets');
  assert.deepEqual(cell(found, 'agent', 'read'), { records: [], fields: null });
  assert.deepEqual(cell(found, 'agent', 'update'), { records: [], fields: null });
  assert.deepEqual(cell(found, 'customer', 'read'), {
    records: [`${COMPANY} (only id, subject, companyId)`, 'status is "solved"'],
    fields: null,
  });
  assert.deepEqual(cell(found, 'customer', 'create'), { records: [COMPANY], fields: ['subject', 'status'] });
  assert.deepEqual(cell(found, null, 'read'), { records: [], fields: null });
});

test('a grant for all records does not speak for the fields that another shows', () => {
  const found = report({
    grants: [
      { can: ['read'], fields: ['subject'] },
      { role: 'agent', can: ['read'], where: byCompany, fields: ['subject', 'status'] },
    ],
  });
  assert.deepEqual(cell(found, 'agent', 'read'), {
    records: ['every record (only id, subject)', COMPANY],
    fields: ['id', 'subject', 'status'],
  });
  assert.deepEqual(cell(found, 'customer', 'read'), { records: [], fields: ['id', 'subject'] });
});
