// Every field type: JSON values and text in, the text of its PostgreSQL type out, or the code of the mistake.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Field } from '../../../src/model/entity.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import {
  type Decoded,
  decodeValue,
  FIELD_TYPE_NAMES,
  type FieldTypeName,
  fieldType,
  isFieldTypeName,
  parseStored,
} from '../../../src/model/field-types.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const things = makeShop().entities.get('things');
const field = (name: string): Field => things?.fields.get(name) as Field;

/** `= text`, or the code of the mistake. */
const verdict = (decoded: Decoded): string => (decoded.ok ? `= ${decoded.value}` : decoded.code);

const BODIES: Readonly<Record<string, readonly (readonly [json: string, verdict: string])[]>> = {
  aString: [
    ['"abc"', '= abc'],
    ['""', '= '],
    ['" a "', '=  a '],
    ['"ä😀ß"', '= ä😀ß'],
    ['"abcd"', 'TOO_LONG'],
    ['"😀😀😀😀"', 'TOO_LONG'],
    ['"\\u0000"', 'INVALID'],
    ['"\\ud800"', 'INVALID'],
    ['1', 'TYPE_MISMATCH'],
    ['1.50', 'TYPE_MISMATCH'],
    ['true', 'TYPE_MISMATCH'],
    ['{"a":1}', 'TYPE_MISMATCH'],
  ],
  aText: [
    ['"a\\nb"', '= a\nb'],
    ['"\\u0001"', '= \u0001'],
    ['"a\\u0000"', 'INVALID'],
    ['[]', 'TYPE_MISMATCH'],
  ],
  anInteger: [
    ['5', '= 5'],
    ['-5', '= -5'],
    ['5.0', '= 5'],
    ['0.5e1', '= 5'],
    ['-0', '= 0'],
    ['6', 'OUT_OF_RANGE'],
    ['2147483648', 'OUT_OF_RANGE'],
    ['-2147483649', 'OUT_OF_RANGE'],
    ['1e400', 'OUT_OF_RANGE'],
    ['1e999999', 'OUT_OF_RANGE'],
    ['1.5', 'TYPE_MISMATCH'],
    ['"1"', 'TYPE_MISMATCH'],
    ['true', 'TYPE_MISMATCH'],
  ],
  aBigint: [
    ['9223372036854775807', '= 9223372036854775807'],
    ['-9223372036854775808', '= -9223372036854775808'],
    ['"9007199254740993"', '= 9007199254740993'],
    ['"+7"', '= 7'],
    ['9223372036854775808', 'OUT_OF_RANGE'],
    ['"-9223372036854775809"', 'OUT_OF_RANGE'],
    ['1.5', 'TYPE_MISMATCH'],
    ['"1.0"', 'TYPE_MISMATCH'],
    ['""', 'TYPE_MISMATCH'],
    ['" 1"', 'TYPE_MISMATCH'],
  ],
  aDecimal: [
    ['123.45', '= 123.45'],
    ['-999.99', '= -999.99'],
    ['1.50', '= 1.50'],
    ['"1.5"', '= 1.5'],
    ['1e2', '= 100'],
    ['"1.500"', '= 1.500'],
    ['0.001', 'OUT_OF_RANGE'],
    ['1000', 'OUT_OF_RANGE'],
    ['1e400', 'OUT_OF_RANGE'],
    ['1e999999', 'OUT_OF_RANGE'],
    ['"NaN"', 'TYPE_MISMATCH'],
    ['"1,5"', 'TYPE_MISMATCH'],
    ['""', 'TYPE_MISMATCH'],
    ['" 1"', 'TYPE_MISMATCH'],
  ],
  aFreeDecimal: [
    ['12345678901234567890.123456789012345678901234567890', '= 12345678901234567890.123456789012345678901234567890'],
    ['0.10', '= 0.10'],
    ['"1e-3"', '= 0.001'],
    ['"007.10"', '= 7.1'],
    ['1e1000', 'OUT_OF_RANGE'],
  ],
  aFloat: [
    ['1.5', '= 1.5'],
    ['-0', '= -0'],
    ['0.1', '= 0.1'],
    ['1e-7', '= 1e-7'],
    ['100', '= 100'],
    ['100.5', 'OUT_OF_RANGE'],
    ['1e400', 'OUT_OF_RANGE'],
    ['"1.5"', 'TYPE_MISMATCH'],
    ['true', 'TYPE_MISMATCH'],
  ],
  aBoolean: [
    ['true', '= true'],
    ['false', '= false'],
    ['"true"', 'TYPE_MISMATCH'],
    ['1', 'TYPE_MISMATCH'],
  ],
  aDate: [
    ['"2026-01-31"', '= 2026-01-31'],
    ['"2020-01-01"', '= 2020-01-01'],
    ['"2019-12-31"', 'OUT_OF_RANGE'],
    ['"2026-02-29"', 'INVALID'],
    ['"2026-01-31T00:00:00Z"', 'INVALID'],
    ['""', 'INVALID'],
    ['20260131', 'TYPE_MISMATCH'],
  ],
  aDatetime: [
    ['"2026-01-31T12:00:00+02:00"', '= 2026-01-31T10:00:00.000Z'],
    ['"2030-01-01T00:00:00Z"', '= 2030-01-01T00:00:00.000Z'],
    ['"2030-01-01T00:00:00.001Z"', 'OUT_OF_RANGE'],
    ['"2026-01-31T12:00:00"', 'INVALID'],
    ['"2026-01-31"', 'INVALID'],
    ['1769862896', 'TYPE_MISMATCH'],
  ],
  aTime: [
    ['"12:00:00"', '= 12:00:00'],
    ['"12:30"', '= 12:30:00'],
    ['"08:00:00"', '= 08:00:00'],
    ['"07:59:59"', 'OUT_OF_RANGE'],
    ['"23:59:59"', '= 23:59:59'],
    ['"24:00:00"', 'INVALID'],
    ['"12:00:60"', 'INVALID'],
    ['"12:60"', 'INVALID'],
    ['"9:00"', 'INVALID'],
    ['"12:00:00.5"', 'INVALID'],
    ['"12:00:00\\n"', 'INVALID'],
    ['"now"', 'INVALID'],
    ['""', 'INVALID'],
    ['120000', 'TYPE_MISMATCH'],
  ],
  aUuid: [
    ['"3F2504E0-4F89-11D3-9A0C-0305E82C3301"', '= 3f2504e0-4f89-11d3-9a0c-0305e82c3301'],
    ['"{3f2504e0-4f89-11d3-9a0c-0305e82c3301}"', 'INVALID'],
    ['"3f2504e04f8911d39a0c0305e82c3301"', 'INVALID'],
    ['"uuid"', 'INVALID'],
    ['1', 'TYPE_MISMATCH'],
  ],
  aJson: [
    ['{"a":[1,2.50,"x",null]}', '= {"a":[1,2.50,"x",null]}'],
    ['"x"', '= "x"'],
    ['12345678901234567890', '= 12345678901234567890'],
    ['"\\ud83d\\ude00"', '= "😀"'],
    ['"\\u0000"', 'INVALID'],
    ['["\\ud800"]', 'INVALID'],
    ['{"\\u0000":1}', 'INVALID'],
    ['{"a":{"b":["\\u0000"]}}', 'INVALID'],
  ],
  anEnum: [
    ['"red"', '= red'],
    ['"Red"', 'NOT_IN_ENUM'],
    ['""', 'NOT_IN_ENUM'],
    ['"toString"', 'NOT_IN_ENUM'],
    ['1', 'TYPE_MISMATCH'],
  ],
};

