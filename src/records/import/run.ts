// One import in its transaction: rows are decoded and copied into a staging table while they arrive, checked there as
// sets, and written to the target by one statement. All or nothing, with every mistake that was found told by its row.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backendOf, copyInto, copyPosition, inSavepoint } from '../../db/copy.ts';
import { callerGone, isConnectionLoss, isRetryable, isStaleSnapshot, sqlState } from '../../db/errors.ts';
import type { Place } from '../../db/executor.ts';
import type { Database, Session, Transaction } from '../../db/pool.ts';
import { actorOf, insertActivity } from '../../directory/activity.ts';
import type { Detail, DetailCode } from '../../errors.ts';
import type { ImportPlan } from '../../plan/import-plan.ts';
import type { RowDecoder } from '../../plan/import-row.ts';
import { MAX_DETAILS } from '../../plan/naming.ts';
import { json, type Reply } from '../../response/reply.ts';
import type { Fragment } from '../../sql/fragment.ts';
import {
  addMatches,
  analyzeStaging,
  copyToStaging,
  createStaging,
  findDangling,
  findDuplicates,
  findExistingIds,
  findMissing,
  findTaken,
  findUnknownIds,
  importQuery,
  importSettings,
  matchRecords,
  noteOutcome,
  settleOutcome,
  writeStaged,
} from '../../sql/import.ts';
import type { EntityContext } from '../context.ts';
import { writeUnknown } from '../errors.ts';
import type { ImportKey } from '../idempotency.ts';
import { recordError } from '../record-error.ts';
import type { TransferDeps } from '../transfer.ts';
import { confirmAccess, confirmGrounds, type Grounds, type Replan } from './confirm.ts';
import { passIds, reserveIds } from './ids.ts';
import { makeReading, type Reading, refusal } from './rows.ts';

export interface ImportCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
}

// From this many rows on the planner gets statistics of what is staged.
const ANALYZE_ROWS = 1000;
const WRITE_ATTEMPTS = 3;
const MATCH_ATTEMPTS = 3;
const UNDONE = new Error('a dry run is undone');

export interface Import<T> {
  readonly plan: ImportPlan;
  readonly batches: AsyncIterable<readonly T[]>;
  readonly decode: RowDecoder<T>;
  /** The plan of the same file for what is in force by now. */
  readonly replan: Replan;
  /** Ends the batches with the reason, also while they are waited for. */
  readonly interrupt: (reason: Error) => void;
  /** Everything is checked and run, and undone. */
  readonly isDryRun: boolean;
  /** Under which the answer is stored, with the records. */
  readonly key: ImportKey | undefined;
}

/** Reads all batches and writes them; throws 400, 403 or 409 when nothing of them was imported. */
export async function runImport<T>(
  { plan, batches, decode, replan, interrupt, isDryRun, key }: Import<T>,
  context: EntityContext,
  { config, databases, cache }: TransferDeps,
): Promise<ImportCounts> {
  const db = databases.of(context.workspace);
  const reading = makeReading(batches, decode, context.request.slices);
  let undone: ImportCounts | undefined;
  const token = randomUUID();
  let written: ImportCounts | undefined;
  try {
    return await db.transaction(
      (session) =>
        whileClientStays(db, session, context, async (own) => {
          const counts = await importStaged(own, { context, plan }, replan, { reading, interrupt, key });
          if (isDryRun) {
            undone = counts;
            throw UNDONE;
          }
          await key?.finish(own, importReply(counts));
          await own.query(noteOutcome(context.workspace.databaseSchema, token));
          await noteImport(own, context, counts);
          written = counts;
          return counts;
        }),
      {
        statementTimeoutMs: config.transferTimeoutMs,
        purpose: 'transfer',
        caller: context.signal,
        deadline: context.deadline.at,
        place: context.place,
      },
    );
  } catch (error) {
    if (error === UNDONE && undone !== undefined) return undone;
    if (written !== undefined && isConnectionLoss(error)) {
      const outcome = await outcomeOf(db, context.workspace.databaseSchema, token, context.place);
      if (outcome === 'committed') return written;
      if (outcome === 'unknown') throw writeUnknown(error);
    }
    // The body is read, so the request cannot be planned again: the client sends it again (503).
    if (isStaleSnapshot(error)) cache.changed(context.workspace.id);
    throw recordError(error, context.workspace, context.entity.name, 'create');
  }
}

