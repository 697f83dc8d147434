// The filter grammar of the query string: `<path>,<op>[,<value>]`, and `or` groups of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FILTER_OPERATORS, type FilterOperator, OPERATORS } from '../../../src/model/operators.ts';
import { type FilterTree, parseFilters, splitEscaped } from '../../../src/request/filter.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';
import { filterText } from './filter-text.ts';

const GOOD: readonly (readonly [filter: string, tree: string])[] = [
  // operators of every number of values
  ['a,eq,1', 'a eq [1]'],
  ['a,in,1,2', 'a in [1] [2]'],
  ['a,between,1,2', 'a between [1] [2]'],
  ['a,contains,x', 'a contains [x]'],
  ['a,matches,^x{1,2}$', 'a matches [^x{1,2}$]'],
  ['a,isNull', 'a isNull'],
  // the value is all that follows the second comma, as it is
  ['a,eq,', 'a eq []'],
  ['a,eq,x,y', 'a eq [x,y]'],
  ['a,eq, x ', 'a eq [ x ]'],
  ['a,eq,x;y', 'a eq [x;y]'],
  ['a,eq,x\\,y', 'a eq [x\\,y]'],
  ['a,contains,,', 'a contains [,]'],
  ['a,eq,a,eq,1', 'a eq [a,eq,1]'],
  // lists split at commas that no backslash stands before
  ['a,in,x', 'a in [x]'],
  ['a,in,', 'a in []'],
  ['a,in,,', 'a in [] []'],
  ['a,in,x\\,y,z', 'a in [x,y] [z]'],
  ['a,in,x\\y,z', 'a in [x\\y] [z]'],
  ['a,in,x\\\\,z', 'a in [x\\] [z]'],
  ['a,in,x\\\\\\,z', 'a in [x\\,z]'],
  ['a,in,x\\;y', 'a in [x\\;y]'],
  ['a,eq,x\\\\', 'a eq [x\\\\]'],
  ['a,in,x\\', 'a in [x\\]'],
  ['a,between,x\\,y,z', 'a between [x,y] [z]'],
  // paths and spaces
  ['a.b.c,eq,1', 'a.b.c eq [1]'],
  ['a, eq ,1', 'a eq [1]'],
  ['a,isNull,', 'a isNull'],
];

for (const [filter, tree] of GOOD) {
  test(`filter=${filter} is ${tree}`, () => assert.equal(filterText(parseFilters([filter], [])), tree));
}

// Each operator on each type is in test/api/types/matrix.test.ts, which does not compile without it.
test('every number of values has its row above', () => {
  const arityOf = new Map<string | undefined, string>(FILTER_OPERATORS.map((name) => [name, OPERATORS[name].arity]));
  const shown = new Set(GOOD.map(([filter]) => arityOf.get(filter.split(',')[1]?.trim())));
  assert.deepEqual([...shown].sort(), [...new Set(arityOf.values())].sort());
});

const GROUPS: readonly (readonly [filters: readonly string[], groups: readonly string[], tree: string])[] = [
  [[], [], 'undefined'],
  [['a,eq,1', 'b,eq,2'], [], '(a eq [1] & b eq [2])'],
  [[], ['a,eq,1'], '(a eq [1])'],
  [[], ['a,eq,1;b,eq,2'], '(a eq [1] | b eq [2])'],
  [[], ['a,eq,1;b,eq,2', 'c,isNull;d,eq,3'], '((a eq [1] | b eq [2]) & (c isNull | d eq [3]))'],
  [['x,eq,0'], ['a,eq,1;b,eq,2'], '(x eq [0] & (a eq [1] | b eq [2]))'],
  [[], ['a,eq,x\\;y;b,eq,2'], '(a eq [x;y] | b eq [2])'],
  [[], ['a,in,x\\,y,z;b,in,x\\;y'], '(a in [x,y] [z] | b in [x;y])'],
  [[], ['a,eq,\\\\;b,isNull'], '(a eq [\\] | b isNull)'],
  [[], ['a,eq,\\;b,isNull'], '(a eq [;b,isNull])'],
  [[], ['a,eq,x\\,y\\z;b,isNull'], '(a eq [x\\,y\\z] | b isNull)'],
  [[], ['a,in,x\\\\,y\\\\\\;z;b,isNull'], '(a in [x\\] [y\\;z] | b isNull)'],
];

