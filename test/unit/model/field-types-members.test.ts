// What each field type says of itself beside its values: its JSON Schema, its cells in files, its defaults, and when two of
// its values are one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  columnDefault,
  decodeValue,
  FIELD_TYPE_NAMES,
  type FieldTypeName,
  fieldType,
  type TypeAttributes,
} from '../../../src/model/field-types.ts';

const SCHEMAS: readonly (readonly [type: FieldTypeName, field: TypeAttributes, schema: string])[] = [
  ['string', {}, '{"type":"string"}'],
  ['string', { maxLength: 3 }, '{"type":"string","maxLength":3}'],
  ['text', {}, '{"type":"string"}'],
  ['integer', {}, '{"type":"integer","format":"int32","minimum":-2147483648,"maximum":2147483647}'],
  ['integer', { min: '0', max: '9' }, '{"type":"integer","format":"int32","minimum":0,"maximum":9}'],
  ['bigint', {}, '{"type":"integer","format":"int64","minimum":-9223372036854775808,"maximum":9223372036854775807}'],
  ['decimal', {}, '{"type":"number","format":"decimal"}'],
  [
    'decimal',
    { min: '0.10', max: '9007199254740993' },
    '{"type":"number","format":"decimal","minimum":0.10,"maximum":9007199254740993}',
  ],
  ['float', { max: '1e+300' }, '{"type":"number","format":"double","maximum":1e+300}'],
  ['boolean', {}, '{"type":"boolean"}'],
  ['date', { min: '2026-01-01' }, '{"type":"string","format":"date"}'],
  ['datetime', {}, '{"type":"string","format":"date-time"}'],
  ['time', {}, '{"type":"string","pattern":"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"}'],
  ['uuid', {}, '{"type":"string","format":"uuid"}'],
  ['json', {}, '{"description":"Any JSON value: object, array, text, number, true, false or null."}'],
  ['enum', { values: ['red', 'blue'] }, '{"type":"string","enum":["red","blue"]}'],
];

for (const [type, field, schema] of SCHEMAS) {
  test(`${type} with ${JSON.stringify(field)} is ${schema}`, () =>
    assert.equal(JSON.stringify(fieldType(type).schema(field)), schema));
}

test('every type has a row above, and its schema is one of JSON Schema 2020-12', () => {
  assert.deepEqual([...new Set(SCHEMAS.map(([type]) => type))].sort(), [...FIELD_TYPE_NAMES].sort());
  const ajv = new Ajv2020({ strict: false });
  for (const [type, field] of SCHEMAS) {
    assert.equal(ajv.validateSchema(JSON.parse(JSON.stringify(fieldType(type).schema(field)))), true);
  }
});

test('`json` is the type of the schema', () => {
  for (const name of FIELD_TYPE_NAMES) {
    const { json, schema } = fieldType(name);
    const type = schema({}).type ?? 'any';
    assert.equal(type === 'integer' ? 'number' : type, json, name);
  }
});

test('a placeholder is a value of its type', () => {
  for (const name of FIELD_TYPE_NAMES) {
    const { placeholder, parseText } = fieldType(name);
    assert.deepEqual(parseText(placeholder, { values: [''] }), {
      ok: true,
      value: name === 'datetime' ? '1970-01-01T00:00:00.000Z' : placeholder,
      ...(name === 'json' ? { expandedBytes: 0 } : {}),
    });
  }
});

const EQUAL: readonly (readonly [type: FieldTypeName, left: string, right: string, equal: boolean])[] = [
  ['string', 'a', 'a', true],
  ['string', '1', '1.0', false],
  ['integer', '1', '1', true],
  ['decimal', '1.5', '1.50', true],
  ['decimal', '1.5', '1.51', false],
  ['float', '0', '-0', true],
  ['float', '0.5', '5e-1', true],
  ['uuid', '3f2504e0-4f89-11d3-9a0c-0305e82c3301', '3f2504e0-4f89-11d3-9a0c-0305e82c3302', false],
];

for (const [type, left, right, equal] of EQUAL) {
  test(`${left} and ${right} are ${equal ? 'one' : 'two'} as ${type}`, () =>
    assert.equal(fieldType(type).equal(left, right), equal));
}

const DEFAULTS: readonly (readonly [type: FieldTypeName, value: unknown, stored: string])[] = [
  ['date', 'now', "sql (now() at time zone 'UTC')::date"],
  ['datetime', 'now', 'sql now()'],
  ['time', 'now', "sql date_trunc('second', now() at time zone 'UTC')::time"],
  ['uuid', 'uuid', 'sql gen_random_uuid()'],
  ['string', 'now', 'now'],
  ['integer', 1, '1'],
];

for (const [type, value, stored] of DEFAULTS) {
  test(`the default ${value} of ${type} is ${stored}`, () => {
    const found = columnDefault({ name: 'x', type, default: value });
    assert.equal(found?.kind === 'expression' ? `sql ${found.expression}` : found?.text, stored);
  });
}

test('a field without a default has none, and one that no value fits throws', () => {
  assert.equal(columnDefault({ name: 'x', type: 'string', default: undefined }), undefined);
  assert.throws(() => columnDefault({ name: 'x', type: 'integer', default: 'now' }), TypeError);
  assert.equal(decodeValue({ type: 'date' }, 'now').ok, false);
});
