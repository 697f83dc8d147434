// Many records of one entity in one request: one statement that writes all of them or none.
import { isRetryable, isStaleSnapshot, NOT_WHOLE, sqlState } from '../db/errors.ts';
import type { Database, Executor, Row } from '../db/pool.ts';
import type { Databases } from '../directory/databases.ts';
import { badRequest, type Detail, notUnique, serviceUnavailable, validationFailed } from '../errors.ts';
import { inSlices } from '../http/body.ts';
import type { Entity } from '../model/entity.ts';
import { TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { planBulkCreate, planBulkDelete, planBulkUpdate, planBulkUpsert } from '../plan/bulk.ts';
import { planKey } from '../plan/conflict-key.ts';
import { MAX_DETAILS } from '../plan/naming.ts';
import { idOnly, type Projection, wholeRecord } from '../plan/projection.ts';
import { foreignColumn, stampedColumns } from '../plan/row-policy.ts';
import { hidesRows } from '../plan/scan.ts';
import { planUpsertAssignment } from '../plan/upsert.ts';
import {
  type BulkDelete,
  type BulkOptions,
  type ItemOfUpdate,
  parseBulkCreateOptions,
  parseBulkOptions,
  parseBulkUpdateOptions,
  parseDeleteBody,
  parseIds,
  parseItem,
  parseRecords,
  type Target,
} from '../request/bulk.ts';
import { isRecord } from '../request/members.ts';
import type { Upsert } from '../request/upsert.ts';
import { writtenEnvelope } from '../response/envelope.ts';
import { json, jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Cells, type Compiled } from '../sql/compile.ts';
import { type BulkWrite, dangling, explain, explainUpsert, inputsOf, namesOf, requireAll } from './bulk-refusals.ts';
import { type EntityContext, workOf } from './context.ts';
import { upsertWithVersion } from './errors.ts';
import { recordError } from './record-error.ts';
import { repeatedly, type WriteDeps } from './writes.ts';

/** `databases`: where dry runs have transactions of their own. */
export type WriteManyDeps = WriteDeps & { readonly databases: Databases };

// {\"data\": [record, …]}
const RECORD_DEPTH = 3;

const DRY = { dryRun: true };

/** What is told of a write beside its records. */
const metaOf = ({ isDryRun }: BulkOptions) => (isDryRun ? DRY : {});

export async function bulkCreate(deps: WriteManyDeps, original: EntityContext): Promise<Reply> {
  const options = parseBulkCreateOptions(original.call.query);
  const context = withUndo(deps, original, options);
  if (options.upsert !== undefined) return bulkUpsert(deps, context, options.upsert, options);
  const { entity, principal } = context;
  const records = await bodyOf(deps, context, parseRecords);
  const stamped = stampedColumns(entity, principal);
  const { items, details } = await inSlices(
    assignments(records, (record) => planAssignment(record, entity, undefined, stamped)),
    context.request.slices,
    context.signal,
  );
  if (details.length > 0) throw allMistakes(details, await danglingOf(deps, context, records, items, undefined));
  if (items.length === 0) return jsonText(201, writtenEnvelope('[]', metaOf(options)));
  const { plan, items: whole } = planBulkCreate(items, entity, context, projectionOf(entity, options));
  const what: BulkWrite = { kind: 'create', items: whole, listed: plan, targets: undefined };
  const { data } = await write(deps, context, deps.prepared.write(context, plan), what);
  return jsonText(201, writtenEnvelope(data, metaOf(options)));
}

const projectionOf = (entity: Entity, { isMinimal }: BulkOptions): Projection =>
  isMinimal ? idOnly(entity) : wholeRecord(entity);

/** 400 for the header that guards one record: ignored, it would let others be overwritten. */
function refuseIfMatch({ call }: EntityContext, where: string): void {
  if (call.conditions.ifMatch === undefined) return;
  throw badRequest('PARAMETER_CONFLICT', `If-Match is for one record. Of many each has its own version: ${where}`);
}

/** In a dry run whatever its statements write is undone at once. */
function withUndo({ databases }: WriteManyDeps, context: EntityContext, { isDryRun }: BulkOptions): EntityContext {
  return isDryRun ? { ...context, executor: undoing(databases.of(context.workspace), context) } : context;
}

/** Runs each statement in a transaction of its own, which is rolled back. */
function undoing(database: Database, { workspace, signal, deadline, place }: EntityContext): Executor {
  return {
    isTransaction: false,
    async run(query, lane, work) {
      let rows: readonly Row[] = [];
      const undone = new Error('a dry run is undone');
      const options = { tenant: workspace.id, deadline: deadline.at, caller: signal, place };
      try {
        await database.transaction(
          async ({ executor }) => {
            rows = await executor.run(query, lane, work);
            throw undone;
          },
          { ...options, purpose: 'batch' },
        );
      } catch (error) {
        if (error !== undone) throw error;
      }
      return rows;
    },
  };
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
  const records = await bodyOf(deps, context, parseRecords);
  const { items, details } = await inSlices(
    assignments(records, (record) => planUpsertAssignment(record, entity, context, key)),
    request.slices,
    signal,
  );
  if (details.length > 0) throw allMistakes(details, await danglingOf(deps, context, records, items, undefined));
  const counted = (data: string, inserted: number, updated: number): Reply =>
    jsonText(200, writtenEnvelope(data, { inserted, updated, ...metaOf(options) }));
  if (items.length === 0) return counted('[]', 0, 0);
  const { plan, items: whole } = planBulkUpsert(items, key, entity, context, projectionOf(entity, options));
  const statement = deps.prepared.write(context, plan);
  const what: BulkWrite = { kind: 'create', items: whole, listed: plan, targets: undefined, key: key.fields };
  const bound = bindQuery(statement, inputsOf(context, what));
  let attempts = 0;
  const { data, inserted } = await repeatedly(context, async () => {
    attempts++;
    try {
      const [row] = await executor.run(bound, 'write', workOf(context, statement.expected));
      return statement.read(row as Cells);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      const asking = besideTransaction(deps, context);
      if (!UNDONE.includes(sqlState(error) ?? '')) {
        await explain(deps, asking, what, error);
        throw recordError(error, context.workspace, entity.name, 'create');
      }
      await explainUpsert(deps, asking, what, key);
      // What came after the statement began to look is seen by the next.
      if (attempts === 1 && !executor.isTransaction) return undefined;
      if (hidesRows(plan.scan)) throw notUnique(namesOf(key.fields), error);
      if (executor.isTransaction)
        throw serviceUnavailable('RECORD_BUSY', 'The records are changing at the moment; retry', 1, error);
      return undefined;
    }
  });
  return counted(data, inserted, key.mode === 'skip' ? 0 : items.length - inserted);
}

/** Who asks why a statement was refused: its transaction, which holds nothing else, cannot be asked any more. */
function besideTransaction({ databases }: WriteManyDeps, context: EntityContext): EntityContext {
  return context.executor.isTransaction ? { ...context, executor: databases.of(context.workspace) } : context;
}

// PostgreSQL's for a record that one statement would change twice, and ours.
const UNDONE: readonly string[] = ['21000', NOT_WHOLE];

export async function bulkUpdate(deps: WriteManyDeps, original: EntityContext): Promise<Reply> {
  refuseIfMatch(original, 'give it as "$version" of the record');
  const options = parseBulkUpdateOptions(original.call.query);
  const context = withUndo(deps, original, options);
  const { entity, principal } = context;
  const records = await bodyOf(deps, context, parseRecords);
  const { items, targets, details } = await inSlices(changes(records, context), context.request.slices, context.signal);
  if (details.length > 0) {
    throw allMistakes(details, await danglingOf(deps, context, records, items, targets));
  }
  const told = (data: string, versions: string | null): Reply =>
    jsonText(
      200,
      writtenEnvelope(data, { ...(versions === null ? {} : { versions: JSON.parse(versions) }), ...metaOf(options) }),
    );
  if (items.length === 0) return told('[]', options.versions ? '[]' : null);
  // A record of somebody else does not exist, whatever is asked of it.
  if (items.some((item) => foreignColumn(entity, principal, item) !== undefined))
    await requireAll(deps, context, targets);
  const guarded = targets.some(({ version }) => version !== undefined);
  const { versions } = options;
  const plan = planBulkUpdate(items, entity, context, { guarded, versions, projection: projectionOf(entity, options) });
  const what: BulkWrite = { kind: 'update', items, listed: plan, targets };
  const written = await write(deps, context, deps.prepared.write(context, plan), what);
  return told(written.data, written.versions);
}

/** Dangling references beside other mistakes: when every record could be read that far, so that each has its place. */
async function danglingOf(
  deps: WriteDeps,
  context: EntityContext,
  records: readonly unknown[],
  items: readonly Assignment[],
  targets: readonly Target[] | undefined,
): Promise<readonly Detail[]> {
  if (items.length < records.length || (targets !== undefined && targets.length < records.length)) return [];
  return dangling(deps, context, items, targets);
}

function allMistakes(details: readonly Detail[], further: readonly Detail[]): Error {
  const all = [...details, ...further].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return validationFailed(all.slice(0, MAX_DETAILS));
}

export async function bulkDelete(deps: WriteManyDeps, context: EntityContext): Promise<Reply> {
  const what = parseIds(context.call.query, deps.config.maxBulk);
  return deleteAll(deps, withUndo(deps, context, what), what, what);
}

export async function bulkDeleteListed(deps: WriteManyDeps, context: EntityContext): Promise<Reply> {
  const options = parseBulkOptions(context.call.query);
  return deleteAll(deps, withUndo(deps, context, options), await bodyOf(deps, context, parseDeleteBody), options);
}

async function deleteAll(
  deps: WriteManyDeps,
  context: EntityContext,
  { targets }: BulkDelete,
  { isDryRun }: BulkOptions,
): Promise<Reply> {
  refuseIfMatch(context, 'POST …/_bulk/delete takes {"ids": [1], "versions": {"1": "…"}}');
  // Nobody should take it for a delete.
  const done = isDryRun ? json(200, { meta: DRY }) : noContent();
  if (targets.length === 0) return done;
  const guarded = targets.some(({ version }) => version !== undefined);
  const plan = planBulkDelete(context.entity, context, guarded);
  const what: BulkWrite = { kind: 'delete', items: [], listed: undefined, targets };
  await write(deps, context, deps.prepared.write(context, plan), what);
  return done;
}

async function bodyOf<T>(
  { config }: WriteDeps,
  { call }: EntityContext,
  parse: (body: unknown, most: number) => T,
): Promise<T> {
  return parse(await call.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }), config.maxBulk);
}

