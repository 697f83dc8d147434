// Dates and datetimes of ISO 8601 as text, checked against the calendar. Takes text, returns the one form we store and
// compare.

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?$/;

/** Returns `yyyy-mm-dd`, years 0001 to 9999, or undefined if the text is no date. */
export function parseDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  return isDay(Number(match[1]), Number(match[2]), Number(match[3])) ? text : undefined;
}

/**
 * Converts ISO 8601 with `Z` or an offset to `yyyy-mm-ddThh:mm:ss.sssZ` in UTC, cut to milliseconds, or returns
 * undefined if it is malformed. With `assumeUtc` a text without a zone is read as UTC, as imports do.
 */
export function parseDateTime(text: string, assumeUtc = false): string | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', zulu, sign, offsetHour, offsetMinute = '0'] =
    match;
  if (zulu === undefined && sign === undefined && !assumeUtc) return undefined;
  if (!isDay(Number(year), Number(month), Number(day))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (sign !== undefined && (Number(offsetHour) > 15 || Number(offsetMinute) > 59)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0')));
  const offset = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  const time = date.getTime() - offset * 60_000;
  const utc = new Date(time).toISOString();
  return /^\d{4}-/.test(utc) && !utc.startsWith('0000') ? utc : undefined;
}

function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 ? (leap ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return day <= days;
}
