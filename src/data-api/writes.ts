// Executes create, update and delete: one statement each that checks whatever could change between a read and a write.
// A record that the principal cannot see is treated as absent, as a target and as a reference.

import { getSqlState, isRetryable, isStaleSnapshot } from '../database/errors.ts';
import { type Detail, preconditionFailed, recordNotFound, validationFailed } from '../errors.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { type ConflictKey, planKey } from '../plan/conflict-key.ts';
import { planCreate, planDelete, planRead, planReferences, planUpdate } from '../plan/plan.ts';
import type { UpsertedRow, WrittenRow } from '../plan/result.ts';
import { foreignColumn, getRuleColumns } from '../plan/row-rules.ts';
import { planUpsert, planUpsertAssignment } from '../plan/upsert.ts';
import { parseId } from '../request/call.ts';
import { type Guard, parseGuard } from '../request/conditions.ts';
import { parseParameters } from '../request/query-string.ts';
import { PREFIX } from '../request/record-path.ts';
import { parseReadRequest } from '../request/record-request.ts';
import { parseCreateOptions, type Upsert } from '../request/upsert.ts';
import { recordReply } from '../response/entity-tag.ts';
import { noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Compiled, compile, type Inputs, type Statement } from '../sql/compile.ts';
import type { ResponseForm } from '../workspace-schema/idempotency-keys.ts';
import { findConflicts } from './bulk-errors.ts';
import { buildStatementOptions, describeActor, type EntityContext } from './context.ts';
import { upsertWithVersion } from './errors.ts';
import { type ExchangeDeps, inTransaction } from './exchange.ts';
import { type OperatorOptions, writeChanges } from './operators.ts';
import { buildEntityTag, runRead, type WriteDeps } from './reads.ts';
import { toRecordError, type WriteKind } from './record-error.ts';
import { retryWrite } from './write-retry.ts';

/** A write of one record. `target`: the existing record; `values`: those of a create or update. */
interface Write {
  readonly target?: Target;
  readonly values?: Assignment;
  /** Key by which an upsert finds an existing record. */
  readonly key?: ConflictKey;
}

/** A record, with its acceptable versions. */
interface Target extends Guard {
  readonly id: string;
}

type Outcome<Row> =
  | { readonly kind: 'written'; readonly row: Row }
  | { readonly kind: 'missing' }
  /** The record has none of the versions of If-Match. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'badReference'; readonly details: readonly Detail[] };

/** Creates a record, or upserts it when the query asks for it. */
export function create(deps: ExchangeDeps, context: EntityContext): Promise<Reply> {
  const upsert = parseCreateOptions(context.call.query);
  return upsert === undefined ? insert(deps, context) : insertOrUpdate(deps, context, upsert);
}

/** Creates a record with this id, which no record has. */
export const createWithId = (deps: WriteDeps, context: EntityContext, id: string): Promise<Reply> =>
  insert(deps, context, new Map([['id', id]]));

/** `fixed`: values besides those of the body. */
async function insert(deps: WriteDeps, context: EntityContext, fixed: Assignment = new Map()): Promise<Reply> {
  const { call, entity, principal } = context;
  const body = await call.body();
  const assignment = planAssignment(body, entity, undefined, getRuleColumns(entity, principal));
  const { details } = assignment;
  const values = new Map([...fixed, ...assignment.values]);
  await rejectInvalid(deps, context, details, { values });
  const plan = planCreate(values, entity, context);
  const statement = deps.prepared.write(context, plan);
  await deps.quotas.reserve(context, 1);
  const row = requireWritten(await write(deps, context, statement, { values: plan.values }));
  return makeCreatedReply(context, statement, row);
}

/** Builds the 201 reply with the Location of the record. */
function makeCreatedReply({ entity, workspace }: EntityContext, statement: Statement, row: WrittenRow): Reply {
  const tag = buildEntityTag(statement, row.version, row.data);
  return recordReply(201, { data: row.data, tag }, buildLocation(workspace, entity, row.id));
}

async function insertOrUpdate(deps: ExchangeDeps, context: EntityContext, upsert: Upsert): Promise<Reply> {
  const { call, entity } = context;
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, context);
  const { values, details } = planUpsertAssignment(await call.body(), entity, context, key);
  await rejectInvalid(deps, context, details, { values, key });
  const plan = planUpsert(values, entity, context, key);
  const statement = deps.prepared.write(context, plan);
  const plain = deps.prepared.write(context, planCreate(values, entity, context));
  const what: Write = { values: plan.values, key };
  const checkAdded = await deps.quotas.reserveUpsert(context, 1);
  const run = (current: EntityContext) => writeUpsert(deps, current, statement, plain, what);
  const row = requireWritten(
    await (checkAdded === undefined ? run(context) : runChecked(deps, context, run, checkAdded)),
  );
  if (row.isCreated) return makeCreatedReply(context, statement, row);
  return recordReply(200, { data: row.data, tag: buildEntityTag(statement, row.version, row.data) });
}

