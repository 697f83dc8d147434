import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyExact } from '../../../../console/src/api/json.ts';
import { listAttributes, listOtherAttributes } from '../../../../console/src/schema/field-types.ts';
import { formatInput, parseInput, parseInteger, splitLines } from '../../../../console/src/schema/field-values.ts';

test('what is typed becomes a value of the type, and stays as it was typed', () => {
  for (const [type, text, json] of [
    ['decimal', '1.10', '1.10'],
    ['bigint', '9007199254740993', '9007199254740993'],
    ['integer', 'seven', '"seven"'],
    ['boolean', 'false', 'false'],
    ['string', '7', '"7"'],
    ['json', '{"a": 1.0}', '{"a":1.0}'],
    ['date', 'now', '"now"'],
  ] as const) {
    const value = parseInput(type, text);
    assert.equal(stringifyExact(value), json);
    if (type !== 'json') assert.equal(formatInput(value), text);
  }
  assert.equal(parseInput('string', ''), undefined);
  assert.equal(stringifyExact(parseInteger('20')), '20');
  assert.equal(parseInteger('-1'), '-1');
  assert.deepEqual(splitLines(' a \n\nb'), ['a', 'b']);
});

test('attributes belong to types', () => {
  assert.deepEqual(listAttributes('decimal'), ['precision', 'scale', 'min', 'max']);
  assert.deepEqual(listAttributes('constructor'), []);
  assert.ok(!listOtherAttributes('enum').includes('values'));
});
