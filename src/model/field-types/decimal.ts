// decimal: numbers that keep every digit; a precision limits how many.
import { compareDecimals, formatDecimal, isNumber, parseDecimal } from '../decimal.ts';
import { numberText } from '../exact-json.ts';
import { checkNumber, decoded, numberBounds, outOfRange, wrongType } from './decoding.ts';
import type { Decoded, FieldType, TypeAttributes } from './field-type.ts';

function decimalFrom(text: string): Decoded {
  const parsed = parseDecimal(text);
  if (parsed !== undefined) return decoded(keepsZeros(text) ?? formatDecimal(parsed));
  return isNumber(text) ? outOfRange('has too many digits') : wrongType('a number');
}

/** Keeps the digits of a plain number, trailing zeros included; numeric without a scale stores them. */
function keepsZeros(text: string): string | undefined {
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? text : undefined;
}

function checkDecimal(value: string, field: TypeAttributes): Decoded {
  if (field.precision !== undefined) {
    const parsed = parseDecimal(value);
    const scale = field.scale ?? 0;
    if (parsed !== undefined) {
      const integerDigits = parsed.integer === '0' ? 0 : parsed.integer.length;
      if (parsed.fraction.length > scale) return outOfRange(`must have at most ${scale} digits after the point`);
      if (integerDigits > field.precision - scale)
        return outOfRange(`must have at most ${field.precision - scale} digits before the point`);
    }
  }
  return checkNumber(value, field);
}

/** Compares by value: 1.5 and 1.50 are one value with two texts. */
function isSameNumber(one: string, other: string): boolean {
  const [a, b] = [parseDecimal(one), parseDecimal(other)];
  return one === other || (a !== undefined && b !== undefined && compareDecimals(a, b) === 0);
}

export const decimal: FieldType = {
  label: 'exact',
  columnType: (field) =>
    field.precision === undefined ? 'numeric' : `numeric(${field.precision}, ${field.scale ?? 0})`,
  bindType: 'numeric',
  json: 'number',
  schema: (field) => ({ type: 'number', format: 'decimal', ...numberBounds(field) }),
  takesDigits: true,
  example: 1.5,
  output: 'plain',
  decode: (value) => {
    const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
    return text === undefined ? wrongType('a number or a numeric string') : decimalFrom(text);
  },
  parseText: decimalFrom,
  cell: decimalFrom,
  check: checkDecimal,
  equal: isSameNumber,
  summing: {
    by: 'plain',
    digits: ({ precision, scale }) => (precision === undefined ? undefined : (scale ?? 0)),
  },
  placeholder: '0',
  generated: null,
  attributes: ['precision', 'scale', 'min', 'max'],
  ordered: true,
  textual: false,
  comparable: true,
  size: (field) => (field.precision === undefined ? 'printed' : 'fixed'),
};
