// Conversion of values when a field changes its type: in place, or by an expression that is null where the new type
// cannot hold the value exactly. No value is rounded or cut; the formatting of a text may be lost.
import type { Field } from '../model/entity.ts';
import { type FieldTypeName, fieldType } from '../model/field-types.ts';
import { type Fragment, integerLiteral, keyword, literal, sql } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';

export type Cast =
  /** The column stays as it is. */
  | { readonly kind: 'none' }
  /** PostgreSQL changes the type without looking at a record. */
  | { readonly kind: 'widen' }
  /**
   * Functions of the `schema` convert each value; null stays null, and a value that the new type cannot hold becomes
   * null.
   */
  | { readonly kind: 'convert'; readonly value: (column: Fragment, schema: string) => Fragment }
  /** The new type has no equivalent for any value of the old type. */
  | { readonly kind: 'never' };

/** Returns the PostgreSQL type of the column. */
export const columnType = (field: Field): Fragment => keyword(fieldType(field.type).columnType(field));

export function findCast(previous: Field, next: Field): Cast {
  if (fieldType(previous.type).columnType(previous) === fieldType(next.type).columnType(next)) return { kind: 'none' };
  if (previous.type === 'decimal' && next.type === 'decimal' && isWider(previous, next)) return { kind: 'widen' };
  const convert = CONVERSIONS[previous.type][next.type];
  return convert === 'never'
    ? { kind: 'never' }
    : { kind: 'convert', value: (column, schema) => convert(column, next, schema) };
}

/**
 * Returns whether PostgreSQL changes the type without rewriting the table: the scale stays and the precision grows, or
 * both bounds are removed.
 */
function isWider(previous: Field, next: Field): boolean {
  if (next.precision === undefined) return true;
  return (
    previous.precision !== undefined &&
    (previous.scale ?? 0) === (next.scale ?? 0) &&
    next.precision >= previous.precision
  );
}

/** Builds SQL of a value of the new type; null where it cannot hold the old value exactly. */
type Convert = (value: Fragment, next: Field, schema: string) => Fragment;
type Conversions = Readonly<Record<FieldTypeName, Convert | 'never'>>;

const identity: Convert = (value) => value;
const toText: Convert = (value) => sql`${value}::text`;

/** Uses one conversion for all types that PostgreSQL stores as text. */
const texts = (convert: Convert) => ({ string: convert, text: convert, enum: convert }) as const;

const isoDate: Convert = (value) => sql`to_char(${value}::timestamp, 'YYYY-MM-DD')`;
const isoDateTime: Convert = (value) =>
  sql`replace(to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')`;

const member: Convert = (value) => sql`to_jsonb(${value})`;
const toJsonText =
  (text: Convert): Convert =>
  (value, next, schema) =>
    sql`to_jsonb(${text(value, next, schema)})`;

interface Width {
  readonly type: Fragment;
  readonly range: Fragment;
}

const INT4: Width = { type: keyword('int4'), range: sql`between -2147483648 and 2147483647` };
const INT8: Width = { type: keyword('int8'), range: sql`between -9223372036854775808 and 9223372036854775807` };

const narrowInteger =
  ({ type, range }: Width): Convert =>
  (value) =>
    sql`case when ${value} ${range} then ${value}::${type} end`;

const decimalToInteger =
  ({ type, range }: Width): Convert =>
  (value) =>
    sql`case when ${value} = trunc(${value}) and ${value} ${range} then ${value}::${type} end`;

const floatToInteger =
  ({ type, range }: Width): Convert =>
  (value) => {
    const exact = sql`${value}::text::numeric`;
    return sql`case when ${value} = trunc(${value}) and ${exact} ${range} then ${exact}::${type} end`;
  };

const toBoolean: Convert = (value) => sql`case ${value} when 0 then false when 1 then true end`;
const toFloat: Convert = (value, _now, schema) => sql`${internalRef(schema, 'as_float')}(${value}::text)`;

/**
 * Limits a decimal with a function call, for an expensive expression such as a function of text. Plain columns use
 * decimalColumn().
 */
const decimal: Convert = (value, next, schema) => {
  if (next.precision === undefined) return value;
  const scale = integerLiteral(next.scale ?? 0);
  const integerDigits = integerLiteral(next.precision - (next.scale ?? 0));
  return sql`${internalRef(schema, 'as_decimal')}(${value}, ${integerDigits}, ${scale})::${columnType(next)}`;
};

/** Limits a plain column without a function call, which takes longer than reading the column three times. */
const decimalColumn: Convert = (value, next) => {
  if (next.precision === undefined) return value;
  const scale = integerLiteral(next.scale ?? 0);
  const limit = sql`10::numeric ^ ${integerLiteral(next.precision - (next.scale ?? 0))}`;
  return sql`case when round(${value}, ${scale}) = ${value} and abs(${value}) < ${limit} then ${value}::${columnType(next)} end`;
};

