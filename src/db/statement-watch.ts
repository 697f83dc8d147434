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

/** `cancel` stops what a backend does; `deadline` on the clock of performance.now(). */
export function watchStatement(
  connection: OpenedConnection,
  cancel: (pid: number) => Promise<void>,
  { deadline, caller }: { readonly deadline: number } & Pick<Work, 'caller'>,
): StatementWatch {
  let cancelling: Promise<void> | undefined;
  const stop = (): void => {
    cancelling ??= cancel(connection.pid).catch(() => undefined);
  };
  let late = setTimeout(
    () => {
      stop();
      late = setTimeout(() => destroy(connection, 'Connection terminated: the database has fallen silent'), SLACK_MS);
    },
    Math.max(0, deadline - performance.now()),
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