/** Runs an upsert in a transaction that is undone when it has created a record for which there is no room. */
function runChecked(
  deps: ExchangeDeps,
  context: EntityContext,
  run: (current: EntityContext) => Promise<Outcome<UpsertedRow>>,
  checkAdded: (added: number) => void,
): Promise<Outcome<UpsertedRow>> {
  return inTransaction(deps, context, false, async (executor) => {
    const outcome = await run({ ...context, executor });
    if (outcome.kind === 'written') checkAdded(outcome.row.isCreated ? 1 : 0);
    return outcome;
  });
}

export async function update(deps: ExchangeDeps, context: EntityContext): Promise<Reply> {
  const { call, entity } = context;
  const id = parseId(call.id);
  parseParameters(call.query, []);
  // The body is validated before the 404 of the record.
  const { values, changes, details } = planAssignment(await call.body(), entity, id ?? '0');
  await rejectInvalid(deps, context, details, { values, target: { id: id ?? '0', ...UNGUARDED } });
  if (id === undefined) throw recordNotFound();
  const target = { id, ...parseGuard(call.conditions.ifMatch) };
  return writeChanges(deps, context, [{ id, values, changes }], ONE, async (current, [complete = values]) => {
    // A record of another owner does not exist, whatever the request says.
    const isForeign = foreignColumn(entity, current.principal, complete) !== undefined;
    if (isForeign && (await findVersion(deps, current, id)) === undefined) throw recordNotFound();
    const statement = deps.prepared.write(current, planUpdate(complete, entity, current, target.guarded));
    const { data, version } = requireWritten(await write(deps, current, statement, { target, values: complete }));
    return recordReply(200, { data, tag: buildEntityTag(statement, version, data) });
  });
}

const ONE: OperatorOptions = { isMany: false, isDryRun: false };

export async function remove(deps: WriteDeps, context: EntityContext): Promise<Reply> {
  const { call, entity } = context;
  const id = parseId(call.id);
  parseParameters(call.query, []);
  if (id === undefined) throw recordNotFound();
  const target = { id, ...parseGuard(call.conditions.ifMatch) };
  const statement = deps.prepared.write(context, planDelete(entity, context, target.guarded));
  requireWritten(await write(deps, context, statement, { target }));
  return noContent();
}

const UNGUARDED: Guard = { guarded: false, versions: [] };

/** Returns the row of a successful write, or throws its error. */
function requireWritten<Row>(outcome: Outcome<Row>): Row {
  switch (outcome.kind) {
    case 'written':
      return outcome.row;
    case 'missing':
      throw recordNotFound();
    case 'changed':
      throw preconditionFailed();
    case 'badReference':
      throw validationFailed(outcome.details);
    default:
      return outcome satisfies never;
  }
}

/** Throws every mistake of a body at once, including missing references and unique values that are taken. */
async function rejectInvalid(
  deps: WriteDeps,
  context: EntityContext,
  details: readonly Detail[],
  what: Write,
): Promise<void> {
  if (details.length === 0) return;
  const references = await findMissingReferences(deps, context, what);
  throw validationFailed([...details, ...references, ...(await findTakenValues(deps, context, what, references))]);
}

/** Finds missing references; if there are any, also the unique values that are taken. */
async function findBadReferences(deps: WriteDeps, context: EntityContext, what: Write): Promise<readonly Detail[]> {
  const details = await findMissingReferences(deps, context, what);
  return details.length === 0 ? [] : [...details, ...(await findTakenValues(deps, context, what, details))];
}

/** Finds the unique values of a body that another record has. */
async function findTakenValues(
  deps: WriteDeps,
  context: EntityContext,
  what: Write,
  missing: readonly Detail[],
): Promise<readonly Detail[]> {
  const { target, values, key } = what;
  if (values === undefined) return [];
  const targets = target && [{ id: target.id, name: target.id, version: undefined }];
  const written = { kind: getWriteKind(what), items: [values], targets, ...(key === undefined ? {} : { key }) };
  const { details } = await findConflicts(deps, context, written, missing);
  return details.map(({ index, ...detail }) => detail);
}

/** Finds references in a body to records that are absent or hidden from the principal. */
async function findMissingReferences(
  { compileOptions }: WriteDeps,
  context: EntityContext,
  what: Write,
): Promise<Detail[]> {
  const { target, values } = what;
  if (values === undefined) return [];
  const plan = planReferences(values, context.entity, context, target === undefined ? 'create' : 'update');
  if (plan === undefined) return [];
  const rows = await runRead(context, compile(plan, compileOptions), buildInputs(context, what), 'write');
  return rows.map(({ field }) => ({
    field,
    code: 'REFERENCE_NOT_FOUND',
    message: 'refers to a record that does not exist',
  }));
}

