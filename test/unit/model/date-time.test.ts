// ISO 8601 dates and datetimes against the calendar.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDate, parseDateTime } from '../../../src/model/date-time.ts';

// Which days there are is the property below.
for (const text of [
  ...['', '26-01-01', '12026-01-01', '-2026-01-01', '2026-1-1', '2026/01/01', '20260101', '2026-01-01T00:00:00Z'],
  ...[' 2026-01-01', 'today', 'infinity'],
]) {
  test(`"${text}" is no date`, () => assert.equal(parseDate(text), undefined));
}

for (const [text, utc] of [
  ['2026-01-31T12:34:56Z', '2026-01-31T12:34:56.000Z'],
  ['2026-01-31t12:34:56z', '2026-01-31T12:34:56.000Z'],
  ['2026-01-31T12:34Z', '2026-01-31T12:34:00.000Z'],
  ['2026-01-31T12:34:56.7Z', '2026-01-31T12:34:56.700Z'],
  ['2026-01-31T12:34:56,789Z', '2026-01-31T12:34:56.789Z'],
  ['2026-01-31T12:34:56.789999999Z', '2026-01-31T12:34:56.789Z'],
  ['2026-01-31T12:34:56+02:00', '2026-01-31T10:34:56.000Z'],
  ['2026-01-31T12:34:56+0200', '2026-01-31T10:34:56.000Z'],
  ['2026-01-31T12:34:56+02', '2026-01-31T10:34:56.000Z'],
  ['2026-01-31T12:34:56-05:30', '2026-01-31T18:04:56.000Z'],
  ['2026-01-01T00:00:00+00:01', '2025-12-31T23:59:00.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
] as const) {
  test(`${text} is ${utc}`, () => assert.equal(parseDateTime(text), utc));
}

for (const text of [
  '',
  '2026-01-31',
  '2026-01-31T12:34:56',
  '2026-01-31 12:34:56Z',
  '2026-02-29T00:00:00Z',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:34:60Z',
  '2026-01-31T12:34:56.Z',
  '2026-01-31T12:34:56+16:00',
  '2026-01-31T12:34:56+02:60',
  '2026-01-31T12:34:56+2:00',
  '2026-01-31T12:34:56 02:00',
  '2026-01-31T12Z',
  '2026-01-31T12:34:56ZZ',
  '2026-01-31T12:34:56Z\n',
  '0001-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
  '10000-01-01T00:00:00Z',
  '1769862896',
  'now',
]) {
  test(`${JSON.stringify(text)} is no datetime`, () => assert.equal(parseDateTime(text), undefined));
}

test('imports read a datetime without a zone as UTC, and one with a zone as it says', () => {
  assert.equal(parseDateTime('2026-01-31T12:34:56', true), '2026-01-31T12:34:56.000Z');
  assert.equal(parseDateTime('2026-01-31T12:34:56+02:00', true), '2026-01-31T10:34:56.000Z');
  assert.equal(parseDateTime('2026-01-31', true), undefined);
});

const two = (value: number): string => String(value).padStart(2, '0');

test('datetimes agree with Date', () => {
  const time = fc.date({
    min: new Date('0002-01-01T00:00:00Z'),
    max: new Date('9998-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  const offset = fc.integer({ min: -15 * 60, max: 15 * 60 });
  fc.assert(
    fc.property(time, offset, (date, minutes) => {
      const local = date.toISOString().slice(0, -1);
      const sign = minutes < 0 ? '-' : '+';
      const size = Math.abs(minutes);
      const text = `${local}${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      assert.equal(parseDateTime(text), new Date(text).toISOString());
      assert.equal(parseDateTime(date.toISOString()), date.toISOString());
    }),
  );
});

test('dates are the days of the calendar', () => {
  const part = fc.integer({ min: 0, max: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9999 }), part, part, (year, month, day) => {
      const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
      const date = new Date(0);
      date.setUTCFullYear(year, month - 1, day);
      const isDay = year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
      assert.equal(parseDate(text), isDay ? text : undefined);
    }),
  );
});
