import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Digits, parseExact, stringifyExact } from '../../../../console/src/api/json.ts';

test('numbers keep their text, wherever they stand', () => {
  for (const text of [
    '9223372036854775807',
    '0.10',
    '-0',
    '1e400',
    '[1.10,{"a":9007199254740993}]',
    '{"__proto__":1.0}',
  ]) {
    assert.equal(stringifyExact(parseExact(text)), text);
  }
  assert.ok(parseExact('0.10') instanceof Digits);
});

test('what JSON.stringify writes comes back as it was', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const once = JSON.stringify(JSON.parse(text));
      assert.equal(stringifyExact(parseExact(once)), once);
    }),
  );
});

test('what is undefined is left out of objects and null in lists, as JSON.stringify has it', () => {
  assert.equal(stringifyExact({ a: undefined, b: [undefined] }), '{"b":[null]}');
});
