// One request of the data API whose principal was admitted to an entity, and what its operations share: reading the
// body, running a statement, the entity tag.
import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { isStaleSnapshot, translateError, type WriteKind } from '../db/pg-error.ts';
import type { Database, Lane, Row, StatementCost, Work } from '../db/pool.ts';
import { unsupportedMediaType } from '../errors.ts';
import { jsonValue } from '../http/json-body.ts';
import type { RawRequest } from '../http/raw-request.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { isJsonType } from '../request/body.ts';
import type { Reply } from '../response/reply.ts';
import { bindQuery, type Inputs, type Statement } from '../sql/compile.ts';

export interface Visit {
  readonly raw: RawRequest;
  readonly workspace: Workspace;
  readonly principal: Principal;
  readonly entity: Entity;
  readonly clock: RequestClock;
  /** Is the workspace no longer what the request was planned for? A statement that still waits is planned anew then. */
  readonly isStale: () => boolean;
  /** The same visit by the credential and the schema that are in force now; throws when it is not admitted any more. */
  readonly again: () => Promise<Visit>;
}

// A schema that changes more often than this while one request waits is told as that.
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

  /** May the request be planned once more, as the schema has changed under it? Counts. */
  plansAgain(): boolean {
    return this.#plans++ < MAX_PLANS;
  }
}

/** Whose statement it is, and for how long somebody waits for it. */
export function workOf({ raw, workspace, clock, isStale }: Visit, cost: StatementCost): Work {
  return { cost, tenant: workspace.id, deadline: clock.deadline, caller: raw.caller, isStale };
}

export interface OperationRooms {
  readonly config: Config;
  readonly db: Database;
}

/** `_import` and `_export`. */
export interface TransferHandlers {
  readonly importRecords: (visit: Visit) => Promise<Reply>;
  readonly exportRecords: (visit: Visit) => Promise<Reply>;
}

/** Runs a statement; the database's refusals become ours, all but that of a stale snapshot. */
export async function runFor(
  visit: Visit,
  db: Database,
  statement: Statement,
  inputs: Inputs,
  lane: Lane,
  kind: WriteKind,
): Promise<readonly Row[]> {
  try {
    return await db.run(bindQuery(statement, inputs), lane, workOf(visit, statement.cost));
  } catch (error) {
    if (isStaleSnapshot(error)) throw error;
    throw translateError(error, visit.workspace, visit.entity.name, kind);
  }
}

/** The JSON value of the body; 415, 413 or 400. */
export async function jsonBody(raw: RawRequest, maxBytes: number): Promise<unknown> {
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  return jsonValue(await raw.body(maxBytes), raw.turn);
}

/** Row version and representation. With related records in it, the text itself is what tells two apart. */
export function entityTag(version: string, statement: Statement, data: string): string {
  return `${version}.${statement.tag ?? hash('sha1', data, 'base64url')}`;
}
