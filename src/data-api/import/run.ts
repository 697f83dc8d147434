// Runs one import in its transaction: rows are decoded and copied into a staging table while they arrive, checked there
// as sets, and written to the target by one statement. All or nothing, with every mistake reported by row.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyInto, inSavepoint, makeBackend, parseCopyPosition } from '../../database/copy.ts';
import {
  clientDisconnected,
  getSqlState,
  isConnectionLoss,
  isRetryable,
  isStaleSnapshot,
} from '../../database/errors.ts';
import type { NodeStatus } from '../../database/executor.ts';
import type { Database, Session, Transaction } from '../../database/pool.ts';
import { type Detail, type DetailCode, shorten } from '../../errors.ts';
import { type ImportPlan, isOwnReference } from '../../plan/import-plan.ts';
import { json, type Reply } from '../../response/reply.ts';
import type { Fragment } from '../../sql/fragment.ts';
import {
  addMatches,
  analyzeStaging,
  copyToStaging,
  createStaging,
  findDuplicates,
  findExistingIds,
  findMissing,
  findMissingLookups,
  findMissingReferences,
  findUniqueConflicts,
  findUnknownIds,
  firstRows,
  importQuery,
  importSettings,
  matchRecords,
  recordOutcome,
  resolveLookups,
  resolveOutcome,
  writeStaged,
} from '../../sql/import.ts';
import { insertActivity, loadActor } from '../../store/activity.ts';
import type { EntityContext } from '../context.ts';
import { writeUnknown } from '../errors.ts';
import type { ImportKey } from '../idempotency.ts';
import { toRecordError } from '../record-error.ts';
import type { TransferDeps } from '../transfer.ts';
import { confirmAccess, confirmPlan, type PlannedImport, type Replan } from './confirm.ts';
import { passIds, reserveIds } from './ids.ts';
import { type ImportReader, makeImportReader, type RowSource, toImportError } from './reader.ts';

export interface ImportCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
}

// From this many rows on the staging table is analyzed for the planner.
const ANALYZE_ROWS = 1000;
const WRITE_ATTEMPTS = 3;
const MATCH_ATTEMPTS = 3;
const DRY_RUN_ROLLBACK = new Error('a dry run is undone');

export interface Import<T> extends RowSource<T> {
  readonly plan: ImportPlan;
  /** Plans the same file with the current snapshot. */
  readonly replan: Replan;
  /** Sentences for `meta.notes`. */
  readonly notes: readonly string[];
  /** Ends the batches with an error, even during a wait for the next. */
  readonly interrupt: (reason: Error) => void;
  /** Whether everything is checked and run, and rolled back. */
  readonly isDryRun: boolean;
  /** Idempotency key under which the response is stored, with the records. */
  readonly key: ImportKey | undefined;
}

/** Reads all batches and writes them; throws 400, 403 or 409 when nothing was imported. */
export async function runImport<T extends { readonly line: number }>(
  { plan, replan, notes, interrupt, isDryRun, key, ...source }: Import<T>,
  context: EntityContext,
  { config, databases, cache }: TransferDeps,
): Promise<Reply> {
  const db = databases.forWorkspace(context.workspace);
  const reader = makeImportReader(source, context.request.slices);
  const token = randomUUID();
  let dryRunReply: Reply | undefined;
  let finishedReply: Reply | undefined;
  try {
    return await db.transaction(
      (session) =>
        runWhileConnected(db, session, context, async (own) => {
          const counts = await importStaged(own, { context, plan }, replan, {
            reader,
            interrupt,
            key,
            maxErrors: source.maxErrors,
          });
          const reply = makeImportReply(counts, isDryRun, notes);
          if (isDryRun) {
            dryRunReply = reply;
            throw DRY_RUN_ROLLBACK;
          }
          await key?.finish(own, reply);
          await own.query(recordOutcome(context.workspace.databaseSchema, token));
          await recordImport(own, context, counts);
          finishedReply = reply;
          return reply;
        }),
      {
        statementTimeoutMs: config.transferTimeoutMs,
        purpose: 'transfer',
        signal: context.signal,
        deadline: context.deadline.at,
        node: context.node,
      },
    );
  } catch (error) {
    if (error === DRY_RUN_ROLLBACK && dryRunReply !== undefined) return dryRunReply;
    if (finishedReply !== undefined && isConnectionLoss(error)) {
      const outcome = await findOutcome(db, context.workspace.databaseSchema, token, context.node);
      if (outcome === 'committed') return finishedReply;
      if (outcome === 'unknown') throw writeUnknown(error);
    }
    // The body is read, so the request cannot be planned again: the client has to send it again (503).
    if (isStaleSnapshot(error)) cache.invalidate(context.workspace.id);
    throw toRecordError(error, context.workspace, context.entity.name, 'create');
  }
}

