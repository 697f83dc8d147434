// One call of the data API whose principal was admitted to an entity, and how its statements are run.
import type { AnswerForm } from '../beside/keys.ts';
import { isStaleSnapshot } from '../db/pg-error.ts';
import type { Executor, Expected, Lane, Work } from '../db/pool.ts';
import type { RawRequest } from '../http/raw-request.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { Call } from '../request/call.ts';
import type { Reply } from '../response/reply.ts';
import { bindQuery, type Compiled, type Inputs } from '../sql/compile.ts';
import type { Query } from '../sql/fragment.ts';
import { recordError } from './record-error.ts';

/** Who has sent a call: whoever waits for the answer, and the bytes of an import. */
export type Sender = Pick<RawRequest, 'arrivedAt' | 'caller' | 'turn' | 'headers' | 'stream'>;

/** The Idempotency-Key of a single write, for its statement. */
export interface KeyOfWrite {
  readonly wrap: (write: Query, form: AnswerForm) => Promise<Query>;
}

export interface Visit {
  readonly call: Call;
  readonly sender: Sender;
  readonly workspace: Workspace;
  readonly principal: Principal;
  readonly entity: Entity;
  readonly clock: RequestClock;
  /** Runs the statements of the call: the lanes of the database, or the transaction that the call is part of. */
  readonly executor: Executor;
  /** Under which the write of a record is stored. */
  readonly key: KeyOfWrite | undefined;
  /** See Work. A statement that still waits is planned anew then. */
  readonly isStale: (now: number) => boolean;
  readonly confirm: () => Promise<boolean>;
  /** The node of the workspace on a cluster. */
  readonly place: Work['place'];
  /** The same visit by the credential and the schema that are in force now; throws when it is not admitted any more. */
  readonly again: () => Promise<Visit>;
}

// A schema that changes more often than this while one request waits is the reason of its refusal.
const MAX_PLANS = 4;

/** One deadline for all that a request asks of the database, queues included. */
export class RequestClock {
  readonly #limitMs: number;
  #deadline: number | undefined;
  #plans = 1;

  /** It runs from `start` on, or from the first question on: a body may take its time to arrive. */
  constructor(limitMs: number, start?: number) {
    this.#limitMs = limitMs;
    if (start !== undefined) this.#deadline = start + limitMs;
  }

  /** On the clock of performance.now(). */
  get deadline(): number {
    this.#deadline ??= performance.now() + this.#limitMs;
    return this.#deadline;
  }

  /** True when the request may be planned once more, as the schema has changed under it. Counts. */
  plansAgain(): boolean {
    return this.#plans++ < MAX_PLANS;
  }

  /** For one of many questions of the request: the same deadline, and plans of its own. */
  part(): RequestClock {
    return new RequestClock(0, this.deadline);
  }
}

/** Whose statement it is, and for how long somebody waits for it. */
export function workOf({ sender, workspace, clock, isStale, confirm, place }: Visit, expected: Expected): Work {
  const { caller } = sender;
  return { expected, tenant: workspace.id, deadline: clock.deadline, caller, isStale, confirm, place };
}

/** `_import` and `_export`. */
export interface TransferHandlers {
  readonly importRecords: (visit: Visit) => Promise<Reply>;
  readonly exportRecords: (visit: Visit) => Promise<Reply>;
}

/**
 * Runs a statement that reads; the database's refusals become ours, all but that of a stale snapshot. On the lane of
 * writes it comes after the writes of the same request.
 */
export async function runRead<Result>(
  visit: Visit,
  statement: Compiled<Result>,
  inputs: Inputs,
  lane: Lane = 'read',
): Promise<Result[]> {
  try {
    const rows = await visit.executor.run(bindQuery(statement, inputs), lane, workOf(visit, statement.expected));
    return rows.map(statement.read);
  } catch (error) {
    if (isStaleSnapshot(error)) throw error;
    throw recordError(error, visit.workspace, visit.entity.name);
  }
}
