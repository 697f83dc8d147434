import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeFeedWatch, type WaitOptions } from '../../../src/data-api/feed-watch.ts';
import { StaleStatement } from '../../../src/database/errors.ts';

const FAR = 3_600_000;

const wait = (poll: WaitOptions['poll'], after = 5): Promise<boolean> =>
  makeFeedWatch().wait('1', {
    after,
    until: performance.now() + FAR,
    signal: { isAborted: () => false, onAbort: () => () => undefined },
    poll,
  });

test('a wait ends when there is a position after its own', async () => {
  let last = 4;
  await wait(() => Promise.resolve(last++));
  assert.equal(last, 7);
});

test('a wait goes on while the database is away, and ends when the workspace is gone', async () => {
  const errors = [new Error('away'), new StaleStatement()];
  await wait(() => Promise.reject(errors.shift()));
  assert.equal(errors.length, 0);
});
