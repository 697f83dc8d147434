// Shared parts of the types: results for a value, strings, bounds, and members of most types.
import type { DetailCode } from '../../errors.ts';
import { compareDecimals, parseDecimal } from '../decimal.ts';
import { exactNumber, isStorable } from '../exact-json.ts';
import type { Decoded, JsonSchema, TypeAttributes } from './field-type.ts';

export const decoded = (value: string): Decoded => ({ ok: true, value });
export const mistake = (code: DetailCode, message: string): Decoded => ({ ok: false, code, message });
export const wrongType = (expected: string): Decoded => mistake('TYPE_MISMATCH', `must be ${expected}`);
export const invalid = (message: string): Decoded => mistake('INVALID', message);
export const outOfRange = (message: string): Decoded => mistake('OUT_OF_RANGE', message);

/** Reads a JSON string by a text parser; any other JSON type is the wrong one. */
export function fromString(expected: string, parse: (text: string, field: TypeAttributes) => Decoded) {
  return (value: unknown, field: TypeAttributes): Decoded =>
    typeof value === 'string' ? parse(value, field) : wrongType(expected);
}

export function parseString(text: string): Decoded {
  return isStorable(text) ? decoded(text) : invalid('must not contain NUL characters or lone surrogates');
}

export function checkNumber(value: string, field: TypeAttributes): Decoded {
  if (field.min === undefined && field.max === undefined) return decoded(value);
  const number = parseDecimal(value);
  if (number === undefined) return decoded(value);
  const min = field.min === undefined ? undefined : parseDecimal(field.min);
  const max = field.max === undefined ? undefined : parseDecimal(field.max);
  if (min !== undefined && compareDecimals(number, min) < 0) return outOfRange(`must be at least ${field.min}`);
  if (max !== undefined && compareDecimals(number, max) > 0) return outOfRange(`must be at most ${field.max}`);
  return decoded(value);
}

/** ISO text of one form compares as text. */
export function checkIso(value: string, field: TypeAttributes): Decoded {
  if (field.min !== undefined && value < field.min) return outOfRange(`must not be before ${field.min}`);
  if (field.max !== undefined && value > field.max) return outOfRange(`must not be after ${field.max}`);
  return decoded(value);
}

/** Returns bounds of a number in JSON Schema, with all of their digits. */
export const numberBounds = ({ min, max }: TypeAttributes): JsonSchema => ({
  ...(min === undefined ? {} : { minimum: exactNumber(min) }),
  ...(max === undefined ? {} : { maximum: exactNumber(max) }),
});

/** Compares values of types with one text for each value. */
export const isSameText = (one: string, other: string): boolean => one === other;

export const fixedSize = (): 'fixed' => 'fixed';
