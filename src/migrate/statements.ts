// Runs the statements of operations: those that prepare, each on its own, while requests go on; those of the switch, all in
// one transaction; and those that take back what was prepared.
import { dropSync, forgetConflicts } from '../beside/sync.ts';
import type { Session } from '../db/pool.ts';
import {
  executeEach,
  inTransaction,
  LOCK_BUDGET_MS,
  type LockRetryOptions,
  lockTable,
  maySucceedLater,
  takeLocks,
  withLockRetry,
} from '../db/transaction.ts';
import type { Fragment } from '../sql/fragment.ts';
import { dropColumn, dropConstraint, dropIndexConcurrently, dropTableIfExists, leaveWords } from './ddl.ts';
import { Cancelled, fill } from './fill.ts';
import { refuseLate, refuseSilenced } from './obstruction.ts';
import { type Ddl, isPreparing, type Made, type Operation, PHASES, type Statement } from './operation.ts';
import { needsPreparation, type PreparedChange } from './plan.ts';
import { patienceOf, type Run } from './run.ts';
import { watchIndex } from './watch-index.ts';

/** Runs what can run before the switch, if anything has to; otherwise leaves everything to the switch. */
export async function prepareAhead(run: Run): Promise<void> {
  const { change, progress, isCancelled } = run;
  if (!needsPreparation(change)) return;
  for (const phase of PHASES.filter(isPreparing)) {
    for (const operation of change.operations) {
      if (!operation.ahead) continue;
      for (const statement of operation.statements) {
        if (statement.phase !== phase) continue;
        if (await isCancelled()) throw new Cancelled();
        await progress.begin(operation);
        if (statement.within === 'batches') await fill(run, operation, statement.batch);
        else await withLockRetry(() => runAhead(run, statement, operation), patienceOf(run, operation));
        if (isLast(statement, operation)) await progress.finish(operation);
      }
    }
  }
}

async function runAhead(run: Run, statement: Ddl, operation: Operation): Promise<void> {
  const { session, change } = run;
  if (statement.within !== 'none') {
    await inTransaction(session, LOCK_BUDGET_MS, () => session.execute(statement.sql.text));
    return;
  }
  // An attempt that was refused a lock leaves an invalid index behind.
  for (const made of operation.makes) {
    if (made.kind === 'index') await session.execute(undo(change.databaseSchema, made).text);
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

/** The new shape and the new document at once; `commit` adds the statements of the control tables. */
export async function switchOver(run: Run, commit: () => Promise<void>): Promise<void> {
  const { session, change, progress, isCancelled } = run;
  const ahead = needsPreparation(change);
  const statements = PHASES.flatMap((phase) =>
    change.operations.flatMap((operation) =>
      operation.statements
        .filter((statement) => statement.within !== 'batches')
        .filter((statement) => statement.phase === phase && !(ahead && operation.ahead && isPreparing(phase)))
        .map((statement) => ({ statement, operation })),
    ),
  );
  const locks = locksOf(change, new Set(statements.map(({ operation }) => operation)));
  await withLockRetry(async () => {
    if (await isCancelled()) throw new Cancelled();
    await inTransaction(session, LOCK_BUDGET_MS, async () => {
      await takeLocks(session, locks);
      await refuseSilenced(run);
      await refuseLate(run);
      for (const { statement, operation } of statements) {
        progress.turnTo(operation);
        await session.execute(statement.sql.text);
      }
      await commit();
    });
  }, patienceOf(run));
}

/** Locks in the order of table names, so that two changes never wait for each other; of two modes the stronger. */
function locksOf(change: PreparedChange, operations: ReadonlySet<Operation>): readonly Fragment[] {
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
 * Takes back what was made before a switch that never came; what is missing is passed over. The triggers of a table go in
 * one transaction with the columns and constraints that they serve: without the triggers a check would refuse writes.
 * What cannot be dropped, because foreign objects depend on it, is thrown after all the rest has gone.
 */
export async function revert(
  session: Session,
  schema: string,
  made: readonly Made[],
  patience: Partial<LockRetryOptions>,
): Promise<void> {
  const failures: unknown[] = [];
  const take = async (work: () => Promise<void>): Promise<void> => {
    await withLockRetry(work, patience).catch((error) => {
      if (maySucceedLater(error)) throw error;
      failures.push(error);
    });
  };
  const atOnce = (text: string): Promise<void> => inTransaction(session, LOCK_BUDGET_MS, () => session.execute(text));
  const things = made.filter((one) => one.kind !== 'default');
  const kinds: readonly Made['kind'][] = ['sync', 'constraint', 'column'];
  const inOrder = kinds.flatMap((kind) => things.filter((one) => one.kind === kind));
  for (const [, ofTable] of Map.groupBy(inOrder, (one) => one.table)) {
    const statements = ofTable.flatMap((one) => [
      undo(schema, one),
      ...(one.kind === 'sync' ? [forgetConflicts(schema, one.subject)] : []),
    ]);
    await take(() => inTransaction(session, LOCK_BUDGET_MS, () => executeEach(session, statements)));
  }
  for (const one of made) if (one.kind === 'default') await take(() => atOnce(one.undo));
  for (const one of things) if (one.kind === 'index') await take(() => session.execute(undo(schema, one).text));
  for (const one of things) if (one.kind === 'table') await take(() => atOnce(undo(schema, one).text));
  for (const one of things) if (one.kind === 'words') await take(() => atOnce(undo(schema, one).text));
  if (failures.length > 0) throw failures[0];
}

function undo(schema: string, made: Exclude<Made, { kind: 'default' }>): Fragment {
  if (made.kind === 'sync') return dropSync({ schema }, made.name);
  const table = { schema, name: made.table };
  switch (made.kind) {
    case 'table':
      return dropTableIfExists(table);
    case 'column':
      return dropColumn(table, made.column);
    case 'index':
      return dropIndexConcurrently(table, made.index);
    case 'words':
      return leaveWords(schema);
    case 'constraint':
      return dropConstraint(table, made.constraint);
    default:
      return made satisfies never;
  }
}
