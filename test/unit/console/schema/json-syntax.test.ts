import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findSyntaxError } from '../../../../console/src/schema/json-syntax.ts';

test('the place where a text stops being JSON', () => {
  for (const [text, at] of [
    ['', 0],
    ['{"a" 1}', 5],
    ['[1, 2', 5],
    ['{"a": 01}', 7],
    ['{"a": 1,}', 8],
    ['[] []', 3],
    ['{"a": "\n"}', 6],
  ] as const)
    assert.equal(findSyntaxError(text)?.at, at, text);
  assert.equal(findSyntaxError('['.repeat(100_000) + ']'.repeat(100_000)), undefined);
});

test('it says no more and no less than JSON.parse', () => {
  const texts = fc.oneof(
    fc.json(),
    fc.array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '1', 'null', ' ')).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      assert.equal(findSyntaxError(text) === undefined, isJson, text);
    }),
  );
});
