// Writes many records of one entity in one request, by one statement that writes all of them or none.
import { getSqlState, INCOMPLETE_STATEMENT, isRetryable, isStaleSnapshot } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { type ApiError, badRequest, type Detail, serviceUnavailable, validationFailed } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import type { Entity } from '../model/entity.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { planBulkCreate, planBulkDelete, planBulkUpdate, planBulkUpsert } from '../plan/bulk.ts';
import { planKey } from '../plan/conflict-key.ts';
import { planGrantedAssignment } from '../plan/granted.ts';
import { type Projection, projectId, projectRecord } from '../plan/projection.ts';
import type { ChangedRows } from '../plan/result.ts';
import { foreignColumn, getRuleColumns } from '../plan/row-rules.ts';
import { planUpsertAssignment } from '../plan/upsert.ts';
import {
  type BulkDelete,
  type BulkOptions,
  type BulkUpdateOptions,
  parseBulkCreateOptions,
  parseBulkOptions,
  parseBulkUpdateOptions,
  parseDeleteBody,
  parseIds,
  parseRecords,
  type Target,
} from '../request/bulk.ts';
import type { Upsert } from '../request/upsert.ts';
import { bulkWriteEnvelope } from '../response/envelope.ts';
import { json, jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Compiled } from '../sql/compile.ts';
import type { Databases } from '../store/databases.ts';
import { parseChanges, planAssignments, readBulkBody } from './bulk-body.ts';
import {
  type BulkWrite,
  buildInputs,
  explain,
  findFaults,
  rejectFaults,
  requireAll,
  sortDetails,
} from './bulk-errors.ts';
import { buildStatementOptions, type EntityContext } from './context.ts';
import { recordsTooLarge, upsertWithVersion } from './errors.ts';
import { inTransaction, runOrExchange } from './exchange.ts';
import { createRecords, deleteRecords, type GrantedContext, isLimited, updateRecords } from './granted.ts';
import { planUpsertItem, upsertManyGranted } from './granted-upsert.ts';
import { writeChanges } from './operators.ts';
import type { WriteDeps } from './reads.ts';
import { toRecordError, type WriteKind } from './record-error.ts';
import { retryWrite } from './write-retry.ts';

/** Dependencies of bulk writes. `databases`: for the own transactions of dry runs. */
export type WriteManyDeps = WriteDeps & { readonly databases: Databases };

const DRY = { dryRun: true };

/** Builds the metadata of a write's reply. */
const buildMeta = ({ isDryRun }: BulkOptions) => (isDryRun ? DRY : {});

export async function bulkCreate(deps: WriteManyDeps, original: EntityContext): Promise<Reply> {
  const options = parseBulkCreateOptions(original.call.query);
  const context = withRollback(deps, original, options);
  if (isLimited(context)) {
    return options.upsert === undefined
      ? createManyGranted(deps, context, options)
      : bulkUpsertGranted(deps, context, options.upsert, options);
  }
  if (options.upsert !== undefined) return bulkUpsert(deps, context, options.upsert, options);
  const { entity, principal } = context;
  const records = await readBulkBody(deps, context, parseRecords);
  const ruleColumns = getRuleColumns(entity, principal);
  const { items, details } = await runInSlices(
    planAssignments(records, (record) => planAssignment(record, entity, undefined, ruleColumns)),
    context.request.slices,
    context.signal,
  );
  const shape: BulkWrite = { kind: 'create', items, listed: undefined, targets: undefined };
  if (details.length > 0) throw await toValidationError(deps, context, shape, records, details);
  if (items.length === 0) return jsonText(201, bulkWriteEnvelope('[]', buildMeta(options)));
  const { plan, items: completeItems } = planBulkCreate(items, entity, context, getProjection(entity, options));
  const what: BulkWrite = { kind: 'create', items: completeItems, listed: plan, targets: undefined };
  await deps.quotas.reserve(context, items.length);
  const { data } = await write(deps, context, deps.prepared.write(context, plan), what);
  return jsonText(201, bulkWriteEnvelope(data, buildMeta(options)));
}

