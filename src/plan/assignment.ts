// Body of a create or update -> column values as text, or every mistake in it at once (100 at most).

import { badRequest, type Detail, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { type Decoded, decodeValue, EXPANDS_TOO_MUCH, fieldType } from '../model/field-types.ts';
import { MAX_EXPANDED_BYTES } from '../model/json-digits.ts';
import type { Relation } from '../model/relation.ts';
import { getRequiredFields, isWritable } from '../model/writable.ts';
import { isRecord } from '../request/members.ts';
import { type Change, type Member, readMember } from './change.ts';
import { MAX_DETAILS, makeUnknownNameFormatter, type UnknownNameFormatter } from './unknown-name.ts';

/** Text of each column to write, null for null, in the order of the body. */
export type Assignment = ReadonlyMap<string, string | null>;

export interface AssignmentResult {
  readonly values: Assignment;
  /** Changes of stored values, of an update; none of these fields is in `values`. */
  readonly changes: ReadonlyMap<string, Change>;
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
  if (!isRecord(body)) throw badRequest('INVALID_BODY', 'The request body must be one JSON object');
  const details: Detail[] = [];
  const values = new Map<string, string | null>();
  const changes = new Map<string, Change>();
  let formatUnknownName: UnknownNameFormatter | undefined;
  let expandedBytes = 0;
  for (const [name, value] of Object.entries(body)) {
    if (details.length >= MAX_DETAILS) break;
    const field = entity.fields.get(name);
    if (field === undefined) {
      formatUnknownName ??= makeUnknownNameFormatter();
      details.push(unknownField(entity, name, formatUnknownName));
    } else if (isWritable(field)) {
      const member: Member = pathId === undefined ? readCreated(field, value) : readMember(field, value);
      if (member.kind === 'change') {
        changes.set(name, member.change);
        continue;
      }
      const column = member.kind === 'mistake' ? refuse(member) : decodeColumn(field, member.value, decodeValue);
      if (column.ok) {
        values.set(name, column.value);
        expandedBytes += column.expandedBytes ?? 0;
      } else details.push(column.detail);
    } else if (!(field.role === 'id' && pathId !== undefined && sameId(value, pathId))) {
      details.push({ field: name, code: 'READ_ONLY', message: 'is set by the server' });
    }
  }
  if (expandsTooMuch(expandedBytes)) details.push(EXPANSION_DETAIL);
  if (pathId === undefined) {
    for (const { name } of getRequiredFields(entity, ruleColumns))
      if (!Object.hasOwn(body, name)) details.push(makeRequiredDetail(name));
  }
  return { values, changes, details: details.slice(0, MAX_DETAILS), expandedBytes };
}

/** Reads a member of a create. An operator has no stored value to change, except in JSON, where it is data. */
function readCreated(field: Field, value: unknown): Member {
  if (field.type === 'json' || readMember(field, value).kind === 'value') return { kind: 'value', value };
  const message = 'must be a value: operators are for updates';
  return { kind: 'mistake', detail: { field: field.name, code: 'TYPE_MISMATCH', message } };
}

const NOTHING: ReadonlySet<string> = new Set();

/** Text of a column, null for null, or the mistake in its value. */
export type ColumnText =
  | { readonly ok: true; readonly value: string | null; readonly expandedBytes?: number }
  | { readonly ok: false; readonly detail: Detail };

const refuse = ({ detail }: { readonly detail: Detail }): ColumnText => ({ ok: false, detail });

const NULL: ColumnText = { ok: true, value: null };

/** Decodes the value of a column; `decode` reads all values but null. */
export function decodeColumn<T>(
  field: Field,
  value: T | null,
  decode: (field: Field, value: T) => Decoded,
): ColumnText {
  if (value === null)
    return isWritable(field) && field.required ? { ok: false, detail: makeRequiredDetail(field.name) } : NULL;
  const decoded = decode(field, value);
  return decoded.ok
    ? decoded
    : { ok: false, detail: { field: field.name, code: decoded.code, message: decoded.message } };
}

/** Returns whether two texts of a column are one value for PostgreSQL; undefined equals nothing. */
export function isSameColumn(field: Field, one: string | null | undefined, other: string | null | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one === null || other === null ? one === other : fieldType(field.type).equal(one, other);
}

/** Returns the id, or the mistake if no record can have it. */
export function checkId(decoded: Decoded): Decoded {
  if (!decoded.ok) return decoded;
  const id = BigInt(decoded.value);
  return id >= 1n && id <= BigInt(Number.MAX_SAFE_INTEGER)
    ? decoded
    : { ok: false, code: 'OUT_OF_RANGE', message: `must be from 1 to ${Number.MAX_SAFE_INTEGER}` };
}

/** Returns whether the JSON of one record becomes too long in PostgreSQL; EXPANSION_DETAIL is the mistake. */
export const expandsTooMuch = (expandedBytes: number): boolean => expandedBytes > MAX_EXPANDED_BYTES;

export const EXPANSION_DETAIL: Detail = { field: null, code: 'OUT_OF_RANGE', message: EXPANDS_TOO_MUCH };

export function makeRequiredDetail(name: string): Detail {
  return { field: name, code: 'REQUIRED', message: 'is required' };
}

function unknownField(entity: Entity, name: string, formatUnknownName: UnknownNameFormatter): Detail {
  const relation = entity.relations.get(name);
  if (relation !== undefined) {
    return { field: name, code: 'UNKNOWN_FIELD', message: `is a relation; ${describeWrite(relation)}` };
  }
  const candidates = [...entity.fields.values()].filter(isWritable).map((field) => field.name);
  return {
    field: shorten(name),
    code: 'UNKNOWN_FIELD',
    message: formatUnknownName(`is not a field of ${entity.name}`, name, candidates),
  };
}

/** Says where the records of a relation are written. */
function describeWrite(relation: Relation): string {
  switch (relation.kind) {
    case 'belongsTo':
      return `write the id of the other record into ${relation.column}`;
    case 'hasMany':
    case 'hasOne':
      return `write it from the records of ${relation.entity}`;
    case 'manyToMany':
      return `write it as records of ${relation.through}, one for each pair`;
    default:
      return relation satisfies never;
  }
}

// Fits every id, with leading zeros.
const MAX_ID_CHARACTERS = 100;

function sameId(value: unknown, pathId: string): boolean {
  const text = numberText(value) ?? (typeof value === 'string' ? value : undefined);
  return (
    text !== undefined && text.length <= MAX_ID_CHARACTERS && /^-?\d+$/.test(text) && BigInt(text) === BigInt(pathId)
  );
}
