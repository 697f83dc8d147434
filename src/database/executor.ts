// Runs statements in the form of requests, rows as text: the pools of a database, or one session whose statements are one
// transaction. With a statement comes whose it is, how long its caller waits, and whether the caller is still there.
import type { Query } from '../sql/fragment.ts';

/** A row as PostgreSQL's text output, one entry a column. */
export type Row = readonly (string | null)[];

/** Which pool of pipelined connections a statement is for. */
export type PoolName = 'read' | 'write';

/** The client that waits for an answer. */
export interface RequestSignal {
  readonly isAborted: () => boolean;
  /** Calls once when the caller leaves; returns the function that removes the listener. */
  readonly onAbort: (listener: () => void) => () => void;
}

/** Another server behind the database, on which the records lie. */
export interface NodeStatus {
  /** It does not answer: nothing is to be asked of it. */
  readonly isUnavailable: () => boolean;
  /** Calls when it becomes unavailable; returns the function that removes the listener. */
  readonly onUnavailable: (listener: () => void) => () => void;
}

/** What is known of a statement's time before its first run. */
export type Expected = 'quick' | 'unknown';

export interface StatementOptions {
  /** Missing: it is always quick, and nothing is learned. */
  readonly expected?: Expected | undefined;
  /** Whose statement it is: what one tenant may have at once is bounded. */
  readonly tenant?: string | undefined;
  /** When the answer is of no use any more, on the clock of performance.now(); queues and the statement share it. */
  readonly deadline?: number | undefined;
  readonly signal?: RequestSignal | undefined;
  /**
   * Missing: no other. A statement does not wait for one that is away, and a connection that it has for itself is cut, as its
   * server may hear nothing either.
   */
  readonly node?: NodeStatus | undefined;
  /**
   * True when it is unknown at `now` whether what the statement was made for (schema, credential) is still in force: it is
   * not sent then. `now`: performance.now().
   */
  readonly isStale?: ((now: number) => boolean) | undefined;
  /** Asks the database: true when it is still in force. */
  readonly confirm?: (() => Promise<boolean>) | undefined;
}

/** True when what the statement was made for is still in force. Asks the database when that is unknown. */
export async function isInForce({ isStale, confirm }: StatementOptions): Promise<boolean> {
  return isStale?.(performance.now()) !== true || (await confirm?.()) === true;
}

export interface Executor {
  /**
   * Runs one statement; the rows have one entry a column, as text. Throws ApiError when the connection is lost or none
   * comes in time, StaleStatement when the statement was made for a schema that is not in force any more, the driver's
   * error otherwise.
   */
  run(query: Query, pool: PoolName, options?: StatementOptions): Promise<readonly Row[]>;
  /**
   * True when its statements are one transaction. After an error of the database nothing more can be asked there, and
   * nothing repeated: what was done before is undone, so only whoever began the transaction can begin again.
   */
  readonly isTransaction: boolean;
}
