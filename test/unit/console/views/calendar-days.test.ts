import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addDays,
  describeSpan,
  isDay,
  listWeeks,
  moveSpan,
  startWeek,
} from '../../../../console/src/views/calendar-days.ts';

test('a month has the weeks of its days, from Monday', () => {
  const weeks = listWeeks('2026-02-15', 'month');
  assert.deepEqual([weeks[0]?.[0], weeks.at(-1)?.at(-1), weeks.length], ['2026-01-26', '2026-03-01', 5]);
  // A February that begins on a Monday has four weeks; six are the most.
  assert.equal(listWeeks('2021-02-01', 'month').length, 4);
  assert.equal(listWeeks('2026-08-31', 'month').length, 6);
  assert.deepEqual(listWeeks('2026-01-01', 'week'), [
    ['2025-12-29', '2025-12-30', '2025-12-31', '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'],
  ]);
});

test('the month before and after follow whatever their length', () => {
  assert.deepEqual(
    [moveSpan('2026-01-31', 'month', 1), moveSpan('2026-03-31', 'month', -1), moveSpan('2026-01-01', 'week', -1)],
    ['2026-02-01', '2026-02-01', '2025-12-25'],
  );
  assert.equal(addDays('2024-02-28', 1), '2024-02-29');
  assert.equal(startWeek('2026-03-01'), '2026-02-23');
});

test('dates that do not exist are none', () => {
  assert.deepEqual(['2026-02-29', '2024-02-29', '2026-1-1', ''].map(isDay), [false, true, false, false]);
  assert.equal(describeSpan('2026-03-05', 'month'), 'March 2026');
  assert.equal(describeSpan('2026-03-05', 'week'), 'Week from 2026-03-02');
});
