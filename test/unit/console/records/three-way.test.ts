import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits } from '../../../../console/src/api/json.ts';
import { compareThreeWay } from '../../../../console/src/records/three-way.ts';

test('what either side has touched, and what both have', () => {
  const found = compareThreeWay(
    {
      base: { a: 'a', b: 'b', c: 'c', d: new Digits('0.10'), same: 's' },
      mine: new Map([
        ['a', 'mine'],
        ['b', 'mine'],
        ['same', 'both'],
        ['cut', 'mine'],
      ]),
      theirs: { a: 'a', b: 'theirs', c: 'theirs', d: new Digits('0.10'), same: 'both', cut: 'x', toString: 'y' },
    },
    ['a', 'b', 'c', 'd', 'same', 'cut', 'toString'],
  );
  assert.deepEqual(
    found.map(({ name, mine, theirs, isBoth }) => [name, mine, theirs, isBoth]),
    [
      ['a', 'mine', 'a', false],
      ['b', 'mine', 'theirs', true],
      ['c', undefined, 'theirs', false],
      ['same', 'both', 'both', false],
      ['cut', 'mine', 'x', false],
    ],
  );
});
