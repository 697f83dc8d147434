// What becomes of a value when its field changes its type: in place, or as an expression that is null where the new type
// cannot hold the value exactly. Nothing is rounded or cut; formatting of text is no information.
import type { Field } from '../model/entity.ts';
import { type FieldTypeName, fieldType } from '../model/field-types.ts';
import { type Fragment, keyword, literal, sql, wholeNumber } from '../sql/fragment.ts';

export type Cast =
  /** The column stays as it is. */
  | { readonly kind: 'none' }
  /** PostgreSQL changes the type without looking at a record. */
  | { readonly kind: 'widen' }
  /** Each value is converted; null for null, and for what the new type cannot hold. */
  | { readonly kind: 'convert'; readonly value: (column: Fragment) => Fragment }
  /** No value of the one type means anything in the other. */
  | { readonly kind: 'never' };

type Convert = (value: Fragment) => Fragment;

/** The type of the column in PostgreSQL. */
export const columnType = (field: Field): Fragment => keyword(fieldType(field.type).columnType(field));

export function castOf(was: Field, now: Field): Cast {
  if (fieldType(was.type).columnType(was) === fieldType(now.type).columnType(now)) return { kind: 'none' };
  if (was.type === 'decimal' && now.type === 'decimal') {
    return isWider(was, now) ? { kind: 'widen' } : { kind: 'convert', value: decimalColumn(now) };
  }
  const convert = converter(was.type, now);
  return convert === undefined ? { kind: 'never' } : { kind: 'convert', value: convert };
}

/** PostgreSQL rewrites a numeric column unless the scale stays and the precision grows, or both bounds go. */
function isWider(was: Field, now: Field): boolean {
  if (now.precision === undefined) return true;
  return was.precision !== undefined && (was.scale ?? 0) === (now.scale ?? 0) && now.precision >= was.precision;
}

const isText = (type: FieldTypeName): boolean => fieldType(type).textual;

function converter(from: FieldTypeName, to: Field): Convert | undefined {
  if (isText(to.type)) return asText(from);
  if (isText(from)) return fromText(to);
  if (to.type === 'json') return asJson(from);
  if (from === 'json') return fromJson(to);
  switch (to.type) {
    case 'integer':
      return toInteger(from, keyword('int4'), sql`between -2147483648 and 2147483647`);
    case 'bigint':
      return toInteger(from, keyword('int8'), sql`between -9223372036854775808 and 9223372036854775807`);
    case 'decimal':
      if (from === 'integer' || from === 'bigint') return (value) => decimalColumn(to)(sql`${value}::numeric`);
      // The shortest text that reads as the same float; a direct cast keeps 15 digits.
      return from === 'float' ? (value) => decimal(to)(sql`${value}::text::numeric`) : undefined;
    case 'float':
      if (from === 'integer') return (value) => sql`${value}::float8`;
      return from === 'bigint' || from === 'decimal' ? exactFloat : undefined;
    case 'boolean':
      return from === 'integer' || from === 'bigint'
        ? (value) => sql`case ${value} when 0 then false when 1 then true end`
        : undefined;
    case 'date':
      return from === 'datetime' ? toDate : undefined;
    case 'datetime':
      return from === 'date' ? (value) => sql`${value}::timestamp at time zone 'UTC'` : undefined;
    default:
      return undefined;
  }
}

function toInteger(from: FieldTypeName, cast: Fragment, range: Fragment): Convert | undefined {
  switch (from) {
    case 'integer':
      return (value) => sql`${value}::${cast}`;
    case 'bigint':
      return (value) => sql`case when ${value} ${range} then ${value}::${cast} end`;
    case 'decimal':
      return (value) => sql`case when ${value} = trunc(${value}) and ${value} ${range} then ${value}::${cast} end`;
    case 'float':
      return (value) => {
        const exact = sql`${value}::text::numeric`;
        return sql`case when ${value} = trunc(${value}) and ${exact} ${range} then ${exact}::${cast} end`;
      };
    case 'boolean':
      return (value) => sql`${value}::int4::${cast}`;
    default:
      return undefined;
  }
}

/** Of an expression that is dear, such as a function of text; of a column, see decimalColumn. */
function decimal(to: Field): Convert {
  if (to.precision === undefined) return (value) => value;
  const scale = wholeNumber(to.scale ?? 0);
  const whole = wholeNumber(to.precision - (to.scale ?? 0));
  return (value) => sql`wda.as_decimal(${value}, ${whole}, ${scale})::${columnType(to)}`;
}

/** The same without a call, which takes longer than looking at a plain value three times. */
function decimalColumn(to: Field): Convert {
  if (to.precision === undefined) return (value) => value;
  const scale = wholeNumber(to.scale ?? 0);
  const limit = sql`10::numeric ^ ${wholeNumber(to.precision - (to.scale ?? 0))}`;
  return (value) =>
    sql`case when round(${value}, ${scale}) = ${value} and abs(${value}) < ${limit} then ${value}::${columnType(to)} end`;
}

const exactFloat: Convert = (value) => sql`wda.as_float(${value}::text)`;

const toDate: Convert = (value) => {
  const local = sql`(${value} at time zone 'UTC')`;
  return sql`case when ${local} = date_trunc('day', ${local}) then ${local}::date end`;
};

/** As the API shows the value. Always possible. */
function asText(from: FieldTypeName): Convert {
  switch (from) {
    case 'date':
      return (value) => sql`to_char(${value}::timestamp, 'YYYY-MM-DD')`;
    case 'datetime':
      return (value) =>
        sql`replace(to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')`;
    default:
      return (value) => sql`${value}::text`;
  }
}

function fromText(to: Field): Convert | undefined {
  switch (to.type) {
    case 'integer':
      return (value) => sql`wda.as_integer(${value})`;
    case 'bigint':
      return (value) => sql`wda.as_bigint(${value})`;
    case 'decimal':
      return (value) => decimal(to)(sql`wda.as_numeric(${value})`);
    case 'float':
      return (value) => sql`wda.as_float(${value})`;
    case 'boolean':
      return (value) => sql`case ${value} when 'true' then true when 'false' then false end`;
    case 'date':
      return (value) => sql`wda.as_date(${value})`;
    case 'datetime':
      return (value) => sql`wda.as_datetime(${value})`;
    case 'uuid':
      return (value) => sql`wda.as_uuid(${value})`;
    case 'json':
      return (value) => sql`wda.as_json(${value})`;
    default:
      return undefined;
  }
}

function asJson(from: FieldTypeName): Convert {
  const text = asText(from);
  return ['date', 'datetime', 'uuid'].includes(from)
    ? (value) => sql`to_jsonb(${text(value)})`
    : (value) => sql`to_jsonb(${value})`;
}

/** A JSON value that is one of the type, as a body would give it. */
function fromJson(to: Field): Convert | undefined {
  const convert = fromText(to);
  if (convert === undefined) return undefined;
  const kind = ['integer', 'bigint', 'decimal', 'float'].includes(to.type)
    ? 'number'
    : to.type === 'boolean'
      ? 'boolean'
      : 'string';
  return (value) =>
    sql`case when jsonb_typeof(${value}) = ${literal(kind)} then ${convert(sql`(${value} #>> '{}')`)} end`;
}
