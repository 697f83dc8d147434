// Runs the statements of operations: those that prepare, each on its own and without holding up anybody; those of the
// switch, all in one transaction; and those that take back what was prepared.
import type { Session } from '../db/pool.ts';
import type { Fragment } from '../sql/fragment.ts';
import { dropColumn, dropIndexConcurrently, dropTableIfExists, lockTable } from './ddl.ts';
import { withLockRetry } from './lock-retry.ts';
import { isPreparing, type Made, type Operation, PHASES, type Statement } from './operation.ts';
import type { PreparedChange } from './plan.ts';

export interface Work {
  readonly session: Session;
  readonly change: PreparedChange;
  readonly cancelled: () => Promise<boolean>;
  /** Remembers what is at work. */
  readonly note: (operation: Operation) => void;
  /** The same, and shows it. */
  readonly begin: (operation: Operation) => Promise<void>;
  readonly done: (operation: Operation) => Promise<void>;
}

/** Somebody asked for the end of the migration. */
export class Cancelled extends Error {}

// How long requests may queue behind a lock that we wait for.
export const LOCK_BUDGET_MS = 300;

/** Runs what can or must run before the switch. With nothing that has to, all is left to the switch. */
export async function prepareAhead({ session, change, cancelled, begin, done }: Work): Promise<void> {
  if (!isAhead(change)) return;
  for (const phase of PHASES.filter(isPreparing)) {
    for (const operation of change.operations) {
      if (!operation.ahead) continue;
      for (const statement of operation.statements) {
        if (statement.phase !== phase) continue;
        if (await cancelled()) throw new Cancelled();
        await begin(operation);
        await withLockRetry(() => runAhead(session, statement, operation, change), cancelled);
        if (isLast(statement, operation)) await done(operation);
      }
    }
  }
}

async function runAhead(
  session: Session,
  statement: Statement,
  operation: Operation,
  change: PreparedChange,
): Promise<void> {
  if (statement.within !== 'none') {
    await inTransaction(session, LOCK_BUDGET_MS, () => session.execute(statement.sql.text));
    return;
  }
  // An attempt that was refused a lock leaves an invalid index behind.
  for (const made of operation.makes) await session.execute(undo(change.databaseSchema, made).text);
  await session.execute(statement.sql.text);
}

/** Is there anything that cannot run in the transaction of the switch? */
export function isAhead(change: PreparedChange): boolean {
  return change.operations.some(({ statements }) => statements.some(({ within }) => within !== 'transaction'));
}

function isLast(statement: Statement, operation: Operation): boolean {
  return operation.statements.at(-1) === statement;
}

/** The new shape and the new document at once; `commit` adds the statements of the control tables. */
export async function switchOver(work: Work, commit: () => Promise<void>): Promise<void> {
  const { session, change, cancelled } = work;
  const ahead = isAhead(change);
  const statements = PHASES.flatMap((phase) =>
    change.operations.flatMap((operation) =>
      operation.statements
        .filter((statement) => statement.phase === phase && !(ahead && operation.ahead && isPreparing(phase)))
        .map((statement) => ({ statement, operation })),
    ),
  );
  const locks = locksOf(change, new Set(statements.map(({ operation }) => operation)));
  const budget = Math.max(50, Math.floor(LOCK_BUDGET_MS / Math.max(1, locks.length)));
  await withLockRetry(async () => {
    if (await cancelled()) throw new Cancelled();
    await inTransaction(session, budget, async () => {
      for (const lock of locks) await session.execute(lock.text);
      for (const { statement, operation } of statements) {
        work.note(operation);
        await session.execute(statement.sql.text);
      }
      await commit();
    });
  }, cancelled);
}

/** Locks in the order of the names, so that two changes never wait for each other; the stronger of two modes. */
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

/** Takes back what the operations made before a switch that never came; what is not there is no mistake. */
export async function revert(session: Session, schema: string, operations: readonly Operation[]): Promise<void> {
  const made = operations.flatMap((operation) => operation.makes);
  const order: readonly Made['kind'][] = ['index', 'column', 'table'];
  for (const one of order.flatMap((kind) => made.filter((each) => each.kind === kind))) {
    const statement = undo(schema, one).text;
    await withLockRetry(() =>
      one.kind === 'index'
        ? session.execute(statement)
        : inTransaction(session, LOCK_BUDGET_MS, () => session.execute(statement)),
    );
  }
}

function undo(schema: string, made: Made): Fragment {
  const table = { schema, name: made.table };
  switch (made.kind) {
    case 'table':
      return dropTableIfExists(table);
    case 'column':
      return dropColumn(table, made.column);
    case 'index':
      return dropIndexConcurrently(table, made.index);
    default:
      return made satisfies never;
  }
}

/** All or nothing, with short waits for locks: everybody who comes after a waiting statement waits behind it. */
export async function inTransaction(session: Session, lockTimeoutMs: number, work: () => Promise<void>): Promise<void> {
  await session.execute(`begin; set local lock_timeout = ${Math.floor(lockTimeoutMs)}`);
  try {
    await work();
    await session.execute('commit');
  } catch (error) {
    await session.execute('rollback');
    throw error;
  }
}
