// Decimal numbers as text, compared and measured without a float. Takes the text of a number, returns its plain parts.

/** Largest integer of 64 bits, as PostgreSQL's bigint has it; the least is -MAX_INT64 - 1. */
export const MAX_INT64 = 9223372036854775807n;

/** A number written without exponent: no leading zeros in `whole` (but "0"), no trailing zeros in `fraction`. */
export interface Decimal {
  readonly negative: boolean;
  readonly integer: string;
  readonly fraction: string;
}

// PostgreSQL's numeric holds 1,000 declared digits; more in one value makes no sense, and an exponent of a million
// would be a megabyte of zeros.
const MAX_DIGITS = 1000;
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/;
/** Characters of the longest text that may be a number in bounds: digits on both sides, sign, point and exponent. */
const MAX_NUMBER_TEXT = 3000;

// Each text matches in one way only: `\d*\.?\d*` has as many as there are digits, and took 4 s for 64,000 zeros.
const DECIMAL_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Returns whether the text is a number, of any number of digits. */
export const isNumber = (text: string): boolean => DECIMAL_TEXT.test(text);

/** Parses the text, or returns undefined if it is not a number or has more than 1,000 digits on a side. */
export function parseDecimal(text: string): Decimal | undefined {
  const plain = text.length > LONGEST_PLAIN ? undefined : parsePlain(text);
  if (plain !== undefined) return plain;
  const match = text.length > MAX_NUMBER_TEXT ? null : NUMBER.exec(text);
  if (match === null) return undefined;
  const [, sign, integerText = '', fractionText = '', exponentText] = match;
  if (integerText === '' && fractionText === '') return undefined;
  const exponent = exponentText === undefined ? 0 : Number(exponentText);
  const digits = integerText + fractionText;
  if (digits.length > 2 * MAX_DIGITS) return undefined;
  if (withoutZeros(digits) === '') return { negative: false, integer: '0', fraction: '' };
  const point = integerText.length + exponent;
  if (point > 3 * MAX_DIGITS || point < -2 * MAX_DIGITS) return undefined;
  const padded = point < 0 ? '0'.repeat(-point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 0);
  const integer = padded.slice(0, at).replace(/^0+/, '') || '0';
  const fraction = withoutZeros(padded.slice(at));
  if (integer.length > MAX_DIGITS || fraction.length > MAX_DIGITS) return undefined;
  return { negative: sign === '-', integer, fraction };
}

const LONGEST_PLAIN = 24;
const [ZERO, NINE, MINUS, POINT] = [0x30, 0x39, 0x2d, 0x2e];

/**
 * Parses digits with at most a point, the form of nearly all numbers, or returns undefined if a zero or a sign would
 * have to be removed. The expression took a fifth of the time in which an import reads its file.
 */
function parsePlain(text: string): Decimal | undefined {
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  let point = text.length;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === POINT && point === text.length) point = at;
    else if (code < ZERO || code > NINE) return undefined;
  }
  const isInteger = point === text.length;
  if (point === start || (text.charCodeAt(start) === ZERO && (isInteger || point - start > 1))) return undefined;
  const last = text.charCodeAt(text.length - 1);
  if (!isInteger && (last === ZERO || last === POINT)) return undefined;
  return { negative: start === 1, integer: text.slice(start, point), fraction: text.slice(point + 1) };
}

/** Uses a loop, as /0+$/ begins again at every zero: 1 ms for a thousand of them before a one. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

export function formatDecimal(value: Decimal): string {
  return `${value.negative ? '-' : ''}${value.integer}${value.fraction === '' ? '' : `.${value.fraction}`}`;
}

/** Returns a negative number, zero or a positive one, as for Array.prototype.sort. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  const sign = a.negative ? -1 : 1;
  if (a.integer.length !== b.integer.length) return sign * (a.integer.length - b.integer.length);
  const length = Math.max(a.fraction.length, b.fraction.length);
  const digits = a.integer + a.fraction.padEnd(length, '0');
  const right = b.integer + b.fraction.padEnd(length, '0');
  if (digits === right) return 0;
  return digits < right ? -sign : sign;
}

/** Returns the exact sum. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.fraction.length, b.fraction.length);
  const toInteger = ({ negative, integer, fraction }: Decimal): bigint => {
    const digits = BigInt(integer + fraction.padEnd(scale, '0'));
    return negative ? -digits : digits;
  };
  const sum = toInteger(a) + toInteger(b);
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return { negative: sum < 0n, integer: digits.slice(0, point), fraction: withoutZeros(digits.slice(point)) };
}
