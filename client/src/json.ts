// JSON that keeps the digits of numbers.

const LONG = /\d[\d.eE+-]{15}/;
// Quotes and escapes are matched one by one: a pattern of whole strings overflows on one of millions of escapes.
const TOKENS = /\\.|"|-?\d[\d.eE+-]{15,}/gs;

/**
 * A number that a double holds is a number; any other is the text of its digits. Costs nothing without a token of 16 signs
 * or more, else 2 ms for 120 kB; the source texts of `JSON.parse` would take twice that, and Node.js 20 has none.
 */
export function parseJson(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  let isInString = false;
  return JSON.parse(
    text.replace(TOKENS, (token) => {
      if (token === '"') isInString = !isInString;
      else if (!isInString && token[0] !== '\\' && !isExact(token)) return `"${token}"`;
      return token;
    }),
  );
}

const isExact = (token: string): boolean => digitsOf(token) === digitsOf(String(Number(token)));

/** A decimal as its digits and the power of ten of the last one: the same for all ways to write a number. */
function digitsOf(token: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] = /^(-?)(\d+)\.?(\d*)(?:[eE](.*))?$/.exec(token) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return '0';
  return `${sign}${short}e${Number(power) - part.length + digits.length - short.length}`;
}

/**
 * Texts and numbers as they are; a `bigint` as a number where a double holds it, else as the text of its digits. Throws for
 * NaN and infinities, which `JSON.stringify` makes null.
 */
export const stringifyJson = (value: unknown): string =>
  JSON.stringify(value, (name, one) => {
    if (typeof one === 'bigint') return Number.isSafeInteger(Number(one)) ? Number(one) : String(one);
    if (typeof one === 'number' && !Number.isFinite(one)) throw new TypeError(`${name} is ${one}`);
    return one;
  });