for (const [name, rows] of Object.entries(BODIES)) {
  for (const [json, expected] of rows) {
    test(`${name}: ${json} in a body is ${expected}`, () => {
      assert.equal(verdict(decodeValue(field(name), parseExact(json))), expected);
    });
  }
}

test('every type has its rows', () => {
  assert.deepEqual(
    [...new Set(Object.keys(BODIES).map((name) => field(name).type))].sort(),
    [...FIELD_TYPE_NAMES].sort(),
  );
});

const TEXTS: readonly (readonly [type: FieldTypeName, text: string, verdict: string])[] = [
  ['string', 'any, text', '= any, text'],
  ['text', '\u0000', 'INVALID'],
  ['integer', '+5', '= 5'],
  ['integer', '5.0', 'TYPE_MISMATCH'],
  ['integer', '1e1', 'TYPE_MISMATCH'],
  ['integer', '', 'TYPE_MISMATCH'],
  ['integer', '2147483648', 'OUT_OF_RANGE'],
  ['integer', '9'.repeat(5000), 'OUT_OF_RANGE'],
  ['bigint', '9223372036854775807', '= 9223372036854775807'],
  ['bigint', '9223372036854775808', 'OUT_OF_RANGE'],
  ['decimal', '1.10', '= 1.10'],
  ['decimal', '1e-2', '= 0.01'],
  ['decimal', 'x', 'TYPE_MISMATCH'],
  ['decimal', '1e9999', 'OUT_OF_RANGE'],
  ['float', '.5', '= 0.5'],
  ['float', '1e999', 'OUT_OF_RANGE'],
  ['float', '1e-400', 'OUT_OF_RANGE'],
  ['float', '-0.000e5', '= -0'],
  ['float', '5e-324', '= 5e-324'],
  ['float', '9007199254740993', '= 9007199254740992'],
  ['float', 'Infinity', 'TYPE_MISMATCH'],
  ['float', '0x1p4', 'TYPE_MISMATCH'],
  ['float', '', 'TYPE_MISMATCH'],
  ['boolean', 'true', '= true'],
  ['boolean', 'TRUE', 'TYPE_MISMATCH'],
  ['boolean', '1', 'TYPE_MISMATCH'],
  ['date', '2026-01-31', '= 2026-01-31'],
  ['datetime', '2026-01-31T12:00Z', '= 2026-01-31T12:00:00.000Z'],
  ['time', '12:00', '= 12:00:00'],
  ['json', '{"a": 1.50}', '= {"a":1.50}'],
  ['json', '{a:1}', 'INVALID'],
  ['json', '', 'INVALID'],
  ['json', '"\\u0000"', 'INVALID'],
  ['json', '"\\\\u0000"', '= "\\\\u0000"'],
  ['json', '{"a":"\\u0000","a":1}', '= {"a":1}'],
  ['json', `${'['.repeat(64)}${']'.repeat(64)}`, `= ${'['.repeat(64)}${']'.repeat(64)}`],
  ['json', `${'['.repeat(65)}${']'.repeat(65)}`, 'INVALID'],
  ['json', '['.repeat(100_000), 'INVALID'],
  ['enum', 'blue', 'NOT_IN_ENUM'],
];

