// Entity tags of If-Match and If-None-Match.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EntityTags, matches, parseEntityTags, versionsOf } from '../../../src/request/conditions.ts';

const PARSED: readonly (readonly [header: string, tags: EntityTags])[] = [
  ['*', 'any'],
  [' * ', 'any'],
  ['"741.abc"', ['741.abc']],
  ['W/"741.abc"', ['741.abc']],
  ['"741.abc", "742.abc"', ['741.abc', '742.abc']],
  ['"741.abc","742.abc",W/"743.x"', ['741.abc', '742.abc', '743.x']],
  ['"a,b"', ['a,b']],
  ['""', ['']],
  ['"*"', ['*']],
  ['', []],
  ['741.abc', []],
  ['"741.abc', []],
];

for (const [header, tags] of PARSED) {
  test(`${header} names ${JSON.stringify(tags)}`, () => assert.deepEqual(parseEntityTags(header), tags));
}

test('the version is the part before the point, and a tag that is not ours is a version that no row has', () => {
  assert.deepEqual(versionsOf(['741.abc', '742.a.b', 'foreign', '', '.x']), ['741', '742', 'foreign', '', '']);
});

test('a tag matches itself as a whole, and * matches every one', () => {
  assert.equal(matches('any', '741.abc'), true);
  assert.equal(matches(['740.abc', '741.abc'], '741.abc'), true);
  assert.equal(matches(['741.abd', '741', ''], '741.abc'), false);
  assert.equal(matches([], '741.abc'), false);
});
