// What becomes of a value when its field changes its type: in place, or as an expression that is null where the new type
// cannot hold the value exactly. Nothing is rounded or cut; the formatting of a text may be lost.
import type { Field } from '../model/entity.ts';
import { type FieldTypeName, fieldType } from '../model/field-types.ts';
import { beside } from '../sql/beside-names.ts';
import { type Fragment, keyword, literal, sql, wholeNumber } from '../sql/fragment.ts';

export type Cast =
  /** The column stays as it is. */
  | { readonly kind: 'none' }
  /** PostgreSQL changes the type without looking at a record. */
  | { readonly kind: 'widen' }
  /** Each value is converted, by functions of the `schema`; null for null, and for what the new type cannot hold. */
  | { readonly kind: 'convert'; readonly value: (column: Fragment, schema: string) => Fragment }
  /** No value of the one type means anything in the other. */
  | { readonly kind: 'never' };

/** The type of the column in PostgreSQL. */
export const columnType = (field: Field): Fragment => keyword(fieldType(field.type).columnType(field));

export function castOf(was: Field, now: Field): Cast {
  if (fieldType(was.type).columnType(was) === fieldType(now.type).columnType(now)) return { kind: 'none' };
  if (was.type === 'decimal' && now.type === 'decimal' && isWider(was, now)) return { kind: 'widen' };
  const convert = CONVERSIONS[was.type][now.type];
  return convert === 'never'
    ? { kind: 'never' }
    : { kind: 'convert', value: (column, schema) => convert(column, now, schema) };
}

/** PostgreSQL rewrites a numeric column unless the scale stays and the precision grows, or both bounds go. */
function isWider(was: Field, now: Field): boolean {
  if (now.precision === undefined) return true;
  return was.precision !== undefined && (was.scale ?? 0) === (now.scale ?? 0) && now.precision >= was.precision;
}

/** Gives SQL of a value of the new type, null where it cannot hold the old one exactly. */
type Convert = (value: Fragment, now: Field, schema: string) => Fragment;
type Conversions = Readonly<Record<FieldTypeName, Convert | 'never'>>;

const same: Convert = (value) => value;
const printed: Convert = (value) => sql`${value}::text`;

/** To the types that PostgreSQL stores as text. */
const texts = (convert: Convert) => ({ string: convert, text: convert, enum: convert }) as const;

const isoDate: Convert = (value) => sql`to_char(${value}::timestamp, 'YYYY-MM-DD')`;
const isoDateTime: Convert = (value) =>
  sql`replace(to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')`;

const member: Convert = (value) => sql`to_jsonb(${value})`;
const memberOf =
  (text: Convert): Convert =>
  (value, now, schema) =>
    sql`to_jsonb(${text(value, now, schema)})`;

interface Width {
  readonly type: Fragment;
  readonly range: Fragment;
}

const INT4: Width = { type: keyword('int4'), range: sql`between -2147483648 and 2147483647` };
const INT8: Width = { type: keyword('int8'), range: sql`between -9223372036854775808 and 9223372036854775807` };

const narrowed =
  ({ type, range }: Width): Convert =>
  (value) =>
    sql`case when ${value} ${range} then ${value}::${type} end`;

const wholeDecimal =
  ({ type, range }: Width): Convert =>
  (value) =>
    sql`case when ${value} = trunc(${value}) and ${value} ${range} then ${value}::${type} end`;

const wholeFloat =
  ({ type, range }: Width): Convert =>
  (value) => {
    const exact = sql`${value}::text::numeric`;
    return sql`case when ${value} = trunc(${value}) and ${exact} ${range} then ${exact}::${type} end`;
  };

const truth: Convert = (value) => sql`case ${value} when 0 then false when 1 then true end`;
const exactFloat: Convert = (value, _now, schema) => sql`${beside(schema, 'as_float')}(${value}::text)`;

/** For an expensive expression, such as a function of text; for a plain column use decimalColumn. */
const decimal: Convert = (value, now, schema) => {
  if (now.precision === undefined) return value;
  const scale = wholeNumber(now.scale ?? 0);
  const whole = wholeNumber(now.precision - (now.scale ?? 0));
  return sql`${beside(schema, 'as_decimal')}(${value}, ${whole}, ${scale})::${columnType(now)}`;
};

/** The same without a function call, which takes longer than three looks at a plain value. */
const decimalColumn: Convert = (value, now) => {
  if (now.precision === undefined) return value;
  const scale = wholeNumber(now.scale ?? 0);
  const limit = sql`10::numeric ^ ${wholeNumber(now.precision - (now.scale ?? 0))}`;
  return sql`case when round(${value}, ${scale}) = ${value} and abs(${value}) < ${limit} then ${value}::${columnType(now)} end`;
};

