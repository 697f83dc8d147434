// Operators of updates: which forms are operators, and what they make of a stored value.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { FIELD_TYPE_NAMES, type FieldTypeName } from '../../../src/model/field-types.ts';
import { applyChange, readMember } from '../../../src/plan/change.ts';
import { workspaceOf } from '../../support/field-types-fixture.ts';

const things = Object.fromEntries(
  FIELD_TYPE_NAMES.map((type) => [type, { fields: { value: type === 'enum' ? { type, values: ['a'] } : { type } } }]),
);
const { entities } = workspaceOf({ entities: things });
const fieldOf = (type: FieldTypeName): Field => entities.get(type)?.fields.get('value') ?? assert.fail(type);

const NOW = '2026-03-01T23:30:00.125Z';
const NOTHING = 'no operator';

const read = (type: FieldTypeName, member: string) => readMember(fieldOf(type), parseExact(member));

/** Returns the JSON text of the new value, a mistake, or that the member is a value. */
function change(type: FieldTypeName, member: string, stored: string): string {
  const field: Field = fieldOf(type);
  const reading = read(type, member);
  if (reading.kind === 'mistake') return reading.detail.message;
  if (reading.kind === 'value') return NOTHING;
  return JSON.stringify(applyChange(reading.change, field, parseExact(stored), NOW)) ?? 'impossible';
}

for (const [type, member, stored, expected] of [
  ['integer', '{"$inc": 2}', '40', '42'],
  ['integer', '{"$inc": -1}', 'null', '-1'],
  ['integer', '{"$inc": 0.5}', '1', '1.5'],
  ['bigint', '{"$inc": 1}', '9007199254740993', '9007199254740994'],
  ['bigint', '{"$inc": "9007199254740993"}', '0', '9007199254740993'],
  ['decimal', '{"$inc": 0.1}', '0.20', '0.3'],
  ['decimal', '{"$inc": -12.5}', '12.50', '0'],
  ['decimal', '{"$inc": 12345678901234567890.01}', '0.99', '12345678901234567891'],
  ['float', '{"$inc": 0.1}', '0.2', '0.3'],
  ['float', '{"$inc": 1e-7}', '1e300', `1${'0'.repeat(300)}.0000001`],
  ['text', '{"$append": " b"}', '"a"', '"a b"'],
  ['string', '{"$append": "b"}', 'null', '"b"'],
  ['datetime', '{"$now": true}', 'null', `"${NOW}"`],
  ['date', '{"$now": true}', '"2020-01-01"', '"2026-03-01"'],
  ['json', '{"$add": [3, 1]}', '[1, 2]', '[1,2,3]'],
  ['json', '{"$add": [1, 1.0]}', 'null', '[1]'],
  ['json', '{"$remove": [2, 9]}', '[1, 2, 2.0]', '[1]'],
  ['json', '{"$remove": [{"b": 1, "a": [1]}]}', '[{"a": [1.0], "b": 1}, {"a": [2]}]', '[{"a":[2]}]'],
  [
    'json',
    '{"$add": ["1", 1.0, "a", {"b": 1.0, "a": 2}], "$remove": ["x"]}',
    '["x", 1, {"a": 2, "b": 1}, "x"]',
    '[1,{"a":2,"b":1},"1","a"]',
  ],
  [
    'json',
    '{"$remove": [0, null, true, [1], 12345678901234567890]}',
    '[-0, 0.0, null, true, [1.0], 12345678901234567890, "0"]',
    '["0"]',
  ],
  ['json', '{"$add": [2], "$remove": [2]}', '[2, 1]', '[1,2]'],
  ['json', '{"$add": [1]}', '{"not": "a list"}', 'impossible'],
  ['json', '{"$add": [1]}', '"text"', 'impossible'],
  ['json', '{"$inc": 1}', '1', 'does not take $inc. value takes $add, $remove, $value'],
  ['json', '{"$add": 1}', '[]', '$add and $remove must be arrays'],
  ['text', '{"$inc": 1}', '"1"', 'does not take $inc. value takes $append'],
  ['integer', '{"$append": "1"}', '1', 'does not take $append. value takes $inc'],
  ['integer', '{"$inc": "1"}', '1', '$inc must be a number'],
  ['integer', '{"$inc": null}', '1', '$inc must be a number'],
  ['text', '{"$append": 1}', '"1"', '$append must be a string'],
  ['datetime', '{"$now": false}', 'null', '$now must be true'],
  ['time', '{"$now": true}', 'null', 'does not take $now. value takes no operator'],
  ['boolean', '{"$inc": 1}', 'true', 'does not take $inc. value takes no operator'],
  ['decimal', '{"$mul": 2}', '1', 'does not take $mul. value takes $inc'],
  ['text', '{"$field": "other"}', '"a"', 'does not take $field. value takes $append'],
  ['json', '{"$inc": 1, "b": 2}', 'null', NOTHING],
  ['json', '{"$other": 1}', 'null', NOTHING],
  ['json', '{"$add": [1], "$inc": 2}', '[]', NOTHING],
  ['json', '{}', '[]', NOTHING],
  ['integer', '{}', '1', NOTHING],
  ['integer', '7', '1', NOTHING],
] as const) {
  test(`${type} ${stored} with ${member} is ${expected.slice(0, 60)}`, () => {
    assert.equal(change(type, member, stored), expected);
  });
}

test('$value says that an object is data', () => {
  assert.deepEqual(read('json', '{"$value": {"$inc": 1}}'), { kind: 'value', value: { $inc: 1 } });
});

test('a reference takes no operator', () => {
  const field: Field = { ...fieldOf('bigint'), name: 'ownerId', role: 'reference' };
  const reading = readMember(field, { $inc: 1 });
  assert.ok(reading.kind === 'mistake');
  assert.equal(reading.detail.message, 'does not take $inc. ownerId takes no operator');
});