interface Assigned {
  readonly items: readonly Assignment[];
  readonly details: readonly Detail[];
}

/** Checks the records one by one, in pieces, until there are as many mistakes as one answer tells. */
function* assignments(
  records: readonly unknown[],
  assign: (record: unknown) => ReturnType<typeof planAssignment>,
): Generator<undefined, Assigned> {
  const items: Assignment[] = [];
  const details: Detail[] = [];
  let growth = 0;
  for (const [index, record] of records.entries()) {
    yield undefined;
    if (details.length >= MAX_DETAILS) break;
    if (!isRecord(record)) {
      details.push({ index, field: null, code: 'TYPE_MISMATCH', message: 'must be a JSON object' });
      continue;
    }
    const assigned = assign(record);
    items.push(assigned.values);
    details.push(...assigned.details.map((detail) => ({ index, ...detail })));
    growth += assigned.growth;
    if (growth > MAX_GROWTH && assigned.details.length === 0) {
      details.push({
        index,
        field: null,
        code: 'OUT_OF_RANGE',
        message: `with the records before it ${TOO_MUCH_GROWTH}`,
      });
      break;
    }
  }
  return { items, details };
}

/** The records of an update, with what each of them changes. */
function* changes(
  records: readonly unknown[],
  { entity }: EntityContext,
): Generator<undefined, Assigned & { readonly targets: readonly Target[] }> {
  const targets: Target[] = [];
  const mistakes: Detail[] = [];
  const seen = new Map<string, number>();
  const parsed: (ItemOfUpdate | readonly Detail[])[] = [];
  for (const [index, record] of records.entries()) {
    yield undefined;
    const item = parseItem(record, index);
    parsed.push(item);
    if (!('id' in item)) mistakes.push(...item);
    else {
      targets.push({ id: item.id, name: item.name, version: item.version });
      const first = seen.get(item.name);
      if (first === undefined) seen.set(item.name, index);
      else
        mistakes.push({
          index,
          field: 'id',
          code: 'INVALID',
          message: `is the id of record ${first} of the request, too`,
        });
    }
  }
  const updates = parsed.filter((item): item is ItemOfUpdate => 'id' in item);
  const { items, details } = yield* assignments(
    updates.map(({ fields }) => fields),
    (fields) => planAssignment(fields, entity, ''),
  );
  const places = [...parsed.keys()].filter((index) => 'id' in (parsed[index] as object));
  const located = details.map((detail) => ({ ...detail, index: places[detail.index ?? 0] as number }));
  const all = [...mistakes, ...located].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return { items, targets, details: all.slice(0, MAX_DETAILS) };
}

/** The statement wrote all, or it is known which records stand in its way; see repeatedly(). */
async function write<Row>(
  deps: WriteManyDeps,
  context: EntityContext,
  statement: Compiled<Row>,
  what: BulkWrite,
): Promise<Row> {
  const bound = bindQuery(statement, inputsOf(context, what));
  const { executor } = context;
  return repeatedly(context, async () => {
    try {
      const [row] = await executor.run(bound, 'write', workOf(context, statement.expected));
      // A delete counts, and of none it tells by that.
      if (row !== undefined && (what.kind !== 'delete' || row[0] !== '0')) return statement.read(row);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      await explain(deps, besideTransaction(deps, context), what, error);
      throw recordError(error, context.workspace, context.entity.name, what.kind);
    }
    await requireAll(deps, context, what.targets ?? []);
    const details = await dangling(deps, context, what.items, what.targets);
    if (details.length > 0) throw validationFailed(details);
    return undefined;
  });
}
