// JSON without loss of digits: numbers that a double would change keep their source text. Takes text, gives values in
// which such a number is a raw JSON object (JSON.rawJSON), which JSON.stringify writes back as it came.

interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}

// TypeScript's types lack this part of the runtime (ECMAScript proposal "JSON.parse source text access").
const exact = JSON as unknown as ExactJson;

// Numbers that may not survive: 16 digits or more, an exponent, a minus zero, a fraction that ends in zero or begins with
// six of them. A double keeps any 15 digits, and is written with just these. Everything else is read without a reviver,
// which costs about five times a plain parse.
const MAY_LOSE_DIGITS = /\d{16}|[\d.]{17}|\d[eE]|-0|\.\d*0(?!\d)|0\.0{6}/;

/** Parses JSON text (RFC 8259); throws SyntaxError. Of duplicate keys the last counts. */
export function parseExact(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return exact.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined ? exactNumber(context.source, value) : value,
  );
}

/** The value of a JSON number: a number if that has all the digits of the source, else raw JSON. */
export function exactNumber(source: string, value = Number(source)): unknown {
  return source === String(value) ? value : exact.rawJSON(source);
}

/** The exact text of a JSON number, or undefined when the value is not a number. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null && exact.isRawJSON(value)) return value.rawJSON;
  return undefined;
}

/** Parsers and PostgreSQL's json recurse; nobody nests records this deep by hand. */
export const MAX_NESTING = 64;

/** Deepest nesting of arrays and objects in JSON text, without parsing it: parsers recurse, this does not. */
export function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (quoted) {
      if (code === 0x5c) index++;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) {
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return deepest;
}

/** Text that PostgreSQL can store: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}
