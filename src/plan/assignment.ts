// Body of a create or update -> column values as text, or every mistake in it at once (100 at most).
import { badRequest, type Detail, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { decodeValue, EXPANDS_TOO_MUCH } from '../model/field-types.ts';
import { MAX_EXPANDED_BYTES } from '../model/json-digits.ts';
import { MAX_DETAILS, makeUnknownNameFormatter, type UnknownNameFormatter } from './unknown-name.ts';

/** Text of each column to write, null for null, in the order of the body. */
export type Assignment = ReadonlyMap<string, string | null>;

export interface AssignmentResult {
  readonly values: Assignment;
  readonly details: readonly Detail[];
  /** Characters by which the values grow in PostgreSQL. */
  readonly expandedBytes: number;
}

/**
 * Checks every member of the body; `pathId` is the id in the path of an update, `ruleColumns` the columns that the row
 * rules set and that a create may omit. Throws 400 when the body is no object.
 */
export function planAssignment(
  body: unknown,
  entity: Entity,
  pathId: string | undefined,
  ruleColumns: ReadonlySet<string> = NOTHING,
): AssignmentResult {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || numberText(body) !== undefined) {
    throw badRequest('INVALID_BODY', 'The request body must be one JSON object');
  }
  const details: Detail[] = [];
  const values = new Map<string, string | null>();
  let formatUnknownName: UnknownNameFormatter | undefined;
  let expandedBytes = 0;
  for (const [name, value] of Object.entries(body)) {
    if (details.length >= MAX_DETAILS) break;
    const field = entity.fields.get(name);
    if (field === undefined) {
      formatUnknownName ??= makeUnknownNameFormatter();
      details.push(unknownField(entity, name, formatUnknownName));
    } else if (isWritable(field)) expandedBytes += assign(field, value, values, details);
    else if (!(field.role === 'id' && pathId !== undefined && sameId(value, pathId))) {
      details.push({ field: name, code: 'READ_ONLY', message: 'is set by the server' });
    }
  }
  if (expandedBytes > MAX_EXPANDED_BYTES)
    details.push({ field: null, code: 'OUT_OF_RANGE', message: EXPANDS_TOO_MUCH });
  if (pathId === undefined) requireAll(entity, body, ruleColumns, details);
  return { values, details: details.slice(0, MAX_DETAILS), expandedBytes };
}

/** Returns the number of characters by which the value grows in PostgreSQL. */
function assign(field: Field, value: unknown, values: Map<string, string | null>, details: Detail[]): number {
  if (value === null) {
    if (field.required) details.push(makeRequiredDetail(field.name));
    else values.set(field.name, null);
    return 0;
  }
  const decoded = decodeValue(field, value);
  if (decoded.ok) {
    values.set(field.name, decoded.value);
    return decoded.expandedBytes ?? 0;
  }
  details.push({ field: field.name, code: decoded.code, message: decoded.message });
  return 0;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Returns whether a create must give the field. */
export const isRequired = (field: Field, ruleColumns: ReadonlySet<string>): boolean =>
  isWritable(field) && field.required && field.default === undefined && !ruleColumns.has(field.name);

function requireAll(entity: Entity, body: object, ruleColumns: ReadonlySet<string>, details: Detail[]): void {
  for (const field of entity.fields.values()) {
    if (isRequired(field, ruleColumns) && !Object.hasOwn(body, field.name))
      details.push(makeRequiredDetail(field.name));
  }
}

export function makeRequiredDetail(name: string): Detail {
  return { field: name, code: 'REQUIRED', message: 'is required' };
}

/** Returns whether principals write the field, or the server sets it. */
export function isWritable(field: Field): boolean {
  return field.role === 'data' || field.role === 'reference';
}

function unknownField(entity: Entity, name: string, formatUnknownName: UnknownNameFormatter): Detail {
  const relation = entity.relations.get(name);
  if (relation !== undefined) {
    const message =
      relation.kind === 'belongsTo'
        ? `is a relation; write the id of the other record into ${relation.column}`
        : `is a relation; write it from the records of ${relation.entity}`;
    return { field: name, code: 'UNKNOWN_FIELD', message };
  }
  const candidates = [...entity.fields.values()].filter(isWritable).map((field) => field.name);
  return {
    field: shorten(name),
    code: 'UNKNOWN_FIELD',
    message: formatUnknownName(`is not a field of ${entity.name}`, name, candidates),
  };
}

// Fits every id, with leading zeros.
const MAX_ID_CHARACTERS = 100;

function sameId(value: unknown, pathId: string): boolean {
  const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
  return (
    text !== undefined && text.length <= MAX_ID_CHARACTERS && /^-?\d+$/.test(text) && BigInt(text) === BigInt(pathId)
  );
}