/** Returns the version of a record that the principal can see, or undefined if there is none. */
export async function findVersion(
  { config, compileOptions }: WriteDeps,
  context: EntityContext,
  id: string,
): Promise<string | undefined> {
  const plan = planRead(parseReadRequest('fields=id&expand=', config), context.entity, context);
  const inputs = { id, principal: context.principal };
  const [row] = await runRead(context, compile(plan, compileOptions), inputs, 'write');
  return row?.version;
}

function buildInputs(context: EntityContext, { target, values }: Write): Inputs {
  return {
    principal: context.principal,
    actor: describeActor(context),
    ...(values === undefined ? {} : { body: values }),
    ...(target === undefined ? {} : { id: target.id, versions: target.versions }),
  };
}

/**
 * Retries a write until it has written a row or the reason of its failure is found. Deadlocks and serialization
 * failures are retried, as they are rolled back. When no row was written, the record or a reference tells the reason;
 * if it has gone meanwhile, the write is retried. In a transaction nothing is retried or queried after an error: the
 * error names the reference, or becomes the cause of the error that is thrown.
 */
async function write<Row>(
  deps: WriteDeps,
  context: EntityContext,
  statement: Compiled<Row>,
  what: Write,
): Promise<Outcome<Row>> {
  const plain = bindQuery(statement, buildInputs(context, what));
  const { executor, key } = context;
  const bound = key === undefined ? plain : await key.wrap(plain, buildResponseForm(context, statement, what));
  return retryWrite(context, async () => {
    try {
      const [row] = await executor.run(bound, 'write', buildStatementOptions(context, statement.expected));
      if (row !== undefined) return { kind: 'written', row: statement.read(row) };
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      if (isConstraintViolation(error) && !executor.isTransaction) {
        const details = await findBadReferences(deps, context, what);
        if (details.length > 0) return { kind: 'badReference', details };
      }
      throw toRecordError(error, context.workspace, context.entity.name, getWriteKind(what));
    }
    if (what.target !== undefined) {
      const { id, guarded, versions } = what.target;
      const version = await findVersion(deps, context, id);
      if (version === undefined) return { kind: 'missing' };
      if (guarded && !versions.includes(version)) return { kind: 'changed' };
    }
    const details = await findBadReferences(deps, context, what);
    return details.length > 0 ? { kind: 'badReference', details } : undefined;
  });
}

/**
 * Runs an upsert. It writes and reads nothing when a record with its key was added after it started, which the next
 * attempt sees, or when the principal cannot see that record. Then a plain create determines the error.
 */
async function writeUpsert(
  deps: WriteDeps,
  context: EntityContext,
  upsert: Compiled<UpsertedRow>,
  plain: Compiled<WrittenRow>,
  what: Write,
): Promise<Outcome<UpsertedRow>> {
  const { executor, workspace, entity } = context;
  const inputs = buildInputs(context, what);
  const run = async <Row>(statement: Compiled<Row>): Promise<Row | undefined> => {
    const [row] = await executor.run(
      bindQuery(statement, inputs),
      'write',
      buildStatementOptions(context, statement.expected),
    );
    return row === undefined ? undefined : statement.read(row);
  };
  let attempts = 0;
  return retryWrite(context, async () => {
    attempts++;
    try {
      const row = (await run(upsert)) ?? (attempts === 1 ? undefined : toUpsertedRow(await run(plain)));
      if (row !== undefined) return { kind: 'written', row };
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      if (isConstraintViolation(error) && !executor.isTransaction) {
        const details = await findBadReferences(deps, context, what);
        if (details.length > 0) return { kind: 'badReference', details };
      }
      throw toRecordError(error, workspace, entity.name, 'create');
    }
    const details = await findBadReferences(deps, context, what);
    return details.length > 0 ? { kind: 'badReference', details } : undefined;
  });
}

const toUpsertedRow = (row: WrittenRow | undefined): UpsertedRow | undefined => row && { ...row, isCreated: true };

/** True for a reference to no record, and for a unique value that is taken. */
const isConstraintViolation = (error: unknown): boolean => ['23503', '23505'].includes(getSqlState(error) ?? '');

/** Builds the response of a successful write. */
function buildResponseForm({ workspace, entity }: EntityContext, { tag }: Statement, what: Write): ResponseForm {
  const kind = getWriteKind(what);
  const locationPrefix = kind === 'create' ? buildLocation(workspace, entity, '') : undefined;
  return { status: kind === 'create' ? 201 : kind === 'update' ? 200 : 204, etagSuffix: tag, locationPrefix };
}

const buildLocation = (
  { organization, slug }: EntityContext['workspace'],
  { name }: EntityContext['entity'],
  id: string,
): string => `${PREFIX}${organization}/${slug}/${name}/${id}`;

function getWriteKind({ target, values }: Write): WriteKind {
  if (target === undefined) return 'create';
  return values === undefined ? 'delete' : 'update';
}
