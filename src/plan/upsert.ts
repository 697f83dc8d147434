// Checks and plans the body of a create that may find an existing record.
import type { Detail } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { decodeValue } from '../model/field-types.ts';
import { isRecord } from '../request/members.ts';
import { type Assignment, type AssignmentResult, checkId, decodeColumn, planAssignment } from './assignment.ts';
import { type ConflictKey, getChanges } from './conflict-key.ts';
import type { PlanContext } from './link.ts';
import { planCreate, type UpsertPlan } from './plan.ts';
import { getRuleColumns } from './row-rules.ts';

/** Checks the body as planAssignment() for a create; also requires the fields of the key, though some may be null. */
export function planUpsertAssignment(
  body: unknown,
  entity: Entity,
  context: PlanContext,
  key: ConflictKey,
): AssignmentResult {
  const ruleColumns = getRuleColumns(entity, context.principal);
  const [first] = key.fields;
  if (first?.role === 'id' && isRecord(body)) return withId(body, first, entity, ruleColumns);
  const result = planAssignment(body, entity, undefined, ruleColumns);
  const isProvided = ({ name }: Field): boolean => Object.hasOwn(body as object, name) || ruleColumns.has(name);
  const reportedFields = new Set(result.details.map(({ field }) => field));
  const absent = key.fields.filter((field) => !isProvided(field) && !reportedFields.has(field.name));
  return absent.length === 0
    ? result
    : { ...result, details: [...result.details, ...absent.map(makeRequiredKeyDetail)] };
}

function withId(
  { id, ...rest }: Readonly<Record<string, unknown>>,
  field: Field,
  entity: Entity,
  ruleColumns: ReadonlySet<string>,
): AssignmentResult {
  const result = planAssignment(rest, entity, undefined, ruleColumns);
  const column =
    id === undefined || id === null
      ? { ok: false as const, detail: makeRequiredKeyDetail(field) }
      : decodeColumn(field, id, (_, value) => checkId(decodeValue(field, value)));
  return column.ok
    ? { ...result, values: new Map([[field.name, column.value], ...result.values]) }
    : { ...result, details: [column.detail, ...result.details] };
}

const makeRequiredKeyDetail = ({ name }: Field): Detail => ({
  field: name,
  code: 'REQUIRED',
  message: 'is required, as onConflict names it',
});

/** Plans an upsert with `values` from planUpsertAssignment. Throws 403 for a row of another user by the row rules. */
export function planUpsert(values: Assignment, entity: Entity, context: PlanContext, key: ConflictKey): UpsertPlan {
  return {
    ...planCreate(values, entity, context),
    kind: 'upsert',
    key,
    changes: getChanges(values.keys(), entity, key),
  };
}
