// Body of a create or update -> column values as text, or every mistake in it at once (100 at most).
import { badRequest, type Detail, shown } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { decodeValue, TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import { MAX_DETAILS, makeNaming, type Naming } from './naming.ts';

/** Text of each column to be written, null for null, in the order of the body. */
export type Assignment = ReadonlyMap<string, string | null>;

export interface AssignmentResult {
  readonly values: Assignment;
  readonly details: readonly Detail[];
  /** Characters by which the values grow in PostgreSQL. */
  readonly growth: number;
}

/**
 * Checks every member of the body; `pathId` is the id of an update's path, `stamped` the columns that the row rules
 * set and that a create need not give. Throws 400 when the body is no object.
 */
export function planAssignment(
  body: unknown,
  entity: Entity,
  pathId: string | undefined,
  stamped: ReadonlySet<string> = NOTHING,
): AssignmentResult {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || numberText(body) !== undefined) {
    throw badRequest('INVALID_BODY', 'The request body must be one JSON object');
  }
  const details: Detail[] = [];
  const values = new Map<string, string | null>();
  let naming: Naming | undefined;
  let growth = 0;
  for (const [name, value] of Object.entries(body)) {
    if (details.length >= MAX_DETAILS) break;
    const field = entity.fields.get(name);
    if (field === undefined) {
      naming ??= makeNaming();
      details.push(unknownField(entity, name, naming));
    } else if (isWritable(field)) growth += assign(field, value, values, details);
    else if (!(field.role === 'id' && pathId !== undefined && sameId(value, pathId))) {
      details.push({ field: name, code: 'READ_ONLY', message: 'is set by the server' });
    }
  }
  if (growth > MAX_GROWTH) details.push({ field: null, code: 'OUT_OF_RANGE', message: TOO_MUCH_GROWTH });
  if (pathId === undefined) requireAll(entity, body, stamped, details);
  return { values, details: details.slice(0, MAX_DETAILS), growth };
}

/** Gives the characters by which the value grows in PostgreSQL. */
function assign(field: Field, value: unknown, values: Map<string, string | null>, details: Detail[]): number {
  if (value === null) {
    if (field.required) details.push(missing(field.name));
    else values.set(field.name, null);
    return 0;
  }
  const decoded = decodeValue(field, value);
  if (decoded.ok) {
    values.set(field.name, decoded.value);
    return decoded.growth ?? 0;
  }
  details.push({ field: field.name, code: decoded.code, message: decoded.message });
  return 0;
}

const NOTHING: ReadonlySet<string> = new Set();

/** True for a field that a record must be given when it is created. */
export const isRequired = (field: Field, stamped: ReadonlySet<string>): boolean =>
  isWritable(field) && field.required && field.default === undefined && !stamped.has(field.name);

function requireAll(entity: Entity, body: object, stamped: ReadonlySet<string>, details: Detail[]): void {
  for (const field of entity.fields.values()) {
    if (isRequired(field, stamped) && !Object.hasOwn(body, field.name)) details.push(missing(field.name));
  }
}

export function missing(name: string): Detail {
  return { field: name, code: 'REQUIRED', message: 'is required' };
}

/** True when principals write the field, false when the server sets it. */
export function isWritable(field: Field): boolean {
  return field.role === 'data' || field.role === 'reference';
}

function unknownField(entity: Entity, name: string, naming: Naming): Detail {
  const relation = entity.relations.get(name);
  if (relation !== undefined) {
    const message =
      relation.kind === 'belongsTo'
        ? `is a relation; write the id of the other record into ${relation.column}`
        : `is a relation; write it from the records of ${relation.entity}`;
    return { field: name, code: 'UNKNOWN_FIELD', message };
  }
  const known = [...entity.fields.values()].filter(isWritable).map((field) => field.name);
  return {
    field: shown(name),
    code: 'UNKNOWN_FIELD',
    message: naming(`is not a field of ${entity.name}`, name, known),
  };
}

// Enough for every id, with zeros before it.
const MAX_ID_CHARACTERS = 100;

function sameId(value: unknown, pathId: string): boolean {
  const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
  return (
    text !== undefined && text.length <= MAX_ID_CHARACTERS && /^-?\d+$/.test(text) && BigInt(text) === BigInt(pathId)
  );
}
