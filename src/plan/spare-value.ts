// Values that a record has for a moment, while others of its transaction take over the ones that it had.
import { MAX_INT64, parseDecimal } from '../model/decimal.ts';
import type { Field } from '../model/entity.ts';

const DAY_MS = 86_400_000;
// Range of numbers of fields without bounds; a reference to no record is negative.
const MAX_NUMBER = 999_999_999_999n;
const MAX_INT32 = 2_147_483_647n;
const MAX_FLOAT = 1e12;
// 2^128 to the base of 36.
const MAX_DIGITS = 25;

/**
 * Returns a value, as text, that the field takes and that hardly any record has: null unless it is required, else one
 * by `random` (below 2^128). Undefined for a type of which no two values are different enough.
 */
export function makeSpareValue(field: Field, random: bigint): string | null | undefined {
  if (!field.required) return null;
  const { min, max } = field;
  if (field.role === 'reference') return String(-1n - (random % MAX_NUMBER));
  switch (field.type) {
    case 'string':
    case 'text':
      // The leading digit has fewer values than the others.
      return random.toString(36).slice(-(field.maxLength ?? MAX_DIGITS));
    case 'integer':
      return String(pick(random, BigInt(min ?? -MAX_INT32), BigInt(max ?? MAX_INT32)));
    case 'bigint':
      return String(pick(random, BigInt(min ?? -MAX_INT64), BigInt(max ?? MAX_INT64)));
    case 'decimal':
      return pickDecimal(random, field);
    case 'float': {
      const low = Number(min ?? Math.min(-MAX_FLOAT, Number(max ?? 0) - MAX_FLOAT));
      const high = Number(max ?? Math.max(MAX_FLOAT, low + MAX_FLOAT));
      return String(low + (high - low) * (Number(random % 2n ** 52n) / 2 ** 52));
    }
    case 'date':
      return pickTime(random, min ?? '0001-01-01', max ?? '9999-12-31', DAY_MS).slice(0, 10);
    case 'datetime':
      return pickTime(random, min ?? '0001-01-01T00:00:00Z', max ?? '9999-12-31T23:59:59Z', 1);
    case 'time':
      return pickTime(random, `2000-01-01T${min ?? '00:00:00'}Z`, `2000-01-01T${max ?? '23:59:59'}Z`, 1000).slice(
        11,
        19,
      );
    case 'uuid':
      return random.toString(16).padStart(32, '0');
    case 'enum':
      return field.values?.[Number(random % BigInt(field.values.length))];
    case 'boolean':
      return random % 2n === 0n ? 'false' : 'true';
    case 'json':
      return undefined;
    default:
      return field.type satisfies never;
  }
}

const pick = (random: bigint, low: bigint, high: bigint): bigint => low + (random % (high - low + 1n));

function pickTime(random: bigint, from: string, to: string, unitMs: number): string {
  const [low, high] = [Date.parse(from), Date.parse(to)];
  return new Date(low + Number(random % BigInt(Math.floor((high - low) / unitMs) + 1)) * unitMs).toISOString();
}

function pickDecimal(random: bigint, { precision, scale = 0, min, max }: Field): string {
  const limit = precision === undefined ? MAX_NUMBER : 10n ** BigInt(precision) - 1n;
  const toUnits = (text: string | undefined): bigint | undefined => {
    const decimal = text === undefined ? undefined : parseDecimal(text);
    if (decimal === undefined) return undefined;
    const digits = BigInt(decimal.integer + decimal.fraction.padEnd(scale, '0').slice(0, scale));
    return decimal.negative ? -digits : digits;
  };
  const [least, most] = [toUnits(min), toUnits(max)];
  const low = least ?? (most !== undefined && most < -limit ? most - limit : -limit);
  const high = most ?? (low > limit ? low + limit : limit);
  const value = pick(random, low, high);
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${value < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}
