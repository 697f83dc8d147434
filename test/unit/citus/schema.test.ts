// Numbers that no name of an entity ends with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findFreeNumber } from '../../../src/citus/schema.ts';

for (const [words, next, count, taken, free] of [
  ['no name is in the way', 10, 3, [], 10],
  ['names lie before and behind', 10, 3, [9, 13], 10],
  ['a name is the next one', 10, 3, [10], 11],
  ['names leave too little room between them', 10, 3, [16, 12, 14], 17],
  ['names leave room between them', 10, 3, [12, 16, 17], 13],
] as const) {
  test(`numbers are passed when ${words}`, () => assert.equal(findFreeNumber(next, count, taken), free));
}

test('none of the numbers that come is taken', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.integer({ min: 1, max: 9 }), fc.array(fc.nat(99)), (next, count, taken) => {
      const free = findFreeNumber(next, count, taken);
      assert.ok(free >= next);
      assert.ok(taken.every((number) => number < free || number >= free + count));
    }),
  );
});
