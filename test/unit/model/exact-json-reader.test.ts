// Long JSON is read in pieces, to the same value as at a stretch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  JsonFault,
  type JsonLimits,
  MAX_NESTING,
  numberText,
  readJson,
  UNLIMITED,
} from '../../../src/model/exact-json.ts';

type Reading = { readonly value: unknown; readonly pieces: number };

function read(text: string, limits: Partial<JsonLimits> = {}): Reading {
  const reading = readJson(text, { ...UNLIMITED, ...limits });
  for (let pieces = 1; ; pieces++) {
    const { done, value } = reading.next();
    if (done === true) return { value, pieces };
  }
}

function faultOf(text: string, limits?: Partial<JsonLimits>): string | undefined {
  try {
    read(text, limits);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof JsonFault, String(error));
    return error.kind;
  }
}

const written = (value: unknown): string => JSON.stringify(value);

type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** The value by the parser of the runtime, with the source text of numbers that a double would change. */
function parseExact(text: string): unknown {
  const { parse, rawJSON } = JSON as unknown as {
    parse(text: string, revive: Revive): unknown;
    rawJSON(text: string): object;
  };
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== numberText(value) ? rawJSON(source) : value,
  );
}

/** Text that reads as JSON and text that nearly does. */
const texts = fc.oneof(
  fc.json({ maxDepth: 6 }),
  fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 3 })).map(([text, at, junk]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + junk + text.slice(index);
  }),
  fc.tuple(fc.json(), fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
  fc.string({ unit: fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'u', '1', '0', '.', '-', 'e', ' ', 'a') }),
);

test('every text has the value that it has at a stretch, or none as there', () => {
  fc.assert(
    fc.property(texts, (text) => {
      let expected: unknown;
      try {
        expected = parseExact(text);
      } catch {
        assert.equal(faultOf(text), 'syntax');
        return;
      }
      const { value } = read(text);
      assert.deepEqual(value, expected);
      assert.equal(written(value), written(expected));
    }),
    { numRuns: 2000 },
  );
});

for (const text of [
  ...['-0', '0.10e-7', '12345678901234567890', '1e400', '-1.5E+10', ' \t\r\n"x" \n', '"\\""', '"\\\\\\""'],
  ...['{"__proto__":{"a":1},"constructor":2}', '{"a":1,"b":2,"a":[1.10]}', '{"":{"":[]}}'],
]) {
  test(`${text} is read with all it has`, () => assert.equal(written(read(text).value), written(parseExact(text))));
}

for (const text of [
  ...['', ' ', '[1,]', '{"a":1,}', '{"a"}', '{"a":}', '{a:1}', '[1 2]', '{"a":1 "b":2}', '[}', '1 2', '01', '1.', '.5'],
  ...['+1', '1e', 'nul', 'truely', '"', '"\\"', '"\n"', '"a\\x"', '"a\\u12"', '\v1', '\u00a01', 'NaN'],
]) {
  test(`${JSON.stringify(text)} is no JSON`, () => assert.equal(faultOf(text), 'syntax'));
}

test('what nests too deep and what is too wide is not read to its end', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  assert.equal(faultOf(nested(MAX_NESTING)), undefined);
  assert.equal(faultOf(`${'['.repeat(MAX_NESTING + 1)} and no JSON`), 'depth');
  assert.equal(faultOf('{"a":1,"b":{"c":1,"d":1,"e":1}}', { maxMembers: 2, depth: 1 }), undefined);
  assert.equal(faultOf('{"a":1,"b":2,"c":3} and no JSON', { maxMembers: 2, depth: 1 }), 'width');
  assert.equal(faultOf('[{"a":1,"b":2,"c":3}]', { maxMembers: 2, depth: 1 }), undefined);
});

test('a long text is read in many pieces', () => {
  const list = Array.from({ length: 100_000 }, (_, index) => index);
  const { value, pieces } = read(written({ list }));
  assert.deepEqual(value, { list });
  assert.ok(pieces > 50, `${pieces} pieces`);
});

test('objects with the fields of records have a bound wherever they are, and objects in their values another', () => {
  const wide = (members: number): string =>
    `{${Array.from({ length: members }, (_, index) => `"k${index}":1`).join()}}`;
  const limits = { maxMembers: 3, depth: 3 };
  assert.equal(faultOf(`{"data":[${wide(3)},${wide(3)}]}`, limits), undefined);
  assert.equal(faultOf(`{"data":[${wide(3)},${wide(4)}]}`, limits), 'width');
  assert.equal(faultOf(`{"data":[{"j":${wide(4)},"k":1,"l":2}]}`, limits), undefined);
  assert.equal(faultOf(`{"data":[{"j":${wide(100_000)}}]}`, limits), undefined);
  assert.equal(faultOf(`{"data":[{"j":${wide(100_001)}}]}`, limits), 'width');
});

test('values are bounded in all', () => {
  assert.equal(faultOf('[1,[2],{"a":3}]', { maxValues: 6 }), undefined);
  assert.equal(faultOf('[1,[2],{"a":3}]', { maxValues: 5 }), 'number');
});