for (const [filters, groups, tree] of GROUPS) {
  test(`${JSON.stringify([filters, groups])} is ${tree}`, () => {
    assert.equal(filterText(parseFilters(filters, groups)), tree);
  });
}

for (const [filter, message] of [
  ['', 'filter is malformed: a name is empty'],
  ['a', 'filter a is malformed: it takes <field>,<operator>,<value>'],
  ['a.,eq,1', 'filter is malformed: a. has an empty name'],
  ['a,eq', 'Filter a,eq: eq takes one value'],
  ['a,in', 'Filter a,in: in takes one value or more, separated by commas'],
  ['a,between', 'Filter a,between: between takes two values, separated by a comma'],
  ['a,between,1', 'Filter a,between,1: between takes two values, separated by a comma'],
  ['a,between,1,2,3', 'Filter a,between,1,2,3: between takes two values, separated by a comma'],
  ['a,between,1\\,2', 'Filter a,between,1\\,2: between takes two values, separated by a comma'],
  ['a,isNull,1', 'Filter a,isNull,1: isNull takes no value'],
  ['a,', `Unknown filter operator . Known: ${FILTER_OPERATORS.join(', ')}`],
  ['a,EQ,1', `Unknown filter operator EQ. Did you mean eq? Known: ${FILTER_OPERATORS.join(', ')}`],
  ['a,like,x', /^Unknown filter operator like\. (Did you mean|Known)/],
] as const) {
  test(`filter=${filter} is refused`, () => refuses(() => parseFilters([filter], []), message));
}

test('a mistake in an or group is refused like one in a filter', () => {
  refuses(() => parseFilters([], ['']), 'or is malformed: a name is empty');
  refuses(() => parseFilters([], ['a,eq,1;']), 'or is malformed: a name is empty');
  refuses(() => parseFilters([], ['a,eq,1;b']), 'or b is malformed: it takes <field>,<operator>,<value>');
});

test('100 conditions and 1,000 values are the most', () => {
  const conditions = Array<string>(100).fill('a,eq,1');
  assert.notEqual(parseFilters(conditions, []), undefined);
  refuses(() => parseFilters([...conditions, 'a,eq,1'], []), 'More than 100 filter conditions');
  refuses(() => parseFilters(conditions, ['a,eq,1']), 'More than 100 filter conditions');
  refuses(() => parseFilters([], [[...conditions, 'a,eq,1'].join(';')]), 'More than 100 filter conditions');
  const values = Array<string>(1000).fill('1').join(',');
  assert.notEqual(parseFilters([`a,in,${values}`], []), undefined);
  refuses(() => parseFilters([`a,in,${values},1`], []), /in takes at most 1000 values$/);
});

test('a list of values comes out as it went in when commas and backslashes are escaped', () => {
  const value = fc.string({ unit: fc.constantFrom('a', ',', ';', '\\', ' ', 'ä') });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1 }), fc.constantFrom(',' as const, ';' as const), (values, separator) => {
      const escaped = separator === ',' ? /[\\,]/g : /[\\;]/g;
      const text = values.map((one) => one.replace(escaped, '\\$&')).join(separator);
      assert.deepEqual(splitEscaped(text, separator), values);
    }),
  );
});

test('no text makes anything but a tree of known operators or a 400', () => {
  const word = fc.oneof(
    fc.constantFrom<string>(...FILTER_OPERATORS, 'a', 'a.b', ',', ',,', ';', '\\', '.', ''),
    fc.string({ maxLength: 4 }),
  );
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(','));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), fc.array(text, { maxLength: 3 }), (filters, groups) => {
      const tree = unlessBadRequest(() => parseFilters(filters, groups));
      if (tree !== undefined) assertKnown(tree);
    }),
  );
});

function assertKnown(tree: FilterTree): void {
  if (tree.kind === 'not') assertKnown(tree.member);
  else if (tree.kind === 'compare') {
    assert.ok(FILTER_OPERATORS.includes(tree.operator as FilterOperator));
    assert.ok(tree.path.every((name) => name !== ''));
  } else for (const member of tree.members) assertKnown(member);
}