/** Who imported what; nothing is told of a file that changed nothing. */
async function noteImport(
  session: Session,
  { principal, workspace, entity }: EntityContext,
  counts: ImportCounts,
): Promise<void> {
  if (counts.inserted + counts.updated === 0) return;
  await insertActivity(session, {
    actor: await actorOf(session, principal),
    action: 'records.import',
    organization: workspace.organization,
    workspace,
    entity: entity.name,
    subject: entity.name,
    details: { ...counts },
  });
}

/** Runs `work`; when the client leaves, the statement that runs is cancelled and no other begins. */
async function whileClientStays<T>(
  db: Database,
  session: Transaction,
  { signal }: EntityContext,
  work: (session: Transaction) => Promise<T>,
): Promise<T> {
  const backend = backendOf(db, session);
  let hasLeft = signal.isGone();
  const ask = <R>(run: () => Promise<R>): Promise<R> => (hasLeft ? Promise.reject(callerGone()) : run());
  const stay = signal.onGone(() => {
    hasLeft = true;
    backend.cancel();
  });
  try {
    const result = await work({
      ...session,
      query: (query) => ask(() => session.query(query)),
      execute: (text) => ask(() => session.execute(text)),
    });
    return await ask(() => Promise.resolve(result));
  } finally {
    stay();
    await backend.settled();
  }
}

/** The answer to an import that was done. */
export const importReply = (data: ImportCounts): Reply => json(200, { data });

interface IncomingBody extends Pick<Import<unknown>, 'interrupt' | 'key'> {
  readonly reading: Reading;
}

async function importStaged(
  session: Transaction,
  planned: Grounds,
  replan: Replan,
  { reading, interrupt, key }: IncomingBody,
): Promise<ImportCounts> {
  await session.execute(importSettings(planned.plan.scan.entity).text);
  await session.execute(createStaging(planned.plan).text);
  try {
    await copyInto(session, copyToStaging().text, reading.lines(), interrupt);
  } catch (error) {
    throw withPosition(error, planned.context, reading);
  }
  await key?.begin(session);
  const { details } = reading;
  if (reading.rows() > ANALYZE_ROWS) await session.execute(analyzeStaging().text);
  const bringsIds = details.length === 0 && planned.plan.ids === 'new';
  if (bringsIds) await reserveIds(session, planned);
  const grounds = await confirmGrounds(session, planned, replan);
  const { context, plan } = grounds;
  if (plan.matchOn !== undefined) await session.execute(addMatches().text);
  await match(session, context, plan);
  if (bringsIds) await passIds(session, grounds);
  const found = await findLasting(session, context, plan, details.length === 0);
  if (details.length + found.length > 0) throw refusal([...details, ...found]);
  const counts = await write(session, context, plan, reading.rows());
  await confirmAccess(session, grounds, replan);
  return counts;
}

/** Finds the records that the rows are, of a file that is matched by other fields than the id. */
async function match(session: Session, { principal }: EntityContext, plan: ImportPlan): Promise<void> {
  if (plan.matchOn !== undefined) await session.query(importQuery(matchRecords(plan, plan.matchOn), principal));
}

/** Looks again while a value may only be taken by a record that came after the rows were matched with records. */
async function findLasting(
  session: Session,
  context: EntityContext,
  plan: ImportPlan,
  isWhole: boolean,
): Promise<Detail[]> {
  for (let attempt = 1; ; attempt++) {
    const found = await findMistakes(session, context, plan, isWhole);
    const isTaken = found.some(({ code }) => code === 'NOT_UNIQUE');
    if (plan.matchOn === undefined || !isTaken || attempt === MATCH_ATTEMPTS) return found;
    await match(session, context, plan);
  }
}

/* ---- checks ---- */

/** A value that passed our checks and not PostgreSQL's: the same refusal, with the row that it says. */
function withPosition(error: unknown, context: EntityContext, reading: Reading): unknown {
  const position = copyPosition(error);
  const refused =
    position === undefined ? undefined : recordError(error, context.workspace, context.entity.name, 'create');
  if (position === undefined || refused?.details === undefined) return error;
  const row = reading.rowOfLine(position.line);
  const field = position.column !== null && context.entity.fields.has(position.column) ? position.column : null;
  return refusal([
    ...reading.details,
    ...refused.details.map((detail) => ({ ...detail, row, field: field ?? detail.field })),
  ]);
}

interface FoundRow {
  readonly row: string;
  readonly other?: string;
}

