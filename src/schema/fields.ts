// Validates fields of a schema document: attributes against the type, bounds against each other, the default against
// all of them.
import { shorten } from '../errors.ts';
import { compareDecimals, parseDecimal } from '../model/decimal.ts';
import { isStorable } from '../model/exact-json.ts';
import {
  type Decoded,
  decodeValue,
  EXPANDS_TOO_MUCH,
  type FieldTypeName,
  fieldType,
  isGenerated,
  type TypeAttributes,
  typesWith,
} from '../model/field-types.ts';
import { MAX_EXPANDED_BYTES } from '../model/json-digits.ts';
import { type FieldDocument, SUBSTRING } from './format.ts';
import type { Path, Report } from './report.ts';
import type { EntityView, Loose } from './view.ts';

/** Types of fields that may have a word index or a substring index. */
const SEARCHED_TYPES: readonly FieldTypeName[] = ['string', 'text'];
const TYPE_ATTRIBUTES = ['maxLength', 'precision', 'scale', 'min', 'max', 'values'] as const;
// Columns that PostgreSQL adds to every table.
const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'];
const TIMESTAMPS = ['createdAt', 'updatedAt'];

export function checkFields(entity: EntityView, report: Report): void {
  let expandedBytes = 0;
  for (const [name, field] of entity.fields) {
    const path = [...entity.path, 'fields', name];
    checkColumnName(path, name, entity, report);
    if (field.type === undefined) continue;
    expandedBytes += checkAttributes(path, { ...field, type: field.type }, report);
    if (expandedBytes > MAX_EXPANDED_BYTES)
      report([...path, 'default'], 'OUT_OF_RANGE', `with the others ${EXPANDS_TOO_MUCH}`);
  }
  const isSearched = [...entity.fields.values()].some((field) => field.searchable === true);
  if (entity.document.searchLanguage !== undefined && !isSearched && !entity.opaque) {
    const path = [...entity.path, 'searchLanguage'];
    report(path, 'INVALID', 'means nothing for an entity without a field that is "searchable": true');
  }
}

/** Refuses names that a column of the entity may not have. */
export function checkColumnName(path: Path, name: string, entity: EntityView, report: Report): void {
  if (name === 'id') report(path, 'INVALID', 'id is reserved: every entity has it');
  if (SYSTEM_COLUMNS.includes(name)) report(path, 'INVALID', `${name} is reserved by PostgreSQL`);
  if (entity.document.timestamps === true && TIMESTAMPS.includes(name)) {
    report(path, 'INVALID', `${name} is the name of a field that timestamps adds`);
  }
}

type TypedField = Loose<FieldDocument> & { readonly type: FieldTypeName };

/** Returns the characters by which the default grows in PostgreSQL. */
function checkAttributes(path: Path, field: TypedField, report: Report): number {
  const type = fieldType(field.type);
  const at = (member: string): Path => [...path, member];
  for (const attribute of TYPE_ATTRIBUTES) {
    if (field[attribute] === undefined || type.attributes.includes(attribute)) continue;
    const owners = typesWith(attribute).join(', ');
    report(at(attribute), 'INVALID', `means nothing for type ${field.type}; it is for ${owners}`);
  }
  if (type.attributes.includes('values')) {
    if (field.values === undefined) report(at('values'), 'REQUIRED', `is required for an ${field.type}`);
    field.values?.forEach((value, index) => {
      if (value !== undefined && !isStorable(value)) {
        report([...at('values'), index], 'INVALID', 'must not contain NUL characters or lone surrogates');
      }
    });
  }
  if (type.attributes.includes('scale') && field.scale !== undefined) {
    if (field.precision === undefined) report(at('precision'), 'REQUIRED', 'is required with scale');
    else if (field.scale > field.precision) {
      report(at('scale'), 'OUT_OF_RANGE', `must not be greater than precision, which is ${field.precision}`);
    }
  }
  if (!SEARCHED_TYPES.includes(field.type)) {
    const message = `means nothing for type ${field.type}; it is for ${SEARCHED_TYPES.join(', ')}`;
    if (field.searchable === true) report(at('searchable'), 'INVALID', message);
    if (field.index === SUBSTRING) report(at('index'), 'INVALID', `"${SUBSTRING}" ${message}`);
  }
  checkBounds(at, field, report);
  const expandedBytes = checkDefault(at, field, report);
  if (!type.comparable) {
    for (const attribute of ['unique', 'index'] as const) {
      if (field[attribute] === true) report(at(attribute), 'INVALID', `means nothing for type ${field.type}`);
    }
  }
  return expandedBytes;
}

