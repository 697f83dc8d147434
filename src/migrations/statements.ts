// Runs the statements of operations: those that prepare, each on its own, or in batches of records, while requests go
// on; those of the switch, all in one transaction; and those that revert the preparation.

import type { Session } from '../database/pool.ts';
import {
  executeEach,
  inTransaction,
  LOCK_BUDGET_MS,
  type LockRetryOptions,
  lockTable,
  maySucceedLater,
  takeLocks,
  withAsyncCommit,
  withLockRetry,
} from '../database/transaction.ts';
import { SILENCE } from '../sql/change-statements.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { installChanges, noteChanges } from '../workspace-schema/record-changes.ts';
import { deleteConflicts, dropSync } from '../workspace-schema/sync.ts';
import {
  dropColumn,
  dropConstraint,
  dropIndexConcurrently,
  dropTableIfExists,
  dropUnusedSearchFunction,
} from './ddl.ts';
import { rejectDisabledTriggers, rejectLateConflicts, UnconvertibleValue } from './failure.ts';
import { getLockRetryOptions, watchIndex } from './lock-holders.ts';
import {
  type Batch,
  type Ddl,
  isPreparing,
  type Operation,
  PHASES,
  type Statement,
  type TemporaryObject,
} from './operation.ts';
import { needsPreparation, type PreparedChange } from './plan.ts';
import { MigrationCancelled, type Run } from './run.ts';

/**
 * Runs the statements that can run before the switch, if any operation needs them; otherwise leaves all to the switch.
 */
export async function runPreparation(run: Run): Promise<void> {
  const { change, progress, isCancelled } = run;
  if (!needsPreparation(change)) return;
  for (const phase of PHASES.filter(isPreparing)) {
    for (const operation of change.operations) {
      if (!operation.runsBeforeSwitch) continue;
      for (const statement of operation.statements) {
        if (statement.phase !== phase) continue;
        if (await isCancelled()) throw new MigrationCancelled();
        await progress.startStep(operation);
        if (statement.within === 'batches') await backfill(run, operation, statement.batch);
        else
          await withLockRetry(
            () => runPreparingStatement(run, statement, operation),
            getLockRetryOptions(run, operation),
          );
        if (isLast(statement, operation)) await progress.finishStep(operation);
      }
    }
  }
}

async function runPreparingStatement(run: Run, statement: Ddl, operation: Operation): Promise<void> {
  const { session, change } = run;
  if (statement.within !== 'none') {
    await inTransaction(session, LOCK_BUDGET_MS, () => session.execute(statement.sql.text));
    return;
  }
  // An attempt whose lock request failed leaves an invalid index.
  for (const object of operation.temporaryObjects) {
    if (object.kind === 'index') await session.execute(buildDrop(change.databaseSchema, object).text);
  }
  const stop = watchIndex(run, operation);
  try {
    await session.execute(statement.sql.text);
  } finally {
    await stop();
  }
}

function isLast(statement: Statement, operation: Operation): boolean {
  return operation.statements.at(-1) === statement;
}

// Target for the time that a request waits for a row of a stripe; batches adapt their size to it.
const STRIPE_MS = 50;
const STRIPES = [0, 1, 2, 3] as const;
// Smaller batches make the backfill longer and requests not quicker, as even an empty statement takes milliseconds on a
// busy machine (measured with 8 clients on 2 processors: batches of 200 take 56 s for 1 M records).
const FIRST_SIZE = 8000;
const MIN_SIZE = 8000;
const MAX_SIZE = 40_000;
const REPORT_INTERVAL_MS = 500;

/**
 * Fills each batch in four stripes: an update that finds space in the page of its record touches no index, and the dead
 * rows of the previous stripe make that space (measured on 1 M records with two indexes: 8 instead of 12 µs each).
 */
export async function backfill(run: Run, operation: Operation, batch: Batch): Promise<void> {
  const { session, sizes, progress } = run;
  const total = sizes.get(operation.entity) ?? 0;
  let after = '-9223372036854775808';
  let size = FIRST_SIZE;
  let done = 0;
  let reportedCount = 0;
  const report = async (records: number): Promise<void> => {
    run.countFilled(done - reportedCount);
    reportedCount = done;
    await progress.fill(operation, { done, total: records });
  };
  let reportedAt = performance.now();
  for (;;) {
    const [range] = await session.query<{ last: string | null; seen: number }>(toQuery(batch.next(after, size)));
    const last = range?.last ?? null;
    if (range === undefined || last === null) break;
    let longest = 1;
    for (const stripe of STRIPES) {
      const started = performance.now();
      const from = after;
      const statement = batch.fill({ after: from, last, stripe });
      // Asynchronous commits are safe: a crash that loses the last stripes comes before the switch, so the whole
      // migration is reverted.
      await withLockRetry(
        () =>
          withAsyncCommit(session, async () => {
            await session.execute(SILENCE.text);
            await fillStripeOnce(session, statement);
          }),
        getLockRetryOptions(run, operation, 'rows'),
      );
      longest = Math.max(longest, performance.now() - started);
    }
    after = last;
    done += range.seen;
    // Later records have a value already. Reading on might never end where records are created as fast as they are
    // read.
    if (range.seen < size) break;
    size = Math.round(Math.min(MAX_SIZE, Math.max(MIN_SIZE, size * Math.min(2, STRIPE_MS / longest))));
    if (performance.now() - reportedAt > REPORT_INTERVAL_MS) {
      reportedAt = performance.now();
      await report(Math.max(total, done));
      if (await run.isCancelled()) throw new MigrationCancelled();
    }
  }
  await report(done);
}

