// The filter tree of a `_query` body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseExact } from '../../../src/model/exact-json.ts';
import { FILTER_OPERATORS } from '../../../src/model/operators.ts';
import { parseFilterTree } from '../../../src/request/filter.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';
import { filterText } from './filter-text.ts';

const GOOD: readonly (readonly [json: string, tree: string])[] = [
  ['{"field":"a","op":"eq","value":1}', 'a eq 1'],
  ['{"field":"a","op":"eq","value":"1"}', 'a eq "1"'],
  ['{"field":"a","op":"eq","value":{"x":[1]}}', 'a eq {"x":[1]}'],
  ['{"field":"a","op":"eq","value":12345678901234567890}', 'a eq 12345678901234567890'],
  ['{"value":"x,y","op":"contains","field":"a.b"}', 'a.b contains "x,y"'],
  ['{"field":"a","op":"in","value":[1,2.50,"x"]}', 'a in 1 2.50 "x"'],
  ['{"field":"a","op":"in","value":[]}', 'a in'],
  ['{"field":"a","op":"between","value":[1,2]}', 'a between 1 2'],
  ['{"field":"a","op":"isNull"}', 'a isNull'],
  ['{"field":"a","op":"notNull","value":null}', 'a notNull'],
  ['{"and":[]}', '()'],
  ['{"not":{"field":"a","op":"isNull"}}', '!a isNull'],
  [
    '{"or":[{"and":[{"field":"a","op":"eq","value":1},{"field":"b","op":"isNull"}]},{"field":"c","op":"lt","value":2}]}',
    '((a eq 1 & b isNull) | c lt 2)',
  ],
];

for (const [json, tree] of GOOD) {
  test(`${json} is ${tree}`, () => assert.equal(filterText(parseFilterTree(parseExact(json))), tree));
}

const MALFORMED = 'filter is malformed: each node is {"and": []}, {"or": []}, {"not": {}} or {"field", "op", "value"}';

for (const [json, message] of [
  ['null', MALFORMED],
  ['1.50', MALFORMED],
  ['[]', MALFORMED],
  ['{}', MALFORMED],
  ['{"field":"a"}', MALFORMED],
  ['{"field":"a","op":null,"value":1}', MALFORMED],
  ['{"field":"a","op":"eq","value":1,"extra":1}', MALFORMED],
  ['{"and":[],"or":[]}', MALFORMED],
  ['{"__proto__":[]}', MALFORMED],
  ['{"not":[]}', MALFORMED],
  ['{"and":[1]}', MALFORMED],
  ['{"and":{}}', 'filter: and takes an array'],
  ['{"or":"x"}', 'filter: or takes an array'],
  ['{"field":"a.","op":"eq","value":1}', 'filter is malformed: a. has an empty name'],
  ['{"field":"a","op":"equals","value":1}', /^Unknown filter operator equals\./],
  ['{"field":"a","op":"eq"}', 'Filter a: eq takes one value'],
  ['{"field":"a","op":"eq","value":null}', 'Filter a: null is no value to compare with; use isNull or notNull'],
  ['{"field":"a","op":"in","value":[1,null]}', 'Filter a: null is no value to compare with; use isNull or notNull'],
  ['{"field":"a","op":"in","value":1}', 'Filter a: in takes an array of values'],
  ['{"field":"a","op":"between","value":[1]}', 'Filter a: between takes two values, separated by a comma'],
  ['{"field":"a","op":"isNull","value":1}', 'Filter a: isNull takes no value'],
] as const) {
  test(`${json} is refused`, () => refuses(() => parseFilterTree(parseExact(json)), message));
}

test('20 levels, 100 conditions and 1,000 values are the most', () => {
  const condition = { field: 'a', op: 'isNull' };
  const nest = (levels: number): unknown => (levels === 0 ? condition : { not: nest(levels - 1) });
  assert.notEqual(parseFilterTree(nest(19)), undefined);
  refuses(() => parseFilterTree(nest(20)), 'filter is nested more than 20 levels deep');
  const and = (count: number): unknown => ({ and: Array(count).fill(condition) });
  assert.notEqual(parseFilterTree(and(100)), undefined);
  refuses(() => parseFilterTree(and(101)), 'More than 100 filter conditions');
  const within = (count: number): unknown => ({ field: 'a', op: 'in', value: Array(count).fill(1) });
  assert.notEqual(parseFilterTree(within(1000)), undefined);
  refuses(() => parseFilterTree(within(1001)), 'Filter a: in takes at most 1000 values');
});

test('no JSON makes anything but a tree or a 400', () => {
  const key = fc.constantFrom('and', 'or', 'not', 'field', 'op', 'value', 'x', '__proto__');
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(...FILTER_OPERATORS, 'a', 'a.b', '', null, true, 1),
    fc.string({ maxLength: 3 }),
  );
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'medium' },
      leaf,
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(key, tie('node'), { maxKeys: 3 }),
      fc.record({ field: leaf, op: leaf, value: tie('node') }, { requiredKeys: [] }),
    ),
  }));
  fc.assert(
    fc.property(node, (value) => {
      const tree = unlessBadRequest(() => parseFilterTree(parseExact(JSON.stringify(value))));
      if (tree !== undefined) assert.match(tree.kind, /^(and|or|not|compare)$/);
    }),
  );
});

test('every node counts, not only the conditions', () => {
  const nodes = (count: number, node: unknown) => ({ and: Array.from({ length: count - 1 }, () => node) });
  assert.equal(filterText(parseFilterTree(nodes(3, { or: [] }))), '(() & ())');
  parseFilterTree(nodes(200, { and: [] }));
  refuses(() => parseFilterTree(nodes(201, { and: [] })), 'filter has more than 200 nodes');
  refuses(() => parseFilterTree(nodes(102, { not: { or: [] } })), 'filter has more than 200 nodes');
});
