// The last days of a workspace's use: those without use are filled in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listLastDays, type UsageOnDay } from '../../../../console/src/api/usage.ts';

const day = (date: string, requests: number, records: number | null, bytes = records): UsageOnDay => ({
  date,
  requests,
  records,
  bytes,
});

for (const [says, days, expected] of [
  ['no days', [], []],
  [
    'today alone',
    [day('2026-03-01', 4, 2)],
    [day('2026-02-27', 0, null), day('2026-02-28', 0, null), day('2026-03-01', 4, 2)],
  ],
  [
    'days between, which keep what was there',
    [day('2026-02-20', 9, 5), day('2026-02-28', 1, 7), day('2026-03-01', 0, 8)],
    [day('2026-02-27', 0, 5), day('2026-02-28', 1, 7), day('2026-03-01', 0, 8)],
  ],
  [
    'a day that was not measured',
    [day('2026-02-27', 3, 6), day('2026-02-28', 1, null), day('2026-03-01', 0, 0)],
    [day('2026-02-27', 3, 6), day('2026-02-28', 1, 6), day('2026-03-01', 0, 0)],
  ],
] as const)
  test(says, () => assert.deepEqual(listLastDays(days, 3), expected));