for (const [type, text, expected] of TEXTS) {
  test(`${type}: the text ${text.slice(0, 40)} is ${expected.slice(0, 40)}`, () => {
    assert.equal(verdict(fieldType(type).parseText(text, { values: ['red', 'green'] })), expected);
  });
}

test('text that is stored is held against the bounds of the field', () => {
  assert.equal(verdict(parseStored(field('aString'), 'abcd')), 'TOO_LONG');
  assert.equal(verdict(parseStored(field('anInteger'), '6')), 'OUT_OF_RANGE');
  assert.equal(verdict(parseStored(field('aDecimal'), '0.001')), 'OUT_OF_RANGE');
  assert.equal(verdict(parseStored(field('aDate'), '2019-01-01')), 'OUT_OF_RANGE');
  assert.equal(verdict(parseStored(field('aBoolean'), 'true')), '= true');
});

for (const [name, json, message] of [
  ['aString', '"abcde"', 'must have at most 3 characters, has 5'],
  ['anInteger', '6', 'must be at most 5'],
  ['anInteger', '-6', 'must be at least -5'],
  ['anInteger', '2147483648', 'must fit into 32 bits'],
  ['aDecimal', '0.001', 'must have at most 2 digits after the point'],
  ['aDecimal', '1000', 'must have at most 3 digits before the point'],
  ['aDate', '"2019-12-31"', 'must not be before 2020-01-01'],
  ['anEnum', '"blue"', 'must be one of red, green'],
] as const) {
  test(`${name}: ${json} ${message}`, () => {
    const decoded = decodeValue(field(name), parseExact(json));
    assert.equal(decoded.ok ? undefined : decoded.message, message);
  });
}

test('no JSON value and no text makes any type throw', () => {
  fc.assert(
    fc.property(fc.json(), fc.string({ unit: 'binary' }), (json, text) => {
      for (const one of things?.fields.values() ?? []) {
        const value = parseExact(json);
        if (value !== null) assert.equal(typeof decodeValue(one, value).ok, 'boolean');
        assert.equal(typeof parseStored(one, text).ok, 'boolean');
      }
    }),
  );
});

test('what a type gives for a value it reads again as the same', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      for (const one of things?.fields.values() ?? []) {
        const value = parseExact(json);
        const decoded = value === null ? undefined : decodeValue(one, value);
        if (decoded?.ok) assert.deepEqual(parseStored(one, decoded.value), decoded);
      }
    }),
  );
});

test('the names of types are known, and no others', () => {
  for (const name of FIELD_TYPE_NAMES) assert.equal(isFieldTypeName(name), true);
  for (const name of ['String', 'int', 'toString', '__proto__', '']) assert.equal(isFieldTypeName(name), false);
});