/** Records the import in the activity log, unless it changed nothing. */
async function recordImport(
  session: Session,
  { principal, workspace, entity }: EntityContext,
  counts: ImportCounts,
): Promise<void> {
  if (counts.inserted + counts.updated === 0) return;
  await insertActivity(session, {
    actor: await loadActor(session, principal),
    action: 'records.import',
    organization: workspace.organization,
    workspace,
    entity: entity.name,
    subject: entity.name,
    details: { ...counts },
  });
}

/** Runs `work`; when the client disconnects, the running statement is cancelled and no other starts. */
async function runWhileConnected<T>(
  db: Database,
  session: Transaction,
  { signal }: EntityContext,
  work: (session: Transaction) => Promise<T>,
): Promise<T> {
  const backend = makeBackend(db, session);
  let isDisconnected = signal.isAborted();
  const runIfConnected = <R>(run: () => Promise<R>): Promise<R> =>
    isDisconnected ? Promise.reject(clientDisconnected()) : run();
  const unsubscribe = signal.onAbort(() => {
    isDisconnected = true;
    backend.cancel();
  });
  try {
    const result = await work({
      ...session,
      query: (query) => runIfConnected(() => session.query(query)),
      execute: (text) => runIfConnected(() => session.execute(text)),
    });
    return await runIfConnected(() => Promise.resolve(result));
  } finally {
    unsubscribe();
    await backend.waitForCancel();
  }
}

function makeImportReply(data: ImportCounts, isDryRun: boolean, notes: readonly string[]): Reply {
  const meta = { ...(isDryRun ? { dryRun: true } : {}), ...(notes.length === 0 ? {} : { notes }) };
  return json(200, { data, ...(Object.keys(meta).length === 0 ? {} : { meta }) });
}

interface IncomingBody extends Pick<Import<unknown>, 'interrupt' | 'key' | 'maxErrors'> {
  readonly reader: ImportReader;
}

async function importStaged(
  session: Transaction,
  initial: PlannedImport,
  replan: Replan,
  { reader, interrupt, key, maxErrors }: IncomingBody,
): Promise<ImportCounts> {
  await session.execute(importSettings(initial.plan.scan.entity).text);
  await session.execute(createStaging(initial.plan).text);
  try {
    await copyInto(session, copyToStaging().text, reader.lines(), interrupt);
  } catch (error) {
    throw addPosition(error, initial.context, reader, maxErrors);
  }
  await key?.begin(session);
  const { details } = reader;
  if (reader.rows() > ANALYZE_ROWS) await session.execute(analyzeStaging().text);
  const hasNewIds = details.length === 0 && initial.plan.ids === 'new';
  if (hasNewIds) await reserveIds(session, initial);
  const plannedImport = await confirmPlan(session, initial, replan);
  const { context, plan } = plannedImport;
  if (plan.matchOn !== undefined) await session.execute(addMatches().text);
  await match(session, context, plan);
  if (hasNewIds) await passIds(session, plannedImport);
  const checks: Checks = { session, context, plan, maxErrors };
  const mistakes = await findLastingMistakes(checks, details.length === 0);
  if (details.length + mistakes.length > 0) throw toImportError([...details, ...mistakes], maxErrors);
  const counts = await write(checks, reader.rows());
  await confirmAccess(session, plannedImport, replan);
  return counts;
}

