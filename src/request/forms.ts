// Forms of parameters: parsers of a value from a query string and from a JSON body, and its JSON Schema.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { numberText } from '../model/exact-json.ts';
import type { JsonSchema } from '../model/field-types.ts';
import { type FilterCount, type FilterTree, parseFilters, parseFilterTree } from './filter.ts';
import { single } from './query-string.ts';

export interface RequestLimits {
  readonly maxPageSize: number;
}

/** Context in which one value is read. */
export interface Input {
  /** Name of the parameter in refusals: `size`, `items.size`, `narrow.items.size`. */
  readonly name: string;
  readonly limits: RequestLimits;
  /** Count of the conditions in all filters of the request. */
  readonly count: FilterCount;
}

export const ID_SCHEMA: JsonSchema = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
};

export interface Form<T> {
  /** Style in a query string: once, once for each of its values, or once with commas between its values. */
  readonly style: 'single' | 'repeated' | 'listed';
  readonly fromText: (texts: readonly string[], input: Input) => T;
  /** Reads `value`, which is neither missing nor null. */
  readonly fromJson: (value: unknown, input: Input) => T;
  /** Schema of the JSON value; for a query string its `items`, if the style is not `single`. */
  readonly schema: (limits: RequestLimits) => JsonSchema;
}

/** Reads text with a syntax of its own. */
export function text<T>(parse: (text: string, name: string) => T, schema: JsonSchema = {}): Form<T> {
  return {
    style: 'single',
    fromText: (texts, { name }) => parse(single(texts, name), name),
    fromJson: (value, { name }) => parse(requireString(value, name), name),
    schema: () => ({ type: 'string', ...schema }),
  };
}

function requireString(value: unknown, name: string): string {
  if (typeof value !== 'string') throw badRequest('INVALID_PARAMETER', `${name} must be a string`);
  return value;
}

/** Reads a list of values, separated by commas in a query string. */
export const listed = <T>(parse: (text: string) => T, items: JsonSchema): Form<T> => ({
  ...text(parse),
  style: 'listed',
  schema: () => ({ type: 'array', items }),
});

/** Reads an integer; a bound may depend on the installation. */
export function integer(minimum: number, maximum: number | ((limits: RequestLimits) => number)): Form<number> {
  const getMaximum = (limits: RequestLimits): number => (typeof maximum === 'number' ? maximum : maximum(limits));
  const parse = (digits: string, { name, limits }: Input) => parseInteger(name, digits, minimum, getMaximum(limits));
  return {
    style: 'single',
    fromText: (texts, input) => parse(single(texts, input.name), input),
    fromJson(value, input) {
      const digits = numberText(value);
      if (digits === undefined) throw badRequest('INVALID_PARAMETER', `${input.name} must be an integer`);
      return parse(digits, input);
    },
    schema: (limits) => ({ type: 'integer', minimum, maximum: getMaximum(limits) }),
  };
}

export function parseInteger(name: string, digits: string, minimum: number, maximum: number): number {
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw badRequest('INVALID_PARAMETER', `${shorten(name)} must be an integer from ${minimum} to ${maximum}`);
}

/** Reads one of a few words. */
export function choice<const W extends string>(...choices: readonly W[]): Form<W> {
  return text((value, name) => parseChoice(choices, value, name), { enum: choices });
}

/** Returns the choice, or throws 400 with the nearest one. */
export function parseChoice<W extends string>(choices: readonly W[], value: string, name: string): W {
  const match = choices.find((candidate) => candidate === value);
  if (match !== undefined) return match;
  const suggestion = closest(value, choices);
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  throw badRequest('INVALID_PARAMETER', `Unknown ${name} ${shorten(value)}.${hint} Known: ${choices.join(', ')}`);
}

export const flag: Form<boolean> = {
  style: 'single',
  fromText: (texts, { name }) => parseFlag(single(texts, name), name),
  // JSON of anything but a boolean is neither of the two words.
  fromJson: (value, { name }) => parseFlag(JSON.stringify(value), name),
  schema: () => ({ type: 'boolean' }),
};

function parseFlag(value: string, name: string): boolean {
  if (value !== 'true' && value !== 'false')
    throw badRequest('INVALID_PARAMETER', `${name} must be true or false, not ${shorten(value)}`);
  return value === 'true';
}

/** Reads several texts. */
export function texts<T>(
  style: 'repeated' | 'listed',
  parse: (texts: readonly string[]) => T,
  items: JsonSchema = {},
): Form<T> {
  return {
    style,
    fromText: parse,
    fromJson: (value, { name }) => parse(requireStrings(value, name)),
    schema: () => ({ type: 'array', items: { type: 'string', ...items } }),
  };
}

function requireStrings(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw badRequest('INVALID_PARAMETER', `${name} must be an array of strings`);
}

export const FILTER_SCHEMA: JsonSchema = { $ref: '#/components/schemas/wda.Filter' };

/** Conditions in a query string, a tree in a body. */
export const FILTER: Form<FilterTree | undefined> = {
  style: 'repeated',
  fromText: (values, { count }) => parseFilters(values, [], 'filter', count),
  fromJson: (value, { name, count }) => parseFilterTree(value, name, count),
  schema: () => FILTER_SCHEMA,
};

/** Groups of alternatives; bodies use a tree instead. */
export const ALTERNATIVES: Form<FilterTree | undefined> = {
  ...texts('repeated', () => undefined),
  fromText: (values, { count }) => parseFilters([], values, 'or', count),
};
