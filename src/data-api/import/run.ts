// Runs one import in its transaction: rows are decoded and copied into a staging table while they arrive, checked there
// as sets, and written to the target by one statement. All or nothing, with every mistake reported by row.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyInto, makeBackend, parseCopyPosition } from '../../database/copy.ts';
import { clientDisconnected, isConnectionLoss, isStaleSnapshot } from '../../database/errors.ts';
import type { NodeStatus } from '../../database/executor.ts';
import type { Database, Session, Transaction } from '../../database/pool.ts';
import type { ImportPlan } from '../../plan/import-plan.ts';
import { json, type Reply, type ReplyBody } from '../../response/reply.ts';
import { SILENCE } from '../../sql/change-statements.ts';
import { toQuery } from '../../sql/fragment.ts';
import {
  addMatches,
  analyzeStaging,
  copyToStaging,
  createStaging,
  fetchRejects,
  importSettings,
  openRejects,
  recordOutcome,
  recordSummary,
  resolveOutcome,
  setActor,
} from '../../sql/import.ts';
import { insertActivity, loadActor } from '../../store/activity.ts';
import { describeActor, type EntityContext } from '../context.ts';
import { writeUnknown } from '../errors.ts';
import type { ImportKey } from '../idempotency.ts';
import { toRecordError } from '../record-error.ts';
import type { TransferDeps } from '../transfer.ts';
import { type Checks, findLastingMistakes, match, rejectMistakes } from './checks.ts';
import { confirmAccess, confirmPlan, type PlannedImport, type Replan } from './confirm.ts';
import { copyDirectly, type DirectCopy, type DirectWay, makeDirectReader } from './direct.ts';
import { passIds, reserveIds } from './ids.ts';
import { type ImportReader, makeImportReader, type RowSource, toImportError } from './reader.ts';
import { makeRejectFile, type RejectFile, type RejectFormat, streamRejects } from './reject-file.ts';
import { type ImportCounts, writeImport } from './write.ts';

// From this many rows on the staging table is analyzed for the planner.
const ANALYZE_ROWS = 1000;
const DRY_RUN_ROLLBACK = new Error('a dry run is undone');

export interface Import<T> extends RowSource<T> {
  readonly plan: ImportPlan;
  /** The way into the table itself, if the whole file is there. */
  readonly direct?: DirectWay<T> | undefined;
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
  /** Format of rejected rows, for an import with rejects. */
  readonly rejects?: RejectFormat<T> | undefined;
  /** Called when rejected rows have been sent, or cannot be. */
  readonly release: () => void;
}

