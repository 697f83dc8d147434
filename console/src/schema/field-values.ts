// Conversion of values of a schema document to texts of inputs and back. Digits stay as they are typed.
import { Digits, type Json, parseExact, stringifyExact } from '../api/json.ts';
import { isNumeric } from './field-types.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Formats a value for an input: texts as they are, everything else as JSON. */
export const formatInput = (value: Json | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : stringifyExact(value);

/** Parses an input by the type of its field; empty is undefined. Invalid values stay text, and the server rejects them. */
export function parseInput(type: string, text: string): Json | undefined {
  if (text === '') return undefined;
  if (isNumeric(type)) return NUMBER.test(text) ? new Digits(text) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (type !== 'json') return text;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/** Parses a whole number, such as `maxLength`. */
export const parseInteger = (text: string): Json | undefined =>
  text === '' ? undefined : /^(?:0|[1-9]\d*)$/.test(text) ? new Digits(text) : text;

/** Splits a list in an input, one entry a line or between commas. */
export const splitLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
