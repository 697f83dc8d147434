// A call and what goes with it through the stages, whether it is a request of its own or a part of one.
import type { Executor } from '../db/pool.ts';
import type { Call } from '../request/call.ts';
import type { Visitor } from './enter.ts';
import type { KeyOfWrite, RequestClock, Sender } from './visit.ts';

/** A call of somebody who has entered, before it is admitted. */
export interface Journey {
  readonly call: Call;
  /** Runs its statements: the lanes of a database, or the transaction that the call is to be part of. */
  readonly executor: Executor;
  readonly sender: Sender;
  readonly visitor: Visitor;
  /** Credential and workspace as they are in force now. */
  readonly again: () => Promise<Visitor>;
  /** Of the request that the call is part of; of its own when it is none. */
  readonly clock?: RequestClock;
  /** Under which the write is stored. */
  readonly key?: KeyOfWrite | undefined;
}