function checkBounds(at: (member: string) => Path, field: TypedField, report: Report): void {
  if (!fieldType(field.type).attributes.includes('min')) return;
  const bounds = { min: decodedBound(at, field, 'min', report), max: decodedBound(at, field, 'max', report) };
  if (bounds.min === undefined || bounds.max === undefined) return;
  if (isGreater(bounds.min, bounds.max)) {
    report(at('min'), 'OUT_OF_RANGE', `must not be greater than max, which is ${bounds.max}`);
  }
}

function decodedBound(
  at: (member: string) => Path,
  field: TypedField,
  member: 'min' | 'max',
  report: Report,
): string | undefined {
  if (field[member] === undefined) return undefined;
  const decoded = decodeBound(field.type, field[member]);
  if (decoded.ok) return decoded.value;
  report(at(member), decoded.code, decoded.message);
  return undefined;
}

/** Decodes a bound of a field to text of its type. Numbers may be written as numeric strings too. */
export function decodeBound(type: FieldTypeName, value: unknown): Decoded {
  return typeof value === 'string' ? fieldType(type).parseText(value, {}) : fieldType(type).decode(value, {});
}

/** Compares numbers by value, ISO text of one form as text. */
function isGreater(one: string, other: string): boolean {
  const [a, b] = [parseDecimal(one), parseDecimal(other)];
  return a !== undefined && b !== undefined ? compareDecimals(a, b) > 0 : one > other;
}

/** Returns the characters by which the default grows in PostgreSQL. */
function checkDefault(at: (member: string) => Path, field: TypedField, report: Report): number {
  const value = field.default;
  if (value === undefined || value === null) return 0;
  if (isGenerated(field.type, value)) return 0;
  const takesValues = fieldType(field.type).attributes.includes('values');
  if (takesValues && (field.values === undefined || [...field.values].some((one) => !one))) return 0;
  const attributes = ['min', 'max', 'maxLength', 'precision', 'scale', 'values'].filter((name) => report.has(at(name)));
  // A default cannot be checked against attributes that are mistaken themselves.
  const decoded =
    attributes.length > 0
      ? fieldType(field.type).decode(value, { values: field.values })
      : decodeValue({ type: field.type, ...getAttributes(field) }, value);
  if (decoded.ok) return decoded.expandedBytes ?? 0;
  const butIs = decoded.code === 'NOT_IN_ENUM' && typeof value === 'string' ? `, not ${shorten(value)}` : '';
  report(at('default'), decoded.code, decoded.message + butIs + wordFor(field.type));
  return 0;
}

function wordFor(type: FieldTypeName): string {
  const { generated } = fieldType(type);
  return generated === null ? '' : `, or "${generated.word}"`;
}

/** Returns the attributes that the type reads, for a field without mistakes. */
export function getAttributes(field: TypedField): TypeAttributes {
  const bound = (value: unknown): string | undefined => {
    if (value === undefined) return undefined;
    const decoded = decodeBound(field.type, value);
    return decoded.ok ? decoded.value : undefined;
  };
  return {
    maxLength: field.maxLength,
    precision: field.precision,
    scale: field.scale,
    min: bound(field.min),
    max: bound(field.max),
    values: field.values,
  };
}
