// Executes writes of principals whose grants limit the entity: one record or many, one statement each that checks the
// grants on the records before and after.
import { isRetryable, isStaleSnapshot } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError, type Detail, preconditionFailed, recordNotFound, validationFailed } from '../errors.ts';
import type { Field } from '../model/entity.ts';
import type { Assignment } from '../plan/assignment.ts';
import { fieldNotGranted, notGranted } from '../plan/errors.ts';
import {
  buildGrantedLists,
  type GrantedEntity,
  type GrantedOperation,
  type GrantedRow,
  isGranted,
  NO_GRANT,
  planAllowed,
  planCandidates,
  planCarriers,
  planGranted,
  planGrantedAssignment,
} from '../plan/granted.ts';
import { type Projection, projectId, projectRecord } from '../plan/projection.ts';
import type { ExistingRecord } from '../plan/result.ts';
import { checkRowRules, ForeignRow, foreignColumn } from '../plan/row-rules.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import type { Target } from '../request/bulk.ts';
import { parseId } from '../request/call.ts';
import { parseGuard } from '../request/conditions.ts';
import { parseParameters } from '../request/query-string.ts';
import { PREFIX } from '../request/record-path.ts';
import { recordReply } from '../response/entity-tag.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Statement } from '../sql/compile.ts';
import { buildStatementOptions, describeActor, type EntityContext } from './context.ts';
import { recordsChanged, recordsNotFound } from './errors.ts';
import { type ExchangeDeps, inTransaction } from './exchange.ts';
import { writeChanges } from './operators.ts';
import { buildEntityTag, runRead } from './reads.ts';
import { toRecordError } from './record-error.ts';
import { retryWrite } from './write-retry.ts';

/** Context of a request on an entity that grants limit. */
export type GrantedContext = EntityContext & { readonly entity: GrantedEntity };

export const isLimited = (context: EntityContext): context is GrantedContext => isGranted(context.entity);

/** A write of one or many records. */
interface GrantedWrite {
  readonly operation: GrantedOperation;
  readonly rows: readonly (GrantedRow & { readonly refusedField?: string | undefined })[];
  readonly targets: readonly (Target | undefined)[] | undefined;
  readonly projection: Projection;
  /** Whether errors name the record by its index. */
  readonly isMany: boolean;
}

export interface GrantedOutcome {
  /** JSON array text, or the number of deleted records. */
  readonly data: string;
  readonly versions: string | null;
  readonly sizes: string | null;
  readonly statement: Statement;
}

/** Creates a record. Throws 400 for a body with mistakes, 403 when no grant allows the record. */
export async function createGranted(deps: ExchangeDeps, context: GrantedContext): Promise<Reply> {
  const { call, entity, principal } = context;
  const { values, details } = planGrantedAssignment(await call.body(), entity, principal, undefined);
  if (details.length > 0) throw validationFailed(details);
  const outcome = await createRecords(deps, context, [values], projectRecord(entity), false);
  return makeCreatedReply(context, outcome);
}

export function makeCreatedReply({ workspace, entity }: GrantedContext, outcome: GrantedOutcome): Reply {
  const { text, id, tag } = toRecord(outcome);
  const location = `${PREFIX}${workspace.organization}/${workspace.slug}/${entity.name}/${id}`;
  return tag === undefined
    ? jsonText(201, `{"data":${text}}`, { Location: location })
    : recordReply(201, { data: text, tag }, location);
}

export function makeUpdatedReply(outcome: GrantedOutcome): Reply {
  const { text, tag } = toRecord(outcome);
  return tag === undefined ? jsonText(200, `{"data":${text}}`) : recordReply(200, { data: text, tag });
}

