import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Chip,
  conditionText,
  correctChip,
  describeCondition,
  findInvalidChips,
  listText,
  parseCondition,
  parseConditions,
  parseSuggestion,
  splitList,
  toChip,
} from '../../../../console/src/records/filter.ts';

test('a condition is a path, an operator and all that follows', () => {
  for (const [text, path, operator, value] of [
    ['total,gte,10', 'total', 'gte', '10'],
    ['note,eq,a,b', 'note', 'eq', 'a,b'],
    ['note,eq,', 'note', 'eq', ''],
    ['note,isNull', 'note', 'isNull', undefined],
    ['total', 'total', '', undefined],
    ['customer.country,in,DE,FR', 'customer.country', 'in', 'DE,FR'],
  ] as const) {
    assert.deepEqual(parseCondition(text), { path, operator, value });
    assert.equal(conditionText(parseCondition(text)), text);
  }
});

test('alternatives and lists keep semicolons and commas', () => {
  const value = fc.string({ unit: fc.constantFrom('a', ';', ',', ' ', '\\') });
  fc.assert(
    fc.property(fc.array(value, { minLength: 2 }), (values) => {
      const conditions = [
        ...values.map((one) => ({ path: 'note', operator: 'eq', value: one })),
        { path: 'note', operator: 'in', value: listText(values) },
      ];
      assert.deepEqual(parseConditions(toChip(conditions)), conditions);
      assert.deepEqual(splitList(listText(values)), values);
    }),
  );
  assert.deepEqual(toChip([{ path: 'a', operator: 'eq', value: ';' }]), { kind: 'filter', text: 'a,eq,;' });
});

test('conditions in words', () => {
  for (const [text, words] of [
    ['total,gte,10', 'total at least 10'],
    ['note,isNull', 'note is NULL'],
    ['note,eq,', 'note is ""'],
    ['name,in,a\\,b,c', 'name is one of a,b, c'],
    ['total,between,1,2', 'total between 1 and 2'],
    ['total,foo,1', 'total foo 1'],
    ['total', 'total'],
  ] as const)
    assert.equal(describeCondition(parseCondition(text)), words);
});

const chips = (...texts: readonly string[]): readonly Chip[] => texts.map((text) => ({ kind: 'filter', text }));

test('a refusal marks the filter that it is about', () => {
  const all = chips('status,eq,open', 'total,gte,abc', 'customer.totl,eq,1');
  for (const [message, marked] of [
    ['Filter value for total must be a number', [1]],
    ['Unknown field totl on entity customers. Did you mean total? Known: id, status, total', [2]],
    ['Filter operator gte does not apply to total of type json. Known: eq', [1]],
    ['Unknown relation customer on entity orders. Known: buyer', [2]],
    ['Filter is too much', []],
  ] as const)
    assert.deepEqual(
      findInvalidChips(message, all),
      marked.map((index) => all[index]),
      message,
    );
  const malformed = chips('a,eq,1', 'total');
  assert.deepEqual(findInvalidChips('filter total is malformed: it takes <field>,<operator>,<value>', malformed), [
    malformed[1],
  ]);
});

test('what the server thinks was meant mends a filter', () => {
  const suggestion = parseSuggestion('Unknown field totl on entity orders. Did you mean total? Known: id');
  assert.deepEqual(suggestion, { wrong: 'totl', right: 'total' });
  assert.deepEqual(parseSuggestion('Unknown filter operator equal. Did you mean eq? Known: eq'), {
    wrong: 'equal',
    right: 'eq',
  });
  assert.equal(parseSuggestion('Unknown field foo on entity orders. Known: id'), undefined);
  assert.deepEqual(correctChip({ kind: 'filter', text: 'customer.totl,gte,totl' }, { wrong: 'totl', right: 'total' }), {
    kind: 'filter',
    text: 'customer.total,gte,totl',
  });
  assert.deepEqual(correctChip({ kind: 'or', text: 'totl,eq,1;a,eq,\\;' }, { wrong: 'totl', right: 'total' }), {
    kind: 'or',
    text: 'total,eq,1;a,eq,\\;',
  });
});