/** Reads all batches and writes them; throws 400, 403 or 409 when nothing was imported. */
export async function runImport<T extends { readonly line: number }>(
  { plan, replan, notes, interrupt, isDryRun, key, release, direct, ...source }: Import<T>,
  context: EntityContext,
  deps: TransferDeps,
): Promise<Reply> {
  const { config, databases, cache } = deps;
  const db = databases.forWorkspace(context.workspace);
  const width = plan.columns.length + plan.lookups.length + (plan.sparse ? 1 : 0);
  const { slices } = context.request;
  const reader = makeImportReader({ ...source, batches: direct?.readAgain() ?? source.batches }, width, slices);
  const rejectFile = source.rejects && makeRejectFile(config.maxRejectBytes);
  const limits = {
    minRate: { bytesPerSecond: config.minExportBytesPerSecond, seconds: config.transferWindowSeconds },
    stallMs: config.bodyTimeoutMs,
  };
  const makeReply = (counts: ImportCounts): Reply => {
    if (source.rejects === undefined || rejectFile === undefined) return makeImportReply(counts, isDryRun, notes);
    const stream = streamRejects(rejectFile, limits, release);
    return makeRejectsReply(counts, isDryRun, { contentType: source.rejects.contentType, stream });
  };
  const token = randomUUID();
  let finishedCounts: ImportCounts | undefined;
  let isWritten = false;
  try {
    await db.transaction(
      (session) =>
        runWhileConnected(db, session, context, async (own) => {
          const counts = await importRows(own, { context, plan }, replan, {
            deps,
            reader,
            direct: direct && { narrow: direct.narrow, reader: makeDirectReader(source.batches, direct, slices) },
            interrupt,
            key,
            maxErrors: source.maxErrors,
          });
          if (source.rejects !== undefined && rejectFile !== undefined)
            await saveRejects(own, source.rejects, rejectFile);
          finishedCounts = counts;
          if (isDryRun) throw DRY_RUN_ROLLBACK;
          // Rejected rows are not stored with the key: a replay has the counts alone.
          await key?.finish(own, makeImportReply(counts, isDryRun, notes));
          await own.query(recordOutcome(context.workspace.databaseSchema, token));
          await recordImport(own, context, counts);
          isWritten = true;
        }),
      {
        statementTimeoutMs: config.transferTimeoutMs,
        purpose: 'transfer',
        signal: context.signal,
        deadline: context.deadline.at,
        node: context.node,
      },
    );
    return makeReply(finishedCounts as unknown as ImportCounts);
  } catch (error) {
    if (error === DRY_RUN_ROLLBACK && finishedCounts !== undefined) return makeReply(finishedCounts);
    if (finishedCounts !== undefined && isWritten && isConnectionLoss(error)) {
      const outcome = await findOutcome(db, context.workspace.databaseSchema, token, context.node);
      if (outcome === 'committed') return makeReply(finishedCounts);
      await rejectFile?.close();
      if (outcome === 'unknown') throw writeUnknown(error);
    }
    await rejectFile?.close();
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

/** Builds the reply of an import with rejects. */
function makeRejectsReply(
  { inserted, updated, skipped, rejected = 0 }: ImportCounts,
  isDryRun: boolean,
  body: Pick<Extract<ReplyBody, { kind: 'stream' }>, 'contentType' | 'stream'>,
): Reply {
  const headers = {
    'Import-Inserted': String(inserted),
    'Import-Updated': String(updated),
    'Import-Skipped': String(skipped),
    'Import-Rejected': String(rejected),
    ...(isDryRun ? { 'Import-Dry-Run': 'true' } : {}),
  };
  return { status: 200, headers, body: { kind: 'stream', ...body } };
}

// Bytes of rejected rows that are fetched at a time, as far as the rows before tell.
const FETCH_BYTES = 262_144;
const MAX_FETCH_ROWS = 1000;
// A row may have 1 MiB.
const FIRST_FETCH_ROWS = 16;

/** Copies the rejected rows from the staging table to the file. */
async function saveRejects(
  session: Session,
  { header, formatLine }: Pick<RejectFormat<never>, 'header' | 'formatLine'>,
  file: RejectFile,
): Promise<void> {
  await file.write(header);
  await session.execute(openRejects().text);
  for (let count = FIRST_FETCH_ROWS; ; ) {
    const rows = await session.query<{ row: string; source: string; reason: string }>(toQuery(fetchRejects(count)));
    if (rows.length === 0) return;
    const text = rows.map(({ row, source, reason }) => formatLine(row, source, reason)).join('');
    await file.write(text);
    count = Math.max(1, Math.min(MAX_FETCH_ROWS, Math.floor(FETCH_BYTES / (text.length / rows.length))));
  }
}

interface IncomingBody extends Pick<Import<unknown>, 'interrupt' | 'key' | 'maxErrors'> {
  readonly deps: TransferDeps;
  readonly reader: ImportReader;
  /** Copies the same rows into the table itself. */
  readonly direct: DirectCopy | undefined;
}

async function importRows(
  session: Transaction,
  initial: PlannedImport,
  replan: Replan,
  body: IncomingBody,
): Promise<ImportCounts> {
  await session.execute(importSettings(initial.plan.scan.entity).text);
  const actor = describeActor(initial.context);
  if (actor !== undefined) await session.query(setActor(actor));
  const { direct } = body;
  if (direct === undefined) return importStaged(session, initial, replan, body);
  await body.key?.begin(session);
  const plannedImport = await confirmPlan(session, initial, replan);
  if (plannedImport.plan.isSummary) await session.execute(SILENCE.text);
  const inserted = await copyDirectly(session, plannedImport.plan, direct);
  // The staged rows of the same file tell which of them are wrong, and why.
  if (inserted === undefined) return importStaged(session, plannedImport, replan, { ...body, key: undefined });
  return confirmCounts(session, plannedImport, replan, body.deps, { inserted, updated: 0, skipped: 0 });
}

async function importStaged(
  session: Transaction,
  initial: PlannedImport,
  replan: Replan,
  { deps, reader, interrupt, key, maxErrors }: IncomingBody,
): Promise<ImportCounts> {
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
  const checks: Checks = { session, context, plan, maxErrors };
  await match(checks);
  if (hasNewIds) await passIds(session, plannedImport);
  if (plan.hasRejects) await rejectMistakes(checks);
  else {
    const mistakes = await findLastingMistakes(checks, details.length === 0);
    if (details.length + mistakes.length > 0) throw toImportError([...details, ...mistakes], maxErrors);
  }
  if (plan.isSummary) await session.execute(SILENCE.text);
  const counts = await writeImport(deps, checks, reader.rows());
  return confirmCounts(session, plannedImport, replan, deps, counts);
}

/** Stores the event of an import that keeps one alone, and confirms access and quotas for what it has written. */
async function confirmCounts(
  session: Transaction,
  plannedImport: PlannedImport,
  replan: Replan,
  { quotas }: Pick<TransferDeps, 'quotas'>,
  counts: ImportCounts,
): Promise<ImportCounts> {
  const { context, plan } = plannedImport;
  if (plan.isSummary && counts.inserted + counts.updated > 0) {
    const { inserted, updated, skipped } = counts;
    const members = { reason: 'imported', inserted, updated, skipped };
    await session.query(recordSummary(plan.scan.entity, JSON.stringify(members)));
  }
  await confirmAccess(session, plannedImport, replan);
  await quotas.confirm(context, counts.inserted);
  return counts;
}

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