async function bulkUpsertGranted(
  deps: WriteManyDeps,
  context: GrantedContext,
  upsert: Upsert,
  options: BulkOptions,
): Promise<Reply> {
  const { call, entity, request, signal } = context;
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, context);
  const records = await readBulkBody(deps, context, parseRecords);
  const { items, details } = await runInSlices(
    planAssignments(records, (record) => planUpsertItem(record, context, key)),
    request.slices,
    signal,
  );
  if (details.length > 0) throw validationFailed(details);
  const { isDryRun } = options;
  const projection = getProjection(entity, options);
  const { data, inserted } = await upsertManyGranted(deps, context, items, key, { projection, isDryRun });
  const updated = key.mode === 'skip' ? 0 : records.length - inserted;
  return jsonText(200, bulkWriteEnvelope(data, { inserted, updated, ...buildMeta(options) }));
}

async function createManyGranted(deps: WriteManyDeps, context: GrantedContext, options: BulkOptions): Promise<Reply> {
  const { entity, principal } = context;
  const records = await readBulkBody(deps, context, parseRecords);
  const { items, details } = await runInSlices(
    planAssignments(records, (record) => planGrantedAssignment(record, entity, principal, undefined)),
    context.request.slices,
    context.signal,
  );
  if (details.length > 0) throw validationFailed(details);
  if (items.length === 0) return jsonText(201, bulkWriteEnvelope('[]', buildMeta(options)));
  const { data } = await createRecords(deps, context, items, getProjection(entity, options), true);
  return jsonText(201, bulkWriteEnvelope(data, buildMeta(options)));
}

const getProjection = (entity: Entity, { isMinimal }: BulkOptions): Projection =>
  isMinimal ? projectId(entity) : projectRecord(entity);

/** Throws 400 for the header that guards one record: ignoring it would let others be overwritten. */
function rejectIfMatch({ call }: EntityContext, where: string): void {
  if (call.conditions.ifMatch === undefined) return;
  throw badRequest('PARAMETER_CONFLICT', `If-Match is for one record. Of many each has its own version: ${where}`);
}

/**
 * Runs each statement of a dry run in its own transaction, which is rolled back at once. In a transaction of the caller the
 * caller rolls it back.
 */
function withRollback(deps: WriteManyDeps, context: EntityContext, { isDryRun }: BulkOptions): EntityContext {
  if (!isDryRun || context.executor.isTransaction) return context;
  const executor: Executor = {
    isTransaction: false,
    run: (query, pool, work) =>
      inTransaction(deps, { ...context, executor }, true, (transaction) => transaction.run(query, pool, work)),
  };
  return { ...context, executor };
}

async function bulkUpsert(
  deps: WriteManyDeps,
  context: EntityContext,
  upsert: Upsert,
  options: BulkOptions,
): Promise<Reply> {
  const { call, entity, executor, request, signal } = context;
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, context);
  const records = await readBulkBody(deps, context, parseRecords);
  const { items, details } = await runInSlices(
    planAssignments(records, (record) => planUpsertAssignment(record, entity, context, key)),
    request.slices,
    signal,
  );
  const shape: BulkWrite = { kind: 'create', items, listed: undefined, targets: undefined, key };
  if (details.length > 0) throw await toValidationError(deps, context, shape, records, details);
  const makeUpsertReply = (data: string, inserted: number, updated: number): Reply =>
    jsonText(200, bulkWriteEnvelope(data, { inserted, updated, ...buildMeta(options) }));
  if (items.length === 0) return makeUpsertReply('[]', 0, 0);
  const { plan, items: completeItems } = planBulkUpsert(items, key, entity, context, getProjection(entity, options));
  const statement = deps.prepared.write(context, plan);
  const { isDryRun } = options;
  const what: BulkWrite = { kind: 'create', items: completeItems, listed: plan, targets: undefined, key, isDryRun };
  const checkAdded = await deps.quotas.reserveUpsert(context, items.length);
  const runStatement = makeRun(context, statement);
  // Where not all of them may be added, they are undone when too many were.
  const run: typeof runStatement =
    checkAdded === undefined
      ? runStatement
      : (outer, one) =>
          inTransaction(deps, { ...context, executor: outer }, false, async (inner) => {
            const written = await runStatement(inner, one);
            if (written !== undefined) checkAdded(written.inserted);
            return written;
          });
  let attempts = 0;
  const { data, inserted } = await retryWrite(context, async () => {
    attempts++;
    try {
      return await runOrExchange(deps, context, what, run);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      const readContext = outsideTransaction(deps, context);
      if (!CONFLICT_STATES.includes(getSqlState(error) ?? '')) {
        await explain(deps, readContext, what, error);
        if (isRetriedConflict(error, context, attempts)) return undefined;
        throw toRecordsError(error, context, 'create');
      }
      await rejectFaults(deps, readContext, what);
      if (executor.isTransaction)
        throw serviceUnavailable('RECORD_BUSY', 'The records are changing at the moment; retry', 1, error);
      // The next statement sees records that were added after this one started.
      return undefined;
    }
  });
  return makeUpsertReply(data, inserted, key.mode === 'skip' ? 0 : items.length - inserted);
}

