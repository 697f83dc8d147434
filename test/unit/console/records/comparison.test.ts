import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, parseExact } from '../../../../console/src/api/json.ts';
import { differencesOf } from '../../../../console/src/records/comparison.ts';
import type { RecordValue } from '../../../../console/src/records/value.ts';

const record = (text: string): RecordValue => parseExact(text) as RecordValue;

test('what either changed is told, and what both changed to different values', () => {
  const before = record('{"a":1,"b":"x","c":null,"d":0.10,"toString":"t"}');
  const theirs = record('{"a":2,"b":"y","c":null,"d":0.10,"toString":"t"}');
  const mine = new Map<string, Json>([
    ['b', 'z'],
    ['c', 'new'],
  ]);
  const found = differencesOf(['a', 'b', 'c', 'd', 'toString'], before, mine, theirs);
  assert.deepEqual(
    found.map(({ name, isConflict }) => [name, isConflict]),
    [
      ['a', false],
      ['b', true],
      ['c', false],
    ],
  );
});

test('the same change by both is no conflict', () => {
  const [only] = differencesOf(['a'], record('{"a":1}'), new Map([['a', 'x']]), record('{"a":"x"}'));
  assert.equal(only?.isConflict, false);
});
