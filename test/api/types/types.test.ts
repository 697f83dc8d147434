// Field types: what goes in comes out with every digit, and what does not fit is refused with its code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';
import { TYPES_SCHEMA } from '../../support/shop.ts';

const make = (server: TestServer): Promise<TestWorkspace> => server.workspace('acme/types', TYPES_SCHEMA);
const server = useServer();
const workspace = use(() => make(server));

const JSON_TYPE = { 'content-type': 'application/json' };

/** Creates a sample by JSON text, reads it again, and gives the field's value as JSON text. */
async function roundTrip(field: string, json: string): Promise<string> {
  const created = await workspace.call('samples', {
    method: 'POST',
    headers: JSON_TYPE,
    body: `{"${field}":${json}}`,
  });
  assert.equal(created.status, 201, `${field} ${json}: ${created.text}`);
  const read = await workspace.call(`samples/${created.json.data.id}?fields=${field}`);
  const text = read.text.slice(`{"data":{"${field}":`.length, -'}}'.length);
  assert.ok(created.text.includes(`"${field}":${text}`), `create and read differ: ${created.text} ${read.text}`);
  return text;
}

/** What is sent and what comes back, as JSON text. */
const kept: Readonly<Record<string, readonly (readonly [sent: string, back: string])[]>> = {
  aString: [
    ['""', '""'],
    ['"  spaces  "', '"  spaces  "'],
    ['"\\t\\n\\r"', '"\\t\\n\\r"'],
    ['"\\u0001\\u001f\\u007f"', '"\\u0001\\u001f\u007f"'],
    ['"quote \\" backslash \\\\ slash \\/"', '"quote \\" backslash \\\\ slash /"'],
    ['"\\ud83d\\ude42"', '"🙂"'],
    ['"e\u0301 \u00e9"', '"e\u0301 \u00e9"'],
    ['"\ufeff\u200b\u2028\ufffd\uffff"', '"\ufeff\u200b\u2028\ufffd\uffff"'],
    ['"\'; drop table samples; --"', '"\'; drop table samples; --"'],
    ['"$1 %s {{x}} $(y)"', '"$1 %s {{x}} $(y)"'],
    ['null', 'null'],
  ],
  aText: [
    ['"null"', '"null"'],
    ['", \\n "', '", \\n "'],
    [JSON.stringify('x'.repeat(100_000)), JSON.stringify('x'.repeat(100_000))],
  ],
  anInteger: [
    ['0', '0'],
    ['-0', '0'],
    ['2147483647', '2147483647'],
    ['-2147483648', '-2147483648'],
    ['1.0', '1'],
    ['1e2', '100'],
    ['120e-1', '12'],
  ],
  aBigint: [
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['"9223372036854775807"', '9223372036854775807'],
    ['"-1"', '-1'],
    ['"007"', '7'],
    ['1e18', '1000000000000000000'],
  ],
  aDecimal: [
    ['1', '1.0000000000'],
    ['0.1', '0.1000000000'],
    ['"1.5"', '1.5000000000'],
    ['-0.0000000001', '-0.0000000001'],
    ['1234567890123456789012345678.0123456789', '1234567890123456789012345678.0123456789'],
    ['"-9999999999999999999999999999.9999999999"', '-9999999999999999999999999999.9999999999'],
    ['1.50000000000000000000', '1.5000000000'],
    ['1e-10', '0.0000000001'],
    ['"1E+3"', '1000.0000000000'],
  ],
  aNumeric: [
    ['1.10', '1.10'],
    ['"1.10"', '1.10'],
    ['0', '0'],
    ['-0', '0'],
    [
      '123456789012345678901234567890.123456789012345678901234567890',
      '123456789012345678901234567890.123456789012345678901234567890',
    ],
    ['9007199254740993', '9007199254740993'],
    [`"${'9'.repeat(1000)}"`, '9'.repeat(1000)],
  ],
  aFloat: [
    ['0.1', '0.1'],
    ['1', '1'],
    ['-2.5', '-2.5'],
    ['1e300', '1e+300'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['5e-324', '5e-324'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['123456789012345680000', '1.2345678901234568e+20'],
  ],
  aBoolean: [
    ['true', 'true'],
    ['false', 'false'],
    ['null', 'null'],
  ],
  aDate: [
    ['"2024-02-29"', '"2024-02-29"'],
    ['"0001-01-01"', '"0001-01-01"'],
    ['"9999-12-31"', '"9999-12-31"'],
  ],
  aDatetime: [
    ['"2024-02-29T12:00:00Z"', '"2024-02-29T12:00:00Z"'],
    ['"2024-02-29T12:00:00.000Z"', '"2024-02-29T12:00:00Z"'],
    ['"2024-02-29T12:00:00.5Z"', '"2024-02-29T12:00:00.500Z"'],
    ['"2024-02-29T12:00:00.001Z"', '"2024-02-29T12:00:00.001Z"'],
    ['"2024-02-29T12:00:00.0009Z"', '"2024-02-29T12:00:00Z"'],
    ['"2024-02-29T23:59:59.999999999Z"', '"2024-02-29T23:59:59.999Z"'],
    ['"2024-02-29T12:00:00,25Z"', '"2024-02-29T12:00:00.250Z"'],
    ['"2024-02-29t12:00:00z"', '"2024-02-29T12:00:00Z"'],
    ['"2024-02-29T12:00Z"', '"2024-02-29T12:00:00Z"'],
    ['"2024-03-01T00:30:00+01:00"', '"2024-02-29T23:30:00Z"'],
    ['"2024-02-29T23:30:00-00:30"', '"2024-03-01T00:00:00Z"'],
    ['"2024-02-29T12:00:00+0530"', '"2024-02-29T06:30:00Z"'],
    ['"2024-02-29T12:00:00+05"', '"2024-02-29T07:00:00Z"'],
    ['"0001-01-01T00:00:00Z"', '"0001-01-01T00:00:00Z"'],
    ['"9999-12-31T23:59:59.999Z"', '"9999-12-31T23:59:59.999Z"'],
    ['"1969-12-31T23:59:59.999Z"', '"1969-12-31T23:59:59.999Z"'],
  ],
  aUuid: [
    ['"123E4567-E89B-42D3-A456-426614174000"', '"123e4567-e89b-42d3-a456-426614174000"'],
    ['"00000000-0000-0000-0000-000000000000"', '"00000000-0000-0000-0000-000000000000"'],
  ],
  aJson: [
    ['null', 'null'],
    ['true', 'true'],
    ['"text"', '"text"'],
    ['[]', '[]'],
    ['{}', '{}'],
    ['123456789012345678901234567890.5', '123456789012345678901234567890.5'],
    ['[1.10,9007199254740993,0.1000]', '[1.10, 9007199254740993, 0.1000]'],
    ['[1e2,-0]', '[100, 0]'],
    ['{"b":1,"a":2}', '{"a": 2, "b": 1}'],
    ['{"a":1,"a":2}', '{"a": 2}'],
    ['{"__proto__":{"x":1},"constructor":null}', '{"__proto__": {"x": 1}, "constructor": null}'],
    ['{"":{"\\u00e9":"\\ud83d\\ude42"}}', '{"": {"é": "🙂"}}'],
    [`${'['.repeat(60)}${']'.repeat(60)}`, `${'['.repeat(60)}${']'.repeat(60)}`],
  ],
  anEnum: ['red', 'a,b', 'c;d', 'grün', 'Red'].map((value) => [JSON.stringify(value), JSON.stringify(value)] as const),
};
for (const [field, cases] of Object.entries(kept)) {
  test(`${field}: ${cases.length} values come back`, async () => {
    for (const [sent, back] of cases)
      assert.equal(await roundTrip(field, sent), back, `${field} ${sent.slice(0, 200)}`);
  });
}

const DATE = 'must be a date such as 2026-01-31';
const DATETIME = 'must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z';
const STORABLE = 'must not contain NUL characters or lone surrogates';

/** JSON text, code of the refusal, its message. */
const refusals: Readonly<Record<string, readonly (readonly [sent: string, code: string, message: string])[]>> = {
  aString: [
    ...['1', 'true', '{}', '[]', '["x"]', '1.50'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be a string'] as const),
    ...['"a\\u0000b"', '"\\ud83d"', '"\\ude42x"', '"\\ude42\\ud83d"'].map(
      (sent) => [sent, 'INVALID', STORABLE] as const,
    ),
  ],
  aText: [['0', 'TYPE_MISMATCH', 'must be a string']],
  anInteger: [
    ...['"1"', '1.5', '1e-1', 'true', '{}', '[1]', '""'].map(
      (sent) => [sent, 'TYPE_MISMATCH', 'must be an integer'] as const,
    ),
    ...['2147483648', '-2147483649', '1e10', '1e400', '99999999999999999999', '1e9999999'].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'must fit into 32 bits'] as const,
    ),
  ],
  aBigint: [
    ...['"one"', '""', '" 1"', '"1.0"', '"1e3"', '"0x10"', '1.5', 'false', '[]'].map(
      (sent) => [sent, 'TYPE_MISMATCH', /* 1.5 */ ''] as const,
    ),
    ...['9223372036854775808', '-9223372036854775809', '"9223372036854775808"', '1e19', '1e400'].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'must fit into 64 bits'] as const,
    ),
  ],
  aDecimal: [
    ...['"abc"', '""', '" 1"', '"1 "', '"NaN"', '"Infinity"', '"0x10"', '"1_000"', '"1,5"', '"."', '"٣"'].map(
      (sent) => [sent, 'TYPE_MISMATCH', 'must be a number'] as const,
    ),
    ...['true', '{}', '[1]'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be a number or a numeric string'] as const),
    ...['0.00000000001', '"1e-11"', '1.12345678901'].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'must have at most 10 digits after the point'] as const,
    ),
    ...['1e28', `"${'9'.repeat(29)}"`].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'must have at most 28 digits before the point'] as const,
    ),
  ],
  aNumeric: [
    ...['1e1000000', '1e-1000000', `"${'9'.repeat(1001)}"`, '1e99999999'].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'has too many digits'] as const,
    ),
    ['"1e"', 'TYPE_MISMATCH', 'must be a number'],
  ],
  aFloat: [
    ...['"1.5"', 'true', '{}', '"NaN"'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be a number'] as const),
    ...['1e309', '-1e309', '1e999999999'].map(
      (sent) => [sent, 'OUT_OF_RANGE', 'must fit into a 64-bit float'] as const,
    ),
  ],
  aBoolean: ['"true"', '0', '1', '""', '[]'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be true or false'] as const),
  aDate: [
    ...['20240229', 'true', '{}'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be a date string'] as const),
    ...[
      '2024-02-30',
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-10',
      '2024-04-31',
      '2024-2-9',
      '2024-02-29T00:00:00Z',
      '02/29/2024',
      '',
      ' 2024-02-29',
      'today',
      'infinity',
      '-infinity',
      '0000-01-01',
      '10000-01-01',
      '+002024-01-01',
      '2024-02-29 BC',
    ].map((text) => [JSON.stringify(text), 'INVALID', DATE] as const),
  ],
  aDatetime: [
    ['1709208000', 'TYPE_MISMATCH', 'must be a datetime string'],
    ...[
      '2024-02-29',
      '2024-02-29T12:00:00',
      '2024-02-29 12:00:00Z',
      '2024-02-30T12:00:00Z',
      '2024-02-29T24:00:00Z',
      '2024-02-29T12:60:00Z',
      '2024-02-29T12:00:60Z',
      '2024-02-29T12Z',
      '2024-02-29T12:00:00+16:00',
      '2024-02-29T12:00:00+01:60',
      '2024-02-29T12:00:00 Z',
      '2024-02-29T12:00:00.Z',
      '2024-02-29T12:00:00.1234567890Z',
      '2024-02-29T12:00:00Europe/Berlin',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '0000-12-31T23:59:59Z',
      'now',
      'infinity',
      'epoch',
      '',
    ].map((text) => [JSON.stringify(text), 'INVALID', DATETIME] as const),
  ],
  aUuid: [
    ['1', 'TYPE_MISMATCH', 'must be a UUID string'],
    ...[
      '123',
      '',
      '123e4567e89b42d3a456426614174000',
      '{123e4567-e89b-42d3-a456-426614174000}',
      '123e4567-e89b-42d3-a456-42661417400g',
      '123e4567-e89b-42d3-a456-426614174000 ',
      'urn:uuid:123e4567-e89b-42d3-a456-426614174000',
    ].map((text) => [JSON.stringify(text), 'INVALID', 'must be a UUID'] as const),
  ],
  aJson: ['"\\u0000"', '["a\\u0000"]', '{"\\u0000":1}', '"\\ud800"', '{"a":{"b":["\\udfff"]}}', '{"\\ud800":1}'].map(
    (sent) => [sent, 'INVALID', STORABLE] as const,
  ),
  anEnum: [
    ...['1', 'true', '["red"]'].map((sent) => [sent, 'TYPE_MISMATCH', 'must be a string'] as const),
    ...['"blue"', '"RED"', '""', '" red"', '"red\\u0000"'].map(
      (sent) => [sent, 'NOT_IN_ENUM', 'must be one of red, a,b, c;d, grün, Red'] as const,
    ),
  ],
};

for (const [field, cases] of Object.entries(refusals)) {
  test(`${field}: ${cases.length} values are refused, for create and update`, async () => {
    const [record] = await workspace.create('samples', [{}]);
    for (const [sent, code, message] of cases) {
      for (const [method, path] of [
        ['POST', 'samples'],
        ['PUT', `samples/${record.id}`],
      ] as const) {
        const answer = await workspace.call(path, { method, headers: JSON_TYPE, body: `{"${field}":${sent}}` });
        const where = `${method} ${field} ${sent.slice(0, 200)}: ${answer.text}`;
        assert.equal(answer.status, 400, where);
        assert.equal(answer.json.error.code, 'VALIDATION_FAILED', where);
        assert.equal(answer.json.error.details.length, 1, where);
        const [detail] = answer.json.error.details;
        assert.equal(detail.field, field, where);
        assert.equal(detail.code, code, where);
        if (message !== '') assert.equal(detail.message, message, where);
      }
    }
    assert.equal((await workspace.call(`samples/${record.id}?fields=${field}`)).json.data[field], null);
  });
}