/** `isWhole`: every row of the file is staged; else a row may refer to one that is not. */
async function findMistakes(
  session: Session,
  context: EntityContext,
  plan: ImportPlan,
  isWhole: boolean,
): Promise<Detail[]> {
  const { principal } = context;
  const found: Detail[] = [];
  const look = async (
    fragment: Fragment,
    field: string,
    code: DetailCode,
    message: string | ((row: FoundRow) => string),
  ): Promise<void> => {
    for (const row of await session.query<FoundRow>(importQuery(fragment, principal))) {
      found.push({ row: Number(row.row), field, code, message: typeof message === 'string' ? message : message(row) });
    }
  };
  const sameAs = ({ other }: FoundRow): string => `must be unique: row ${other} has this value too`;
  const taken = 'must be unique: another record has this value';

  const id = plan.columns.filter((field) => field.role === 'id');
  const isById = plan.matchOn === undefined;
  if (plan.ids !== 'none' && isById) await look(findDuplicates(plan, id, MAX_DETAILS), 'id', 'NOT_UNIQUE', sameAs);
  if (plan.ids === 'new' && plan.onConflict === 'fail') {
    await look(findExistingIds(plan, MAX_DETAILS), 'id', 'NOT_UNIQUE', 'must be unique: a record with this id exists');
  }
  if (plan.ids === 'known' && isById) {
    await look(findUnknownIds(plan, MAX_DETAILS), 'id', 'READ_ONLY', 'is set by the server: no record has this id');
  }
  for (const field of plan.required) {
    const key = (plan.matchOn ?? id).map(({ name }) => name).join(', ');
    await look(
      findMissing(plan, field, MAX_DETAILS),
      field.name,
      'REQUIRED',
      `is required: no record has this ${key || 'id'}`,
    );
  }
  for (const fields of plan.uniques) {
    const name = fields.map((field) => field.name).join(', ');
    await look(findDuplicates(plan, fields, MAX_DETAILS), name, 'NOT_UNIQUE', sameAs);
    await look(findTaken(plan, fields, MAX_DETAILS), name, 'NOT_UNIQUE', taken);
  }
  for (const reference of plan.references) {
    if (reference.own && !isWhole) continue;
    const message = 'refers to a record that does not exist';
    await look(findDangling(plan, reference, MAX_DETAILS), reference.field.name, 'REFERENCE_NOT_FOUND', message);
  }
  return found;
}

/* ---- writing ---- */

async function write(session: Session, context: EntityContext, plan: ImportPlan, rows: number): Promise<ImportCounts> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [counts] = await inSavepoint(session, () =>
        session.query<{ inserted: string; updated: string }>(importQuery(writeStaged(plan), context.principal)),
      );
      const inserted = Number(counts?.inserted);
      const updated = Number(counts?.updated);
      return { inserted, updated, skipped: rows - inserted - updated };
    } catch (error) {
      // Somebody was faster between our checks and the write: what the checks say now tells the row.
      const isRace = sqlState(error) === '23505' || sqlState(error) === '23503' || sqlState(error) === '23502';
      if (!isRace && !isRetryable(error)) throw error;
      await match(session, context, plan);
      const found = await findLasting(session, context, plan, true);
      if (found.length > 0) throw refusal(found);
      if (attempt >= WRITE_ATTEMPTS) throw error;
    }
  }
}

/* ---- an import whose COMMIT is not answered ---- */

export type Outcome = 'committed' | 'aborted' | 'unknown';

// The time that PostgreSQL has to start again.
const OUTCOME_TIMEOUT_MS = 5000;
const PAUSE_MS = 100;

/**
 * Asks until the import with the token has ended, for some seconds. `aborted` is certain, also when its backend is still
 * there: it can no longer commit. `place`: the node that has the records. While that is away nothing is asked, as the question
 * would keep one of the connections for the control tables waiting.
 */
export async function outcomeOf(
  db: Database,
  schema: string,
  token: string,
  place?: Pick<Place, 'isAway'>,
): Promise<Outcome> {
  const deadline = performance.now() + OUTCOME_TIMEOUT_MS;
  for (;;) {
    if (place?.isAway() === true) return 'unknown';
    try {
      const [row] = await db.query<{ is_done: boolean }>(settleOutcome(schema, token));
      if (row !== undefined) return row.is_done ? 'committed' : 'aborted';
    } catch {
      // The import is still at its COMMIT, or there is no database.
    }
    if (performance.now() >= deadline) return 'unknown';
    await sleep(PAUSE_MS);
  }
}
