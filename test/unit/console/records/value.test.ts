import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits, parseExact, stringifyExact } from '../../../../console/src/api/json.ts';
import type { ColumnType } from '../../../../console/src/records/fields.ts';
import {
  formatForCopy,
  formatValue,
  getMember,
  isOutOfRange,
  isSameValue,
  parseValue,
} from '../../../../console/src/records/value.ts';

const field = { name: 'e', type: 'enum', values: ['red', 'green'] };

test('what typed text means to each type', () => {
  for (const [type, text, json, isDoubtful] of [
    ['string', '', '""'],
    ['text', ' a ', '" a "'],
    ['integer', '12', '12'],
    ['integer', ' -007 ', '-7'],
    ['integer', '+3', '3'],
    ['integer', '', 'null'],
    ['integer', 'abc', '"abc"', true],
    ['integer', '1.5', '"1.5"', true],
    ['bigint', '9007199254740993', '9007199254740993'],
    ['bigint', '9223372036854775807', '9223372036854775807'],
    ['decimal', '0.10', '0.10'],
    ['decimal', '00', '0'],
    ['decimal', '1e3', '1e3'],
    ['decimal', '1,5', '"1,5"', true],
    ['float', '.5', '".5"', true],
    ['boolean', 'TRUE', 'true'],
    ['boolean', '0', 'false'],
    ['boolean', 'maybe', '"maybe"', true],
    ['date', '2026-01-02', '"2026-01-02"'],
    ['date', '2.1.2026', '"2.1.2026"', true],
    ['time', '10:00', '"10:00"'],
    ['datetime', '2026-01-02 10:00', '"2026-01-02T10:00:00Z"'],
    ['datetime', 'soon', '"soon"', true],
    ['uuid', '6f1c3f0e-8f4e-4c1c-9a51-2f7f6f2b7c11', '"6f1c3f0e-8f4e-4c1c-9a51-2f7f6f2b7c11"'],
    ['uuid', 'abc', '"abc"', true],
    ['enum', 'red', '"red"'],
    ['enum', 'blue', '"blue"', true],
    ['relation', '17', '17'],
    ['json', '{"a":[1.10,9007199254740993]}', '{"a":[1.10,9007199254740993]}'],
    ['json', '', 'null'],
  ] as const) {
    const typed = parseValue(text, { type, field }, 'UTC');
    assert.equal(typed.kind === 'value' ? stringifyExact(typed.value) : typed.message, json, `${type} ${text}`);
    assert.equal(typed.kind === 'value' && typed.isDoubtful === true, isDoubtful === true, `${type} ${text}`);
  }
  assert.deepEqual(parseValue('{a}', { type: 'json' }, 'UTC'), { kind: 'mistake', message: 'is not JSON' });
});

test('values as they are shown and copied keep their digits', () => {
  for (const [type, json, shown, copied] of [
    ['bigint', '9223372036854775807', '9223372036854775807', '9223372036854775807'],
    ['decimal', '0.10', '0.10', '0.10'],
    ['json', '{"a":1.10}', '{"a":1.10}', '{"a":1.10}'],
    ['json', '"text"', '"text"', '"text"'],
    ['boolean', 'false', 'false', 'false'],
    ['string', 'null', '', null],
    ['string', '""', '', ''],
    ['datetime', '"2026-01-05T09:30:00Z"', '2026-01-05 09:30:00 UTC', '2026-01-05T09:30:00Z'],
  ] as const satisfies readonly (readonly [ColumnType, string, string, string | null])[]) {
    const value = parseExact(json);
    assert.equal(formatValue(value, type, 'UTC'), shown);
    assert.equal(formatForCopy(value, type), copied);
  }
});

test('a record has own members only', () => {
  assert.equal(getMember({}, 'constructor'), undefined);
  assert.equal(getMember({ toString: 'a' }, 'toString'), 'a');
});

test('values are the same by what they say', () => {
  assert.ok(isSameValue(new Digits('1.0'), new Digits('1.0')));
  assert.ok(!isSameValue(new Digits('1.0'), new Digits('1.00')));
  assert.ok(!isSameValue('', null));
  assert.ok(!isSameValue(undefined, null));
});

test('values beyond the limits of their field are known before they are sent', () => {
  for (const [value, limits, isBeyond] of [
    [new Digits('-4'), { min: 0 }, true],
    [new Digits('0'), { min: 0 }, false],
    [new Digits('11'), { max: '10' }, true],
    [new Digits('11'), {}, false],
    ['abc', { maxLength: 2 }, true],
    ['👩‍👩', { maxLength: 3 }, false],
    ['', { minLength: 1 }, true],
    [null, { required: true }, true],
    [null, {}, false],
    [true, { min: 2 }, false],
  ] as const)
    assert.equal(
      isOutOfRange(value, { name: 'a', type: 'integer', ...limits }),
      isBeyond,
      `${value} ${JSON.stringify(limits)}`,
    );
  assert.equal(isOutOfRange('a', undefined), false);
});
