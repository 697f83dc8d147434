// Body of a create or update -> column values as text, or every mistake in it at once.
import { badRequest, type Detail } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { decodeValue } from '../model/field-types.ts';

/** Text of each column to be written, null for null, in the order of the body. */
export type Assignment = ReadonlyMap<string, string | null>;

export interface AssignmentResult {
  readonly values: Assignment;
  readonly details: readonly Detail[];
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
    throw badRequest('The request body must be one JSON object');
  }
  const details: Detail[] = [];
  const values = new Map<string, string | null>();
  for (const [name, value] of Object.entries(body)) {
    const field = entity.fields.get(name);
    if (field === undefined) details.push(unknownField(entity, name));
    else if (field.role === 'data' || field.role === 'reference') assign(field, value, values, details);
    else if (!(field.role === 'id' && pathId !== undefined && sameId(value, pathId))) {
      details.push({ field: name, code: 'READ_ONLY', message: 'is set by the server' });
    }
  }
  if (pathId === undefined) requireAll(entity, body, stamped, details);
  return { values, details };
}

function assign(field: Field, value: unknown, values: Map<string, string | null>, details: Detail[]): void {
  if (value === null) {
    if (field.required) details.push(missing(field.name));
    else values.set(field.name, null);
    return;
  }
  const decoded = decodeValue(field, value);
  if (decoded.ok) values.set(field.name, decoded.value);
  else details.push({ field: field.name, code: decoded.code, message: decoded.message });
}

const NOTHING: ReadonlySet<string> = new Set();

function requireAll(entity: Entity, body: object, stamped: ReadonlySet<string>, details: Detail[]): void {
  for (const field of entity.fields.values()) {
    const writable = field.role === 'data' || field.role === 'reference';
    if (
      writable &&
      field.required &&
      field.default === undefined &&
      !Object.hasOwn(body, field.name) &&
      !stamped.has(field.name)
    ) {
      details.push(missing(field.name));
    }
  }
}

export function missing(name: string): Detail {
  return { field: name, code: 'REQUIRED', message: 'is required' };
}

function unknownField(entity: Entity, name: string): Detail {
  const relation = entity.relations.get(name);
  if (relation !== undefined) {
    const message =
      relation.kind === 'belongsTo'
        ? `is a relation; write the id of the other record into ${relation.column}`
        : `is a relation; write it from the records of ${relation.entity}`;
    return { field: name, code: 'UNKNOWN_FIELD', message };
  }
  const known = [...entity.fields.values()]
    .filter((field) => field.role === 'data' || field.role === 'reference')
    .map((field) => field.name);
  const suggestion = closest(name, known);
  return {
    field: name,
    code: 'UNKNOWN_FIELD',
    message: `is not a field of ${entity.name}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${known.join(', ')}`,
  };
}

function sameId(value: unknown, pathId: string): boolean {
  const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
  return text !== undefined && /^-?\d+$/.test(text) && BigInt(text) === BigInt(pathId);
}
