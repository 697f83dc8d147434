// Ends a statement on a connection of its own when its answer is of no use any more: at its deadline, and when its caller
// has left. The connection of a database that does not even answer that is cut: TCP would wait for minutes.
import type { Query } from '../sql/fragment.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import { isConnectionLoss } from './pg-error.ts';
import type { Prepared } from './prepared.ts';
import { type Row, runAlone } from './statement.ts';
import type { Work } from './work.ts';

export interface StatementWatch {
  /** The statement has ended. Resolves when no cancelling is under way that could hit what the connection does next. */
  end(isBroken: boolean): Promise<void>;
}

// For the way there and back, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

// A backend that has not begun the statement forgets that it was to be stopped, so it is told again.
const TELL_AGAIN_MS = 250;

const SILENT = 'Connection terminated: the database has fallen silent';

export interface StatementLimits extends Pick<Work, 'caller'> {
  /** When the answer is of no use any more, on the clock of performance.now(). */
  readonly deadline: number;
  /** When the statement is to be stopped though there is time left for another attempt; missing: at the deadline. */
  readonly end?: number | undefined;
}

export type WatchedConnection = Pick<OpenedConnection, 'client' | 'pid' | 'cancel' | 'opening'>;

/** Stops what a connection does at the moment. */
export type Cancel = (connection: Pick<OpenedConnection, 'pid' | 'cancel'>) => Promise<void>;

/**
 * Runs one statement on a connection that runs nothing else, until its limits; as a transaction of its own where the
 * connection has an opening. Rejects with the error of the database or of the
 * connection, when nothing is under way any more that could hit what the connection does next.
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
    return await runAlone(connection, query, prepared);
  } catch (error) {
    isBroken = isConnectionLoss(error);
    throw error;
  } finally {
    await watch.end(isBroken);
  }
}

/**
 * What `work` gives, which is one statement that PostgreSQL itself ends within `milliseconds`: without an answer the
 * connection is cut some time later.
 */
export async function answeredWithin<T>(
  connection: WatchedConnection,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => destroy(connection, SILENT), milliseconds + SLACK_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

export function watchStatement(
  connection: WatchedConnection,
  cancel: Cancel,
  { deadline, end = deadline, caller }: StatementLimits,
): StatementWatch {
  let isOver = false;
  let cancelling: Promise<void> | undefined;
  let again: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(again);
    cancelling ??= cancel(connection)
      .catch(() => undefined)
      .then(() => {
        cancelling = undefined;
        if (!isOver) again = setTimeout(stop, TELL_AGAIN_MS);
      });
  };
  const until = (time: number): number => Math.max(0, time - performance.now());
  // A process that had no turn for long reads what has come before it believes in silence.
  const giveUp = (): void => void setImmediate(() => isOver || destroy(connection, SILENT));
  let late = setTimeout(
    () => {
      stop();
      late = setTimeout(giveUp, until(deadline) + SLACK_MS);
    },
    until(Math.min(end, deadline)),
  );
  const stay = caller?.onGone(stop);
  return {
    async end(isBroken) {
      isOver = true;
      clearTimeout(late);
      clearTimeout(again);
      stay?.();
      if (!isBroken) await cancelling;
    },
  };
}
