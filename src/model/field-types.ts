// Field types by name, and functions that ask the type of a field. A type is one file of field-types/; a name without
// one does not compile.
import { numberText } from './exact-json.ts';
import { boolean } from './field-types/boolean.ts';
import { date } from './field-types/date.ts';
import { datetime } from './field-types/datetime.ts';
import { decimal } from './field-types/decimal.ts';
import { enumeration } from './field-types/enum.ts';
import type { Decoded, FieldType, FieldTypeName, Generated, TypeAttributes } from './field-types/field-type.ts';
import { float } from './field-types/float.ts';
import { bigint, integer } from './field-types/integer.ts';
import { json } from './field-types/json.ts';
import { text } from './field-types/text.ts';
import { time } from './field-types/time.ts';
import { uuid } from './field-types/uuid.ts';

export type {
  DatePart,
  Decoded,
  FieldType,
  FieldTypeName,
  Generated,
  JsonSchema,
  TypeAttributes,
} from './field-types/field-type.ts';
export { DATE_PARTS } from './field-types/field-type.ts';
export { EXPANDS_TOO_MUCH } from './field-types/json.ts';
export { TEXT_COLLATION } from './field-types/text.ts';

/** Field types in the order in which messages and the schema of documents name them. */
const TYPES: Readonly<Record<FieldTypeName, FieldType>> = {
  string: text,
  text,
  integer,
  bigint,
  decimal,
  float,
  boolean,
  date,
  datetime,
  time,
  uuid,
  json,
  enum: enumeration,
};

export const FIELD_TYPE_NAMES = Object.keys(TYPES) as readonly FieldTypeName[];

export function fieldType(name: FieldTypeName): FieldType {
  return TYPES[name];
}

export function isFieldTypeName(name: string): name is FieldTypeName {
  return Object.hasOwn(TYPES, name);
}

/** Returns the types that an attribute of the schema document applies to. */
export function typesWith(attribute: FieldType['attributes'][number]): readonly FieldTypeName[] {
  return FIELD_TYPE_NAMES.filter((name) => TYPES[name].attributes.includes(attribute));
}

type Typed = TypeAttributes & { readonly type: FieldTypeName };

/** Decodes the value of a JSON body and checks it against the field's bounds. `value` is not null. */
export function decodeValue(field: Typed, value: unknown): Decoded {
  return checkBounds(field, TYPES[field.type].decode(value, field));
}

/** Parses text of a file (a CSV cell, a string of NDJSON) that is to be stored in the field. */
export function parseStored(field: Typed, text: string): Decoded {
  return checkBounds(field, TYPES[field.type].cell(text, field));
}

function checkBounds(field: Typed, decoded: Decoded): Decoded {
  const check = TYPES[field.type].check;
  return decoded.ok && check !== undefined ? check(decoded.value, field) : decoded;
}

/** Returns the default that is generated for each record, or null if `value` is not one. */
export function generatedBy(type: FieldTypeName, value: unknown): Generated | null {
  const { generated } = TYPES[type];
  return generated?.word === value ? generated : null;
}

/** Returns whether the default is generated for each record. */
export function isGenerated(type: FieldTypeName, value: unknown): boolean {
  return generatedBy(type, value) !== null;
}

/** Default of a column for SQL: an expression of our code, or the text of a value. */
export type ColumnDefault =
  | { readonly kind: 'expression'; readonly expression: string }
  | { readonly kind: 'value'; readonly text: string };

/** Returns the default, or undefined for a field without one. */
export function columnDefault(
  field: Typed & { readonly name: string; readonly default: unknown },
): ColumnDefault | undefined {
  if (field.default === undefined) return undefined;
  const generated = generatedBy(field.type, field.default);
  if (generated !== null) return { kind: 'expression', expression: generated.expression };
  const decoded = decodeValue(field, field.default);
  if (!decoded.ok) throw new TypeError(`default of ${field.name} ${decoded.message}: ${numberText(field.default)}`);
  return { kind: 'value', text: decoded.value };
}
