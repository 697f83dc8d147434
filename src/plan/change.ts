// Operators of updates: changes of the stored value in place of a new value, as {"stock": {"$inc": -1}}.
import type { Detail } from '../errors.ts';
import { addDecimals, type Decimal, formatDecimal, parseDecimal } from '../model/decimal.ts';
import type { Field } from '../model/entity.ts';
import { exactNumber, numberText } from '../model/exact-json.ts';
import { type FieldTypeName, fieldType } from '../model/field-types.ts';
import { isRecord } from '../request/members.ts';

/** A change of a stored value. */
export type Change =
  | { readonly kind: 'inc'; readonly by: Decimal }
  | { readonly kind: 'append'; readonly text: string }
  | { readonly kind: 'now' }
  | { readonly kind: 'list'; readonly add: readonly unknown[]; readonly remove: readonly unknown[] };

/** A member of a body: a new value, a change, or the mistake in it. */
export type Member =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'change'; readonly change: Change }
  | { readonly kind: 'mistake'; readonly detail: Detail };

const OPERATORS = ['$inc', '$append', '$now', '$add', '$remove', '$value'] as const;
type Operator = (typeof OPERATORS)[number];

const isOperator = (name: string): name is Operator => (OPERATORS as readonly string[]).includes(name);

/** Types that an operator changes. `$add` and `$remove` are given alone or together. */
const TYPES: Readonly<Record<Exclude<Operator, '$value'>, readonly FieldTypeName[]>> = {
  $inc: ['integer', 'bigint', 'decimal', 'float'],
  $append: ['string', 'text'],
  $now: ['date', 'datetime'],
  $add: ['json'],
  $remove: ['json'],
};

/**
 * Reads a member of an update. In a field of type json an object is data unless it is exactly one operator; in others an
 * object is never a value.
 */
export function readMember(field: Field, value: unknown): Member {
  if (!isRecord(value)) return { kind: 'value', value };
  const names = Object.keys(value);
  const [name = ''] = names;
  const fault = (message: string, code: Detail['code'] = 'INVALID'): Member => ({
    kind: 'mistake',
    detail: { field: field.name, code, message },
  });
  const unknown = names.find((one) => one.startsWith('$') && !isOperator(one));
  if (unknown !== undefined && field.type !== 'json')
    return fault(`does not take ${unknown}. ${describeOperators(field)}`);
  const isOne = names.every(isOperator) && (names.length === 1 || isListChange(names));
  if (!isOne || !isOperator(name)) return { kind: 'value', value };
  if (name === '$value') return { kind: 'value', value: value[name] };
  if (field.role === 'reference' || !TYPES[name].includes(field.type))
    return fault(`does not take ${name}. ${describeOperators(field)}`);
  switch (name) {
    case '$inc':
      return readInc(field, value.$inc) ?? fault('$inc must be a number', 'TYPE_MISMATCH');
    case '$append':
      return typeof value.$append === 'string'
        ? { kind: 'change', change: { kind: 'append', text: value.$append } }
        : fault('$append must be a string', 'TYPE_MISMATCH');
    case '$now':
      return value.$now === true ? { kind: 'change', change: { kind: 'now' } } : fault('$now must be true');
    case '$add':
    case '$remove': {
      const { $add: add = [], $remove: remove = [] } = value;
      return Array.isArray(add) && Array.isArray(remove)
        ? { kind: 'change', change: { kind: 'list', add, remove } }
        : fault('$add and $remove must be arrays', 'TYPE_MISMATCH');
    }
    default:
      return name satisfies never;
  }
}

const isListChange = (names: readonly string[]): boolean =>
  names.length === 2 && names.includes('$add') && names.includes('$remove');

function readInc(field: Field, value: unknown): Member | undefined {
  const digits = typeof value === 'string' && fieldType(field.type).takesDigits ? value : undefined;
  const text = numberText(value) ?? digits;
  const by = text === undefined ? undefined : parseDecimal(text);
  return by && { kind: 'change', change: { kind: 'inc', by } };
}

function describeOperators(field: Field): string {
  const names = getOperators(field);
  return names.length === 0 ? `${field.name} takes no operator` : `${field.name} takes ${names.join(', ')}`;
}

/** Returns the operators that an update of the field may have. */
export const getOperators = (field: Field): readonly Operator[] =>
  field.role === 'reference'
    ? []
    : [
        ...(Object.keys(TYPES) as (keyof typeof TYPES)[]).filter((name) => TYPES[name].includes(field.type)),
        ...(field.type === 'json' ? (['$value'] as const) : []),
      ];

/**
 * Returns the new value of a field as a body would give it, or undefined if the stored one cannot be changed so.
 * `stored`: as in an answer, with the digits of numbers; null counts as 0, an empty text or an empty list. `now`: the
 * time of the statement, ISO 8601 in UTC.
 */
export function applyChange(change: Change, field: Field, stored: unknown, now: string): unknown {
  switch (change.kind) {
    case 'inc': {
      const value = parseDecimal(numberText(stored) ?? (stored as string | null) ?? '0');
      const sum = value && addDecimals(value, change.by);
      return sum && (fieldType(field.type).json === 'string' ? formatDecimal(sum) : exactNumber(formatDecimal(sum)));
    }
    case 'append':
      return `${(stored as string | null) ?? ''}${change.text}`;
    case 'now':
      return field.type === 'date' ? now.slice(0, 10) : now;
    case 'list':
      return stored === null || Array.isArray(stored) ? changeList(stored ?? [], change) : undefined;
    default:
      return change satisfies never;
  }
}

/** Takes values out of a list, then adds those that it does not have yet at its end. */
function changeList(list: readonly unknown[], { add, remove }: Extract<Change, { kind: 'list' }>): readonly unknown[] {
  const removed = new JsonSet(remove);
  const result = list.filter((one) => !removed.has(one));
  const missing = new JsonSet(add);
  for (const one of result) missing.delete(one);
  for (const one of add) if (missing.delete(one)) result.push(one);
  return result;
}

/** JSON values, each once. A list may have 500,000, which are compared in 20 ms. */
class JsonSet {
  readonly #texts = new Set<string>();
  readonly #others = new Set<string>();

  constructor(values: readonly unknown[]) {
    for (const one of values) this.#getSet(one).add(typeof one === 'string' ? one : toKey(one));
  }

  has(value: unknown): boolean {
    const set = this.#getSet(value);
    return set.size > 0 && set.has(typeof value === 'string' ? value : toKey(value));
  }

  delete(value: unknown): boolean {
    const set = this.#getSet(value);
    return set.size > 0 && set.delete(typeof value === 'string' ? value : toKey(value));
  }

  #getSet(value: unknown): Set<string> {
    return typeof value === 'string' ? this.#texts : this.#others;
  }
}

/** Returns a text that is equal for equal JSON values: without the order of members, and with 1.0 equal to 1. */
function toKey(value: unknown): string {
  if (Number.isSafeInteger(value)) return `${value}`;
  const number = numberText(value);
  if (number !== undefined) {
    const decimal = parseDecimal(number);
    return decimal === undefined ? number : formatDecimal(decimal);
  }
  if (Array.isArray(value)) return `[${value.map(toKey).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${toKey(value[name])}`).join()}}`;
}
