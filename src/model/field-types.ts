// The field types: one entry each, with everything that the rest of the code asks of a type. Takes JSON values and text,
// gives the text that PostgreSQL reads, or the mistake. A new type is one entry here.
import { type DetailCode, listed } from '../errors.ts';
import { parseDate, parseDateTime } from './date-time.ts';
import { compareDecimals, type Decimal, formatDecimal, parseDecimal } from './decimal.ts';
import { isStorable, MAX_NESTING, nestingDepth, numberText, parseExact } from './exact-json.ts';
import { checkJson } from './json-digits.ts';

export type FieldTypeName =
  | 'string'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'uuid'
  | 'json'
  | 'enum';

/**
 * A value in the text form of its PostgreSQL type, or the mistake in it. `growth`: characters by which PostgreSQL will
 * print a json longer than it was written.
 */
export type Decoded =
  | { readonly ok: true; readonly value: string; readonly growth?: number }
  | { readonly ok: false; readonly code: DetailCode; readonly message: string };

/** The attributes of a field that a type looks at. */
export interface TypeAttributes {
  readonly maxLength?: number | undefined;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

export interface FieldType {
  readonly name: FieldTypeName;
  /** PostgreSQL type of the column, without constraints. */
  readonly columnType: (field: TypeAttributes) => string;
  /** PostgreSQL type that a bound value is cast to. */
  readonly bindType: string;
  /** Value of a JSON body (never null) -> text of the PostgreSQL type. */
  readonly decode: (value: unknown, field: TypeAttributes) => Decoded;
  /** Text of a filter, a cursor or a CSV cell -> text of the PostgreSQL type. */
  readonly parseText: (text: string, field: TypeAttributes) => Decoded;
  /** Bounds, lengths and digits of a decoded value that is to be stored. */
  readonly check?: (value: string, field: TypeAttributes) => Decoded;
  /** Attributes of a schema document that mean something for this type. */
  readonly attributes: readonly ('maxLength' | 'precision' | 'scale' | 'min' | 'max' | 'values')[];
  readonly ordered: boolean;
  readonly textual: boolean;
}

/** Text is stored under this collation, so that it sorts and folds case as Unicode says whatever the database's default. */
export const TEXT_COLLATION = 'und-x-icu';

const done = (value: string): Decoded => ({ ok: true, value });
const mistake = (code: DetailCode, message: string): Decoded => ({ ok: false, code, message });
const wrongType = (expected: string): Decoded => mistake('TYPE_MISMATCH', `must be ${expected}`);
const invalid = (message: string): Decoded => mistake('INVALID', message);
const outOfRange = (message: string): Decoded => mistake('OUT_OF_RANGE', message);

const collatedText = (): string => `text collate "${TEXT_COLLATION}"`;

function decodeString(value: unknown): Decoded {
  if (typeof value !== 'string') return wrongType('a string');
  return parseString(value);
}

function parseString(text: string): Decoded {
  return isStorable(text) ? done(text) : invalid('must not contain NUL characters or lone surrogates');
}

function checkLength(value: string, field: TypeAttributes): Decoded {
  if (field.maxLength === undefined || value.length <= field.maxLength) return done(value);
  // Length counts characters (code points), as PostgreSQL's char_length does.
  let length = 0;
  for (const _ of value) length++;
  return length <= field.maxLength
    ? done(value)
    : mistake('TOO_LONG', `must have at most ${field.maxLength} characters, has ${length}`);
}

const INT4 = { min: -2147483648n, max: 2147483647n, words: '32 bits' } as const;
const INT8 = { min: -9223372036854775808n, max: 9223372036854775807n, words: '64 bits' } as const;

function integerFrom(text: string, limits: typeof INT4 | typeof INT8): Decoded {
  const decimal = parseDecimal(text);
  if (decimal === undefined)
    return /^[+-]?[\d.]+([eE][+-]?\d+)?$/.test(text)
      ? outOfRange(`must fit into ${limits.words}`)
      : wrongType('an integer');
  if (decimal.fraction !== '') return wrongType('an integer');
  if (decimal.whole.length > 19) return outOfRange(`must fit into ${limits.words}`);
  const plain = formatDecimal(decimal);
  const value = BigInt(plain);
  return value < limits.min || value > limits.max ? outOfRange(`must fit into ${limits.words}`) : done(plain);
}

const PLAIN_INTEGER = /^[+-]?\d+$/;

function boundsOf(parse: (text: string) => Decimal | undefined) {
  return (value: string, field: TypeAttributes): Decoded => {
    if (field.min === undefined && field.max === undefined) return done(value);
    const number = parse(value);
    if (number === undefined) return done(value);
    const min = field.min === undefined ? undefined : parse(field.min);
    const max = field.max === undefined ? undefined : parse(field.max);
    if (min !== undefined && compareDecimals(number, min) < 0) return outOfRange(`must be at least ${field.min}`);
    if (max !== undefined && compareDecimals(number, max) > 0) return outOfRange(`must be at most ${field.max}`);
    return done(value);
  };
}

const checkNumber = boundsOf(parseDecimal);

/** ISO text of one form compares as text. */
function checkIso(value: string, field: TypeAttributes): Decoded {
  if (field.min !== undefined && value < field.min) return outOfRange(`must not be before ${field.min}`);
  if (field.max !== undefined && value > field.max) return outOfRange(`must not be after ${field.max}`);
  return done(value);
}

function decimalFrom(text: string): Decoded {
  const decimal = parseDecimal(text);
  if (decimal !== undefined) return done(keepsZeros(text) ?? formatDecimal(decimal));
  return /^[+-]?\d*\.?\d*([eE][+-]?\d+)?$/.test(text) && /\d/.test(text)
    ? outOfRange('has too many digits')
    : wrongType('a number');
}

/** A plain number keeps its own digits, trailing zeros too; numeric without a scale stores them. */
function keepsZeros(text: string): string | undefined {
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? text : undefined;
}

function checkDecimal(value: string, field: TypeAttributes): Decoded {
  if (field.precision !== undefined) {
    const decimal = parseDecimal(value);
    const scale = field.scale ?? 0;
    if (decimal !== undefined) {
      const whole = decimal.whole === '0' ? 0 : decimal.whole.length;
      if (decimal.fraction.length > scale) return outOfRange(`must have at most ${scale} digits after the point`);
      if (whole > field.precision - scale)
        return outOfRange(`must have at most ${field.precision - scale} digits before the point`);
    }
  }
  return checkNumber(value, field);
}

function floatFrom(text: string): Decoded {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return wrongType('a number');
  const number = Number(text);
  return Number.isFinite(number)
    ? done(Object.is(number, -0) ? '-0' : String(number))
    : outOfRange('must fit into a 64-bit float');
}

function jsonFrom(value: unknown): Decoded {
  const check = checkJson(value);
  if (check.ok) return { ok: true, value: JSON.stringify(value), growth: check.growth };
  switch (check.mistake) {
    case 'text':
      return invalid('must not contain NUL characters or lone surrogates');
    case 'digits':
      return outOfRange('must not hold a number with more than 1000 digits before or behind the point');
    case 'growth':
      return outOfRange(TOO_MUCH_GROWTH);
    default:
      return check.mistake satisfies never;
  }
}

export const TOO_MUCH_GROWTH = 'has numbers that are more than a million characters longer without their exponents';

function jsonFromText(text: string): Decoded {
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) {
    return invalid(`must not be nested more than ${MAX_NESTING} levels deep`);
  }
  try {
    return jsonFrom(parseExact(text));
  } catch {
    return invalid('must be JSON');
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function memberOf(text: string, field: TypeAttributes): Decoded {
  const values = field.values ?? [];
  return values.includes(text) ? done(text) : mistake('NOT_IN_ENUM', `must be one of ${listed(values)}`);
}

/** Reads a JSON string by a text parser; any other JSON type is the wrong one. */
function fromString(expected: string, parse: (text: string, field: TypeAttributes) => Decoded) {
  return (value: unknown, field: TypeAttributes): Decoded =>
    typeof value === 'string' ? parse(value, field) : wrongType(expected);
}

const dateFrom = (text: string): Decoded => {
  const date = parseDate(text);
  return date === undefined ? invalid('must be a date such as 2026-01-31') : done(date);
};

const dateTimeFrom = (text: string): Decoded => {
  const time = parseDateTime(text);
  return time === undefined
    ? invalid('must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z')
    : done(time);
};

const uuidFrom = (text: string): Decoded => (UUID.test(text) ? done(text.toLowerCase()) : invalid('must be a UUID'));

const TYPES: Record<FieldTypeName, FieldType> = {
  string: {
    name: 'string',
    columnType: collatedText,
    bindType: 'text',
    decode: decodeString,
    parseText: parseString,
    check: checkLength,
    attributes: ['maxLength'],
    ordered: true,
    textual: true,
  },
  text: {
    name: 'text',
    columnType: collatedText,
    bindType: 'text',
    decode: decodeString,
    parseText: parseString,
    check: checkLength,
    attributes: ['maxLength'],
    ordered: true,
    textual: true,
  },
  integer: {
    name: 'integer',
    columnType: () => 'int4',
    bindType: 'int4',
    decode: (value) => {
      const text = numberText(value);
      return text === undefined ? wrongType('an integer') : integerFrom(text, INT4);
    },
    parseText: (text) => (PLAIN_INTEGER.test(text) ? integerFrom(text, INT4) : wrongType('an integer')),
    check: checkNumber,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
  },
  bigint: {
    name: 'bigint',
    columnType: () => 'int8',
    bindType: 'int8',
    decode: (value) => {
      const text = numberText(value) ?? (typeof value === 'string' && PLAIN_INTEGER.test(value) ? value : undefined);
      return text === undefined ? wrongType('an integer, as a number or a numeric string') : integerFrom(text, INT8);
    },
    parseText: (text) => (PLAIN_INTEGER.test(text) ? integerFrom(text, INT8) : wrongType('an integer')),
    check: checkNumber,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
  },
  decimal: {
    name: 'decimal',
    columnType: (field) =>
      field.precision === undefined ? 'numeric' : `numeric(${field.precision}, ${field.scale ?? 0})`,
    bindType: 'numeric',
    decode: (value) => {
      const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
      return text === undefined ? wrongType('a number or a numeric string') : decimalFrom(text);
    },
    parseText: decimalFrom,
    check: checkDecimal,
    attributes: ['precision', 'scale', 'min', 'max'],
    ordered: true,
    textual: false,
  },
  float: {
    name: 'float',
    columnType: () => 'float8',
    bindType: 'float8',
    decode: (value) => {
      const text = numberText(value);
      return text === undefined ? wrongType('a number') : floatFrom(text);
    },
    parseText: floatFrom,
    check: checkNumber,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
  },
  boolean: {
    name: 'boolean',
    columnType: () => 'bool',
    bindType: 'bool',
    decode: (value) => (typeof value === 'boolean' ? done(String(value)) : wrongType('true or false')),
    parseText: (text) => (text === 'true' || text === 'false' ? done(text) : wrongType('true or false')),
    attributes: [],
    ordered: false,
    textual: false,
  },
  date: {
    name: 'date',
    columnType: () => 'date',
    bindType: 'date',
    decode: fromString('a date string', dateFrom),
    parseText: dateFrom,
    check: checkIso,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
  },
  datetime: {
    name: 'datetime',
    columnType: () => 'timestamptz(3)',
    bindType: 'timestamptz',
    decode: fromString('a datetime string', dateTimeFrom),
    parseText: dateTimeFrom,
    check: checkIso,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
  },
  uuid: {
    name: 'uuid',
    columnType: () => 'uuid',
    bindType: 'uuid',
    decode: fromString('a UUID string', uuidFrom),
    parseText: uuidFrom,
    attributes: [],
    ordered: true,
    textual: false,
  },
  json: {
    name: 'json',
    columnType: () => 'jsonb',
    bindType: 'jsonb',
    decode: jsonFrom,
    parseText: jsonFromText,
    attributes: [],
    ordered: false,
    textual: false,
  },
  enum: {
    name: 'enum',
    columnType: collatedText,
    bindType: 'text',
    decode: fromString('a string', memberOf),
    parseText: memberOf,
    attributes: ['values'],
    ordered: true,
    textual: true,
  },
};

export const FIELD_TYPE_NAMES = Object.keys(TYPES) as readonly FieldTypeName[];

export function fieldType(name: FieldTypeName): FieldType {
  return TYPES[name];
}

export function isFieldTypeName(name: string): name is FieldTypeName {
  return Object.hasOwn(TYPES, name);
}

/** Decodes the value of a JSON body and checks it against the field's bounds. `value` is not null. */
export function decodeValue(field: TypeAttributes & { readonly type: FieldTypeName }, value: unknown): Decoded {
  return checked(field, TYPES[field.type].decode(value, field));
}

/** Parses text (a CSV cell) that is to be stored in the field. */
export function parseStored(field: TypeAttributes & { readonly type: FieldTypeName }, text: string): Decoded {
  return checked(field, TYPES[field.type].parseText(text, field));
}

function checked(field: TypeAttributes & { readonly type: FieldTypeName }, decoded: Decoded): Decoded {
  const check = TYPES[field.type].check;
  return decoded.ok && check !== undefined ? check(decoded.value, field) : decoded;
}

/** Is the default made anew for each record? */
export function isGenerated(type: FieldTypeName, value: unknown): boolean {
  return ((type === 'date' || type === 'datetime') && value === 'now') || (type === 'uuid' && value === 'uuid');
}