/** Translates as toRecordError(); the answer with all records may be too large, where each of them is not. */
function toRecordsError(error: unknown, { workspace, entity }: EntityContext, kind: WriteKind): ApiError {
  const recordError = toRecordError(error, workspace, entity.name, kind);
  return recordError.reason === 'RECORD_TOO_LARGE' ? recordsTooLarge(error) : recordError;
}

/** Moves follow-up queries out of the failed transaction, which holds nothing else and accepts no more statements. */
function outsideTransaction({ databases }: WriteManyDeps, context: EntityContext): EntityContext {
  return context.executor.isTransaction ? { ...context, executor: databases.forWorkspace(context.workspace) } : context;
}

// PostgreSQL's code for a record that one statement would change twice, and ours.
const CONFLICT_STATES: readonly string[] = ['21000', INCOMPLETE_STATEMENT];

export async function bulkUpdate(deps: WriteManyDeps, original: EntityContext): Promise<Reply> {
  rejectIfMatch(original, 'give it as "$version" of the record');
  const options = parseBulkUpdateOptions(original.call.query);
  const context = withRollback(deps, original, options);
  const records = await readBulkBody(deps, context, parseRecords);
  const { items, changes, targets, details } = await runInSlices(
    parseChanges(records, context),
    context.request.slices,
    context.signal,
  );
  const shape: BulkWrite = { kind: 'update', items, listed: undefined, targets };
  if (details.length > 0 && isLimited(context)) throw validationFailed(details);
  if (details.length > 0) throw await toValidationError(deps, context, shape, records, details);
  const makeUpdateReply = ({ data, versions }: ChangedRows): Reply =>
    jsonText(
      200,
      bulkWriteEnvelope(data, {
        ...(versions === null ? {} : { versions: JSON.parse(versions) }),
        ...buildMeta(options),
      }),
    );
  if (items.length === 0) return makeUpdateReply({ data: '[]', versions: options.versions ? '[]' : null });
  const changed = items.map((values, index) => ({
    id: targets[index]?.id ?? '0',
    values,
    changes: changes[index] ?? new Map(),
  }));
  const { isDryRun } = options;
  const rows = await writeChanges(deps, original, changed, { isMany: true, isDryRun }, (current, values) =>
    updateAll(deps, current.executor.isTransaction ? current : context, values, targets, options),
  );
  return makeUpdateReply(rows);
}

export async function updateAll(
  deps: WriteManyDeps,
  context: EntityContext,
  items: readonly Assignment[],
  targets: readonly Target[],
  options: BulkUpdateOptions,
): Promise<ChangedRows> {
  const { entity, principal } = context;
  const projection = getProjection(entity, options);
  if (isLimited(context)) {
    const { data, versions } = await updateRecords(deps, context, items, { targets, projection, isMany: true });
    return { data, versions: options.versions ? versions : null };
  }
  // A record of another owner does not exist, whatever the request says.
  if (items.some((item) => foreignColumn(entity, principal, item) !== undefined))
    await requireAll(deps, context, targets);
  const guarded = targets.some(({ version }) => version !== undefined);
  const plan = planBulkUpdate(items, entity, context, { guarded, versions: options.versions, projection });
  const what: BulkWrite = { kind: 'update', items, listed: plan, targets, isDryRun: options.isDryRun };
  return write(deps, context, deps.prepared.write(context, plan), what);
}

