// Executes upserts of principals whose grants limit the entity: finds the record with the key among those that can be
// read, then creates or updates it under the grants. A hidden record with the key is a conflict, as under row rules.
import type { Executor } from '../database/pool.ts';
import { ApiError, conflict, type Detail, validationFailed } from '../errors.ts';
import type { Assignment, AssignmentResult } from '../plan/assignment.ts';
import { type ConflictKey, planKey } from '../plan/conflict-key.ts';
import { findStamped, planGrantedAssignment } from '../plan/granted.ts';
import { valueOperand } from '../plan/operand.ts';
import { planList, planRead } from '../plan/plan.ts';
import type { Predicate } from '../plan/predicate.ts';
import { type Projection, projectRecord } from '../plan/projection.ts';
import { parseQueryBody, parseReadRequest } from '../request/record-request.ts';
import { parseCreateOptions } from '../request/upsert.ts';
import type { Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { Databases } from '../store/databases.ts';
import { upsertWithVersion } from './errors.ts';
import { inTransaction } from './exchange.ts';
import {
  createGranted,
  createRecords,
  type GrantedContext,
  type GrantedOutcome,
  makeCreatedReply,
  makeUpdatedReply,
  readRecordId,
  updateRecords,
} from './granted.ts';
import { buildRecordQuery } from './idempotency.ts';
import { runRead, type WriteDeps } from './reads.ts';
import { retryWrite } from './writes.ts';

export interface Upserted {
  /** JSON text of the record, and its version if it can be read. */
  readonly text: string;
  readonly outcome: GrantedOutcome;
  readonly isCreated: boolean;
}

export interface UpsertItem {
  readonly values: Assignment;
  /** Values of the key, text of each column. */
  readonly key: Assignment;
}

/** Checks a body as planGrantedAssignment() for a create; also requires the fields of the key. */
export function planUpsertItem(
  body: unknown,
  context: GrantedContext,
  key: ConflictKey,
): AssignmentResult & { readonly item: UpsertItem } {
  const { entity, principal } = context;
  const result = planGrantedAssignment(body, entity, principal, undefined);
  const candidate = findStamped(result.values, entity, principal);
  const values = new Map<string, string | null>();
  const details: Detail[] = [...result.details];
  for (const { name } of key.fields) {
    const value = result.values.has(name) ? result.values.get(name) : candidate?.get(name);
    if (value !== undefined) values.set(name, value);
    else if (!details.some(({ field }) => field === name))
      details.push({ field: name, code: 'REQUIRED', message: 'is required, as onConflict names it' });
  }
  return { ...result, details, item: { values: result.values, key: values } };
}

/** Creates a record, or upserts it when the query asks for it. */
export async function createOrUpsert(deps: WriteDeps, context: GrantedContext): Promise<Reply> {
  const { call, entity } = context;
  const upsert = parseCreateOptions(call.query);
  if (upsert === undefined) return createGranted(deps, context);
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, context);
  const { item, details } = planUpsertItem(await call.body(), context, key);
  if (details.length > 0) throw validationFailed(details);
  const { outcome, isCreated } = await upsertGranted(deps, context, item, key, projectRecord(entity));
  return isCreated ? makeCreatedReply(context, outcome) : makeUpdatedReply(outcome);
}

/** Creates or changes one record. */
export async function upsertGranted(
  deps: WriteDeps,
  context: GrantedContext,
  { values, key: keyValues }: UpsertItem,
  key: ConflictKey,
  projection: Projection,
): Promise<Upserted> {
  for (let attempt = 1; ; attempt++) {
    const id = await findByKey(deps, context, keyValues);
    if (id === undefined) {
      try {
        const outcome = await createRecords(deps, context, [values], projection, false);
        return { text: outcome.data.slice(1, -1), outcome, isCreated: true };
      } catch (error) {
        // A record with the key may have been added since the search.
        const isTaken = error instanceof ApiError && error.reason === 'NOT_UNIQUE';
        if (!isTaken || attempt > 1 || context.executor.isTransaction) throw error;
        continue;
      }
    }
    if (key.mode === 'skip') {
      const outcome = await readRecord(deps, context, id, projection);
      if (outcome !== undefined) return { text: outcome.data.slice(1, -1), outcome, isCreated: false };
      continue;
    }
    const changes = new Map([...values].filter(([name]) => !key.fields.some((field) => field.name === name)));
    const target = { id, name: id, version: undefined };
    const outcome = await updateRecords(deps, context, [changes], { targets: [target], projection, isMany: false });
    return { text: outcome.data.slice(1, -1), outcome, isCreated: false };
  }
}

