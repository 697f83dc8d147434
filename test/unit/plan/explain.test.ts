// The row filter of a user in words and values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { explainRows } from '../../../src/plan/explain.ts';
import type { RowRuleDocument } from '../../../src/schema/format.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

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