/** Returns the error of mistakes, with those in the database if every record could be parsed and so has its index. */
async function toValidationError(
  deps: WriteDeps,
  context: EntityContext,
  what: BulkWrite,
  records: readonly unknown[],
  details: readonly Detail[],
): Promise<Error> {
  const { items, targets = items } = what;
  const isComplete = items.length === records.length && targets.length === records.length;
  return validationFailed(sortDetails([...details, ...(isComplete ? await findFaults(deps, context, what) : [])]));
}

export async function bulkDelete(deps: WriteManyDeps, context: EntityContext): Promise<Reply> {
  const what = parseIds(context.call.query, deps.config.maxBulk);
  return deleteAll(deps, withRollback(deps, context, what), what, what);
}

export async function bulkDeleteListed(deps: WriteManyDeps, context: EntityContext): Promise<Reply> {
  const options = parseBulkOptions(context.call.query);
  return deleteAll(
    deps,
    withRollback(deps, context, options),
    await readBulkBody(deps, context, parseDeleteBody),
    options,
  );
}

async function deleteAll(
  deps: WriteManyDeps,
  context: EntityContext,
  { targets }: BulkDelete,
  { isDryRun }: BulkOptions,
): Promise<Reply> {
  rejectIfMatch(context, 'POST …/_bulk/delete takes {"ids": [1], "versions": {"1": "…"}}');
  // The reply must not look like that of a delete.
  const reply = isDryRun ? json(200, { meta: DRY }) : noContent();
  if (targets.length > 0) await removeAll(deps, context, targets);
  return reply;
}

/** Deletes records, all of them or none. */
export async function removeAll(
  deps: WriteManyDeps,
  context: EntityContext,
  targets: readonly Target[],
): Promise<void> {
  if (isLimited(context)) {
    await deleteRecords(deps, context, targets, true);
    return;
  }
  const guarded = targets.some(({ version }) => version !== undefined);
  const plan = planBulkDelete(context.entity, context, guarded);
  const what: BulkWrite = { kind: 'delete', items: [], listed: undefined, targets };
  await write(deps, context, deps.prepared.write(context, plan), what);
}

/** Makes the function that runs the statement of a write on an executor. */
const makeRun =
  <Row>(context: EntityContext, statement: Compiled<Row>) =>
  async (executor: Executor, what: BulkWrite): Promise<Row | undefined> => {
    const bound = bindQuery(statement, buildInputs(context, what));
    const [row] = await executor.run(bound, 'write', buildStatementOptions(context, statement.expected));
    // A delete returns a count, where 0 means that no record was deleted.
    return row === undefined || (what.kind === 'delete' && row[0] === '0') ? undefined : statement.read(row);
  };

/**
 * True for a conflict without a cause that could be found, at the first attempt: it has gone meanwhile, or a record has
 * the spare value of another one.
 */
const isRetriedConflict = (error: unknown, { executor }: EntityContext, attempts: number): boolean =>
  getSqlState(error) === '23505' && attempts < CONFLICT_ATTEMPTS && !executor.isTransaction;

const CONFLICT_ATTEMPTS = 3;

/** Writes all records, or throws an error that names those which prevent it; retried by retryWrite(). */
async function write<Row>(
  deps: WriteManyDeps,
  context: EntityContext,
  statement: Compiled<Row>,
  what: BulkWrite,
): Promise<Row> {
  const run = makeRun(context, statement);
  let attempts = 0;
  return retryWrite(context, async () => {
    attempts++;
    try {
      const row = await runOrExchange(deps, context, what, run);
      if (row !== undefined) return row;
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      await explain(deps, outsideTransaction(deps, context), what, error);
      if (isRetriedConflict(error, context, attempts)) return undefined;
      throw toRecordsError(error, context, what.kind);
    }
    await requireAll(deps, context, what.targets ?? []);
    await rejectFaults(deps, context, what);
    return undefined;
  });
}