export async function updateGranted(deps: ExchangeDeps, context: GrantedContext): Promise<Reply> {
  const { call, entity, principal } = context;
  const id = parseId(call.id);
  parseParameters(call.query, []);
  const { values, changes, details } = planGrantedAssignment(await call.body(), entity, principal, id ?? '0');
  if (details.length > 0) throw validationFailed(details);
  if (id === undefined) throw recordNotFound();
  const { guarded, versions } = parseGuard(call.conditions.ifMatch);
  const targets = (guarded ? versions : [undefined]).map((version) => ({ id, name: id, version }));
  const options = { isMany: false, isDryRun: false };
  return writeChanges(deps, context, [{ id, values, changes }], options, async ({ executor }, [complete = values]) =>
    makeUpdatedReply(await updateGuarded(deps, { ...context, executor }, complete, targets)),
  );
}

/** Tries the versions that If-Match allows one after the other: there is seldom more than one. */
async function updateGuarded(
  deps: ExchangeDeps,
  context: GrantedContext,
  values: Assignment,
  targets: readonly Target[],
): Promise<GrantedOutcome> {
  const projection = projectRecord(context.entity);
  return tryTargets(targets, (target) =>
    updateRecords(deps, context, [values], { targets: [target], projection, isMany: false }),
  );
}

async function tryTargets<T>(targets: readonly Target[], run: (target: Target) => Promise<T>): Promise<T> {
  for (const [index, target] of targets.entries()) {
    try {
      return await run(target);
    } catch (error) {
      const isStale = error instanceof ApiError && error.reason === 'RECORD_CHANGED';
      if (!isStale || index === targets.length - 1) throw error;
    }
  }
  throw preconditionFailed();
}

export async function removeGranted(deps: ExchangeDeps, context: GrantedContext): Promise<Reply> {
  const { call } = context;
  const id = parseId(call.id);
  parseParameters(call.query, []);
  if (id === undefined) throw recordNotFound();
  const { guarded, versions } = parseGuard(call.conditions.ifMatch);
  const targets = (guarded ? versions : [undefined]).map((version) => ({ id, name: id, version }));
  await tryTargets(targets, (target) => deleteRecords(deps, context, [target], false));
  return noContent();
}

/** Values of records by their place in the request; missing ones are left out. */
type Items = readonly (Assignment | undefined)[];

/** Creates records from planGrantedAssignment(). Throws 403 for a record that no grant allows. */
export async function createRecords(
  deps: ExchangeDeps,
  context: GrantedContext,
  items: Items,
  projection: Projection,
  isMany: boolean,
): Promise<GrantedOutcome> {
  const { entity, principal } = context;
  const rows = collectRefusals(items, (values, item) =>
    values === undefined ? [] : planCandidates(values, item, isMany, entity, principal),
  ).flat();
  await deps.quotas.reserve(context, items.filter((values) => values !== undefined).length);
  return write(deps, context, { operation: 'create', rows, targets: undefined, projection, isMany });
}

/** Plans each record; throws the 403 of the first that is refused, with the details of all, 100 at most. */
function collectRefusals<T, R>(items: readonly T[], plan: (one: T, item: number) => R): R[] {
  const refusals: ApiError[] = [];
  const results: R[] = [];
  for (const [item, one] of items.entries()) {
    try {
      results.push(plan(one, item));
    } catch (error) {
      const refusal = error instanceof ForeignRow && items.length > 1 ? error.at({ index: item }) : error;
      if (!(refusal instanceof ApiError) || refusal.details === undefined) throw refusal;
      refusals.push(refusal);
      if (refusals.length === MAX_DETAILS) break;
    }
  }
  if (refusals.length > 0) throw mergeRefusals(refusals);
  return results;
}

function mergeRefusals(refusals: readonly ApiError[]): ApiError {
  const [first] = refusals as readonly [ApiError];
  return refusals.length === 1 ? first : first.withDetails(refusals.flatMap(({ details = [] }) => details));
}

export type UpdateOptions = Pick<GrantedWrite, 'projection' | 'isMany'> & {
  /** Records, one for each item. */
  readonly targets: readonly (Target | undefined)[];
};

