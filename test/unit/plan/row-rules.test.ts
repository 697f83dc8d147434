// Row rules: what external users see, and what is stamped on what they write. Closed by default.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Entity, Field } from '../../../src/model/entity.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import {
  applyRowRules,
  checkRowRules,
  claimText,
  foreignColumn,
  getRuleColumns,
  mayHideRecords,
  rowFilter,
} from '../../../src/plan/row-rules.ts';
import type { RowRuleDocument } from '../../../src/schema/format.ts';
import { refuses } from '../../support/error-response.ts';
import { external, makeShop, OPERATOR, OWNER } from '../../support/field-types-fixture.ts';

const ruled = (entity: string, ...rowRules: RowRuleDocument[]): Entity =>
  getEntity(makeShop({ [entity]: { rowRules } }), entity);

const things = getEntity(makeShop(), 'things');
const field = (name: string): Field => things.fields.get(name) as Field;

/** The claims of a token, with the digits that it has. */
const claimsOf = (json: string) => parseExact(json) as Record<string, unknown>;

const CLAIMS: readonly (readonly [column: string, claims: string, text: string | null])[] = [
  // what matches nothing
  ['aString', '{}', null],
  ['aString', '{"c":null}', null],
  ['aString', '{"c":[]}', null],
  ['aString', '{"c":["a"]}', null],
  ['aString', '{"c":{"a":"b"}}', null],
  ['aString', '{"c":"a\\u0000"}', null],
  ['anInteger', '{"c":"x"}', null],
  ['anInteger', '{"c":1.5}', null],
  ['anInteger', '{"c":true}', null],
  ['aBigint', '{"c":9223372036854775808}', null],
  ['aBoolean', '{"c":1}', null],
  ['aDatetime', '{"c":1769862896}', null],
  ['aJson', '{"c":{"a":1}}', null],
  // what matches its value
  ['aString', '{"c":""}', ''],
  ['aString', '{"c":"Ann"}', 'Ann'],
  ['aString', '{"c":"longer than the column"}', 'longer than the column'],
  ['anInteger', '{"c":"5"}', '5'],
  ['aBigint', '{"c":"9007199254740993"}', '9007199254740993'],
  ['aBigint', '{"c":9007199254740993}', '9007199254740993'],
  ['aDecimal', '{"c":1.50}', '1.50'],
  ['aBoolean', '{"c":true}', 'true'],
  ['aDatetime', '{"c":"2026-01-31T12:00:00+01:00"}', '2026-01-31T11:00:00.000Z'],
  ['aUuid', '{"c":"3F2504E0-4F89-11D3-9A0C-0305E82C3301"}', '3f2504e0-4f89-11d3-9a0c-0305e82c3301'],
  // a number or boolean on a text column is its JSON text
  ['aString', '{"c":5}', '5'],
  ['aText', '{"c":1.50}', '1.50'],
  ['aText', '{"c":12345678901234567890}', '12345678901234567890'],
  ['aString', '{"c":false}', 'false'],
];

for (const [column, claims, text] of CLAIMS) {
  test(`the claim ${claims} for ${column} ${text === null ? 'matches nothing' : `is "${text}"`}`, () => {
    assert.equal(claimText(external(claimsOf(claims)), 'c', field(column)), text);
  });
}

for (const [claim, claims, text] of [
  ['a.b', '{"a":{"b":"nested"}}', 'nested'],
  ['a.b', '{"a.b":"literal","a":{"b":"nested"}}', 'literal'],
  ['a.b', '{"a.b":null,"a":{"b":"nested"}}', null],
  ['a.b.c', '{"a":{"b":{"c":"deep"}}}', 'deep'],
  ['a.b.c', '{"a":{"b.c":"half literal"}}', null],
  ['a.0', '{"a":["first"]}', null],
  ['a.length', '{"a":"text"}', null],
  ['a.b', '{"a":1.50}', null],
  ['a.rawJSON', '{"a":1.50}', null],
  ['https://example.com/tenant', '{"https://example.com/tenant":"acme"}', 'acme'],
  ['toString', '{}', null],
  ['__proto__', '{}', null],
] as const) {
  test(`claim ${claim} in ${claims} is ${text}`, () => {
    assert.equal(claimText(external(claimsOf(claims)), claim, field('aText')), text);
  });
}

