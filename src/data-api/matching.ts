// Executes updates and deletes by filter, all records that match or none, in one transaction: finds their ids, locks
// them, computes the new values from the stored ones, and lets the ordinary writes of many records do the rest. More than
// 10,000 records are those of a job (write-jobs.ts), whose batches are written here, too.
import type { Executor } from '../database/pool.ts';
import { ApiError, type Detail, validationFailed } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import type { Field } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import { decodeValue } from '../model/field-types.ts';
import {
  type Assignment,
  type AssignmentResult,
  decodeColumn,
  EXPANSION_DETAIL,
  expandsTooMuch,
  isSameColumn,
  planAssignment,
} from '../plan/assignment.ts';
import type { Copy, LockPlan, MatchPlan } from '../plan/bulk.ts';
import { isGranted, planGrantedAssignment } from '../plan/granted.ts';
import { splitLinks } from '../plan/links.ts';
import { planMatch, planMatchLock, planSet } from '../plan/matching.ts';
import type { LockedRow } from '../plan/result.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import {
  type MatchingWrite,
  parseMatchingDelete,
  parseMatchingDryRun,
  parseMatchingUpdate,
} from '../request/matching.ts';
import { json, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { WriteJobOperation } from '../store/write-jobs.ts';
import { removeAll, updateAll, type WriteManyDeps } from './bulk.ts';
import type { EntityContext } from './context.ts';
import { matchWithVersion, tooManyMatches } from './errors.ts';
import { inTransaction } from './exchange.ts';
import { changeLinks, findLinkMistakes } from './links.ts';
import { computeColumns, requireShown, runLock, type StoredValues } from './operators.ts';
import { runRead } from './reads.ts';
import { createWriteJob } from './write-jobs.ts';
import { retryWrite } from './write-retry.ts';

/** Records that one transaction changes. */
export const MAX_MATCHES_AT_ONCE = 10_000;

/** Values and changes that an update makes in each record. */
interface Changes extends Pick<AssignmentResult, 'values' | 'changes' | 'expandedBytes'> {
  readonly copies: readonly Copy[];
}

/** A write by filter by the schema in force. */
interface MatchingPlan {
  readonly match: MatchPlan;
  readonly lock: LockPlan;
  readonly max: number;
  /** Writes locked records, in the transaction of the context; returns the number of those that it has changed. */
  readonly write: (context: EntityContext, rows: readonly LockedRow[], isDryRun: boolean) => Promise<number>;
}

/** Answers `{"data": {"matched", "updated"}}`; records that have the values already are matched and not updated. */
export const updateWhere = (deps: WriteManyDeps, context: EntityContext): Promise<Reply> =>
  run(deps, context, 'update', planUpdateWhere);

/** Answers `{"data": {"matched", "deleted"}}`. */
export const deleteWhere = (deps: WriteManyDeps, context: EntityContext): Promise<Reply> =>
  run(deps, context, 'delete', planDeleteWhere);

/** Names of the number of records that were changed, in answers. */
export const WRITTEN = { update: 'updated', delete: 'deleted' } as const;

type PlanWhere = (deps: WriteManyDeps, context: EntityContext, body: unknown) => Promise<MatchingPlan>;

const planUpdateWhere: PlanWhere = async (deps, context, body) => {
  const { entity, principal } = context;
  const { set, ...matching } = parseMatchingUpdate(body);
  const parts = splitLinks(set, entity, context, true) ?? { members: set, links: [], details: [] };
  const { values: members, copies } = planSet(parts.members, entity, context);
  const { details, ...assignment } = isGranted(entity)
    ? planGrantedAssignment(members, entity, principal, '')
    : planAssignment(members, entity, '');
  const what: Changes = { ...assignment, copies };
  const mistakes = [...details, ...(await findLinkMistakes(deps, context, [{ ...parts, index: 0 }], (_, one) => one))];
  if (mistakes.length > 0) throw validationFailed(mistakes.slice(0, MAX_DETAILS));
  requireShown([what], context, false);
  const match = planMatching(matching, context);
  const lock = planMatchLock(match, { fields: getReadFields(what, context), copies }, 'update');
  const write: MatchingPlan['write'] = async (current, rows, isDryRun) => {
    const { slices } = context.request;
    const changed = await runInSlices(computeRecords(what, lock.fields, rows, context), slices, context.signal);
    if (changed.length > 0) {
      const targets = changed.map(({ id }) => ({ id, name: id, version: undefined }));
      const items = changed.map(({ values }) => values);
      const options = { isMinimal: true, isDryRun, versions: false };
      await nameByIds(targets, () => updateAll(deps, current, items, targets, options));
    }
    const updated = new Set(changed.map(({ id }) => id));
    if (parts.links.length > 0) {
      const records = rows.map(({ id }) => ({
        id,
        links: parts.links,
        name: (detail: Detail): Detail => ({ id: Number(id), ...detail }),
      }));
      for (const id of await changeLinks(deps, current, records, 'locked')) updated.add(id);
    }
    return updated.size;
  };
  return { match, lock, max: matching.max, write };
};

const planDeleteWhere: PlanWhere = async (deps, context, body) => {
  const matching = parseMatchingDelete(body);
  const match = planMatching(matching, context);
  const lock = planMatchLock(match, { fields: [], copies: [] }, 'delete');
  const write: MatchingPlan['write'] = async (current, rows) => {
    const targets = rows.map(({ id }) => ({ id, name: id, version: undefined }));
    if (targets.length > 0) await nameByIds(targets, () => removeAll(deps, current, targets));
    return targets.length;
  };
  return { match, lock, max: matching.max, write };
};

/** Throws 400 for the header that guards one record. */
function rejectVersion({ call }: EntityContext): void {
  if (call.conditions.ifMatch !== undefined) throw matchWithVersion();
}

const planMatching = (matching: MatchingWrite, context: EntityContext): MatchPlan =>
  planMatch(matching, Math.min(matching.max, MAX_MATCHES_AT_ONCE), context.entity, context);

/** Returns the fields whose stored values are read: those that operators change, and others to compare. */
function getReadFields({ values, changes, copies }: Changes, { entity }: EntityContext): readonly Field[] {
  // Grants show less than what is stored, so that it cannot be compared.
  const names = new Set([
    ...changes.keys(),
    ...(isGranted(entity) ? [] : [...values.keys(), ...copies.map(({ field }) => field.name)]),
  ]);
  return [...entity.fields.values()].filter(({ name }) => names.has(name));
}

/**
 * Writes the records that match, in one transaction, or stores a job that does. Throws 409 when they are too many. A dry run
 * of a job tries the first records.
 */
async function run(
  deps: WriteManyDeps,
  context: EntityContext,
  operation: WriteJobOperation,
  plan: PlanWhere,
): Promise<Reply> {
  rejectVersion(context);
  const isDryRun = parseMatchingDryRun(context.call.query);
  const body = await context.call.body();
  const { match, lock, max, write } = await plan(deps, context, body);
  const work = async (executor: Executor): Promise<Reply> => {
    const current: EntityContext = { ...context, executor };
    const matched = await runRead(
      current,
      compile(match, deps.compileOptions),
      { principal: context.principal },
      'write',
    );
    const total = matched[0]?.total ?? null;
    if (total !== null && total > max) throw tooManyMatches(total, max);
    if (total !== null && !isDryRun) return createWriteJob(deps, current, { operation, match, body, max });
    // One more than the most was read to see whether there are more.
    const ids = matched.slice(0, match.max).map(({ id }) => id);
    const rows = ids.length === 0 ? [] : await runLock(deps, current, lock, ids);
    const written = await write(current, rows, isDryRun);
    return total === null
      ? json(200, { data: { matched: rows.length, [WRITTEN[operation]]: written }, ...(isDryRun ? { meta: DRY } : {}) })
      : json(200, { data: { matched: total }, meta: { ...DRY, job: true } });
  };
  return retryWrite(context, () => inTransaction(deps, context, isDryRun, work));
}

const DRY = { dryRun: true };

/** A batch of a job. */
export interface JobBatch {
  readonly operation: WriteJobOperation;
  readonly body: unknown;
  readonly ids: readonly string[];
  /** Stores that the batch is done, in its transaction. Throws when it must not be written. */
  readonly finish: (context: EntityContext, written: number) => Promise<void>;
}

/** Writes those records of a batch that are still there and match; returns the number of the changed ones. */
export async function writeJobBatch(
  deps: WriteManyDeps,
  context: EntityContext,
  { operation, body, ids, finish }: JobBatch,
): Promise<number> {
  const { lock, write } = await (operation === 'update' ? planUpdateWhere : planDeleteWhere)(deps, context, body);
  const work = async (executor: Executor): Promise<number> => {
    const current: EntityContext = { ...context, executor };
    const written = await write(current, await runLock(deps, current, lock, ids), false);
    await finish(current, written);
    return written;
  };
  return retryWrite(context, () => inTransaction(deps, context, false, work));
}

interface ChangedRecord {
  readonly id: string;
  readonly values: Assignment;
}

/**
 * Returns the records that change, with their new values; a slice for each record. Throws 400 with the ids of those that
 * would be wrong.
 */
function* computeRecords(
  what: Changes,
  fields: readonly Field[],
  rows: readonly LockedRow[],
  { entity }: EntityContext,
): Generator<undefined, readonly ChangedRecord[]> {
  const details: Detail[] = [];
  let expandedBytes = what.expandedBytes * rows.length;
  const records: ChangedRecord[] = [];
  for (const { id, data, now } of rows) {
    yield undefined;
    const stored = parseExact(data) as StoredValues;
    const copied = what.copies.map(({ field }, index) => ({
      name: field.name,
      column: decodeColumn(field, stored[`$${index}`] ?? null, decodeValue),
    }));
    const values = new Map(what.values);
    for (const { name, column } of [...copied, ...computeColumns(fields, what.changes, stored, now)]) {
      if (column.ok) {
        values.set(name, column.value);
        expandedBytes += column.expandedBytes ?? 0;
      } else if (details.length < MAX_DETAILS) details.push({ id: Number(id), ...column.detail });
    }
    const isChanged = isGranted(entity) || fields.some((field) => !holds(field, stored[field.name], values));
    if (isChanged) records.push({ id, values });
  }
  if (expandsTooMuch(expandedBytes)) details.push(EXPANSION_DETAIL);
  if (details.length > 0) throw validationFailed(details.slice(0, MAX_DETAILS));
  return records;
}

/** Returns whether the record has the new value already. */
function holds(field: Field, stored: unknown, values: Assignment): boolean {
  const value = values.get(field.name) ?? null;
  if (stored === null) return value === null;
  const decoded = decodeValue(field, stored);
  return decoded.ok && isSameColumn(field, decoded.value, value);
}

/** Runs a write of many records; its refusals name them by their ids, as the request has no list of them. */
async function nameByIds<T>(targets: readonly { readonly id: string }[], write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof ApiError) || error.details === undefined) throw error;
    const getId = (index: number): number => Number(targets[index]?.id);
    const details = error.details.map(({ index, message, ...detail }) => ({
      ...(index === undefined ? {} : { id: getId(index) }),
      ...detail,
      message: message.replace(/record (\d+) of the request/, (_, other) => `record ${getId(Number(other))}`),
    }));
    throw error.reason === 'VALIDATION_FAILED' ? validationFailed(details) : error.withDetails(details);
  }
}
