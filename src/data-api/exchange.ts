// Writes records that take over unique values of each other. PostgreSQL compares with every record that there is at the
// moment, also with one that the same statement changes a moment later; and the indexes cannot be deferred, as upserts
// need them. So records that give up a value which another one takes over get a spare value first, in one transaction
// with the write.
import { randomBytes } from 'node:crypto';
import { getSqlState, isConnectionLoss, isOutcomeUnknown } from '../database/errors.ts';
import type { Executor, StatementOptions } from '../database/pool.ts';
import { type Field, keepsChanges } from '../model/entity.ts';
import type { Assignment } from '../plan/assignment.ts';
import { planBulkUpdate, planHeldValues } from '../plan/bulk.ts';
import { projectId } from '../plan/projection.ts';
import { getRuleColumns } from '../plan/row-rules.ts';
import { makeSpareValue } from '../plan/spare-value.ts';
import type { Target } from '../request/bulk.ts';
import { bindQuery, compile, type Statement } from '../sql/compile.ts';
import type { Query } from '../sql/fragment.ts';
import { CHECK_CONSTRAINTS, DEFER_CONSTRAINTS, mergeChanges } from '../sql/unique-values.ts';
import type { Databases } from '../store/databases.ts';
import { type BulkWrite, buildInputs, getScope, getWrittenUniques } from './bulk-errors.ts';
import { buildStatementOptions, type EntityContext } from './context.ts';
import { writeUnknown } from './errors.ts';
import { runRead, type WriteDeps } from './reads.ts';

export type ExchangeDeps = WriteDeps & { readonly databases: Databases };

/** Runs the statement of a write; returns undefined when it has written nothing. */
type RunWrite<T> = (executor: Executor, what: BulkWrite) => Promise<T | undefined>;

/** Runs a write; when records of it take over unique values of each other, in a transaction that makes this possible. */
export async function runOrExchange<T>(
  deps: ExchangeDeps,
  context: EntityContext,
  what: BulkWrite,
  run: RunWrite<T>,
): Promise<T | undefined> {
  const { executor } = context;
  if (executor.isTransaction) {
    // After an error it takes no more statements.
    const exchange = await planExchange(deps, context, what);
    return exchange === undefined ? run(executor, what) : runExchange(deps, context, exchange, run);
  }
  try {
    return await run(executor, what);
  } catch (error) {
    if (getSqlState(error) !== '23505') throw error;
    const exchange = await planExchange(deps, context, what);
    if (exchange === undefined) throw error;
    return runExchange(deps, context, exchange, run);
  }
}

/** Records that have to give up unique values, each with its spare values. `write`: the write that follows. */
interface Exchange {
  readonly targets: readonly Target[];
  readonly items: readonly Assignment[];
  readonly write: BulkWrite;
}

/** Returns the fields that may have spare values, the best ones first: null disturbs nothing. */
export function getSparedFields(fields: readonly Field[], { entity, principal }: EntityContext): readonly Field[] {
  const ruleColumns = getRuleColumns(entity, principal);
  // A reference to no record is for a moment only, which nodes of a cluster do not allow.
  const isPossible = (field: Field): boolean =>
    !ruleColumns.has(field.name) && !(isDeferred(field) && entity.statementForms !== undefined);
  return fields.filter(isPossible).sort((a, b) => Number(a.required) - Number(b.required));
}

export const drawSpareValue = (field: Field): string | null | undefined =>
  makeSpareValue(field, BigInt(`0x${randomBytes(16).toString('hex')}`));

/** True for a reference whose spare values are of no record. */
const isDeferred = ({ role, required }: Field): boolean => role === 'reference' && required;

/** Spare values of one record. */
interface Spare {
  /** Index of the record in the request. */
  readonly index: number;
  readonly version: string;
  readonly values: Map<string, string | null>;
}

