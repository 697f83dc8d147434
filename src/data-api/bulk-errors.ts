// Which records stand in the way of a write of many, once it has refused: looked for by statements of their own, so that
// records that nothing stands in the way of are asked for nothing.
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

/** Records that are written together. `targets`: which ones, for those that are there already. */
export interface BulkWrite {
  readonly kind: WriteKind;
  readonly items: readonly Assignment[];
  readonly listed: ListColumns | undefined;
  readonly targets: readonly Target[] | undefined;
  /** What finds records that are there already, of an upsert. */
  readonly key?: readonly Field[];
}

/** Throws the refusal of an upsert that did not find or make all records, unless the reason is none of the request's own. */
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

/** Throws the refusal that names the records which the database refused, when they can be found. */
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
      // Records that are changed have the rest.
      if (fields === undefined || !(what.targets === undefined ? fields.every(isProvided) : fields.some(isProvided)))
        return;
      return rejectDuplicates(deps, context, what, { fields, takenBy: getTakenBy(what) }, error);
    }
    default:
  }
}

/** Throws the conflict that names the records to which others refer, if they can be found. */
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

/** Throws the conflict that names the records whose values of the fields are taken, if there are any. */
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

/** The fields of the constraint that was violated, if the records of a request give all of them. */
function uniqueFields({ workspace, entity }: EntityContext, error: unknown): readonly Field[] | undefined {
  const owner = workspace.constraints.get(getViolatedConstraint(error) ?? '');
  if (owner?.kind !== 'unique' || owner.entity !== entity.name) return undefined;
  const fields = owner.fields.map((name) => entity.fields.get(name));
  return fields.includes(undefined) ? undefined : (fields as Field[]);
}

/** 404 when one of the records is not there for the principal, 412 when one has not the version that it must have. */
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

/** References of the records that lead to nothing that the principal can see. */
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
