// Executes updates with operators: in one transaction it locks the records, computes the new values from the stored
// ones, checks these as values of a body, and lets the ordinary update write them.
import { isRetryable, isStaleSnapshot } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { type Detail, validationFailed } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import type { Entity, Field } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import { decodeValue } from '../model/field-types.ts';
import {
  type Assignment,
  type AssignmentResult,
  type ColumnText,
  decodeColumn,
  EXPANSION_DETAIL,
  expandsTooMuch,
} from '../plan/assignment.ts';
import { IDS, type LockPlan, planLock } from '../plan/bulk.ts';
import { applyChange, type Change } from '../plan/change.ts';
import { fieldNotGranted } from '../plan/errors.ts';
import { isGranted } from '../plan/granted.ts';
import type { LockedRow } from '../plan/result.ts';
import { scan } from '../plan/scan.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import { compile } from '../sql/compile.ts';
import type { EntityContext } from './context.ts';
import { type ExchangeDeps, inTransaction } from './exchange.ts';
import { runRead } from './reads.ts';
import { toRecordError } from './record-error.ts';
import { retryWrite } from './write-retry.ts';

/** An update of one record. */
export type ChangedItem = Pick<AssignmentResult, 'values' | 'changes'> & { readonly id: string };

export interface OperatorOptions {
  /** Whether errors name the record by its index. */
  readonly isMany: boolean;
  readonly isDryRun: boolean;
}

/**
 * Runs `write` with the values of the items, for items with changes in a transaction that keeps the records locked: their
 * new values are among the values then. Throws 400 for new values that the fields do not take, and for a stored one that
 * the operator cannot change; 403 for a field that grants hide in some records.
 */
export async function writeChanges<T>(
  deps: ExchangeDeps,
  context: EntityContext,
  items: readonly ChangedItem[],
  { isMany, isDryRun }: OperatorOptions,
  write: (context: EntityContext, values: readonly Assignment[]) => Promise<T>,
): Promise<T> {
  const fields = getChangedFields(items, context.entity);
  if (fields.length === 0)
    return write(
      context,
      items.map(({ values }) => values),
    );
  requireShown(items, context, isMany);
  const run = async (executor: Executor): Promise<T> => {
    const inside = { ...context, executor };
    const rows = await lockRecords(deps, inside, items, fields);
    const { request, signal } = context;
    return write(inside, await runInSlices(computeValues(items, fields, rows, isMany), request.slices, signal));
  };
  return retryWrite(context, () => inTransaction(deps, context, isDryRun, run));
}

function getChangedFields(items: readonly ChangedItem[], entity: Entity): readonly Field[] {
  const names = new Set(items.flatMap(({ changes }) => [...changes.keys()]));
  const { base = entity } = entity.access ?? {};
  return [...base.fields.values()].filter(({ name }) => names.has(name));
}

/** Throws 403 for a field that some record does not show: its new value, or a refusal of it, would tell the stored one. */
export function requireShown(
  items: readonly Pick<ChangedItem, 'changes'>[],
  { entity, principal }: EntityContext,
  isMany: boolean,
): void {
  if (!isGranted(entity)) return;
  const { columns } = scan(entity, principal, 'read');
  for (const [index, { changes }] of items.entries()) {
    for (const name of changes.keys()) {
      const field = entity.fields.get(name);
      if (field === undefined || columns?.has(field.column) === true)
        throw fieldNotGranted(name, entity.name, isMany ? index : undefined);
    }
  }
}

/** Locks the records that the principal can see, and returns what they hold. Throws the error of an update. */
async function lockRecords(
  deps: ExchangeDeps,
  context: EntityContext,
  items: readonly ChangedItem[],
  fields: readonly Field[],
): Promise<ReadonlyMap<string, LockedRow>> {
  const ids = items.flatMap(({ id, changes }) => (changes.size === 0 ? [] : [id]));
  const rows = await runLock(deps, context, planLock(fields, context.entity, context), ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Runs a lock for records with these ids. */
export async function runLock(
  deps: ExchangeDeps,
  context: EntityContext,
  plan: LockPlan,
  ids: readonly string[],
): Promise<readonly LockedRow[]> {
  const { entity, principal, workspace } = context;
  const statement = compile(plan, deps.compileOptions);
  try {
    return await runRead(context, statement, { principal, lists: new Map([[IDS, ids]]) }, 'write');
  } catch (error) {
    if (isStaleSnapshot(error) || isRetryable(error)) throw error;
    throw toRecordError(error, workspace, entity.name, plan.strength);
  }
}

/**
 * Returns the values of each item; a slice for each record. Those of a record that was not found stay as they are, as the
 * write refuses it.
 */
function* computeValues(
  items: readonly ChangedItem[],
  fields: readonly Field[],
  rows: ReadonlyMap<string, LockedRow>,
  isMany: boolean,
): Generator<undefined, readonly Assignment[]> {
  const details: Detail[] = [];
  let expandedBytes = 0;
  const results: Assignment[] = [];
  for (const [index, { id, values, changes }] of items.entries()) {
    yield undefined;
    const row = rows.get(id);
    const complete = new Map(values);
    results.push(complete);
    if (row === undefined || changes.size === 0) continue;
    const stored = parseExact(row.data) as StoredValues;
    for (const { name, column } of computeColumns(fields, changes, stored, row.now)) {
      if (column.ok) {
        complete.set(name, column.value);
        expandedBytes += column.expandedBytes ?? 0;
      } else details.push({ ...(isMany ? { index } : {}), ...column.detail });
    }
  }
  if (expandsTooMuch(expandedBytes)) details.push(EXPANSION_DETAIL);
  if (details.length > 0) throw validationFailed(details.slice(0, MAX_DETAILS));
  return results;
}

/** Values of a locked record, as answers show them, with the digits of numbers. */
export type StoredValues = Readonly<Record<string, unknown>>;

/** Returns the new values of the fields that are changed, or the mistakes in them. */
export const computeColumns = (
  fields: readonly Field[],
  changes: ReadonlyMap<string, Change>,
  stored: StoredValues,
  now: string,
): readonly { readonly name: string; readonly column: ColumnText }[] =>
  fields.flatMap((field) => {
    const change = changes.get(field.name);
    return change === undefined
      ? []
      : [{ name: field.name, column: computeColumn(change, field, stored[field.name], now) }];
  });

function computeColumn(change: Change, field: Field, stored: unknown, now: string): ColumnText {
  const value = applyChange(change, field, stored, now);
  if (value !== undefined) return decodeColumn(field, value, decodeValue);
  const [code, message] =
    change.kind === 'list'
      ? (['TYPE_MISMATCH', 'is no array, which $add and $remove change'] as const)
      : (['OUT_OF_RANGE', 'has more digits than $inc can change'] as const);
  return { ok: false, detail: { field: field.name, code, message } };
}
