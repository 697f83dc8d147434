// A create that finds a record which is there already: by which fields, and what becomes of it.
import { badRequest, type Detail, shown } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import { decodeValue } from '../model/field-types.ts';
import { isRecord } from '../request/members.ts';
import type { Upsert } from '../request/upsert.ts';
import { type Assignment, type AssignmentResult, planAssignment } from './assignment.ts';
import type { Viewpoint } from './link.ts';
import { type ConflictKey, planCreate, type UpsertPlan } from './plan.ts';
import { stampedColumns } from './row-policy.ts';

const MOST_LISTED = 20;

/** The fields of a request's key; 400 that lists the possible ones when no two records must differ in them. */
export function planKey({ fields, mode }: Upsert, entity: Entity, viewpoint: Viewpoint): ConflictKey {
  const keys = keysOf(entity, viewpoint);
  const names = fields.toSorted().join();
  const key = keys.find(
    (each) =>
      each
        .map(({ name }) => name)
        .toSorted()
        .join() === names,
  );
  if (key !== undefined) return { fields: key, mode };
  const unknown = fields.find((name) => !entity.fields.has(name));
  const suggestion = unknown === undefined ? null : closest(unknown, entity.fields.keys());
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  const possible = keys.slice(0, MOST_LISTED).map((each) => each.map(({ name }) => name).join());
  const further = keys.length > MOST_LISTED ? ` and ${keys.length - MOST_LISTED} more` : '';
  throw badRequest(
    `onConflict must name exactly the fields of one unique field or index of ${entity.name}, and ${shown(fields.join())} are none.${hint} Possible: ${possible.join('; ') || 'none'}${further}`,
  );
}

/** The sets of fields in which no two records are the same, as far as the principal may write them. */
function keysOf(entity: Entity, { workspace, principal }: Viewpoint): readonly (readonly Field[])[] {
  const keys: (readonly Field[])[] = [];
  const id = entity.fields.get('id');
  if (id !== undefined && principal.kind !== 'external') keys.push([id]);
  for (const constraint of workspace.constraints.values()) {
    if (constraint.kind !== 'unique' || constraint.entity !== entity.name) continue;
    const fields = constraint.fields.map((name) => entity.fields.get(name));
    if (!fields.includes(undefined)) keys.push(fields as Field[]);
  }
  return keys;
}

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

/** The fields given that a record which is there takes over: what row rules stamp it has already. */
export function changesOf(given: Iterable<string>, entity: Entity, { fields, mode }: ConflictKey): readonly Field[] {
  if (mode === 'skip') return [];
  const names = new Set(given);
  return [...entity.fields.values()].filter((field) => names.has(field.name) && !fields.includes(field));
}
