// Sends statements on pipelined connections and handles their answers: a failed or slow statement leaves its connection, and
// those sent after it go elsewhere where they can be repeated.
import { destroy, READY_TIMEOUT_MS, STUCK } from './connect.ts';
import {
  answerMemoryFull,
  clientDisconnected,
  connectionTimeout,
  getSqlState,
  isConnectionLoss,
  isReadOnlyServer,
  MessageTooLong,
  nodeUnavailable,
  StaleStatement,
  shuttingDown,
  toConnectionLossError,
} from './errors.ts';
import type { Row } from './executor.ts';
import type { Connection, ConnectionSet, InFlight, PendingStatement } from './pipelined-connections.ts';
import { nameStatement } from './prepared-statements.ts';
import { isMemoryFull, learnAnswer, makeLearner } from './service-time.ts';
import { forgetFailed, runStatement } from './statement.ts';

export interface PipelineOptions {
  /**
   * True when statements that were sent after the running one may be sent again elsewhere if their connection ends. That holds
   * for reads; whether a write has started is unknown.
   */
  readonly isRepeatable: boolean;
  /** Runs a statement elsewhere that this pool has ended: by a timeout, or a read whose answer is too long. */
  readonly runElsewhere: (pending: PendingStatement, error: Error) => Promise<readonly Row[]>;
  /** Called when a write meets a server that takes none. */
  readonly onReadOnly: () => void;
}

export interface Pipeline {
  readonly send: (connection: Connection, pending: PendingStatement, now: number) => void;
  /** Number of statements that were sent and are not answered. */
  readonly count: () => number;
}

export interface PipelineEvents {
  /** Runs a statement that its connection has not started. */
  readonly start: (pending: PendingStatement, now: number) => void;
  /** Called when the connection may have capacity for more. */
  readonly onResponse: (connection: Connection) => void;
}

// Assumed work of a statement before its first run.
const UNKNOWN_MS = 1;

/** True for a statement timeout (57014) or a lock timeout (55P03). */
function isTimeout(error: unknown): boolean {
  const state = getSqlState(error);
  return state === '57014' || state === '55P03';
}

export function makePipeline(options: PipelineOptions, connections: ConnectionSet, events: PipelineEvents): Pipeline {
  const { isRepeatable } = options;
  const learn = makeLearner();
  let count = 0;

  function send(connection: Connection, pending: PendingStatement, now: number): void {
    const error = getRejection(pending, now);
    if (error !== undefined) {
      pending.reject(error);
      return;
    }
    const { opened, prepared } = connection;
    const opening = opened.opening && nameStatement(prepared, opened.opening.query);
    const { longColumn } = pending.statementOptions;
    const run = { ...nameStatement(prepared, pending.query), opening, gather: count > 0, longColumn };
    const isAlone = connection.inFlight.length === 0;
    const workMs = pending.time?.workMs ?? UNKNOWN_MS;
    const one: InFlight = { pending, run, sentAt: now, isAlone, workMs, isReassigned: false };
    connection.inFlight.push(one);
    connection.workMs += workMs;
    count++;
    runStatement(opened.client, run, (error, rows) => {
      if (!one.isReassigned) handleResponse(connection, one, error, rows);
    });
  }

  function handleResponse(connection: Connection, one: InFlight, error: Error | null, rows: readonly Row[]): void {
    const { pending, run } = one;
    const isFirst = remove(connection, one);
    const now = performance.now();
    const sinceLastMs = now - connection.lastResponseAt;
    connection.lastResponseAt = now;
    if (error === null) {
      learn(pending.time, one.isAlone, now - one.sentAt, sinceLastMs);
      if (pending.time !== undefined) learnAnswer(pending.time, rows, pending.statementOptions);
      pending.resolve(rows);
    } else {
      forgetFailed(connection.prepared, run, error);
      if (isReadOnlyServer(error)) options.onReadOnly();
      if (isConnectionLoss(error) || error instanceof MessageTooLong) {
        connections.retire(connection);
        // Statements after the one with which the connection ended were never started.
        if (isRepeatable && isFirst) reassignAll(connection);
        if (isRepeatable && error instanceof MessageTooLong) runElsewhere(pending, error);
        else pending.reject(toConnectionLossError(error, !isRepeatable));
      } else fail(connection, one, error);
    }
    events.onResponse(connection);
  }

  function fail(connection: Connection, one: InFlight, error: Error): void {
    const { pending } = one;
    if (getSqlState(error) !== undefined) connection.failed = one;
    if (!isTimeout(error)) {
      pending.reject(error);
      return;
    }
    runElsewhere(pending, error);
    // Statements of others after more of the same kind would each wait as long, so they go elsewhere.
    const hasSameStatement = connection.inFlight.some((each) => each.pending.query.text === pending.query.text);
    const hasOtherTenants = connection.inFlight.some((each) => each.pending.tenant !== pending.tenant);
    if (isRepeatable && hasSameStatement && hasOtherTenants)
      abandon(connection, 'Connection terminated: left for slow statements');
    else {
      setTimeout(() => {
        if (connection.failed === one && connection.isUsable) abandon(connection, STUCK);
      }, READY_TIMEOUT_MS).unref();
    }
  }

  function runElsewhere(pending: PendingStatement, error: Error): void {
    options.runElsewhere(pending, error).then(pending.resolve, pending.reject);
  }

  function abandon(connection: Connection, reason: string): void {
    connections.retire(connection);
    if (isRepeatable) reassignAll(connection);
    destroy(connection.opened, reason);
  }

  /** Removes a statement from its connection; returns true if it was the running one. */
  function remove(connection: Connection, one: InFlight): boolean {
    const index = connection.inFlight.indexOf(one);
    if (index === 0) connection.inFlight.shift();
    else connection.inFlight.splice(index, 1);
    // Rounding errors would add up.
    connection.workMs = connection.inFlight.length === 0 ? 0 : connection.workMs - one.workMs;
    count--;
    return index === 0;
  }

  /** Runs the statements of a connection elsewhere. */
  function reassignAll(connection: Connection): void {
    for (const one of [...connection.inFlight]) {
      remove(connection, one);
      one.isReassigned = true;
      if (connections.isClosing()) one.pending.reject(shuttingDown());
      else events.start(one.pending, performance.now());
    }
  }

  return { send, count: () => count };
}

/** Returns the reason not to send the statement any more, or undefined if there is none. */
export function getRejection({ deadline, statementOptions, time }: PendingStatement, now: number): Error | undefined {
  if (now >= deadline) return connectionTimeout();
  if (statementOptions.signal?.isAborted() === true) return clientDisconnected();
  if (statementOptions.node?.isUnavailable() === true) return nodeUnavailable();
  if (isMemoryFull(statementOptions, time)) return answerMemoryFull();
  return statementOptions.isStale?.(now) === true ? new StaleStatement() : undefined;
}
