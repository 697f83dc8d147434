// When a call is planned again: its snapshot of the schema turned out to be of the past, and nothing of it was done.
import type { Executor } from '../db/executor.ts';
import { isLockTimeout, isStaleSnapshot, StaleStatement, statementError } from '../db/pg-error.ts';
import { isBySchema } from '../errors.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import type { Call } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import type { Visitor } from './enter.ts';
import type { KeyOfWrite, RequestClock } from './visit.ts';

/** A call on its way. */
export interface Attempt {
  /** undefined: several, which are admitted one by one. */
  readonly call: Call | undefined;
  readonly clock: RequestClock;
  readonly executor: Executor;
  readonly key?: KeyOfWrite | undefined;
  /** Credential and workspace as they are in force now; throws when the call is not admitted any more. */
  readonly again: () => Promise<Visitor>;
}

/** What is known of the snapshots. */
export interface Snapshots {
  /** Asks the database whether there is a newer one. */
  readonly hasChanged: (workspace: Workspace) => Promise<boolean>;
  /** It must not be used any more. */
  readonly drop: (workspace: Workspace) => void;
  /** A call that was planned by it is on its way, until it is released. */
  readonly hold: (workspace: Workspace) => void;
  readonly release: (workspace: Workspace) => void;
}

/**
 * Runs `perform` for the visitor, and again
 * - after a refusal that names what the schema has or allows, when the schema has changed since;
 * - when PostgreSQL knew a name no more, or the schema was replaced while the statement waited, a few times at most.
 * In a transaction it runs once: what was done there before is gone, so whoever began the transaction plans all of it again.
 * A call that waited for a lock too long is refused by the gate that was closed meanwhile, if there is one.
 */
export async function withFreshSnapshot<T>(
  { hasChanged, drop, hold, release }: Snapshots,
  { call, clock, executor, again }: Attempt,
  visitor: Visitor,
  perform: (visitor: Visitor) => Promise<T>,
): Promise<T> {
  // An import reads its body once, so it is asked before instead of after.
  const isImport = call?.operation === 'import';
  let current = isImport && (await hasChanged(visitor.workspace)) ? await again() : visitor;
  // Transfers may take an hour; they hold their tables and ask again before they use a name.
  const isHeld = !isImport && call?.operation !== 'export';
  for (;;) {
    const { workspace } = current;
    if (isHeld) hold(workspace);
    try {
      return await perform(current);
    } catch (error) {
      if (call !== undefined && isLockTimeout(error)) {
        const now = await again();
        admit(now.workspace, now.principal, call.entity, OPERATIONS[call.operation].access);
      }
      if (executor.isTransaction) throw error;
      const isRefusal = isBySchema(error) && !isImport;
      if (!(isRefusal && (await hasChanged(workspace)))) {
        if (!isStaleSnapshot(error)) throw error;
        if (!clock.plansAgain()) throw statementError(error);
        // What was only no longer known is compared; PostgreSQL's word is newer than any comparison.
        if (!(error instanceof StaleStatement)) drop(workspace);
      }
      current = await again();
    } finally {
      if (isHeld) release(workspace);
    }
  }
}
