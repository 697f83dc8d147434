import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure, serverFailure } from '../../src/cli/failure.ts';
import { parseSchema, rethrowWithLines, schemaAsYaml } from '../../src/cli/schema-file.ts';

const says = (pattern: RegExp) => (error: unknown) => error instanceof CommandFailure && pattern.test(error.message);

const YAML = `# shop
entities:
  orders:
    fields:
      status: { type: enum, values: [open, no, on], default: open }
      placedAt:
        type: datetime
        default: now
    indexes:
      - fields: [status]
      - fields: [status, placedAt]
`;

test('YAML and JSON give the same document', () => {
  const { document } = parseSchema(YAML, 'schema.yaml');
  const again = parseSchema(JSON.stringify(document, null, '\t'), 'schema.json').document;
  assert.deepEqual(again, document);
  assert.deepEqual(document, {
    entities: {
      orders: {
        fields: {
          status: { type: 'enum', values: ['open', 'no', 'on'], default: 'open' },
          placedAt: { type: 'datetime', default: 'now' },
        },
        indexes: [{ fields: ['status'] }, { fields: ['status', 'placedAt'] }],
      },
    },
  });
});

test('words of YAML 1.1 and dates stay text', () => {
  const { document } = parseSchema('a: yes\nb: 2026-01-31\nc: 010\nd: 1:30\n', 'x');
  assert.equal(JSON.stringify(document), '{"a":"yes","b":"2026-01-31","c":10,"d":"1:30"}');
});

test('numbers keep every digit on the way to the server', () => {
  for (const number of ['9007199254740993', '-9223372036854775808', '0.10', '1234567890.12345678901234567890']) {
    for (const text of [`max: ${number}\n`, `{"max": ${number}}`])
      assert.equal(JSON.stringify(parseSchema(text, 'x').document), `{"max":${number}}`);
  }
});

test('a document printed as YAML is read back as it was', () => {
  const text =
    '{"a":{"default":9007199254740993,"s":"12","n":null,"t":"now","e":"","x":"a: b","list":[],"big":1e400,"fraction":1.50,"f":"1.50","zero":-0,"one":[1.0,"1e5"]}}';
  const { document } = parseSchema(text, 'x');
  assert.equal(JSON.stringify(document), text);
  assert.equal(JSON.stringify(parseSchema(schemaAsYaml(document), 'y').document), JSON.stringify(document));
});

test('a syntax error names file, line and column', () => {
  assert.throws(() => parseSchema('entities:\n  a: [1, 2\n', 's.yaml'), says(/^s\.yaml:\d+:\d+: /));
  assert.throws(() => parseSchema('{"entities": {"a" 1}}', 's.json'), says(/^s\.json:1:\d+: /));
});

test('a key that is there twice is a mistake, not a silent loss', () => {
  assert.throws(() => parseSchema('a: 1\nb: 2\na: 3\n', 's.yaml'), says(/^s\.yaml:3:1: .*unique/));
  assert.throws(() => parseSchema('{"a": 1, "a": 2}', 's.json'), says(/^s\.json:1:10: .*unique/));
});

test('anything but an object is no schema document', () => {
  for (const text of ['', '[]', 'hello', '3', 'null'])
    assert.throws(() => parseSchema(text, 's'), says(/no schema document/));
});

test('a path of the document leads to its line, as deep as the file has it', () => {
  const { getLine: lineOf } = parseSchema(YAML, 'schema.yaml');
  const cases: readonly (readonly [string, number | null])[] = [
    ['entities', 2],
    ['entities.orders', 3],
    ['entities.orders.fields.status.values', 5],
    ['entities.orders.fields.placedAt.default', 8],
    ['entities.orders.fields.placedAt.maxLength', 6],
    ['entities.orders.indexes[1].fields[0]', 11],
    ['entities.orders.indexes.0', 10],
    ['/entities/orders/fields/placedAt', 6],
    ['nothing.there', null],
    ['', null],
  ];
  for (const [path, line] of cases) assert.equal(lineOf(path), line, path);
});

test('mistakes that the server lists are shown with their lines', () => {
  const file = parseSchema(YAML, 'schema.yaml');
  const refusal = serverFailure(
    400,
    {
      code: 'VALIDATION_FAILED',
      message: 'Validation failed',
      details: [{ field: 'schema.entities.orders.fields.placedAt.type', code: 'INVALID', message: 'no such type' }],
    },
    null,
  );
  assert.throws(
    () => rethrowWithLines(refusal, file, ['schema']),
    (error) =>
      error instanceof CommandFailure &&
      error.failure.kind === 'refused' &&
      error.failure.error.details?.[0]?.line === 7,
  );
});
