// JSON without loss of digits, and what of it PostgreSQL can store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isStorable, nestingDepth, numberText, parseExact } from '../../../src/model/exact-json.ts';

for (const [text, digits] of [
  ['0', '0'],
  ['1e2', '1e2'],
  ['"1"', undefined],
  ['true', undefined],
  ['null', undefined],
  ['[1.50]', undefined],
  ['{"rawJSON":"1.50"}', undefined],
] as const) {
  test(`the number text of ${text} is ${digits}`, () => assert.equal(numberText(parseExact(text)), digits));
}

test('an integer or a fraction that a double holds as written is a plain number', () => {
  assert.deepEqual(parseExact('{"a":1,"b":1.5,"c":[0.25]}'), { a: 1, b: 1.5, c: [0.25] });
});

test('members named like those of the prototype are members', () => {
  const value = parseExact('{"__proto__":1.50,"constructor":2}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

for (const [text, depth] of [
  ['1', 0],
  ['{}', 1],
  ['[[]]', 2],
  ['[[],{"a":[1]}]', 3],
  ['"[[["', 0],
  ['["\\"[["]', 1],
  ['["\\\\",[1]]', 2],
  ['{"[":{}}', 2],
] as const) {
  test(`${text} nests ${depth} deep`, () => assert.equal(nestingDepth(text), depth));
}

test('nesting is measured as the parser sees it', () => {
  const deepest = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(deepest)) : 0;
  fc.assert(fc.property(fc.json(), (text) => assert.equal(nestingDepth(text), deepest(JSON.parse(text)))));
});

for (const [name, text, verdict] of [
  ['nothing', '', true],
  ['letters and an emoji', 'ä😀', true],
  ['control characters', '\u0001\n\t\u007f', true],
  ['NUL', 'a\u0000b', false],
  ['a lone high surrogate', 'a\ud83d', false],
  ['a lone low surrogate', '\ude00a', false],
  ['surrogates in the wrong order', '\ude00\ud83d', false],
] as const) {
  test(`text of ${name} is ${verdict ? '' : 'not '}storable`, () => assert.equal(isStorable(text), verdict));
}

test('the short way reads every number as the exact way does', () => {
  const digits = (min: number, max: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(
        fc.constant('0'),
        fc.tuple(fc.constantFrom(...'123456789'), digits(0, 20)).map((parts) => parts.join('')),
      ),
      fc.oneof(
        fc.constant(''),
        digits(1, 20).map((text) => `.${text}`),
        digits(0, 3).map((text) => `.000000${text}1`),
      ),
      fc.constantFrom('', '', '', 'e3', 'E-7', 'e400', 'e-400'),
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(number, (text) => {
      assert.equal(numberText((parseExact(`{"a":${text}}`) as { a: unknown }).a), text);
    }),
    { numRuns: 5000 },
  );
});
