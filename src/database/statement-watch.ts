// Ends a statement on a connection of its own when its answer is useless: at its deadline, and when its caller has left. If the
// database does not even answer the cancellation, the connection is cut: TCP would wait for minutes.
import type { Query } from '../sql/fragment.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import { isConnectionLoss } from './errors.ts';
import type { Row, StatementOptions } from './executor.ts';
import type { Prepared } from './prepared-statements.ts';
import { runAlone } from './statement.ts';

export interface StatementWatch {
  /** Ends the watch after the statement. Resolves when no cancellation is pending that could hit the next statement. */
  end(isBroken: boolean): Promise<void>;
}

// Allows for the network, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

// A backend that has not started the statement ignores the cancellation, so it is sent again.
const CANCEL_RETRY_MS = 250;

const UNRESPONSIVE = 'Connection terminated: the database has fallen silent';

export interface StatementLimits extends Pick<StatementOptions, 'signal' | 'longColumn'> {
  /** Time on the clock of performance.now() when the answer becomes useless. */
  readonly deadline: number;
  /** Time when the statement is stopped though there is time left for another attempt; by default the deadline. */
  readonly end?: number | undefined;
}

export type WatchedConnection = Pick<OpenedConnection, 'client' | 'pid' | 'cancel' | 'opening'>;

/** Cancels the running statement of a connection. */
export type Cancel = (connection: Pick<OpenedConnection, 'pid' | 'cancel'>) => Promise<void>;

/**
 * Runs one statement on a connection that runs nothing else, until its limits; as a transaction of its own where the
 * connection has an opening. Rejects with the error of the database or of the connection, once no cancellation is pending
 * that could hit the next statement.
 */
export async function runWatched(
  connection: WatchedConnection,
  query: Query,
  prepared: Prepared,
  cancel: Cancel,
  limits: StatementLimits,
): Promise<readonly Row[]> {
  const watch = watchStatement(connection, cancel, limits);
  let isBroken = false;
  try {
    return await runAlone(connection, query, prepared, limits.longColumn);
  } catch (error) {
    isBroken = isConnectionLoss(error);
    throw error;
  } finally {
    await watch.end(isBroken);
  }
}

/**
 * Runs `work`, one statement that PostgreSQL itself ends within `milliseconds`; cuts the connection if there is no answer
 * some time later.
 */
export async function withResponseTimeout<T>(
  connection: WatchedConnection,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => destroy(connection, UNRESPONSIVE), milliseconds + SLACK_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

export function watchStatement(
  connection: WatchedConnection,
  cancel: Cancel,
  { deadline, end = deadline, signal }: StatementLimits,
): StatementWatch {
  let isOver = false;
  let cancelling: Promise<void> | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(retryTimer);
    cancelling ??= cancel(connection)
      .catch(() => undefined)
      .then(() => {
        cancelling = undefined;
        if (!isOver) retryTimer = setTimeout(stop, CANCEL_RETRY_MS);
      });
  };
  const getRemainingMs = (time: number): number => Math.max(0, time - performance.now());
  // A process that was blocked for long reads the bytes that have arrived before it assumes silence.
  const giveUp = (): void => void setImmediate(() => isOver || destroy(connection, UNRESPONSIVE));
  let timer = setTimeout(
    () => {
      stop();
      timer = setTimeout(giveUp, getRemainingMs(deadline) + SLACK_MS);
    },
    getRemainingMs(Math.min(end, deadline)),
  );
  const removeListener = signal?.onAbort(stop);
  return {
    async end(isBroken) {
      isOver = true;
      clearTimeout(timer);
      clearTimeout(retryTimer);
      removeListener?.();
      if (!isBroken) await cancelling;
    },
  };
}
