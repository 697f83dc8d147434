// JSON parser and printer that keep the text of numbers: no value of a record passes through a double.

/** Number as it was sent, with its digits, sign, point and exponent. */
export class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /** Returns the text for JSON.stringify without `stringifyExact`; the API takes it for a number. */
  toJSON(): string {
    return this.text;
  }
}

export type Json = null | boolean | string | Digits | readonly Json[] | { readonly [name: string]: Json };

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Parses JSON with each number as Digits (`JSON.parse` with source texts, ECMA-262 2026). */
export function parseExact(text: string): Json {
  const keep: Reviver = (_key, value, { source }) =>
    typeof value === 'number' ? new Digits(source ?? String(value)) : value;
  return (JSON.parse as (text: string, reviver: Reviver) => Json)(text, keep);
}

/** Prints a value as JSON; Digits print as the original number. */
export function stringifyExact(value: unknown): string {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value))
    return `[${value.map((one) => (one === undefined ? 'null' : stringifyExact(one))).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, one]) => one !== undefined);
    return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${stringifyExact(one)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Prints a value as indented JSON. */
export function prettyExact(value: unknown, indent = ''): string {
  const isList = Array.isArray(value);
  if (!isList && (typeof value !== 'object' || value === null || value instanceof Digits)) return stringifyExact(value);
  const inner = `${indent}  `;
  const lines = isList
    ? value.map((one) => prettyExact(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${prettyExact(one, inner)}`);
  const [open, close] = isList ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${indent}${close}`;
}

/** Formats a value on one line: texts without quotes, and NULL for a missing value. */
export const formatJson = (value: Json | undefined): string =>
  value === null || value === undefined ? 'NULL' : typeof value === 'string' ? value : stringifyExact(value);
