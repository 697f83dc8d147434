// Dates and times as the page shows and parses them: `2026-01-05 09:30:00`, in UTC or in the zone of the browser,
// always with the zone next to it. The API has them as ISO 8601 in UTC.

export type TimeZone = 'UTC' | 'local';

const two = (value: number): string => String(value).padStart(2, '0');
const four = (value: number): string => String(value).padStart(4, '0');

/** Formats an ISO 8601 time without its zone, for editors. Other text stays as it is. */
export function formatLocal(iso: string, zone: TimeZone): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const utc = zone === 'UTC';
  const day = utc
    ? `${four(at.getUTCFullYear())}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`
    : `${four(at.getFullYear())}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = utc
    ? `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`
    : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${day} ${time}${readFraction(iso)}`;
}

/** Returns all digits after the point as they came: a Date has three. */
const readFraction = (iso: string): string => {
  const digits = /:\d{2}\.(\d+)/.exec(iso)?.[1] ?? '';
  return /^0*$/.test(digits) ? '' : `.${digits}`;
};

/** Formats the zone at a time: `UTC`, or the offset such as `+09:00`. */
export function formatOffset(iso: string, zone: TimeZone): string {
  const at = new Date(iso);
  if (zone === 'UTC' || Number.isNaN(at.getTime())) return 'UTC';
  const minutes = -at.getTimezoneOffset();
  const size = Math.abs(Math.round(minutes));
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const FORM =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;

/**
 * Parses typed text to ISO 8601 in UTC: in the zone that it names, else in that of the page. Returns undefined if it is
 * no date and time.
 */
export function parseDateTime(text: string, zone: TimeZone): string | undefined {
  const parts = FORM.exec(text.trim());
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const at = new Date(0);
  const offset = parts[8] === undefined ? (zone === 'UTC' ? 0 : undefined) : parseOffset(parts[8]);
  if (offset === undefined) {
    at.setFullYear(year, month - 1, day);
    at.setHours(hour, minute, second);
  } else {
    at.setUTCFullYear(year, month - 1, day);
    at.setUTCHours(hour, minute, second);
    // 31 February would become a day of March.
    if (at.getUTCDate() !== day || at.getUTCHours() !== hour || minute > 59 || second > 59) return undefined;
    at.setTime(at.getTime() - offset * 60_000);
  }
  if (Number.isNaN(at.getTime()) || month < 1 || month > 12) return undefined;
  if (offset === undefined && (at.getDate() !== day || minute > 59 || second > 59)) return undefined;
  const fraction = /^0*$/.test(parts[7] ?? '') ? '' : `.${(parts[7] ?? '').padEnd(3, '0')}`;
  return at.toISOString().replace('.000Z', `${fraction}Z`);
}

/** Returns minutes east of UTC. */
function parseOffset(text: string): number {
  if (/^(Z|UTC)$/i.test(text)) return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return text.startsWith('-') ? -minutes : minutes;
}

const DAY = /^\s*(\d{4}-\d{2}-\d{2})/;

/** Returns the day at the start of a date or time for a calendar, or '' if there is none. */
export const readDay = (text: string): string => DAY.exec(text)?.[1] ?? '';

/** Replaces the day of the text; time, fractions and zone stay as typed. */
export function replaceDay(text: string, day: string, type: 'date' | 'datetime'): string {
  if (type === 'date') return day;
  return readDay(text) === '' ? `${day} 00:00:00` : text.replace(DAY, day);
}
