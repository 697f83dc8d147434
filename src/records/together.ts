// A request that is one transaction of several statements: begun again as a whole after a deadlock, a serialization
// failure or a change of the schema, and never left half done.
import { isAnswerLost, isConnectionLoss, isRetryable, statementError } from '../db/pg-error.ts';
import type { Executor } from '../db/pool.ts';
import { callerGone } from '../db/work.ts';
import type { Databases } from '../directory/databases.ts';
import { ApiError, databaseAway, queryTimeout, writeUnknown } from '../errors.ts';
import { type Snapshots, withFreshSnapshot } from './again.ts';
import type { Visitor } from './enter.ts';
import type { RequestClock, Sender } from './visit.ts';

export interface TogetherRooms {
  readonly databases: Databases;
  readonly snapshots: Snapshots;
}

export interface Together {
  readonly clock: RequestClock;
  readonly sender: Sender;
  readonly visitor: Visitor;
  /** Credential and workspace as they are in force now. */
  readonly again: () => Promise<Visitor>;
  /** Everything is done, and undone. */
  readonly isDryRun: boolean;
  /** Whether the request may be sent again when nobody knows what became of it. */
  readonly isRepeatable: boolean;
}

// Of all of it, after a deadlock or a serialization failure.
const REPEATS = 3;

const UNDONE = new Error('a dry run is undone');

/** What `work` gives, once it is committed. `executor`: the transaction; `visitor`: by the schema that is in force. */
export function together<T>(
  { databases, snapshots }: TogetherRooms,
  { clock, sender, visitor, again, isDryRun, isRepeatable }: Together,
  work: (executor: Executor, visitor: Visitor) => Promise<T>,
): Promise<T> {
  const database = databases.of(visitor.workspace);
  const { caller } = sender;

  async function once(current: Visitor): Promise<T> {
    let isAtCommit = false;
    let result: { readonly value: T } | undefined;
    try {
      await database.transaction(
        async ({ executor }) => {
          result = { value: await work(executor, current) };
          if (isDryRun) throw UNDONE;
          if (caller.isGone()) throw callerGone();
          isAtCommit = true;
        },
        {
          purpose: 'batch',
          tenant: current.workspace.id,
          deadline: clock.deadline,
          caller,
          place: databases.nodeOf(current.workspace),
          statementTimeoutMs: timeLeft(clock),
        },
      );
    } catch (error) {
      if (error !== UNDONE) {
        if (isAtCommit && (isConnectionLoss(error) || isAnswerLost(error)))
          throw isRepeatable ? databaseAway(error) : writeUnknown(error);
        // A COMMIT that was cancelled has done nothing. What the work has thrown is for those who can repeat it.
        throw isAtCommit ? statementError(error) : error;
      }
    }
    return (result as { readonly value: T }).value;
  }

  return withFreshSnapshot(snapshots, { call: undefined, executor: database, clock, again }, visitor, (current) =>
    repeatedly(clock, () => once(current)),
  );
}

function timeLeft(clock: RequestClock): number {
  const left = clock.deadline - performance.now();
  if (left <= 0) throw queryTimeout();
  return left;
}

/** Deadlocks and serialization failures are repeated: nothing of the transaction was kept. */
async function repeatedly<T>(clock: RequestClock, work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error instanceof ApiError ? error.cause : error) || repeats === REPEATS) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** repeats));
      timeLeft(clock);
    }
  }
}
