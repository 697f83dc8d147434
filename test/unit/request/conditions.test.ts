// Entity tags of If-Match and If-None-Match.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type EntityTags,
  getVersions,
  isCurrent,
  matches,
  parseEntityTags,
  parseGuard,
} from '../../../src/request/conditions.ts';
import { refuses } from '../../support/error-response.ts';

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
  assert.deepEqual(getVersions(['741.abc', '742.a.b', 'foreign', '', '.x']), ['741', '742', 'foreign', '', '']);
});

test('a tag matches itself as a whole, and * matches every one', () => {
  assert.equal(matches('any', '741.abc'), true);
  assert.equal(matches(['740.abc', '741.abc'], '741.abc'), true);
  assert.equal(matches(['741.abd', '741', ''], '741.abc'), false);
  assert.equal(matches([], '741.abc'), false);
});

test('a write without If-Match, or with *, is guarded by nothing', () => {
  for (const header of [undefined, '*', ' * ']) assert.deepEqual(parseGuard(header), { guarded: false, versions: [] });
});

test('a write with If-Match may meet the versions that it names', () => {
  assert.deepEqual(parseGuard('"741.abc", "742.x"'), { guarded: true, versions: ['741', '742'] });
  assert.deepEqual(parseGuard('"foreign"'), { guarded: true, versions: ['foreign'] });
});

test('If-Match without a tag in it is refused, not ignored', () => {
  for (const header of ['', '741.abc', '"741.abc', 'W/']) {
    refuses(() => parseGuard(header), 'If-Match is malformed: it takes entity tags in quotes, or *');
  }
});

test('a read with If-Match is of a version that it names', () => {
  assert.equal(isCurrent(parseEntityTags('"741.abc"'), '741'), true);
  assert.equal(isCurrent(parseEntityTags('"741.abc"'), '742'), false);
  assert.equal(isCurrent(parseEntityTags('*'), '742'), true);
});
