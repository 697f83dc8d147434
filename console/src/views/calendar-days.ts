// Days of a calendar as ISO 8601 dates: months as weeks from Monday, and days before and after. Pure; no clock.

export type Span = 'month' | 'week';

const toTime = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const DAY_MS = 86_400_000;

/** Adds days to a date. */
export const addDays = (day: string, count: number): string =>
  new Date(toTime(day) + count * DAY_MS).toISOString().slice(0, 10);

/** Returns whether a text is a date that exists. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(toTime(text)) && addDays(text, 0) === text;

/** Returns the Monday of the week of a date. */
export const startWeek = (day: string): string => addDays(day, -((new Date(toTime(day)).getUTCDay() + 6) % 7));

const startMonth = (day: string): string => `${day.slice(0, 8)}01`;

/** Returns the first day of the month that follows, or goes before. */
const moveMonth = (day: string, by: -1 | 1): string => startMonth(addDays(startMonth(day), by === 1 ? 31 : -1));

/** Lists the weeks that a calendar shows around a day: those of its month, or its own. */
export function listWeeks(day: string, span: Span): readonly (readonly string[])[] {
  const first = startWeek(span === 'week' ? day : startMonth(day));
  const last = span === 'week' ? first : addDays(moveMonth(day, 1), -1);
  const weeks: string[][] = [];
  for (let monday = first; monday <= last; monday = addDays(monday, 7))
    weeks.push(Array.from({ length: 7 }, (_, index) => addDays(monday, index)));
  return weeks;
}

/** Returns a day of the month or week that follows, or goes before. */
export const moveSpan = (day: string, span: Span, by: -1 | 1): string =>
  span === 'week' ? addDays(day, 7 * by) : moveMonth(day, by);

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

/** Prints the month of a day, or its week. */
export const describeSpan = (day: string, span: Span): string =>
  span === 'week' ? `Week from ${startWeek(day)}` : `${MONTHS[Number(day.slice(5, 7)) - 1]} ${day.slice(0, 4)}`;
