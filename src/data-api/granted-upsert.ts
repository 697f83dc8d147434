// Executes upserts of principals whose grants limit the entity: finds the records with the keys, then creates the others
// and changes these under the grants. A hidden record with the key is a conflict, as under row rules.
import type { Executor } from '../database/pool.ts';
import { ApiError, conflict, type Detail, recordNotFound, validationFailed } from '../errors.ts';
import type { Assignment, AssignmentResult } from '../plan/assignment.ts';
import { type ConflictKey, planKey } from '../plan/conflict-key.ts';
import { planAllowed, planGrantedAssignment } from '../plan/granted.ts';
import { planRead } from '../plan/plan.ts';
import { type Projection, projectRecord } from '../plan/projection.ts';
import type { ExistingRecord } from '../plan/result.ts';
import { parseReadRequest } from '../request/record-request.ts';
import { parseCreateOptions } from '../request/upsert.ts';
import type { Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import { upsertWithVersion } from './errors.ts';
import { type ExchangeDeps, inTransaction } from './exchange.ts';
import {
  createGranted,
  createRecords,
  findExisting,
  type GrantedContext,
  type GrantedOutcome,
  makeCreatedReply,
  makeUpdatedReply,
  splitOutcome,
  updateRecords,
} from './granted.ts';
import { buildRecordQuery } from './idempotency.ts';
import { runRead } from './reads.ts';
import { retryWrite } from './write-retry.ts';

interface Upserted {
  readonly outcome: GrantedOutcome;
  readonly isCreated: boolean;
}

/** Checks a body as planGrantedAssignment() for a create; also requires the fields of the key, from body or grant. */
export function planUpsertItem(body: unknown, context: GrantedContext, key: ConflictKey): AssignmentResult {
  const { entity, principal } = context;
  const result = planGrantedAssignment(body, entity, principal, undefined);
  const { values, details } = result;
  const candidates = planAllowed(values, entity, principal);
  const absent = key.fields.filter(
    ({ name }) =>
      !values.has(name) &&
      !candidates.some((row) => row.values.has(name)) &&
      !details.some(({ field }) => field === name),
  );
  const required = absent.map(
    ({ name }): Detail => ({ field: name, code: 'REQUIRED', message: 'is required, as onConflict names it' }),
  );
  return { ...result, details: [...details, ...required] };
}

/** Creates a record, or upserts it when the query asks for it. */
export async function createOrUpsert(deps: ExchangeDeps, context: GrantedContext): Promise<Reply> {
  const { call, entity } = context;
  const upsert = parseCreateOptions(call.query);
  if (upsert === undefined) return createGranted(deps, context);
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, context);
  const { values, details } = planUpsertItem(await call.body(), context, key);
  if (details.length > 0) throw validationFailed(details);
  const options = { projection: projectRecord(entity), isMany: false };
  const [upserted] = await retryRace(context, () => upsertRecords(deps, context, [values], key, options));
  const { outcome, isCreated } = upserted as Upserted;
  return isCreated ? makeCreatedReply(context, outcome) : makeUpdatedReply(outcome);
}

/** Creates or changes many records, in one transaction. */
export async function upsertManyGranted(
  deps: ExchangeDeps,
  context: GrantedContext,
  items: readonly Assignment[],
  key: ConflictKey,
  { projection, isDryRun }: { readonly projection: Projection; readonly isDryRun: boolean },
): Promise<{ readonly data: string; readonly inserted: number }> {
  if (items.length === 0) return { data: '[]', inserted: 0 };
  const options = { projection, isMany: true };
  const run = (executor: Executor) => upsertRecords(deps, { ...context, executor }, items, key, options);
  const upserted = await retryRace(context, () =>
    retryWrite(context, () => inTransaction(deps, context, isDryRun, run)),
  );
  const texts = upserted.map(({ outcome }) => outcome.data.slice(1, -1));
  return { data: `[${texts.join()}]`, inserted: upserted.filter(({ isCreated }) => isCreated).length };
}

