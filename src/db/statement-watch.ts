// Sees to it that a statement on a connection of its own ends when its answer is of no use any more: at its deadline, and
// when its caller has left. A database that does not even answer that is given up: TCP would wait for minutes.
import { destroy, type OpenedConnection } from './connect.ts';
import type { Work } from './work.ts';

export interface StatementWatch {
  /** The statement has ended. Resolves when no cancelling is under way that could hit what the connection does next. */
  end(isBroken: boolean): Promise<void>;
}

// For the way there and back, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

export interface StatementLimits extends Pick<Work, 'caller'> {
  /** When the answer is of no use any more, on the clock of performance.now(). */
  readonly deadline: number;
  /** When the statement is to be stopped though there is time left for another attempt; missing: at the deadline. */
  readonly end?: number | undefined;
}

/** `cancel` stops what a backend does. */
export function watchStatement(
  connection: OpenedConnection,
  cancel: (pid: number) => Promise<void>,
  { deadline, end = deadline, caller }: StatementLimits,
): StatementWatch {
  let cancelling: Promise<void> | undefined;
  const stop = (): void => {
    cancelling ??= cancel(connection.pid).catch(() => undefined);
  };
  const until = (time: number): number => Math.max(0, time - performance.now());
  const giveUp = (): void => destroy(connection, 'Connection terminated: the database has fallen silent');
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
      clearTimeout(late);
      stay?.();
      if (!isBroken) await cancelling;
    },
  };
}