/** Updates records; `targets`: one for each. Throws 404 before anything else for records that cannot be read. */
export async function updateRecords(
  deps: ExchangeDeps,
  context: GrantedContext,
  items: Items,
  { targets, projection, isMany }: UpdateOptions,
): Promise<GrantedOutcome> {
  const { entity, principal } = context;
  const planRows = (toValues: (values: Assignment) => Assignment) =>
    items.flatMap((values, item) =>
      values === undefined ? [] : [planCarriers(toValues(values), item, entity, principal)],
    );
  const rows = planRows((values) => values);
  const isForeign = rows.some(({ values }) => foreignColumn(entity, principal, values) !== undefined);
  if (isForeign) {
    // A record of another owner does not exist, whatever the request says: an update of nothing finds that out.
    const nothing = planRows(() => new Map());
    const probe: GrantedWrite = { operation: 'update', rows: nothing, targets, projection, isMany };
    await write(deps, context, probe).catch((error) => {
      if (error instanceof ApiError && error.status === 403) return undefined;
      throw error;
    });
    for (const { values } of rows) checkRowRules(entity, principal, values);
  }
  return write(deps, context, { operation: 'update', rows, targets, projection, isMany });
}

export function deleteRecords(
  deps: ExchangeDeps,
  context: GrantedContext,
  targets: readonly Target[],
  isMany: boolean,
): Promise<GrantedOutcome> {
  const rows = targets.map((_, item) => ({ item, values: new Map(), grants: '', unchecked: new Set<string>() }));
  return write(deps, context, {
    operation: 'delete',
    rows,
    targets,
    projection: projectRecord(context.entity),
    isMany,
  });
}

/** Returns the outcome of each record of a create or update. */
export function splitOutcome({ data, versions, sizes, statement }: GrantedOutcome): readonly GrantedOutcome[] {
  const bytes = Buffer.from(data);
  const tags = JSON.parse(versions ?? '[]') as readonly (string | null)[];
  let start = 1;
  return (JSON.parse(sizes ?? '[]') as readonly number[]).map((size, index) => {
    const text = bytes.toString('utf8', start, start + size);
    start += size + 1;
    return { data: `[${text}]`, versions: JSON.stringify([tags[index] ?? null]), sizes: null, statement };
  });
}

/** Finds the records that upserts would change. Bodies that no grant allows to create have their own key alone. */
export async function findExisting(
  deps: ExchangeDeps,
  context: GrantedContext,
  items: readonly Assignment[],
  key: readonly Field[],
): Promise<readonly ExistingRecord[]> {
  const { entity, principal } = context;
  const rows = items.flatMap((values, item) => {
    const candidates = planAllowed(values, entity, principal);
    const nothing = { item, values, grants: NO_GRANT, unchecked: new Set<string>() };
    return candidates.length === 0 ? [nothing] : candidates.map((row) => ({ ...row, item }));
  });
  const plan = planGranted('find', rows, entity, context, { guarded: false, projection: projectId(entity), key });
  const inputs = { principal, lists: buildGrantedLists(plan, rows, undefined) };
  const [row] = await runRead(context, deps.prepared.write(context, plan), inputs, 'write');
  return JSON.parse(row?.data ?? '[]') as readonly ExistingRecord[];
}

