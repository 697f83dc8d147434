// The interface that runs statements of requests, rows as text: implemented by the pools of a database, and by one session
// whose statements are one transaction. Options say which tenant a statement is for, its deadline, and its caller's signal.
import type { LongText } from '../model/long-text.ts';
import type { Query } from '../sql/fragment.ts';

/** A row as PostgreSQL's text output, one entry a column. */
export type Row = readonly (string | null)[];

/** Name of a pool of pipelined connections. */
export type PoolName = 'read' | 'write';

/** Takes a long text out of a row, where '' is in its place. */
export interface LongColumn {
  text: LongText | undefined;
}

/** Signal of the client that waits for an answer. */
export interface RequestSignal {
  readonly isAborted: () => boolean;
  /** Calls the listener once when the client leaves; returns the function that removes it. */
  readonly onAbort: (listener: () => void) => () => void;
}

/** Memory of the answer of one request. */
export interface AnswerMemory {
  /** True when no large answer may be made. */
  readonly isFull: () => boolean;
  /** Resolves when an answer of so many bytes may be made; 503 when not in time. */
  readonly reserve: (bytes: number) => Promise<void>;
}

/** Status of the node of a cluster that has the records. */
export interface NodeStatus {
  /** True when the node does not answer: no statement is to be sent there. */
  readonly isUnavailable: () => boolean;
  /** Calls the listener when the node becomes unavailable; returns the function that removes it. */
  readonly onUnavailable: (listener: () => void) => () => void;
}

/** Expected service time of a statement before its first run. */
export type Expected = 'quick' | 'unknown';

export interface StatementOptions {
  /** Expected service time; without it the statement counts as quick, and nothing is learned. */
  readonly expected?: Expected | undefined;
  /** Id of the tenant, whose statements at one time are bounded. */
  readonly tenant?: string | undefined;
  /** Time on the clock of performance.now() when the answer becomes useless; queues and the statement share it. */
  readonly deadline?: number | undefined;
  readonly signal?: RequestSignal | undefined;
  /** Takes the first column of a statement with one row, where it is long, as bytes. */
  readonly longColumn?: LongColumn | undefined;
  /** Memory that a read's large answer needs. */
  readonly answerMemory?: AnswerMemory | undefined;
  /**
   * Node that the statement runs on, if any. A statement does not wait for an unavailable node, and its leased connection is
   * cut, as the server there may not react either.
   */
  readonly node?: NodeStatus | undefined;
  /**
   * Returns true when at `now`, of performance.now(), the schema or credential that the statement was made for may have been
   * replaced: it is not sent then.
   */
  readonly isStale?: ((now: number) => boolean) | undefined;
  /** Asks the database whether they are still in force. */
  readonly confirm?: (() => Promise<boolean>) | undefined;
}

/** True when the statement's schema and credential are still in force. Asks the database when that is uncertain. */
export async function isInForce({ isStale, confirm }: StatementOptions): Promise<boolean> {
  return isStale?.(performance.now()) !== true || (await confirm?.()) === true;
}

export interface Executor {
  /**
   * Runs one statement; the rows have one entry a column, as text. Throws ApiError when the connection is lost or none is free
   * in time, StaleStatement when the statement's schema is no longer in force, the driver's error otherwise.
   */
  run(query: Query, pool: PoolName, options?: StatementOptions): Promise<readonly Row[]>;
  /**
   * True when all statements are one transaction. After an error of the database nothing can be run or repeated there: all is
   * undone, so only the caller that started the transaction can start again.
   */
  readonly isTransaction: boolean;
}