/** Looks references up, and matches rows with existing records if other fields than the id find them. */
async function match(session: Session, { principal }: EntityContext, plan: ImportPlan): Promise<void> {
  for (const lookup of resolveLookups(plan)) await session.query(importQuery(lookup, principal));
  if (plan.matchOn !== undefined) await session.query(importQuery(matchRecords(plan, plan.matchOn), principal));
}

/** Staged rows that are checked, and the mistakes that are listed of each check. */
interface Checks {
  readonly session: Session;
  readonly context: EntityContext;
  readonly plan: ImportPlan;
  readonly maxErrors: number;
}

/** Finds mistakes, and repeats it while a duplicate may be of a record that was added after the matching. */
async function findLastingMistakes(checks: Checks, isComplete: boolean): Promise<Detail[]> {
  const { session, context, plan } = checks;
  for (let attempt = 1; ; attempt++) {
    const mistakes = await findMistakes(checks, isComplete);
    const hasConflict = mistakes.some(({ code }) => code === 'NOT_UNIQUE');
    if (plan.matchOn === undefined || !hasConflict || attempt === MATCH_ATTEMPTS) return mistakes;
    await match(session, context, plan);
  }
}

/* ---- checks ---- */

/** Adds the row to an error of a value that PostgreSQL rejected after it had passed our checks. */
function addPosition(error: unknown, context: EntityContext, reader: ImportReader, maxErrors: number): unknown {
  const position = parseCopyPosition(error);
  const apiError =
    position === undefined ? undefined : toRecordError(error, context.workspace, context.entity.name, 'create');
  if (position === undefined || apiError?.details === undefined) return error;
  const row = reader.rowOfLine(position.line);
  const field = position.column !== null && context.entity.fields.has(position.column) ? position.column : null;
  return toImportError(
    [...reader.details, ...apiError.details.map((detail) => ({ ...detail, row, field: field ?? detail.field }))],
    maxErrors,
  );
}

interface MistakeRow {
  readonly row: string;
  readonly line: string;
  readonly value: string | null;
  readonly other: string | null;
}

function toDetail({ row, line, value }: MistakeRow, mistake: Pick<Detail, 'field' | 'code' | 'message'>): Detail {
  return {
    row: Number(row),
    line: Number(line),
    ...mistake,
    ...(value === null ? {} : { value: shorten(value, 100) }),
  };
}