/** Finds the readable record with these values; null equals nothing. */
async function findByKey(deps: WriteDeps, context: GrantedContext, values: Assignment): Promise<string | undefined> {
  const members: Predicate[] = [];
  for (const [name, text] of values) {
    const field = context.entity.fields.get(name);
    if (field === undefined || text === null) return undefined;
    members.push({ kind: 'compare', field, operator: 'eq', operands: [valueOperand(field, text)] });
  }
  const request = parseQueryBody({ fields: ['id'], expand: [], sort: [], size: 1, count: 'none' }, deps.config);
  const plan = { ...planList(request, context.entity, context), predicate: { kind: 'and', members } as Predicate };
  const [page] = await runRead(context, compile(plan, deps.compileOptions), { principal: context.principal }, 'write');
  return readRecordId(page?.data ?? '');
}

async function readRecord(
  deps: WriteDeps,
  context: GrantedContext,
  id: string,
  projection: Projection,
): Promise<GrantedOutcome | undefined> {
  const request = parseReadRequest(buildRecordQuery(context.entity), deps.config);
  const statement = compile({ ...planRead(request, context.entity, context), projection }, deps.compileOptions);
  const [row] = await runRead(context, statement, { id, principal: context.principal }, 'write');
  if (row === undefined || row.data === null) return undefined;
  return { data: `[${row.data}]`, versions: JSON.stringify([row.version]), statement };
}

/** Creates or changes many records in their order, in one transaction. */
export async function upsertManyGranted(
  deps: WriteDeps & { readonly databases: Databases },
  context: GrantedContext,
  items: readonly UpsertItem[],
  key: ConflictKey,
  { projection, isDryRun }: { readonly projection: Projection; readonly isDryRun: boolean },
): Promise<{ readonly data: string; readonly inserted: number }> {
  rejectDuplicates(items, key);
  const run = async (executor: Executor): Promise<{ readonly data: string; readonly inserted: number }> => {
    const texts: string[] = [];
    let inserted = 0;
    for (const [index, item] of items.entries()) {
      const upserted = await upsertGranted(deps, { ...context, executor }, item, key, projection).catch((error) => {
        throw error instanceof ApiError && error.status < 500 ? error.forRecord(index) : error;
      });
      texts.push(upserted.text);
      if (upserted.isCreated) inserted++;
    }
    return { data: `[${texts.join()}]`, inserted };
  };
  return retryWrite(context, () => inTransaction(deps, context, isDryRun, run));
}

/** Throws 409 for records of the request with the same key, which would change one record twice. */
function rejectDuplicates(items: readonly UpsertItem[], key: ConflictKey): void {
  const first = new Map<string, number>();
  const names = key.fields.map(({ name }) => name).join(', ');
  const details: Detail[] = [];
  for (const [index, { key: values }] of items.entries()) {
    if ([...values.values()].includes(null)) continue;
    const text = JSON.stringify([...values]);
    const other = first.get(text);
    if (other === undefined) first.set(text, index);
    else {
      const message = `must be unique: record ${other} of the request has this value, too`;
      details.push({ index, field: names, code: 'NOT_UNIQUE', message });
    }
  }
  if (details.length > 0) throw conflict('NOT_UNIQUE', `Records of the request have the same ${names}`, details);
}
