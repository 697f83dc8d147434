// Finds the records that caused an error of a bulk write. They are queried after the error, so that a successful write
// costs no extra statement.
import { getSqlState, getViolatedConstraint } from '../database/errors.ts';
import { conflict, type Detail, type DetailCode, validationFailed } from '../errors.ts';
import { findConstraintOwner } from '../model/constraint-owner.ts';
import type { Field } from '../model/entity.ts';
import type { Assignment } from '../plan/assignment.ts';
import {
  buildLists,
  IDS,
  type ListColumns,
  type Lists,
  planBulkReferences,
  planFind,
  planReferred,
  planUniqueConflicts,
  type UniqueConflictScope,
  VERSIONS,
} from '../plan/bulk.ts';
import type { ConflictKey } from '../plan/conflict-key.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import type { Target } from '../request/bulk.ts';
import { compile, type Inputs } from '../sql/compile.ts';
import type { EntityContext } from './context.ts';
import { recordsChanged, recordsNotFound, recordsStillReferenced } from './errors.ts';
import { runRead } from './reads.ts';
import type { WriteKind } from './record-error.ts';
import type { WriteDeps } from './writes.ts';

/** Records that are written together. `targets`: the existing ones. */
export interface BulkWrite {
  readonly kind: WriteKind;
  readonly items: readonly Assignment[];
  readonly listed: ListColumns | undefined;
  readonly targets: readonly Target[] | undefined;
  /** Fields by which an upsert finds existing records. */
  readonly key?: readonly Field[];
}

/** Throws the error of an upsert that did not find or create all records, unless the request is not its cause. */
export async function explainUpsert(
  deps: WriteDeps,
  context: EntityContext,
  what: BulkWrite,
  key: ConflictKey,
): Promise<void> {
  const details = await findMissingReferences(deps, context, what.items, undefined);
  if (details.length > 0) throw validationFailed(details);
  await rejectDuplicates(deps, context, what, { fields: key.fields, takenBy: { kind: 'request' } });
}

/** Throws an error that names the records which the database rejected, if they can be found. */
export async function explain(deps: WriteDeps, context: EntityContext, what: BulkWrite, error: unknown): Promise<void> {
  switch (getSqlState(error)) {
    case '23503': {
      if (what.kind === 'delete') return rejectReferenced(deps, context, what, error);
      const details = await findMissingReferences(deps, context, what.items, what.targets);
      if (details.length > 0) throw validationFailed(details);
      return;
    }
    case '23505': {
      const fields = uniqueFields(context, error);
      const isProvided = (field: Field): boolean => what.listed?.columns.includes(field) === true;
      // Updated records have the remaining fields.
      if (fields === undefined || !(what.targets === undefined ? fields.every(isProvided) : fields.some(isProvided)))
        return;
      return rejectDuplicates(deps, context, what, { fields, takenBy: getTakenBy(what) }, error);
    }
    default:
  }
}

/** Throws the conflict that names the records which others reference, if they can be found. */
async function rejectReferenced(
  deps: WriteDeps,
  context: EntityContext,
  what: BulkWrite,
  error: unknown,
): Promise<void> {
  const { entity, relation } = findConstraintOwner(getViolatedConstraint(error), context.workspace) ?? {};
  if (entity === undefined || relation === undefined) return;
  const plan = planReferred({ entity, relation }, context.entity, context);
  if (plan === undefined) return;
  const rows = await runRead(context, compile(plan, deps.compileOptions), buildInputs(context, what), 'write');
  if (rows.length === 0) return;
  const message = `records of ${entity} refer to this one by ${relation}`;
  const field = `${entity}.${relation}`;
  const details = rows.map(({ index }) => ({ index, field, code: 'STILL_REFERENCED' as const, message }));
  const ids = rows.map(({ index }) => what.targets?.[index]?.name ?? '');
  throw recordsStillReferenced(ids, field, details);
}

const getTakenBy = ({ key, targets }: BulkWrite): UniqueConflictScope =>
  key === undefined ? { kind: targets === undefined ? 'create' : 'update' } : { kind: 'upsert', key };