/** Repeats an upsert once whose record may have been added or removed since it was searched. */
async function retryRace<T>({ executor }: GrantedContext, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isRace = error instanceof ApiError && (error.reason === 'NOT_UNIQUE' || error.status === 404);
    if (!isRace || executor.isTransaction) throw error;
    return run();
  }
}

async function upsertRecords(
  deps: ExchangeDeps,
  context: GrantedContext,
  items: readonly Assignment[],
  key: ConflictKey,
  options: { readonly projection: Projection; readonly isMany: boolean },
): Promise<readonly Upserted[]> {
  const existing = await findExisting(deps, context, items, key.fields);
  rejectConflicts(existing, key, options.isMany);
  const results: Upserted[] = [];
  const assign = (places: readonly number[], outcome: GrantedOutcome, isCreated: boolean): void => {
    const outcomes = splitOutcome(outcome);
    for (const [index, item] of places.entries()) {
      results[item] = { outcome: outcomes[index] as GrantedOutcome, isCreated };
    }
  };
  const isThere = ([, id]: ExistingRecord): boolean => id !== null;
  const present = existing.filter(isThere);
  if (key.mode === 'skip') {
    const read = makeReader(deps, context, options.projection);
    for (const [item, id] of present) results[item] = { outcome: await read(id as string), isCreated: false };
  } else if (present.length > 0) {
    const names = new Set(key.fields.map(({ name }) => name));
    const changes: Assignment[] = [];
    const targets: { readonly id: string; readonly name: string; readonly version: undefined }[] = [];
    for (const [item, id] of present as readonly (readonly [number, string, ...unknown[]])[]) {
      changes[item] = new Map([...(items[item] as Assignment)].filter(([name]) => !names.has(name)));
      targets[item] = { id, name: id, version: undefined };
    }
    const outcome = await updateRecords(deps, context, changes, { ...options, targets });
    assign(
      present.map(([item]) => item),
      outcome,
      false,
    );
  }
  const absent = existing.filter((one) => !isThere(one)).map(([item]) => item);
  if (absent.length === 0) return results;
  const created: Assignment[] = [];
  for (const item of absent) created[item] = items[item] as Assignment;
  assign(absent, await createRecords(deps, context, created, options.projection, options.isMany), true);
  return results;
}

/** Returns a function that reads a record as a create answers with it; throws 404 for one that was deleted meanwhile. */
function makeReader(deps: ExchangeDeps, context: GrantedContext, projection: Projection) {
  const request = parseReadRequest(buildRecordQuery(context.entity), deps.config);
  const statement = compile({ ...planRead(request, context.entity, context), projection }, deps.compileOptions);
  return async (id: string): Promise<GrantedOutcome> => {
    const [row] = await runRead(context, statement, { id, principal: context.principal }, 'write');
    if (row === undefined || row.data === null) throw recordNotFound();
    return { data: `[${row.data}]`, versions: JSON.stringify([row.version]), sizes: null, statement };
  };
}

/** Throws 409 for keys of hidden records, and for records of the request with one key, which would change one twice. */
function rejectConflicts(existing: readonly ExistingRecord[], { fields }: ConflictKey, isMany: boolean): void {
  const names = fields.map(({ name }) => name).join(', ');
  const first = new Map<string, number>();
  const repeated: Detail[] = [];
  const conflicts: Detail[] = [];
  const makeDetail = (item: number, message: string): Detail => ({
    ...(isMany ? { index: item } : {}),
    field: names,
    code: 'NOT_UNIQUE',
    message: `must be unique: ${message}`,
  });
  for (const [item, , isTaken, values] of existing) {
    if (isTaken) conflicts.push(makeDetail(item, 'another record has this value'));
    if (values.includes(null)) continue;
    const text = JSON.stringify(values);
    const other = first.get(text);
    if (other === undefined) first.set(text, item);
    else repeated.push(makeDetail(item, `record ${other} of the request has this value, too`));
  }
  if (repeated.length > 0) throw conflict('NOT_UNIQUE', `Records of the request have the same ${names}`, repeated);
  if (conflicts.length > 0) throw conflict('NOT_UNIQUE', `A record with this ${names} exists already`, conflicts);
}
