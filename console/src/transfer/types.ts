// Types of new fields, guessed from the values of a file. Pure.
import { removeAccents } from '../format/ascii.ts';

export type GuessedType = 'bigint' | 'decimal' | 'boolean' | 'date' | 'datetime' | 'uuid' | 'text' | 'string';

export interface GuessedField {
  readonly name: string;
  readonly type: GuessedType;
  readonly precision?: number;
  readonly scale?: number;
  readonly maxLength?: number;
}

const LONGEST_STRING = 255;
const MOST_DIGITS = 38;

const SHAPES: readonly (readonly [GuessedType, RegExp])[] = [
  ['boolean', /^(?:true|false)$/i],
  // A leading zero is part of a code.
  ['bigint', /^-?(?:0|[1-9]\d{0,17})$/],
  ['decimal', /^-?(?:0|[1-9]\d{0,17})(?:\.\d{1,12})?$/],
  ['date', /^\d{4}-\d{2}-\d{2}$/],
  ['datetime', /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?$/],
  ['uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
];

/** Returns the narrowest type that fits all values that are not empty; without any it is a string. */
export function guessField(name: string, values: readonly string[]): GuessedField {
  const present = values.filter((value) => value !== '');
  const type =
    present.length === 0
      ? 'string'
      : (SHAPES.find(([, shape]) => present.every((value) => shape.test(value)))?.[0] ?? 'string');
  if (type === 'decimal') {
    const scale = Math.max(...present.map((value) => value.split('.')[1]?.length ?? 0));
    return { name, type, precision: Math.min(MOST_DIGITS, 18 + scale), scale };
  }
  // The rest of the file may have longer values than the sample.
  if (type === 'string' && present.some((value) => value.length > LONGEST_STRING / 2)) return { name, type: 'text' };
  return type === 'string' ? { name, type, maxLength: LONGEST_STRING } : { name, type };
}

/** Derives the name of a field from a header: `[A-Za-z][A-Za-z0-9_]*`, unique among the former ones. */
export function deriveName(header: string, usedNames: ReadonlySet<string>): string {
  const words = removeAccents(header).match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words
    .map((word, at) => (at === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1))
    .join('');
  const first = (/^[A-Za-z]/.test(joined) ? joined : `field${joined}`).slice(0, 50);
  for (let number = 2, name = first; ; name = `${first}${number++}`) if (!usedNames.has(name)) return name;
}
