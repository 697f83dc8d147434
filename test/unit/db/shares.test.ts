// Shares of a limited thing: nobody gets more than the limit at once, nobody's queue holds up another's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeShares } from '../../../src/db/shares.ts';

test('one tenant waits for itself alone', async () => {
  const shares = makeShares(2, 10);
  const first = await shares.take('a');
  await shares.take('a');
  let third = false;
  const waiting = shares.take('a').then(() => {
    third = true;
  });
  await shares.take('b');
  assert.equal(third, false);
  first();
  await waiting;
  assert.equal(third, true);
});

test('a queue that is full is a 503', async () => {
  const shares = makeShares(1, 1);
  await shares.take('a');
  void shares.take('a');
  await assert.rejects(shares.take('a'), { status: 503 });
  await shares.take('b');
});

test('never more than the limit at once, and everybody gets a turn', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 40 }),
      async (limit, asked) => {
        const shares = makeShares(limit, 100);
        const active = new Map<string, number>();
        let done = 0;
        await Promise.all(
          asked.map(async (tenant, index) => {
            const end = await shares.take(tenant);
            active.set(tenant, (active.get(tenant) ?? 0) + 1);
            assert.ok((active.get(tenant) ?? 0) <= limit);
            for (let turn = 0; turn <= index % 3; turn++) await Promise.resolve();
            active.set(tenant, (active.get(tenant) ?? 0) - 1);
            done++;
            end();
          }),
        );
        assert.equal(done, asked.length);
      },
    ),
  );
});
