import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../../console/src/api/json.ts';
import type { RecordValue } from '../../../../console/src/records/value.ts';
import { shortenDigits } from '../../../../console/src/views/aggregates.ts';
import { MOST_SERIES, makeSeries, makeTicks, shortenDate } from '../../../../console/src/views/chart-data.ts';

const groups = (text: string) => parseExact(text) as readonly RecordValue[];
const print = (value: unknown): string => String(value);

test('each value of groups is a series, with the digits of the answer', () => {
  const series = makeSeries(groups('[{"m":"a","count":2,"sum:x":0.10},{"m":null,"count":1,"sum:x":null}]'), {
    by: 'm',
    split: undefined,
    values: ['count', 'sum:x'],
    print,
  });
  assert.deepEqual(series, [
    {
      name: 'count',
      points: [
        { label: 'a', value: 2, text: '2' },
        { label: 'No value', value: 1, text: '1' },
      ],
    },
    {
      name: 'sum:x',
      points: [
        { label: 'a', value: 0.1, text: '0.10' },
        { label: 'No value', value: undefined, text: '' },
      ],
    },
  ]);
});

test('a second group makes series with the same labels, of which the first are shown', () => {
  const two = makeSeries(groups('[{"m":"a","s":"x","n":1},{"m":"b","s":"y","n":2}]'), {
    by: 'm',
    split: 's',
    values: ['n'],
    print,
  });
  assert.deepEqual(
    two.map(({ name, points }) => [name, points.map(({ label, value }) => [label, value])]),
    [
      [
        'x',
        [
          ['a', 1],
          ['b', undefined],
        ],
      ],
      [
        'y',
        [
          ['a', undefined],
          ['b', 2],
        ],
      ],
    ],
  );
  const many = Array.from({ length: 9 }, (_, at) => `{"m":"a","s":"${at}","n":1}`).join();
  const series = makeSeries(groups(`[${many}]`), { by: 'm', split: 's', values: ['n'], print });
  assert.equal(series.length, MOST_SERIES);
});

test('an axis has round numbers and 0', () => {
  assert.deepEqual(makeTicks([3, 21]), [0, 5, 10, 15, 20, 25]);
  assert.deepEqual(makeTicks([-2, 0.5]), [-2, -1.5, -1, -0.5, 0, 0.5]);
  assert.deepEqual(makeTicks([]), [0, 1]);
  assert.deepEqual(makeTicks([0.0003]).at(-1), 0.0003);
});

test('digits are shortened to two decimal places, exactly', () => {
  const cases = {
    '1.005': '1.01',
    '-0.125': '-0.13',
    '99999999999999999999.999': '100000000000000000000.00',
    '1.5': '1.5',
    '7': '7',
    '2026-01-01': '2026-01-01',
  };
  for (const [text, expected] of Object.entries(cases)) assert.equal(shortenDigits(text), expected);
});

for (const [day, part, name] of [
  ['2026-10-01', 'month', '2026-10'],
  ['2026-10-01', 'quarter', '2026-Q4'],
  ['2026-03-01', 'quarter', '2026-Q1'],
  ['2026-01-01', 'year', '2026'],
  ['2026-01-05', 'week', '2026-01-05'],
  ['2026-01-05', 'day', '2026-01-05'],
  ['infinity', 'month', 'infinity'],
] as const)
  test(`${day} by ${part} is ${name}`, () => assert.equal(shortenDate(day, part), name));
