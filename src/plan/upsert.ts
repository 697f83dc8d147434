// The body of a create that may find a record which is there already: checked, and planned.
import type { Detail } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { decodeValue } from '../model/field-types.ts';
import { isRecord } from '../request/members.ts';
import { type Assignment, type AssignmentResult, planAssignment } from './assignment.ts';
import { type ConflictKey, changesOf } from './conflict-key.ts';
import type { Viewpoint } from './link.ts';
import { planCreate, type UpsertPlan } from './plan.ts';
import { stampedColumns } from './row-policy.ts';

const MAX_ID = BigInt(Number.MAX_SAFE_INTEGER);

/** As planAssignment() for a create; besides, each record must give the fields of the key, though some may be null. */
export function planUpsertAssignment(
  body: unknown,
  entity: Entity,
  viewpoint: Viewpoint,
  key: ConflictKey,
): AssignmentResult {
  const stamped = stampedColumns(entity, viewpoint.principal);
  const [first] = key.fields;
  if (first?.role === 'id' && isRecord(body)) return withId(body, first, entity, stamped);
  const result = planAssignment(body, entity, undefined, stamped);
  const isGiven = ({ name }: Field): boolean => Object.hasOwn(body as object, name) || stamped.has(name);
  const told = new Set(result.details.map(({ field }) => field));
  const absent = key.fields.filter((field) => !isGiven(field) && !told.has(field.name));
  return absent.length === 0 ? result : { ...result, details: [...result.details, ...absent.map(missingKey)] };
}

function withId(
  { id, ...rest }: Readonly<Record<string, unknown>>,
  field: Field,
  entity: Entity,
  stamped: ReadonlySet<string>,
): AssignmentResult {
  const result = planAssignment(rest, entity, undefined, stamped);
  const refused = (detail: Omit<Detail, 'field'>): AssignmentResult => ({
    ...result,
    details: [{ field: field.name, ...detail }, ...result.details],
  });
  if (id === undefined || id === null) return refused(missingKey(field));
  const decoded = decodeValue(field, id);
  if (!decoded.ok) return refused({ code: decoded.code, message: decoded.message });
  const number = BigInt(decoded.value);
  if (number < 1n || number > MAX_ID) return refused({ code: 'OUT_OF_RANGE', message: `must be from 1 to ${MAX_ID}` });
  return { ...result, values: new Map([[field.name, number.toString()], ...result.values]) };
}

const missingKey = ({ name }: Field): Detail => ({
  field: name,
  code: 'REQUIRED',
  message: 'is required, as onConflict names it',
});

/** `values` come from planUpsertAssignment, checked. Throws 403 for a row of somebody else. */
export function planUpsert(values: Assignment, entity: Entity, viewpoint: Viewpoint, key: ConflictKey): UpsertPlan {
  return {
    ...planCreate(values, entity, viewpoint),
    kind: 'upsert',
    key,
    changes: changesOf(values.keys(), entity, key),
  };
}
