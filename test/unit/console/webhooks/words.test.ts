import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOutcome, describePending } from '../../../../console/src/webhooks/words.ts';

test('an attempt is told by its status, by its error, or by both', () => {
  const cases = [
    [204, null, '204'],
    [null, 'TIMEOUT', 'No answer in time'],
    [302, 'REDIRECT_REFUSED', '302, Redirects are not followed'],
    [null, null, ''],
    [null, 'NEW_CODE', 'NEW_CODE'],
  ] as const;
  for (const [status, error, words] of cases) assert.equal(describeOutcome(status, error), words);
});

test('what waits is counted up to the limit of the server', () => {
  assert.deepEqual([0, 1, 9999, 10_000].map(describePending), [
    'None',
    '1 event',
    '9,999 events',
    '10,000 events or more',
  ]);
});
