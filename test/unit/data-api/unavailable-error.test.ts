// What is told of a request that failed while the node of its workspace is known to be away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeUnknown } from '../../../src/data-api/errors.ts';
import { toUnavailableError } from '../../../src/data-api/unavailable-error.ts';
import {
  type ApiError,
  databaseUnavailable,
  notFound,
  queryTimeout,
  workspaceUnavailable,
} from '../../../src/errors.ts';

for (const [what, error, mayBeDone, code] of [
  ['a read that took too long', queryTimeout(), false, 'SERVICE_UNAVAILABLE'],
  ['a write that took too long', queryTimeout(), true, 'OUTCOME_UNKNOWN'],
  ['a write of which nothing is known', writeUnknown(undefined), true, 'OUTCOME_UNKNOWN'],
  ['a connection that was lost', databaseUnavailable(), false, 'SERVICE_UNAVAILABLE'],
  ['any other refusal', notFound('PATH_NOT_FOUND', 'not here'), true, 'NOT_FOUND'],
] as const) {
  test(`${what} is ${code}`, () => {
    const told = toUnavailableError(error, mayBeDone) as ApiError;
    assert.equal(told.code, code);
    if (code === 'SERVICE_UNAVAILABLE') assert.equal(told.message, workspaceUnavailable().message);
  });
}

test('a mistake of ours stays one', () => {
  const mistake = new TypeError('a mistake');
  assert.equal(toUnavailableError(mistake, true), mistake);
});