test('owners and the operator are unrestricted, whatever rules there are', () => {
  const customers = ruled('customers', { column: 'country', claim: 'country' });
  for (const principal of [OWNER, OPERATOR]) {
    assert.deepEqual(rowFilter(customers, principal), { kind: 'unrestricted' });
    assert.deepEqual([...getRuleColumns(customers, principal)], []);
    const values = new Map([['country', 'nl']]);
    assert.equal(applyRowRules(customers, principal, values), values);
    checkRowRules(customers, principal, values);
  }
});

test('an external user has the enabled rules, all of them', () => {
  const customers = ruled(
    'customers',
    { column: 'country', claim: 'org.country' },
    { column: 'name', claim: 'off', enabled: false },
    { column: 'email', claim: 'email', enabled: true },
  );
  const filter = rowFilter(customers, external({}));
  assert.equal(filter.kind, 'rules');
  assert.deepEqual(
    filter.rules.map(({ field: { name }, operand }) => [
      name,
      operand.kind,
      operand.kind === 'claim' && operand.claim,
      operand.type,
    ]),
    [
      ['country', 'claim', 'org.country', 'text'],
      ['email', 'claim', 'email', 'text'],
    ],
  );
  assert.deepEqual([...getRuleColumns(customers, external({}))], ['country', 'email']);
});

test('without rules, or with disabled ones alone, an external user sees everything', () => {
  for (const rules of [[], [{ column: 'country', claim: 'c', enabled: false }]]) {
    const customers = ruled('customers', ...rules);
    assert.deepEqual(rowFilter(customers, external({})), { kind: 'unrestricted' });
    assert.deepEqual([...applyRowRules(customers, external({}), new Map([['country', 'nl']]))], [['country', 'nl']]);
  }
});

test('a rule of a column that is gone is a mistake of the program, never no rule', () => {
  const customers: Entity = {
    ...getEntity(makeShop(), 'customers'),
    rowRules: [{ column: 'gone', claim: 'c', enabled: true }],
  };
  assert.throws(() => rowFilter(customers, external({ c: 'x' })), TypeError);
  assert.throws(() => applyRowRules(customers, external({ c: 'x' }), new Map()), TypeError);
});

const BY_COUNTRY = ruled('customers', { column: 'country', claim: 'country' });
const NOT_YOURS = 'Column country may only have the value of your token';
const UNUSABLE = 'Column country is set from your token, which has no usable value for it';
const stamp = (claims: Record<string, unknown>, values: Record<string, string | null>, entity = BY_COUNTRY) =>
  Object.fromEntries(applyRowRules(entity, external(claims), new Map(Object.entries(values))));

test('a create gets the column of the rule from the claim', () => {
  assert.deepEqual(stamp({ country: 'nl' }, { name: 'Ann' }), { name: 'Ann', country: 'nl' });
  assert.deepEqual(stamp({ country: 'nl' }, { country: 'nl' }), { country: 'nl' });
});

test('under a rule by id nothing is created, whatever the claim is', () => {
  const customers = ruled('customers', { column: 'id', claim: 'customer_id' });
  for (const claims of [{}, { customer_id: 7 }]) {
    refuses(() => stamp(claims, { name: 'Ann' }, customers), 'You may not create records of customers', 'FORBIDDEN');
    assert.equal(foreignColumn(customers, external(claims), new Map([['name', 'Ann']])), undefined);
  }
  assert.deepEqual([...getRuleColumns(customers, external({}))], []);
  assert.equal(mayHideRecords(customers, external({})), true);
  assert.deepEqual(stamp({}, { name: 'Ann' }, ruled('customers', { column: 'id', claim: 'c', enabled: false })), {
    name: 'Ann',
  });
});