/** Plans spare values for records whose unique values others of the write take over; undefined if there are none. */
async function planExchange(deps: WriteDeps, context: EntityContext, what: BulkWrite): Promise<Exchange | undefined> {
  const { entity } = context;
  const scope = getScope(what);
  if (what.kind === 'delete' || scope.kind === 'create') return undefined;
  const spares = new Map<string, Spare>();
  for (const fields of getWrittenUniques(context, what)) {
    const plan = planHeldValues(what.items, fields, entity, context, scope);
    const inputs = buildInputs(context, { ...what, listed: plan });
    const rows = await runRead(context, compile(plan, deps.compileOptions), inputs, 'write');
    for (const { index, id, version, changed } of rows) {
      const changedFields = fields.filter((_, at) => changed[at] === '1');
      const [field] = getSparedFields(changedFields, context);
      const value = field && drawSpareValue(field);
      if (field === undefined || value === undefined) continue;
      const spare = spares.get(id) ?? { index, version, values: new Map() };
      spare.values.set(field.name, value);
      spares.set(id, spare);
    }
  }
  if (spares.size === 0) return undefined;
  const all = [...spares];
  const targets = all.map(([id, { index, version }]) => {
    // A record whose key changes meanwhile is not found by an upsert, and would keep its spare value.
    return { id, name: id, version: scope.kind === 'upsert' ? version : what.targets?.[index]?.version };
  });
  // Their versions are compared once, as the transaction changes them.
  const isCompared = new Set(all.map(([, { index }]) => index));
  const later = what.targets?.map((target, index) =>
    isCompared.has(index) ? { ...target, version: undefined } : target,
  );
  return { targets, items: all.map(([, { values }]) => values), write: { ...what, targets: later } };
}

/**
 * Runs the write in a transaction in which the records have their spare values; returns undefined when one of them is
 * missing or has another version. In a transaction of the caller it uses that one.
 */
async function runExchange<T>(
  deps: ExchangeDeps,
  context: EntityContext,
  { targets, items, write: what }: Exchange,
  run: RunWrite<T>,
): Promise<T | undefined> {
  const { query, expected, deferred } = compileSpares(context, items, targets);
  return inTransaction(deps, context, what.isDryRun === true, async (executor) => {
    const options = buildStatementOptions(context, expected);
    if (deferred) await executor.run(DEFER_CONSTRAINTS, 'write', options);
    const [row] = await executor.run(query, 'write', options);
    if (row === undefined) return undefined;
    const result = await run(executor, what);
    if (keepsChanges(context.entity.settings)) await executor.run(mergeChanges(context.entity), 'write', options);
    if (deferred) await executor.run(CHECK_CONSTRAINTS, 'write', options);
    return result;
  });
}

/** Compiles the update to spare values; no row when a record is missing or has another version. */
export function compileSpares(
  context: EntityContext,
  items: readonly Assignment[],
  targets: readonly Target[],
): { readonly query: Query; readonly expected: Statement['expected']; readonly deferred: boolean } {
  const guarded = targets.some(({ version }) => version !== undefined);
  const options = { guarded, projection: projectId(context.entity) };
  // The write itself checks the references.
  const plan = { ...planBulkUpdate(items, context.entity, context, options), references: [] };
  const statement = compile(plan, { maxResponseBytes: MAX_IDS_BYTES });
  const inputs = buildInputs(context, { kind: 'update', items, listed: plan, targets });
  return {
    query: bindQuery(statement, inputs),
    expected: statement.expected,
    deferred: plan.columns.some(isDeferred),
  };
}

// More than the ids of all records of a request take.
const MAX_IDS_BYTES = 16_777_216;

/**
 * Works in a transaction of its own, or in that of the request; undoes its own one for a dry run, and when `work` returns
 * undefined: where the write has written nothing, records must not have their spare values.
 */
export async function inTransaction<T>(
  { databases }: Pick<ExchangeDeps, 'databases'>,
  { workspace, signal, deadline, node, executor }: EntityContext,
  isDryRun: boolean,
  work: (executor: Executor) => Promise<T>,
): Promise<T> {
  if (executor.isTransaction) return work(executor);
  let result: { readonly value: T } | undefined;
  const rollback = new Error('a dry run, or a write that has written nothing, is undone');
  const options = { tenant: workspace.id, deadline: deadline.at, signal, node } satisfies StatementOptions;
  try {
    await databases.forWorkspace(workspace).transaction(
      async (transaction) => {
        result = { value: await work(transaction.executor) };
        if (isDryRun || result.value === undefined) throw rollback;
      },
      { ...options, purpose: 'batch' },
    );
  } catch (error) {
    if (result !== undefined && error !== rollback && (isConnectionLoss(error) || isOutcomeUnknown(error)))
      throw writeUnknown(error);
    if (error !== rollback) throw error;
  }
  return (result as { readonly value: T }).value;
}