async function write(deps: ExchangeDeps, context: GrantedContext, what: GrantedWrite): Promise<GrantedOutcome> {
  const { entity, executor, principal, workspace } = context;
  const { operation, rows, targets, projection } = what;
  const guarded = targets?.some((target) => target?.version !== undefined) === true;
  const plan = planGranted(operation, rows, entity, context, { guarded, projection });
  const statement = deps.prepared.write(context, plan);
  const bound = bindQuery(statement, {
    principal,
    actor: describeActor(context),
    lists: buildGrantedLists(plan, rows, targets),
  });
  const run = async (runner: Executor): Promise<GrantedOutcome | 'outdated' | undefined> => {
    try {
      const [row] = await runner.run(bound, 'write', buildStatementOptions(context, statement.expected));
      if (row === undefined) throw new TypeError('a write under grants is always one row');
      const { data, versions, problems, sizes } = statement.read(row);
      if (problems !== null) {
        const all = JSON.parse(problems) as readonly Problem[];
        if (all.some(([, kind]) => kind === 'outdated')) return 'outdated';
        throw toRefusal(all, what, entity);
      }
      return data === null ? undefined : { data, versions, sizes, statement };
    } catch (error) {
      if (error instanceof ApiError || isStaleSnapshot(error) || isRetryable(error)) throw error;
      throw toRecordError(error, workspace, entity.name, operation);
    }
  };
  // In a transaction the records stay locked, so the second run is in time.
  const runTwice = async (runner: Executor): Promise<GrantedOutcome | undefined> => {
    const first = await run(runner);
    const outcome = first === 'outdated' ? await run(runner) : first;
    return outcome === 'outdated' ? undefined : outcome;
  };
  return retryWrite(context, async () => {
    if (executor.isTransaction) return runTwice(executor);
    const outcome = await run(executor);
    return outcome === 'outdated' ? inTransaction(deps, context, false, runTwice) : outcome;
  });
}

type Problem = readonly [
  item: number,
  kind: 'missing' | 'refused' | 'outdated' | 'stale' | 'reference',
  field: string | null,
];

/** Returns the error of the problems: hidden records first, as nothing else may be told of them. */
function toRefusal(
  problems: readonly Problem[],
  { operation, rows, targets, isMany }: GrantedWrite,
  entity: GrantedEntity,
): ApiError {
  const select = (kind: Problem[1]): readonly Problem[] => problems.filter(([, one]) => one === kind);
  const missing = select('missing');
  if (missing.length > 0) {
    return isMany ? recordsNotFound(missing.map(([item]) => targets?.[item]?.name ?? '')) : recordNotFound();
  }
  // A record may be refused both as it was and as it would be.
  const refused = new Set(select('refused').map(([item]) => item));
  if (refused.size > 0) {
    const fields = new Map(rows.map(({ item, refusedField }) => [item, refusedField]));
    const toError = (item: number): ApiError => {
      const field = fields.get(item);
      return field === undefined
        ? notGranted(operation, entity.name, isMany ? item : undefined)
        : fieldNotGranted(field, entity.name, isMany ? item : undefined);
    };
    return mergeRefusals([...refused].map(toError));
  }
  const stale = select('stale');
  if (stale.length > 0) {
    const message = 'has changed since it was read';
    return isMany
      ? recordsChanged(stale.map(([index]) => ({ index, field: null, code: 'STALE_VERSION', message })))
      : preconditionFailed();
  }
  const details = select('reference').map(
    ([index, , field]): Detail => ({
      ...(isMany ? { index } : {}),
      field,
      code: 'REFERENCE_NOT_FOUND',
      message: 'refers to a record that does not exist',
    }),
  );
  return validationFailed(details);
}

/** Returns the id of a record, or of the first of a list, which is its first member, without parsing the rest. */
export const readRecordId = (text: string): string | undefined => /^\[?\{"id":\s*(-?\d+)/.exec(text)?.[1];

/** Returns the only record of an outcome; without a tag if the principal cannot read it. */
function toRecord({ data, versions, statement }: GrantedOutcome): {
  readonly text: string;
  readonly id: string;
  readonly tag: string | undefined;
} {
  const text = data.slice(1, -1);
  const [version = null] = JSON.parse(versions ?? '[]') as readonly (string | null)[];
  return {
    text,
    id: readRecordId(text) ?? '',
    tag: version === null ? undefined : buildEntityTag(statement, version, text),
  };
}
