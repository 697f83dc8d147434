// Sums and averages in exact arithmetic, and calendars by Intl: what aggregates are held against.

/** `units` over ten to the power of `scale`. */
export interface Exact {
  readonly units: bigint;
  readonly scale: number;
}

/** A JSON number, or what JavaScript or PostgreSQL print of a float, with the digits that it is written with. */
export function exactOf(text: string): Exact {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) throw new TypeError(`${text} is no number`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const scale = fraction.length - Number(exponent);
  const units = BigInt(`${sign}${whole}${fraction}`);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

const unitsAt = ({ units, scale }: Exact, wanted: number): bigint => units * 10n ** BigInt(wanted - scale);

export function textOf({ units, scale }: Exact): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}

/** Negative, zero or positive. */
export function compareExact(a: Exact, b: Exact): number {
  const scale = Math.max(a.scale, b.scale);
  const [left, right] = [unitsAt(a, scale), unitsAt(b, scale)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** With as many digits behind the point as the longest of the values has. */
export function sumOf(values: readonly Exact[]): Exact {
  const scale = Math.max(...values.map((value) => value.scale));
  return { units: values.reduce((sum, value) => sum + unitsAt(value, scale), 0n), scale };
}

/** Halves are rounded away from zero. */
export function averageOf(values: readonly Exact[], digits: number): Exact {
  const sum = sumOf(values);
  const scale = Math.max(digits, sum.scale);
  const count = BigInt(values.length) * 10n ** BigInt(scale - digits);
  const units = unitsAt(sum, scale);
  const doubled = 2n * (units < 0n ? -units : units) + count;
  const rounded = doubled / (2n * count);
  return { units: units < 0n ? -rounded : rounded, scale: digits };
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Year, month, day, hour, minute and second on the clocks of a zone. */
function clockAt(moment: number, zone: string): readonly number[] {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
  return ['year', 'month', 'day', 'hour', 'minute', 'second'].map((name) => parts.get(name as 'year') as number);
}

const DAY = 86_400_000;

/** The first day of the year, quarter, month, week or day that a day of the calendar is in. */
export function dayOf(date: string, part: string): string {
  const [year = 0, month = 0] = date.split('-').map(Number);
  const two = (value: number): string => String(value).padStart(2, '0');
  switch (part) {
    case 'year':
      return `${date.slice(0, 4)}-01-01`;
    case 'quarter':
      return `${date.slice(0, 4)}-${two(month - ((month - 1) % 3))}-01`;
    case 'month':
      return `${date.slice(0, 7)}-01`;
    case 'week': {
      const moment = Date.parse(`${date}T00:00:00Z`);
      const sinceMonday = (new Date(moment).getUTCDay() + 6) % 7;
      return new Date(moment - sinceMonday * DAY).toISOString().slice(0, 10);
    }
    case 'day':
      return date;
    default:
      throw new TypeError(`${part} of ${year}`);
  }
}

/** The same of a moment in a zone; an hour is the moment at which it begins. */
export function partOf(datetime: string, part: string, zone: string): string {
  const moment = Date.parse(datetime);
  const [year, month, day, , minute = 0, second = 0] = clockAt(moment, zone);
  if (part === 'hour') {
    const begin = moment - (moment % 1000) - (minute * 60 + second) * 1000;
    return new Date(begin).toISOString().replace('.000Z', 'Z');
  }
  const two = (value: number | undefined): string => String(value).padStart(2, '0');
  return dayOf(`${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`, part);
}