test('a create that gives another value is refused with 403', () => {
  refuses(() => stamp({ country: 'nl' }, { country: 'be' }), NOT_YOURS, 'FORBIDDEN');
  refuses(() => stamp({ country: 'nl' }, { country: 'NL' }), NOT_YOURS, 'FORBIDDEN');
  refuses(() => stamp({ country: 'nl' }, { country: null }), NOT_YOURS, 'FORBIDDEN');
});

test('a create without a usable claim is refused with 403, whatever the body gives', () => {
  for (const claims of [{}, { country: null }, { country: [] }, { country: ['nl'] }, { country: {} }]) {
    for (const values of [{}, { country: 'nl' }, { country: null }]) {
      refuses(() => stamp(claims, values), UNUSABLE, 'FORBIDDEN');
    }
  }
});

test('a claim that the column cannot store is refused with 403', () => {
  const things3 = ruled('things', { column: 'aString', claim: 'c' });
  refuses(() => stamp({ c: 'abcd' }, {}, things3), /no usable value for it$/, 'FORBIDDEN');
  assert.deepEqual(stamp({ c: 'abc' }, {}, things3), { aString: 'abc' });
});

test('every rule stamps its column, and each is held against the body', () => {
  const both = ruled('customers', { column: 'country', claim: 'country' }, { column: 'email', claim: 'sub' });
  assert.deepEqual(stamp({ country: 'nl', sub: 'a@b' }, {}, both), { country: 'nl', email: 'a@b' });
  refuses(() => stamp({ country: 'nl', sub: 'a@b' }, { email: 'x' }, both), /^Column email may only/, 'FORBIDDEN');
  refuses(() => stamp({ country: 'nl' }, {}, both), /^Column email is set from your token/, 'FORBIDDEN');
});

test('two rules on one column whose claims differ allow no record', () => {
  const twice = ruled('customers', { column: 'country', claim: 'a' }, { column: 'country', claim: 'b' });
  assert.deepEqual(stamp({ a: 'nl', b: 'nl' }, {}, twice), { country: 'nl' });
  refuses(() => stamp({ a: 'nl', b: 'be' }, {}, twice), UNUSABLE, 'FORBIDDEN');
});

for (const [column, given, claim] of [
  ['aDecimal', '1.50', 1.5],
  ['aFloat', '1.5', '1.50'],
  ['aFloat', '-0', 0],
  ['aDatetime', '2026-01-31T11:00:00.000Z', '2026-01-31T12:00:00+01:00'],
  ['aUuid', '3f2504e0-4f89-11d3-9a0c-0305e82c3301', '3F2504E0-4F89-11D3-9A0C-0305E82C3301'],
  ['aBigint', '5', '5'],
] as const) {
  test(`${given} is the claim ${claim} for ${column}`, () => {
    const entity = ruled('things', { column, claim: 'c' });
    assert.ok(Object.hasOwn(stamp({ c: claim }, { [column]: given }, entity), column));
    checkRowRules(entity, external({ c: claim }), new Map([[column, given]]));
  });
}

test('an update may repeat the claim, leave the column out, and give it no other value', () => {
  const user = external({ country: 'nl' });
  const keep = (values: Record<string, string | null>) =>
    checkRowRules(BY_COUNTRY, user, new Map(Object.entries(values)));
  keep({});
  keep({ name: 'Ann' });
  keep({ country: 'nl' });
  refuses(() => keep({ country: 'be' }), NOT_YOURS, 'FORBIDDEN');
  refuses(() => keep({ country: null }), NOT_YOURS, 'FORBIDDEN');
  assert.equal(foreignColumn(BY_COUNTRY, user, new Map([['country', 'be']])), 'country');
  assert.equal(foreignColumn(BY_COUNTRY, external({}), new Map([['country', 'nl']])), 'country');
});

test('no claims make anything but the text of the column or nothing', () => {
  fc.assert(
    fc.property(fc.json(), fc.string({ maxLength: 5 }), (json, claim) => {
      const value = parseExact(json);
      const claims =
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : { [claim]: value };
      for (const column of things.fields.values()) {
        const text = claimText(external(claims), claim, column);
        assert.ok(text === null || typeof text === 'string');
      }
    }),
  );
});
