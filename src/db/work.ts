// What comes with a statement besides its text: whose it is, how long somebody waits for it, and whether anybody still
// does.
import { ApiError, serviceUnavailable, workspaceAway } from '../errors.ts';
import type { Expected } from './cost.ts';

/** Which quick connections a statement is for. */
export type Lane = 'read' | 'write';

/** Who waits for an answer. */
export interface Caller {
  readonly isGone: () => boolean;
  /** Calls once when the caller leaves; gives the function that ends the wish. */
  readonly onGone: (listener: () => void) => () => void;
}

/** Another server behind the database, on which the records lie. */
export interface Place {
  /** It does not answer: nothing is to be asked of it. */
  readonly isAway: () => boolean;
  /** Calls when it is found to be away; gives the function that ends the wish. */
  readonly onAway: (listener: () => void) => () => void;
}

export interface Work {
  /** What is known of the statement's time before its first run; missing: it is always quick, and nothing is learned. */
  readonly expected?: Expected | undefined;
  /** Whose statement it is: what one tenant may have at once is bounded. */
  readonly tenant?: string | undefined;
  /** When the answer is of no use any more, on the clock of performance.now(); queues and the statement share it. */
  readonly deadline?: number | undefined;
  readonly caller?: Caller | undefined;
  /**
   * Missing: no other. A statement does not wait for one that is away, and a connection that it has for itself is cut, as its
   * server may hear nothing either.
   */
  readonly place?: Place | undefined;
  /**
   * True when it is unknown at `now` whether what the statement was made for (schema, credential) is still in force: it is
   * not sent then. `now`: performance.now().
   */
  readonly isStale?: ((now: number) => boolean) | undefined;
  /** Asks the database: true when it is still in force. */
  readonly confirm?: (() => Promise<boolean>) | undefined;
}

/** True when what the statement was made for is still in force. Asks the database when that is unknown. */
export async function isInForce({ isStale, confirm }: Work): Promise<boolean> {
  return isStale?.(performance.now()) !== true || (await confirm?.()) === true;
}

/** Nobody reads it: the client has left. */
export const callerGone = (): Error => serviceUnavailable('The client left before its turn came');

const TOO_LATE = 'No database connection became free in time; retry';

export const tooLate = (): Error => serviceUnavailable(TOO_LATE, 1);

/** True when it waited for a connection until its deadline. The clock cannot tell: a timer may end a moment early. */
export const isTooLate = (error: unknown): boolean => error instanceof ApiError && error.message === TOO_LATE;

export const placeAway = (): Error => workspaceAway();

export const shuttingDown = (): Error => serviceUnavailable('The server is shutting down');

export const queueFull = (): Error => serviceUnavailable('Too many requests wait for the database; retry', 1);
