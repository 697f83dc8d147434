// The connections of a lane: opened one at a time as they are needed, left when they are of no more use.
import type { OpenedConnection } from './connect.ts';
import { onReady } from './ending.ts';
import { makePrepared, type Prepared } from './prepared.ts';
import { watchSilence } from './silence.ts';
import type { StatementRun } from './statement.ts';
import type { Waiting } from './waiting-line.ts';

/** A statement on its way: sent, and not answered. */
export interface Sent {
  readonly waiting: Waiting;
  readonly run: StatementRun;
  readonly started: number;
  readonly isAlone: boolean;
  readonly work: number;
  /** Another connection has it now. */
  isMoved: boolean;
}

export interface PipelinedConnection {
  readonly opened: OpenedConnection;
  readonly prepared: Prepared;
  /** In the order in which they are answered. */
  readonly sent: Sent[];
  /** What those sent take together, in milliseconds. */
  work: number;
  answeredAt: number;
  /** The statement that has failed last, while the server is not ready for others yet. */
  ending: Sent | undefined;
  usable: boolean;
}

export interface LaneConnectionsOptions {
  readonly size: number;
  readonly open: () => Promise<OpenedConnection>;
  /** The longest silence of a connection that has something to answer. */
  readonly longestSilenceMs: number;
  /** It may have room: also when it had none for a while. */
  readonly onOpened: (connection: PipelinedConnection) => void;
  /** One is no longer among `all`. */
  readonly onRetired: () => void;
  /** None could be opened, and there are none. */
  readonly onNone: (error: unknown) => void;
  readonly onError: (message: string, error: unknown) => void;
}

export interface LaneConnections {
  /** Those that take statements; the same array at any time. */
  readonly all: readonly PipelinedConnection[];
  /** Opens one more in the background, unless one is being opened. */
  grow(): void;
  /** True when one more may be opened at `now`, beside those that there are. */
  mayGrow(now: number): boolean;
  /** The failure to open one a moment ago, which is not tried again yet; undefined when it may be. */
  recentFailure(now: number): { readonly error: unknown } | undefined;
  /** It gets nothing more; what it has is still answered, if it can. */
  retire(connection: PipelinedConnection): void;
  /** Leaves those that there are; what is under way there is still answered. */
  renew(): void;
  isClosing(): boolean;
  /** Ends all. `closed` is called when none can come any more. */
  close(closed: () => void): Promise<void>;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_STATEMENTS = 1200;
// While the database is away, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

export function makeLaneConnections(options: LaneConnectionsOptions): LaneConnections {
  const { size, open, onOpened, onError } = options;
  const all: PipelinedConnection[] = [];
  let closing = false;
  let connecting: Promise<void> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;

  const isPausing = (now: number): boolean => now - failedAt < RECONNECT_PAUSE_MS;

  function retire(connection: PipelinedConnection): void {
    if (!connection.usable) return;
    connection.usable = false;
    const index = all.indexOf(connection);
    // It may have failed before it was one of them.
    if (index < 0) return;
    all.splice(index, 1);
    options.onRetired();
  }

  async function connect(): Promise<void> {
    const opened = await open();
    const connection: PipelinedConnection = {
      opened,
      prepared: makePrepared(MAX_STATEMENTS),
      sent: [],
      work: 0,
      answeredAt: 0,
      ending: undefined,
      usable: true,
    };
    onReady(opened, () => {
      if (connection.ending === undefined) return;
      connection.ending = undefined;
      if (connection.usable) onOpened(connection);
    });
    const unwatch = watchSilence(opened.client, options.longestSilenceMs, () => connection.sent.length > 0);
    opened.client.once('end', unwatch);
    opened.onRetired((reason) => {
      // Not one that was left on purpose.
      if (connection.usable && !closing) onError('database connection lost', reason);
      retire(connection);
      // One that is sound still answers what it has.
      end(connection);
    });
    if (!connection.usable) throw new Error('Connection terminated');
    if (closing) {
      end(connection);
      return;
    }
    all.push(connection);
    onOpened(connection);
  }

  return {
    all,
    grow() {
      connecting ??= connect()
        .catch((error) => {
          failedAt = performance.now();
          failure = error;
          onError('database connection failed', error);
          if (all.length === 0) options.onNone(error);
        })
        .finally(() => {
          connecting = undefined;
        });
    },
    mayGrow: (now) => all.length < size && connecting === undefined && !closing && !isPausing(now),
    recentFailure: (now) => (isPausing(now) ? { error: failure } : undefined),
    retire,
    renew() {
      for (const connection of [...all]) {
        retire(connection);
        end(connection);
      }
    },
    isClosing: () => closing,
    async close(closed) {
      closing = true;
      await connecting;
      closed();
      await Promise.all(all.splice(0).map(end));
    },
  };
}

/** When what is under way there was answered. */
function end({ opened }: PipelinedConnection): Promise<void> {
  return opened.client.end().catch(() => undefined);
}
