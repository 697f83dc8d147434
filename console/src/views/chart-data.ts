// Groups of an aggregate as series of a chart, and the scale of its axis. Pure.
import { Digits, type Json } from '../api/json.ts';
import { getMember, type RecordValue } from '../records/value.ts';

export interface Point {
  readonly label: string;
  /** Undefined without a value. */
  readonly value: number | undefined;
  /** Value with all of its digits. */
  readonly text: string;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

/** Names of the values of an aggregate. */
export interface SeriesRequest {
  /** Member that places a point on the axis. */
  readonly by: string;
  /** Member that tells series apart; undefined: each value is a series. */
  readonly split: string | undefined;
  readonly values: readonly string[];
  readonly print: (value: Json, member: string) => string;
}

/** Number of series that can be told apart by colour. */
export const MOST_SERIES = 6;

const toNumber = (value: Json | undefined): number | undefined =>
  value instanceof Digits ? Number(value.text) : undefined;

/** Makes series of groups, which all have the same labels in the order of their first groups. */
export function makeSeries(
  groups: readonly RecordValue[],
  { by, split, values, print }: SeriesRequest,
): readonly Series[] {
  const toLabel = (group: RecordValue, member: string): string => {
    const value = getMember(group, member);
    return value === null || value === undefined ? 'No value' : print(value, member);
  };
  const labels = [...new Set(groups.map((group) => toLabel(group, by)))];
  const names = split === undefined ? values : [...new Set(groups.map((group) => toLabel(group, split)))];
  return names.slice(0, MOST_SERIES).map((name) => {
    const member = split === undefined ? name : (values[0] ?? '');
    const own = new Map(
      groups
        .filter((group) => split === undefined || toLabel(group, split) === name)
        .map((group) => [toLabel(group, by), getMember(group, member)]),
    );
    return {
      name,
      points: labels.map((label) => {
        const value = own.get(label);
        return {
          label,
          value: toNumber(value),
          text: value === null || value === undefined ? '' : print(value, member),
        };
      }),
    };
  });
}

/** Shortens the first day of a month, a quarter or a year to its name: `2026-01`, `2026-Q1`, `2026`; a day and a week stay. */
export function shortenDate(day: string, part: string): string {
  const [, year, month] = /^(.+)-(\d\d)-\d\d$/.exec(day) ?? [];
  if (year === undefined) return day;
  if (part === 'month') return `${year}-${month}`;
  if (part === 'quarter') return `${year}-Q${Math.ceil(Number(month) / 3)}`;
  return part === 'year' ? year : day;
}

const STEPS = [1, 2, 2.5, 5, 10];
const MOST_TICKS = 5;

/** Returns round numbers that an axis has from the smallest to the largest value, 0 among them. */
export function makeTicks(values: readonly number[]): readonly number[] {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  if (high === low) return [0, 1];
  const rough = (high - low) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((one) => one * power >= rough) ?? 10);
  const first = Math.floor(low / step);
  const count = Math.ceil(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
