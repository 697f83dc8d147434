// Finds the records that caused an error of a bulk write. They are queried after the error, so that a successful write
// costs no extra statement.
import { getSqlState, getViolatedConstraint } from '../database/errors.ts';
import { conflict, type Detail, type DetailCode, validationFailed } from '../errors.ts';
import { findConstraintOwner } from '../model/constraint-owner.ts';
import type { Field } from '../model/entity.ts';
import { columnDefault } from '../model/field-types.ts';
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
  type UniqueScope,
  VERSIONS,
} from '../plan/bulk.ts';
import { type ConflictKey, getUniqueFields } from '../plan/conflict-key.ts';
import { applyRowRulesIfAllowed } from '../plan/row-rules.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import type { Target } from '../request/bulk.ts';
import { compile, type Inputs } from '../sql/compile.ts';
import { describeActor, type EntityContext } from './context.ts';
import { recordsChanged, recordsNotFound, recordsStillReferenced } from './errors.ts';
import { runRead, type WriteDeps } from './reads.ts';
import type { WriteKind } from './record-error.ts';

/** Records that are written together. `targets`: the existing ones. */
export interface BulkWrite {
  readonly kind: WriteKind;
  readonly items: readonly Assignment[];
  readonly listed: ListColumns | undefined;
  readonly targets: readonly Target[] | undefined;
  /** Key by which an upsert finds existing records. */
  readonly key?: ConflictKey;
  readonly isDryRun?: boolean;
}

/** Throws an error that names the records which the database rejected, if they can be found. */
export async function explain(deps: WriteDeps, context: EntityContext, what: BulkWrite, error: unknown): Promise<void> {
  const state = getSqlState(error);
  if (state === '23503' && what.kind === 'delete') return rejectReferenced(deps, context, what, error);
  if (state === '23503' || state === '23505') await rejectFaults(deps, context, what, error);
}

/** Throws every mistake of the records that is found in the database, if there are any. */
export async function rejectFaults(
  deps: WriteDeps,
  context: EntityContext,
  what: BulkWrite,
  error?: unknown,
): Promise<void> {
  const references = await findMissingReferences(deps, context, what.items, what.targets);
  const { details, message } = await findConflicts(deps, context, what, references);
  if (references.length > 0) throw validationFailed(sortDetails([...references, ...details]));
  if (details.length > 0) throw conflict('NOT_UNIQUE', message, details, error);
}

/** Finds every mistake of the records that is found in the database. */
export async function findFaults(deps: WriteDeps, context: EntityContext, what: BulkWrite): Promise<readonly Detail[]> {
  const references = await findMissingReferences(deps, context, what.items, what.targets);
  return [...references, ...(await findConflicts(deps, context, what, references)).details];
}

/** Sorts mistakes by their records, and leaves out those after the first hundred. */
export const sortDetails = (details: readonly Detail[]): readonly Detail[] =>
  [...details].sort((a, b) => (a.index ?? 0) - (b.index ?? 0)).slice(0, MAX_DETAILS);

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

/** Returns the records that the write changes. */
export const getScope = ({ key, targets }: Pick<BulkWrite, 'key' | 'targets'>): UniqueScope =>
  key === undefined ? { kind: targets === undefined ? 'create' : 'update' } : { kind: 'upsert', key };

/** Returns the sets of fields of unique indexes in which the write may cause a conflict. */
export function getWrittenUniques({ entity, workspace }: EntityContext, what: Omit<BulkWrite, 'listed'>): Field[][] {
  const names = new Set(what.items.flatMap((item) => [...item.keys()]));
  const isProvided = (field: Field): boolean => names.has(field.name) || columnDefault(field)?.kind === 'value';
  // Records that are there have the remaining fields.
  const isCreate = getScope(what).kind === 'create';
  return getUniqueFields(entity, workspace).filter((fields) =>
    isCreate ? fields.every(isProvided) : fields.some(({ name }) => names.has(name)),
  );
}

/**
 * Finds the records with unique values that another record will have, in the table or in the request. A conflict by one
 * of the `missing` references is no mistake of its own, and would tell hidden records from absent ones; nor is one of a
 * record that the row rules refuse.
 */
export async function findConflicts(
  deps: WriteDeps,
  context: EntityContext,
  what: Omit<BulkWrite, 'listed'>,
  missing: readonly Pick<Detail, 'index' | 'field'>[],
): Promise<{ readonly details: readonly Detail[]; readonly message: string }> {
  const { entity, principal } = context;
  const scope = getScope(what);
  // The record that an upsert changes is not known without its key.
  const isKeyless =
    scope.kind === 'upsert' && scope.key.fields.some(({ name }) => !what.items.some((item) => item.has(name)));
  if (what.kind === 'delete' || isKeyless) return { details: [], message: '' };
  const allowedItems = what.items.map((item) =>
    applyRowRulesIfAllowed(entity, principal, item, scope.kind === 'update'),
  );
  const items = allowedItems.map((item) => item ?? new Map<string, string | null>());
  const completeWrite = { ...what, items };
  const isMissing = new Set(missing.map(({ index = 0, field }) => `${index} ${field}`));
  const details: Detail[] = [];
  let message = '';
  for (const fields of getWrittenUniques(context, completeWrite)) {
    const plan = planUniqueConflicts(items, fields, entity, context, scope);
    const inputs = buildInputs(context, { ...completeWrite, listed: plan });
    const all = await runRead(context, compile(plan, deps.compileOptions), inputs, 'write');
    const rows = all.filter(
      ({ index }) => allowedItems[index] !== undefined && !fields.some(({ name }) => isMissing.has(`${index} ${name}`)),
    );
    const field = fields.map(({ name }) => name).join(', ');
    if (rows.length > 0 && details.length === 0) {
      message = rows.some(({ isThere }) => isThere)
        ? `A record with this ${field} exists already`
        : `Records of the request have the same ${field}`;
    }
    for (const { index, other, isThere } of rows) {
      const where = isThere ? 'another record has this value' : `record ${other} of the request has this value, too`;
      details.push({ index, field, code: 'NOT_UNIQUE', message: `must be unique: ${where}` });
    }
  }
  return { details: sortDetails(details), message };
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

export function buildInputs(context: EntityContext, { items, listed, targets }: BulkWrite): Inputs {
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
  return { principal: context.principal, actor: describeActor(context), lists };
}