async function fillStripeOnce(session: Session, statement: Fragment): Promise<void> {
  const [row] = await session.query<{ refused: boolean }>(toQuery(statement));
  if (row?.refused === true) throw new UnconvertibleValue();
}

/** Puts the new tables and the new document in force together; `commit` adds the statements of the control tables. */
export async function switchOver(run: Run, commit: () => Promise<void>): Promise<void> {
  const { session, change, progress, isCancelled } = run;
  const isPrepared = needsPreparation(change);
  const statements = PHASES.flatMap((phase) =>
    change.operations.flatMap((operation) =>
      operation.statements
        .filter((statement) => statement.within !== 'batches')
        .filter(
          (statement) => statement.phase === phase && !(isPrepared && operation.runsBeforeSwitch && isPreparing(phase)),
        )
        .map((statement) => ({ statement, operation })),
    ),
  );
  const locks = buildLocks(change, new Set(statements.map(({ operation }) => operation)));
  await withLockRetry(async () => {
    if (await isCancelled()) throw new MigrationCancelled();
    await inTransaction(session, LOCK_BUDGET_MS, async () => {
      await takeLocks(session, locks);
      await rejectDisabledTriggers(run);
      await rejectLateConflicts(run);
      await session.execute(SILENCE.text);
      if (change.operations.some(({ kind }) => kind === 'keepChanges'))
        await installChanges(session, change.databaseSchema);
      const notes = change.operations.flatMap(({ changeNotes }) => changeNotes);
      await noteChanges(session, change.databaseSchema, notes);
      for (const { statement, operation } of statements) {
        progress.setCurrent(operation);
        await session.execute(statement.sql.text);
      }
      await commit();
    });
  }, getLockRetryOptions(run));
}

/**
 * Builds lock statements in the order of table names, so that two changes never deadlock; each table gets the strongest
 * mode.
 */
function buildLocks(change: PreparedChange, operations: ReadonlySet<Operation>): readonly Fragment[] {
  const modes = new Map<string, 'access exclusive' | 'share row exclusive'>();
  for (const operation of operations) {
    for (const { table, mode } of operation.locks) {
      if (modes.get(table) !== 'access exclusive') modes.set(table, mode);
    }
  }
  return [...modes.keys()]
    .sort()
    .map((name) => lockTable({ schema: change.databaseSchema, name }, modes.get(name) ?? 'access exclusive'));
}

/**
 * Drops the objects of a migration that did not reach the switch; missing objects are skipped. The triggers of a table
 * are dropped in one transaction with the columns and constraints that they serve: without the triggers a check would
 * refuse writes. An object that cannot be dropped, because foreign objects depend on it, throws after all the others
 * are dropped.
 */
export async function revert(
  session: Session,
  schema: string,
  temporaryObjects: readonly TemporaryObject[],
  retryOptions: Partial<LockRetryOptions>,
): Promise<void> {
  const failures: unknown[] = [];
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    await withLockRetry(work, retryOptions).catch((error) => {
      if (maySucceedLater(error)) throw error;
      failures.push(error);
    });
  };
  const runInTransaction = (text: string): Promise<void> =>
    inTransaction(session, LOCK_BUDGET_MS, () => session.execute(text));
  const objects = temporaryObjects.filter((one) => one.kind !== 'default');
  const kinds: readonly TemporaryObject['kind'][] = ['sync', 'constraint', 'column'];
  const orderedObjects = kinds.flatMap((kind) => objects.filter((one) => one.kind === kind));
  for (const [, tableObjects] of Map.groupBy(orderedObjects, (one) => one.table)) {
    const statements = tableObjects.flatMap((one) => [
      buildDrop(schema, one),
      ...(one.kind === 'sync' ? [deleteConflicts(schema, one.subject)] : []),
    ]);
    await attempt(() => inTransaction(session, LOCK_BUDGET_MS, () => executeEach(session, statements)));
  }
  for (const one of temporaryObjects) if (one.kind === 'default') await attempt(() => runInTransaction(one.undo));
  for (const one of objects)
    if (one.kind === 'index') await attempt(() => session.execute(buildDrop(schema, one).text));
  for (const one of objects)
    if (one.kind === 'table') await attempt(() => runInTransaction(buildDrop(schema, one).text));
  for (const one of objects)
    if (one.kind === 'words') await attempt(() => runInTransaction(buildDrop(schema, one).text));
  if (failures.length > 0) throw failures[0];
}

function buildDrop(schema: string, object: Exclude<TemporaryObject, { kind: 'default' }>): Fragment {
  if (object.kind === 'sync') return dropSync({ schema }, object.name);
  const table = { schema, name: object.table };
  switch (object.kind) {
    case 'table':
      return dropTableIfExists(table);
    case 'column':
      return dropColumn(table, object.column);
    case 'index':
      return dropIndexConcurrently(table, object.index);
    case 'words':
      return dropUnusedSearchFunction(schema);
    case 'constraint':
      return dropConstraint(table, object.constraint);
    default:
      return object satisfies never;
  }
}
