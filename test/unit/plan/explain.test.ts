// The row filter of a user in words and values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { explainAccess, explainRows } from '../../../src/plan/explain.ts';
import type { RowRuleDocument } from '../../../src/schema/format.ts';
import { makeShop, SHOP, workspaceOf } from '../../support/field-types-fixture.ts';

function told(rowRules: readonly RowRuleDocument[], claims: string) {
  const rows = explainRows(
    makeShop({ things: { rowRules } }).entities.values(),
    parseExact(claims) as Record<string, unknown>,
  );
  const found = rows.find(({ entity }) => entity === 'things');
  assert.ok(found);
  return found;
}

const OWN = { column: 'aText', claim: 'sub' } as const;

test('a filter names columns and values, numbers with all of their digits', () => {
  assert.deepEqual(told([OWN, { column: 'aBigint', claim: 'a.n' }], '{"sub":"a \\"b\\"","a":{"n":9007199254740993}}'), {
    entity: 'things',
    sees: 'some',
    filter: 'aText = "a \\"b\\"" and aBigint = 9007199254740993',
    rules: [
      { column: 'aText', claim: 'sub', value: 'a "b"', reason: null },
      { column: 'aBigint', claim: 'a.n', value: '9007199254740993', reason: null },
    ],
  });
});

for (const [claims, reason] of [
  ['{}', 'is missing'],
  ['{"sub":null}', 'is null'],
  ['{"sub":["ada"]}', 'is an array'],
  ['{"sub":{"id":1}}', 'is an object'],
] as const) {
  test(`a claim of ${claims} ${reason} and matches no record`, () => {
    const { sees, filter } = told(
      [OWN, { column: 'aString', claim: 'name' }],
      claims.replace('{', '{"name":"x",').replace(',}', '}'),
    );
    assert.equal(sees, 'none');
    assert.equal(filter, `matches no record: claim sub ${reason}`);
  });
}

test('a claim that does not parse says what the column needs', () => {
  assert.equal(
    told([{ column: 'anInteger', claim: 'n' }], '{"n":"x"}').filter,
    'matches no record: claim n does not fit the column of type integer: it must be an integer',
  );
});

test('without rules in force every record is seen', () => {
  assert.deepEqual(told([], '{}'), { entity: 'things', sees: 'all', filter: 'every record', rules: [] });
  assert.equal(told([{ ...OWN, enabled: false }], '{}').filter, 'every record (1 rule is disabled)');
});

const ROLES = ['agent', 'customer'];
const GRANTED = [
  { role: 'agent', can: ['read', 'update'], where: { field: 'anInteger', op: 'in', value: { claim: 'team_ids' } } },
  { role: ['agent', 'customer'], can: ['create'], set: { aString: { claim: 'code' } } },
  {
    role: 'customer',
    can: ['read'],
    where: {
      or: [
        { field: 'aText', op: 'eq', value: { claim: 'sub' } },
        { field: 'anEnum', op: 'eq', value: 'red' },
      ],
    },
  },
];

for (const [roles, claims, rowRules, sees, filter, reasons] of [
  [
    ['agent'],
    '{"team_ids":[1,2],"code":"x"}',
    [],
    'some',
    'anInteger is one of 1, 2',
    [null, null, 'is for the role customer'],
  ],
  [
    ['agent'],
    '{"team_ids":["a"],"sub":"ada"}',
    [OWN],
    'none',
    'matches no record: claim team_ids has an entry that does not fit the column of type integer: it must be an integer',
    [
      'claim team_ids has an entry that does not fit the column of type integer: it must be an integer',
      'claim code is missing',
      'is for the role customer',
    ],
  ],
  [
    ['customer', 'agent'],
    '{"team_ids":[],"sub":"ada","code":"x"}',
    [OWN],
    'some',
    '(anInteger is one of an empty list or (aText is "ada" or anEnum is "red")) and aText = "ada"',
    [null, null, null],
  ],
  [
    [],
    '{"team_ids":[1]}',
    [],
    'none',
    'does not exist for this user: no grant is for its roles',
    ['is for the role agent', 'is for one of the roles agent, customer', 'is for the role customer'],
  ],
] as const) {
  test(`a user with the roles ${roles.join() || 'none'} and ${claims} sees: ${filter}`, () => {
    const things = { ...SHOP.entities.things, grants: GRANTED, rowRules };
    const workspace = workspaceOf({ roles: ROLES, entities: { ...SHOP.entities, things } });
    const explained = explainAccess(workspace, { claims: parseExact(claims) as Record<string, unknown>, roles });
    const found = explained.find(({ entity }) => entity === 'things');
    assert.ok(found);
    assert.deepEqual([found.sees, found.filter], [sees, filter]);
    assert.deepEqual(
      found.grants.map(({ applies, reason }) => [applies, reason]),
      reasons.map((reason) => [reason === null, reason]),
    );
    assert.deepEqual(explained.find(({ entity }) => entity === 'customers')?.grants, []);
  });
}

test('a grant for all records leaves the row rules', () => {
  const things = { ...SHOP.entities.things, grants: [{ can: ['read'] }], rowRules: [OWN] };
  const workspace = workspaceOf({ entities: { ...SHOP.entities, things } });
  const [found] = explainAccess(workspace, { claims: { sub: 'ada' }, roles: [] }).filter(
    ({ entity }) => entity === 'things',
  );
  assert.deepEqual([found?.sees, found?.filter], ['some', 'aText = "ada"']);
});