const integerToDecimal: Convert = (value, next, schema) => decimalColumn(sql`${value}::numeric`, next, schema);
// Float to decimal by the shortest text that reads as the same float; a direct cast keeps only 15 digits.
const floatToDecimal: Convert = (value, next, schema) => decimal(sql`${value}::text::numeric`, next, schema);

const midnight: Convert = (value) => sql`${value}::timestamp at time zone 'UTC'`;
const toDate: Convert = (value) => {
  const local = sql`(${value} at time zone 'UTC')`;
  return sql`case when ${local} = date_trunc('day', ${local}) then ${local}::date end`;
};

// PostgreSQL can read every text that the regular expression accepts, so no function has to catch errors. The time is
// built from its parts, because a cast of the whole text depends on settings (the text could be `now`) and Citus does
// not allow such a cast in a CASE.
const toTime: Convert = (value) => {
  const part = (at: number): Fragment => sql`substr(${value}, ${integerLiteral(at)}, 2)`;
  const time = sql`make_time(${part(1)}::int4, ${part(4)}::int4, ('0' || ${part(7)})::float8)`;
  return sql`case when ${value} ~ '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$' then ${time} end`;
};

/** Conversions of text in the format of request bodies and filters. */
const FROM_TEXT = {
  ...texts(identity),
  integer: (value, _now, schema) => sql`${internalRef(schema, 'as_integer')}(${value})`,
  bigint: (value, _now, schema) => sql`${internalRef(schema, 'as_bigint')}(${value})`,
  decimal: (value, next, schema) => decimal(sql`${internalRef(schema, 'as_numeric')}(${value})`, next, schema),
  float: (value, _now, schema) => sql`${internalRef(schema, 'as_float')}(${value})`,
  boolean: (value) => sql`case ${value} when 'true' then true when 'false' then false end`,
  date: (value, _now, schema) => sql`${internalRef(schema, 'as_date')}(${value})`,
  datetime: (value, _now, schema) => sql`${internalRef(schema, 'as_datetime')}(${value})`,
  time: toTime,
  uuid: (value, _now, schema) => sql`${internalRef(schema, 'as_uuid')}(${value})`,
  json: (value, _now, schema) => sql`${internalRef(schema, 'as_json')}(${value})`,
} satisfies Conversions;

/** Converts a JSON value that a request body could contain for the type. */
const fromJson =
  (type: keyof typeof FROM_TEXT): Convert =>
  (value, next, schema) =>
    sql`case when jsonb_typeof(${value}) = ${literal(fieldType(type).json)} then ${FROM_TEXT[type](sql`(${value} #>> '{}')`, next, schema)} end`;

/**
 * Conversions by old type, then by new type. Every pair is listed, and a new type does not compile without its row and
 * column.
 */
const CONVERSIONS: Readonly<Record<FieldTypeName, Conversions>> = {
  string: FROM_TEXT,
  text: FROM_TEXT,
  enum: FROM_TEXT,
  integer: {
    ...texts(toText),
    integer: identity,
    bigint: (value) => sql`${value}::int8`,
    decimal: integerToDecimal,
    float: (value) => sql`${value}::float8`,
    boolean: toBoolean,
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  bigint: {
    ...texts(toText),
    integer: narrowInteger(INT4),
    bigint: identity,
    decimal: integerToDecimal,
    float: toFloat,
    boolean: toBoolean,
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  decimal: {
    ...texts(toText),
    integer: decimalToInteger(INT4),
    bigint: decimalToInteger(INT8),
    decimal: decimalColumn,
    float: toFloat,
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  float: {
    ...texts(toText),
    integer: floatToInteger(INT4),
    bigint: floatToInteger(INT8),
    decimal: floatToDecimal,
    float: identity,
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  boolean: {
    ...texts(toText),
    integer: (value) => sql`${value}::int4::int4`,
    bigint: (value) => sql`${value}::int4::int8`,
    decimal: 'never',
    float: 'never',
    boolean: identity,
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  date: {
    ...texts(isoDate),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: identity,
    datetime: midnight,
    time: 'never',
    uuid: 'never',
    json: toJsonText(isoDate),
  },
  datetime: {
    ...texts(isoDateTime),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: toDate,
    datetime: identity,
    time: 'never',
    uuid: 'never',
    json: toJsonText(isoDateTime),
  },
  time: {
    ...texts(toText),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: identity,
    uuid: 'never',
    json: toJsonText(toText),
  },
  uuid: {
    ...texts(toText),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: identity,
    json: toJsonText(toText),
  },
  json: {
    ...texts(toText),
    integer: fromJson('integer'),
    bigint: fromJson('bigint'),
    decimal: fromJson('decimal'),
    float: fromJson('float'),
    boolean: fromJson('boolean'),
    date: fromJson('date'),
    datetime: fromJson('datetime'),
    time: fromJson('time'),
    uuid: fromJson('uuid'),
    json: identity,
  },
};
