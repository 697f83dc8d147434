// The connections of a pipelined pool: opens them one at a time in the background, and retires those that are lost or replaced.
import type { Query } from '../sql/fragment.ts';
import type { Waiter } from './bulkhead.ts';
import { type OpenedConnection, onReady, watchSocketTimeout } from './connect.ts';
import type { Row, StatementOptions } from './executor.ts';
import { makePrepared, type Prepared } from './prepared-statements.ts';
import type { ServiceTime } from './service-time.ts';
import type { StatementRun } from './statement.ts';

/** A statement that is to be run. */
export interface PendingStatement extends Waiter {
  readonly query: Query;
  readonly statementOptions: StatementOptions;
  /** See ServiceTimes; undefined if nothing is learned. */
  readonly time: ServiceTime | undefined;
  readonly deadline: number;
  readonly since: number;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface InFlight {
  readonly pending: PendingStatement;
  readonly run: StatementRun;
  readonly sentAt: number;
  readonly isAlone: boolean;
  readonly workMs: number;
  /** True when another connection has taken it over. */
  isReassigned: boolean;
}

export interface Connection {
  readonly opened: OpenedConnection;
  readonly prepared: Prepared;
  /** Statements in the order in which they are answered. */
  readonly inFlight: InFlight[];
  /** Total work of the statements in flight, in milliseconds. */
  workMs: number;
  lastResponseAt: number;
  /** The statement that failed last, while the server is not ready for the next one. */
  failed: InFlight | undefined;
  isUsable: boolean;
}

export interface ConnectionSetOptions {
  readonly open: () => Promise<OpenedConnection>;
  /** Longest wait of a statement without a deadline; also the socket timeout of a connection that has something to answer. */
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_PREPARED = 2000;
// While the database is unavailable, a connection is tried at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

export interface ConnectionSet {
  /** The usable connections; always the same array. */
  readonly all: Connection[];
  /** Opens one more connection in the background, unless one is being opened. */
  readonly grow: () => void;
  readonly recentFailure: (now: number) => { readonly error: unknown } | undefined;
  /** Ends the use of a connection; its statements in flight are still answered, if possible. */
  readonly retire: (connection: Connection) => void;
  readonly isClosing: () => boolean;
  /** Closes all connections. `onClosed` is called when no more can be opened. */
  readonly close: (onClosed: () => void) => Promise<void>;
}

export interface ConnectionEvents {
  /** Called when the connection may have capacity. */
  readonly onReady: (connection: Connection) => void;
  readonly onRetired: () => void;
  /** Called when no connection could be opened, and there is none. */
  readonly onUnavailable: (error: unknown) => void;
}

export function makeConnections(options: ConnectionSetOptions, events: ConnectionEvents): ConnectionSet {
  const { statementTimeoutMs, onError } = options;
  const all: Connection[] = [];
  let connecting: Promise<void> | undefined;
  let failure: { readonly error: unknown; readonly failedAt: number } | undefined;
  let isClosing = false;

  async function connect(): Promise<void> {
    const opened = await options.open();
    const prepared = makePrepared(MAX_PREPARED);
    const connection: Connection = {
      opened,
      prepared,
      inFlight: [],
      workMs: 0,
      lastResponseAt: 0,
      failed: undefined,
      isUsable: true,
    };
    onReady(opened, () => {
      if (connection.failed === undefined) return;
      connection.failed = undefined;
      events.onReady(connection);
    });
    const unwatch = watchSocketTimeout(opened.client, statementTimeoutMs, () => connection.inFlight.length > 0);
    opened.client.once('end', unwatch);
    opened.onRetired((reason) => {
      // A connection that was retired on purpose is no error.
      if (connection.isUsable && !isClosing) onError('database connection lost', reason);
      retire(connection);
      // A sound connection still answers its statements in flight.
      closeConnection(connection);
    });
    if (!connection.isUsable) throw new Error('Connection terminated');
    if (isClosing) {
      closeConnection(connection);
      return;
    }
    all.push(connection);
    events.onReady(connection);
  }

  function retire(connection: Connection): void {
    if (!connection.isUsable) return;
    connection.isUsable = false;
    const index = all.indexOf(connection);
    // The connection may have failed before it was added.
    if (index < 0) return;
    all.splice(index, 1);
    events.onRetired();
  }

  return {
    all,
    grow() {
      connecting ??= connect()
        .catch((error) => {
          failure = { error, failedAt: performance.now() };
          onError('database connection failed', error);
          if (all.length === 0) events.onUnavailable(error);
        })
        .finally(() => {
          connecting = undefined;
        });
    },
    recentFailure: (now) =>
      failure !== undefined && now - failure.failedAt < RECONNECT_PAUSE_MS ? failure : undefined,
    retire,
    isClosing: () => isClosing,
    async close(onClosed) {
      isClosing = true;
      await connecting;
      onClosed();
      await Promise.all(all.splice(0).map(closeConnection));
    },
  };
}

/** Closes a connection once its statements in flight are answered. */
export function closeConnection({ opened }: Connection): Promise<void> {
  return opened.client.end().catch(() => undefined);
}
