// Computes the length of a JSON value that PostgreSQL prints. A jsonb stores 1e131000 in eight bytes and prints it with
// all of its digits: 37 kB of such numbers made a response that no process could hold. So the digits are limited on
// input.
import { isStorable, numberText } from './exact-json.ts';

/** Most digits of one number before the point, and after it, written without exponent: as for a decimal. */
const MAX_DIGITS = 1000;
/** Characters by which the numbers of one record may grow when they are written without exponents. */
export const MAX_EXPANDED_BYTES = 1_000_000;

export type JsonCheck =
  /** `expandedBytes`: characters by which the text grows. */
  | { readonly ok: true; readonly expandedBytes: number }
  | { readonly ok: false; readonly mistake: 'text' | 'digits' | 'growth' };

/** Checks whether PostgreSQL can store the value (of a JSON parser, exact or not) and print it within bounds. */
export function checkJson(value: unknown): JsonCheck {
  let expandedBytes = 0;
  let mistake: 'text' | 'digits' | 'growth' | undefined;
  const fault = (kind: 'text' | 'digits' | 'growth'): false => {
    mistake = kind;
    return false;
  };
  const checkNumber = (text: string): boolean => {
    const grown = countExpandedBytes(text);
    if (grown === undefined) return fault('digits');
    expandedBytes += grown;
    return expandedBytes <= MAX_EXPANDED_BYTES || fault('growth');
  };
  const check = (part: unknown): boolean => {
    if (typeof part === 'string') return isStorable(part) || fault('text');
    if (typeof part === 'number') return isPlain(part) || checkNumber(String(part));
    if (typeof part !== 'object' || part === null) return true;
    const number = numberText(part);
    if (number !== undefined) return checkNumber(number);
    if (Array.isArray(part)) return part.every(check);
    // Object.entries() takes 50 ms for 80,000 members.
    for (const key in part) {
      if (!isStorable(key)) return fault('text');
      if (!check((part as Record<string, unknown>)[key])) return false;
    }
    return true;
  };
  check(value);
  return mistake === undefined ? { ok: true, expandedBytes } : { ok: false, mistake };
}

/** Returns whether the number is written without an exponent (ECMAScript, Number::toString). */
function isPlain(number: number): boolean {
  const size = Math.abs(number);
  return (size < 1e21 && size >= 1e-6) || size === 0;
}

const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns the characters that the number takes additionally without its exponent, or undefined for too many digits. */
function countExpandedBytes(text: string): number | undefined {
  const [, integer = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  // PostgreSQL keeps the written digits after the point, zeros or not.
  const before = Math.max(integer.length + Number(exponent), 1);
  const behind = Math.max(fraction.length - Number(exponent), 0);
  if (before > MAX_DIGITS || behind > MAX_DIGITS) return undefined;
  return Math.max(before + behind + Math.min(behind, 1) - text.length, 0);
}