/** Finds mistakes in staged rows. `isComplete`: all rows are staged; else a row may refer to one that is not. */
async function findMistakes({ session, context, plan, maxErrors }: Checks, isComplete: boolean): Promise<Detail[]> {
  const { principal } = context;
  const mistakes: Detail[] = [];
  const collectMistakes = async (
    check: Fragment,
    field: string,
    code: DetailCode,
    message: string | ((row: MistakeRow) => string),
  ): Promise<void> => {
    for (const row of await session.query<MistakeRow>(importQuery(firstRows(check, maxErrors), principal))) {
      mistakes.push(toDetail(row, { field, code, message: typeof message === 'string' ? message : message(row) }));
    }
  };
  const formatDuplicate = ({ other }: MistakeRow): string => `must be unique: row ${other} has this value too`;
  const takenMessage = 'must be unique: another record has this value';

  const id = plan.columns.filter((field) => field.role === 'id');
  const isById = plan.matchOn === undefined;
  if (plan.ids !== 'none' && isById)
    await collectMistakes(findDuplicates(plan, id), 'id', 'NOT_UNIQUE', formatDuplicate);
  if (plan.ids === 'new' && plan.onConflict === 'fail') {
    const message = 'must be unique: a record with this id exists';
    await collectMistakes(findExistingIds(plan), 'id', 'NOT_UNIQUE', message);
  }
  if (plan.ids === 'known' && isById)
    await collectMistakes(findUnknownIds(plan), 'id', 'READ_ONLY', 'is set by the server: no record has this id');
  for (const field of plan.required) {
    const key = (plan.matchOn ?? id).map(({ name }) => name).join(', ');
    const message = `is required: no record has this ${key || 'id'}`;
    await collectMistakes(findMissing(plan, field), field.name, 'REQUIRED', message);
  }
  for (const fields of plan.uniques) {
    const name = fields.map((field) => field.name).join(', ');
    await collectMistakes(findDuplicates(plan, fields), name, 'NOT_UNIQUE', formatDuplicate);
    await collectMistakes(findUniqueConflicts(plan, fields), name, 'NOT_UNIQUE', takenMessage);
  }
  for (const [index, { column, field, scan }] of plan.lookups.entries()) {
    const message = `refers to a record that does not exist: no record of ${scan.entity.name} has this ${field.name}`;
    await collectMistakes(findMissingLookups(plan, index), column.name, 'REFERENCE_NOT_FOUND', message);
  }
  for (const reference of plan.references) {
    if (isOwnReference(plan, reference) && !isComplete) continue;
    const message = 'refers to a record that does not exist';
    const check = findMissingReferences(plan, reference);
    await collectMistakes(check, reference.field.name, 'REFERENCE_NOT_FOUND', message);
  }
  return mistakes;
}

/* ---- writing ---- */

async function write(checks: Checks, rows: number): Promise<ImportCounts> {
  const { session, context, plan, maxErrors } = checks;
  for (let attempt = 1; ; attempt++) {
    try {
      const [counts] = await inSavepoint(session, () =>
        session.query<{ inserted: string; updated: string }>(importQuery(writeStaged(plan), context.principal)),
      );
      const inserted = Number(counts?.inserted);
      const updated = Number(counts?.updated);
      return { inserted, updated, skipped: rows - inserted - updated };
    } catch (error) {
      // A concurrent write came between our checks and the write: the checks are repeated to find the row.
      const isRace = getSqlState(error) === '23505' || getSqlState(error) === '23503' || getSqlState(error) === '23502';
      if (!isRace && !isRetryable(error)) throw error;
      await match(session, context, plan);
      const mistakes = await findLastingMistakes(checks, true);
      if (mistakes.length > 0) throw toImportError(mistakes, maxErrors);
      if (attempt >= WRITE_ATTEMPTS) throw error;
    }
  }
}

/* ---- an import whose COMMIT is not answered ---- */

export type Outcome = 'committed' | 'aborted' | 'unknown';

// Milliseconds that PostgreSQL has for a restart.
const OUTCOME_TIMEOUT_MS = 5000;
const PAUSE_MS = 100;

/**
 * Polls for some seconds until the import with the token has ended. `aborted` is certain even while its backend still
 * runs: it can no longer commit. `node`: that of the records. While it is unavailable no query is sent, as it would
 * block one of the connections for the control tables.
 */
export async function findOutcome(
  db: Database,
  schema: string,
  token: string,
  node?: Pick<NodeStatus, 'isUnavailable'>,
): Promise<Outcome> {
  const deadline = performance.now() + OUTCOME_TIMEOUT_MS;
  for (;;) {
    if (node?.isUnavailable() === true) return 'unknown';
    try {
      const [row] = await db.query<{ is_done: boolean }>(resolveOutcome(schema, token));
      if (row !== undefined) return row.is_done ? 'committed' : 'aborted';
    } catch {
      // The import is still at its COMMIT, or there is no database.
    }
    if (performance.now() >= deadline) return 'unknown';
    await sleep(PAUSE_MS);
  }
}
