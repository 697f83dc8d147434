// What runs statements in the form of requests, rows as text: the lanes of a database, or one session whose statements are
// one transaction.
import { queryTimeout } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { STATEMENTS, traceStatement } from '../trace.ts';
import { isConnectionLoss, StaleStatement, translateConnectionError } from './pg-error.ts';
import { preparedOn } from './prepared.ts';
import type { Row } from './statement.ts';
import { type Cancel, runWatched, type WatchedConnection } from './statement-watch.ts';
import { callerGone, isInForce, type Lane, type Work } from './work.ts';

export interface Executor {
  /**
   * Runs one statement; the rows have one entry a column, as text. Throws ApiError when the connection is lost or none
   * comes in time, StaleStatement when the statement was made for a schema that is not in force any more, the driver's
   * error otherwise.
   */
  run(query: Query, lane: Lane, work?: Work): Promise<readonly Row[]>;
  /**
   * True when its statements are one transaction. After an error of the database nothing more can be asked there, and
   * nothing repeated: what was done before is undone, so only whoever began the transaction can begin again.
   */
  readonly isTransaction: boolean;
}

export interface SessionExecutorOptions {
  readonly connection: Omit<WatchedConnection, 'opening'>;
  readonly cancel: Cancel;
  /** How long a statement may take whose work names no deadline. */
  readonly statementTimeoutMs: number;
  /** Gets each error of a statement as the driver gave it. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs statements in the transaction that is open on a connection, in the order in which they are given, whether or not
 * those before are answered. A read ends when its caller leaves, a write that was begun is finished; both end at their
 * deadline. There is no second turn in a transaction, so the words are careful wherever plain ones might build too much;
 * and nothing is learned, as a time there holds waits for the locks of others.
 */
export function makeSessionExecutor(options: SessionExecutorOptions): Executor {
  const { connection, statementTimeoutMs, onError } = options;
  /** Resolves when all statements so far were sent, or not sent. */
  let sent: Promise<unknown> = Promise.resolve();
  let cancelling: Promise<void> | undefined;
  // One for all that were sent: the transaction ends with the statement that it meets.
  const cancel: Cancel = (one) => {
    cancelling ??= options.cancel(one).finally(() => {
      cancelling = undefined;
    });
    return cancelling;
  };

  async function run(query: Query, lane: Lane, work: Work = {}): Promise<readonly Row[]> {
    const deadline = work.deadline ?? performance.now() + statementTimeoutMs;
    if (performance.now() >= deadline) throw queryTimeout();
    if (work.caller?.isGone() === true) throw callerGone();
    const mayGo = sent.then(() => isInForce(work));
    sent = mayGo.catch(() => undefined);
    if (!(await mayGo)) throw new StaleStatement();
    const caller = lane === 'read' ? work.caller : undefined;
    const words = query.careful?.() ?? query;
    try {
      return await runWatched(connection, words, preparedOn(connection.client), cancel, { deadline, caller });
    } catch (error) {
      onError(error);
      throw isConnectionLoss(error) ? translateConnectionError(error) : error;
    }
  }

  return {
    isTransaction: true,
    run: (query, lane, work) =>
      STATEMENTS.hasSubscribers
        ? traceStatement(query.text, lane, () => run(query, lane, work))
        : run(query, lane, work),
  };
}
