// Advances the id sequence past the ids of a file before its rows are written, or a concurrent create would get one of
// them. It never goes back, so that no id is used twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { inRolledBackSavepoint } from '../../database/copy.ts';
import { getSqlState, isStaleSnapshot } from '../../database/errors.ts';
import type { Session } from '../../database/pool.ts';
import type { Fragment } from '../../sql/fragment.ts';
import {
  findSequenceUsers,
  importQuery,
  isSequenceBehind,
  lockForIds,
  passSequence,
  setSequence,
} from '../../sql/import.ts';
import type { PlannedImport } from './confirm.ts';

// Milliseconds that creates may have to wait for our lock request: less than the lock timeout of a write.
const LOCK_TIMEOUT_MS = 100;
const LOCK_ATTEMPTS = 3;
// A create writes its id some microseconds after drawing it.
const DRAWING_TIMEOUT_MS = 500;
const DRAWING_POLL_MS = 10;

/**
 * Sets the sequence while the table is locked against writes for a moment, so that no create draws an id in between.
 * The savepoint releases the lock, and the sequence keeps its value. When the lock is not available (a long write, an
 * index build, validation of a constraint) passIds() does it.
 */
export async function reserveIds(session: Session, plannedImport: PlannedImport): Promise<void> {
  const { plan } = plannedImport;
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      await inRolledBackSavepoint(session, async () => {
        if (!(await isBehind(session, plannedImport))) return;
        for (const statement of lockForIds(plan, LOCK_TIMEOUT_MS)) await session.execute(statement.text);
        await runQuery(session, plannedImport, setSequence(plan));
      });
      return;
    } catch (error) {
      // The table was renamed: passIds() handles it.
      if (isStaleSnapshot(error)) return;
      if (getSqlState(error) !== '55P03') throw error;
      await sleep(LOCK_TIMEOUT_MS * (1 + Math.random()));
    }
  }
}

/** Advances the sequence while others draw from it, and waits for those that drew an id just before. */
export async function passIds(session: Session, plannedImport: PlannedImport): Promise<void> {
  const { plan } = plannedImport;
  if (!(await isBehind(session, plannedImport))) return;
  await inRolledBackSavepoint(session, async () => {
    for (const statement of passSequence(plan)) await runQuery(session, plannedImport, statement);
  });
  const findTransactions = async (): Promise<string[]> =>
    (await runQuery<{ transaction: string }>(session, plannedImport, findSequenceUsers(plan))).map(
      ({ transaction }) => transaction,
    );
  const before = await findTransactions();
  // A transaction that lasts longer has written its ids long ago.
  for (let waited = 0; waited < DRAWING_TIMEOUT_MS && before.length > 0; waited += DRAWING_POLL_MS) {
    await sleep(DRAWING_POLL_MS);
    const current = await findTransactions();
    if (!before.some((transaction) => current.includes(transaction))) return;
  }
}

async function isBehind(session: Session, plannedImport: PlannedImport): Promise<boolean> {
  const [state] = await runQuery<{ behind: boolean }>(session, plannedImport, isSequenceBehind(plannedImport.plan));
  return state?.behind === true;
}

function runQuery<T>(session: Session, { context }: PlannedImport, fragment: Fragment): Promise<T[]> {
  return session.query<T>(importQuery(fragment, context.principal));
}
