// The sequence of the ids must be ahead of those that a file brings before they are written, or a create at the same time
// would be given one of them. It never goes back, so that no id is given twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { inUndoneSavepoint } from '../../db/copy.ts';
import { isStaleSnapshot, sqlState } from '../../db/errors.ts';
import type { Session } from '../../db/pool.ts';
import type { Fragment } from '../../sql/fragment.ts';
import { findDrawing, importQuery, isSequenceBehind, lockForIds, passSequence, setSequence } from '../../sql/import.ts';
import type { Grounds } from './confirm.ts';

// How long creates may have to wait for our wish for the lock: less than the quick lane lets a write wait.
const LOCK_TIMEOUT_MS = 100;
const LOCK_ATTEMPTS = 3;
// A create writes its id some microseconds after it was given it.
const DRAWN_PATIENCE_MS = 500;
const DRAWN_PAUSE_MS = 10;

/**
 * Sets the sequence while the table is locked against writes for a moment, so that nobody draws in between. The savepoint
 * gives the lock back, and the sequence stays as it was set. When the lock is not to be had (a long write, an index that
 * is built, a constraint that is validated) it is left to passIds().
 */
export async function reserveIds(session: Session, grounds: Grounds): Promise<void> {
  const { plan } = grounds;
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      await inUndoneSavepoint(session, async () => {
        if (!(await isBehind(session, grounds))) return;
        for (const statement of lockForIds(plan, LOCK_TIMEOUT_MS)) await session.execute(statement.text);
        await ask(session, grounds, setSequence(plan));
      });
      return;
    } catch (error) {
      // The table has another name by now: passIds() knows it.
      if (isStaleSnapshot(error)) return;
      if (sqlState(error) !== '55P03') throw error;
      await sleep(LOCK_TIMEOUT_MS * (1 + Math.random()));
    }
  }
}

/** Moves the sequence while others draw from it, and lets those go first that were given an id just before. */
export async function passIds(session: Session, grounds: Grounds): Promise<void> {
  const { plan } = grounds;
  if (!(await isBehind(session, grounds))) return;
  await inUndoneSavepoint(session, async () => {
    for (const statement of passSequence(plan)) await ask(session, grounds, statement);
  });
  const drawing = async (): Promise<string[]> =>
    (await ask<{ transaction: string }>(session, grounds, findDrawing(plan))).map(({ transaction }) => transaction);
  const before = await drawing();
  // A transaction that lasts longer has written its ids long ago.
  for (let waited = 0; waited < DRAWN_PATIENCE_MS && before.length > 0; waited += DRAWN_PAUSE_MS) {
    await sleep(DRAWN_PAUSE_MS);
    const now = await drawing();
    if (!before.some((transaction) => now.includes(transaction))) return;
  }
}

async function isBehind(session: Session, grounds: Grounds): Promise<boolean> {
  const [state] = await ask<{ behind: boolean }>(session, grounds, isSequenceBehind(grounds.plan));
  return state?.behind === true;
}

function ask<T>(session: Session, { context }: Grounds, fragment: Fragment): Promise<T[]> {
  return session.query<T>(importQuery(fragment, context.principal));
}