export const joinNames = (fields: readonly Field[]): string => fields.map(({ name }) => name).join(', ');

/** Throws the conflict that names the records whose values already exist, if there are any. */
async function rejectDuplicates(
  deps: WriteDeps,
  context: EntityContext,
  what: BulkWrite,
  { fields, takenBy }: { readonly fields: readonly Field[]; readonly takenBy: UniqueConflictScope },
  error?: unknown,
): Promise<void> {
  const names = joinNames(fields);
  const plan = planUniqueConflicts(what.items, fields, context.entity, context, takenBy);
  const duplicates = await runRead(context, compile(plan, deps.compileOptions), buildInputs(context, what), 'write');
  if (duplicates.length === 0) return;
  const details = duplicates.map(({ index, other, isThere }) => ({
    index,
    field: names,
    code: 'NOT_UNIQUE' as const,
    message: isThere
      ? 'must be unique: another record has this value'
      : `must be unique: record ${other} of the request has this value, too`,
  }));
  const message = duplicates.some(({ isThere }) => isThere)
    ? `A record with this ${names} exists already`
    : `Records of the request have the same ${names}`;
  throw conflict('NOT_UNIQUE', message, details, error);
}

/** Returns the fields of the violated constraint, or undefined if the records of the request do not set them. */
function uniqueFields({ workspace, entity }: EntityContext, error: unknown): readonly Field[] | undefined {
  const owner = workspace.constraints.get(getViolatedConstraint(error) ?? '');
  if (owner?.kind !== 'unique' || owner.entity !== entity.name) return undefined;
  const fields = owner.fields.map((name) => entity.fields.get(name));
  return fields.includes(undefined) ? undefined : (fields as Field[]);
}

/** Throws 404 when a record is absent or hidden from the principal, 412 when one does not have the required version. */
export async function requireAll(deps: WriteDeps, context: EntityContext, targets: readonly Target[]): Promise<void> {
  if (targets.length === 0) return;
  const statement = compile(planFind(context.entity, context), deps.compileOptions);
  const lists: Lists = new Map([[IDS, targets.map(({ id }) => id)]]);
  const rows = await runRead(context, statement, { principal: context.principal, lists }, 'write');
  const versions = new Map(rows.map(({ id, version }) => [id, version]));
  const missing = targets.filter(({ id }) => !versions.has(id));
  if (missing.length > 0) throw recordsNotFound(missing.map(({ name }) => name));
  const changed = targets.flatMap(({ id, version }, index) =>
    version === undefined || version === versions.get(id) ? [] : [{ index, ...STALE }],
  );
  if (changed.length > 0) throw recordsChanged(changed.slice(0, MAX_DETAILS));
}

const STALE = { field: null, code: 'STALE_VERSION', message: 'has changed since it was read' } as const;

/** Finds references to records that are absent or hidden from the principal. */
export async function findMissingReferences(
  deps: WriteDeps,
  context: EntityContext,
  items: readonly Assignment[],
  targets: readonly Target[] | undefined,
): Promise<Detail[]> {
  const plan = planBulkReferences(items, context.entity, context, targets !== undefined);
  if (plan === undefined) return [];
  const inputs = buildInputs(context, { kind: 'create', items, listed: plan, targets });
  const rows = await runRead(context, compile(plan, deps.compileOptions), inputs, 'write');
  const code: DetailCode = 'REFERENCE_NOT_FOUND';
  return rows.map((row) => ({ ...row, code, message: 'refers to a record that does not exist' }));
}

export function buildInputs({ principal }: EntityContext, { items, listed, targets }: BulkWrite): Inputs {
  const lists = listed === undefined ? new Map<string, readonly (string | null)[]>() : buildLists(items, listed);
  if (targets !== undefined) {
    lists.set(
      IDS,
      targets.map(({ id }) => id),
    );
    lists.set(
      VERSIONS,
      targets.map(({ version }) => version ?? null),
    );
  }
  return { principal, lists };
}
