// Which versions of Citus the server works with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findVersionProblem } from '../../../src/citus/engine.ts';

for (const version of ['12.0-1', '12.1-1', '13.2-1', '14.0-1']) {
  test(`a cluster of Citus ${version} is used`, () => assert.equal(findVersionProblem(version), undefined));
}

for (const version of ['9.5-1', '11.3-2']) {
  test(`a cluster of Citus ${version} is refused with what to do`, () =>
    assert.match(
      findVersionProblem(version) ?? '',
      new RegExp(`Citus ${version},.* since Citus 12: update it .*ALTER EXTENSION`),
    ));
}