const wholeToDecimal: Convert = (value, now, schema) => decimalColumn(sql`${value}::numeric`, now, schema);
// The shortest text that reads as the same float; a direct cast keeps 15 digits.
const floatToDecimal: Convert = (value, now, schema) => decimal(sql`${value}::text::numeric`, now, schema);

const midnight: Convert = (value) => sql`${value}::timestamp at time zone 'UTC'`;
const dayOf: Convert = (value) => {
  const local = sql`(${value} at time zone 'UTC')`;
  return sql`case when ${local} = date_trunc('day', ${local}) then ${local}::date end`;
};

// PostgreSQL can read every text that the expression lets through, so no function has to catch errors. Of its parts, as a
// cast of the whole depends on settings (it could say `now`), and a cluster takes nothing such in a case.
const timeOf: Convert = (value) => {
  const part = (at: number): Fragment => sql`substr(${value}, ${wholeNumber(at)}, 2)`;
  const time = sql`make_time(${part(1)}::int4, ${part(4)}::int4, ('0' || ${part(7)})::float8)`;
  return sql`case when ${value} ~ '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$' then ${time} end`;
};

/** Text that is a value as bodies and filters write it. */
const FROM_TEXT = {
  ...texts(same),
  integer: (value, _now, schema) => sql`${beside(schema, 'as_integer')}(${value})`,
  bigint: (value, _now, schema) => sql`${beside(schema, 'as_bigint')}(${value})`,
  decimal: (value, now, schema) => decimal(sql`${beside(schema, 'as_numeric')}(${value})`, now, schema),
  float: (value, _now, schema) => sql`${beside(schema, 'as_float')}(${value})`,
  boolean: (value) => sql`case ${value} when 'true' then true when 'false' then false end`,
  date: (value, _now, schema) => sql`${beside(schema, 'as_date')}(${value})`,
  datetime: (value, _now, schema) => sql`${beside(schema, 'as_datetime')}(${value})`,
  time: timeOf,
  uuid: (value, _now, schema) => sql`${beside(schema, 'as_uuid')}(${value})`,
  json: (value, _now, schema) => sql`${beside(schema, 'as_json')}(${value})`,
} satisfies Conversions;

/** A JSON value that is one of the type, as a body would give it. */
const fromJson =
  (type: keyof typeof FROM_TEXT): Convert =>
  (value, now, schema) =>
    sql`case when jsonb_typeof(${value}) = ${literal(fieldType(type).json)} then ${FROM_TEXT[type](sql`(${value} #>> '{}')`, now, schema)} end`;

/** From the type of a row to that of a member: every pair is thought of, and a new type does not compile before it is. */
const CONVERSIONS: Readonly<Record<FieldTypeName, Conversions>> = {
  string: FROM_TEXT,
  text: FROM_TEXT,
  enum: FROM_TEXT,
  integer: {
    ...texts(printed),
    integer: same,
    bigint: (value) => sql`${value}::int8`,
    decimal: wholeToDecimal,
    float: (value) => sql`${value}::float8`,
    boolean: truth,
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  bigint: {
    ...texts(printed),
    integer: narrowed(INT4),
    bigint: same,
    decimal: wholeToDecimal,
    float: exactFloat,
    boolean: truth,
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  decimal: {
    ...texts(printed),
    integer: wholeDecimal(INT4),
    bigint: wholeDecimal(INT8),
    decimal: decimalColumn,
    float: exactFloat,
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  float: {
    ...texts(printed),
    integer: wholeFloat(INT4),
    bigint: wholeFloat(INT8),
    decimal: floatToDecimal,
    float: same,
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: 'never',
    json: member,
  },
  boolean: {
    ...texts(printed),
    integer: (value) => sql`${value}::int4::int4`,
    bigint: (value) => sql`${value}::int4::int8`,
    decimal: 'never',
    float: 'never',
    boolean: same,
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
    date: same,
    datetime: midnight,
    time: 'never',
    uuid: 'never',
    json: memberOf(isoDate),
  },
  datetime: {
    ...texts(isoDateTime),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: dayOf,
    datetime: same,
    time: 'never',
    uuid: 'never',
    json: memberOf(isoDateTime),
  },
  time: {
    ...texts(printed),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: same,
    uuid: 'never',
    json: memberOf(printed),
  },
  uuid: {
    ...texts(printed),
    integer: 'never',
    bigint: 'never',
    decimal: 'never',
    float: 'never',
    boolean: 'never',
    date: 'never',
    datetime: 'never',
    time: 'never',
    uuid: same,
    json: memberOf(printed),
  },
  json: {
    ...texts(printed),
    integer: fromJson('integer'),
    bigint: fromJson('bigint'),
    decimal: fromJson('decimal'),
    float: fromJson('float'),
    boolean: fromJson('boolean'),
    date: fromJson('date'),
    datetime: fromJson('datetime'),
    time: fromJson('time'),
    uuid: fromJson('uuid'),
    json: same,
  },
};
