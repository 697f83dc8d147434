// Statements on their way over the connections of a lane: sent, answered, and sent elsewhere when their connection is left.
import { destroy } from './connect.ts';
import { makeLearner } from './cost.ts';
import { ENDING_MS, STUCK } from './ending.ts';
import type { LaneConnections, PipelinedConnection, Sent } from './lane-connections.ts';
import { MessageTooLong } from './message-limit.ts';
import { isConnectionLoss, isReadOnlyServer, lostStatement, sqlState } from './pg-error.ts';
import { forgetFailed, namedOn, type Row, runStatement } from './statement.ts';
import { refusalOf, type Waiting } from './waiting-line.ts';
import { shuttingDown } from './work.ts';

export interface TrafficRules {
  /**
   * True when what was sent after a statement, and was never begun, may be sent again elsewhere when its connection ends.
   * Reads may; whether a write was begun nobody can tell.
   */
  readonly repeatable: boolean;
  /** True when the statement was ended because it kept the others waiting. */
  readonly isFault: (error: Error) => boolean;
  /** Gives its answer then; missing: the error is the answer. */
  readonly goOn?: (waiting: Waiting, fault: Error) => Promise<readonly Row[]>;
  /** A write met a server that takes none. */
  readonly onReadOnly: () => void;
}

export interface TrafficOptions extends TrafficRules {
  readonly connections: Pick<LaneConnections, 'retire' | 'isClosing'>;
  /** Runs a statement that its connection has not begun. */
  readonly again: (waiting: Waiting, now: number) => void;
  /** The connection may have room for more. */
  readonly answered: (connection: PipelinedConnection) => void;
}

export interface Traffic {
  /** `now`: performance.now(), which takes half a microsecond on some machines. */
  readonly send: (connection: PipelinedConnection, waiting: Waiting, now: number) => void;
  /** Statements that were sent and are not answered. */
  readonly count: () => number;
}

// What an unknown statement is expected to take.
const UNKNOWN_MS = 1;

export function makeTraffic({ connections, again, answered, ...rules }: TrafficOptions): Traffic {
  const learn = makeLearner();
  let sent = 0;

  function send(connection: PipelinedConnection, waiting: Waiting, now: number): void {
    const refusal = refusalOf(waiting, now);
    if (refusal !== undefined) {
      waiting.reject(refusal);
      return;
    }
    const { query, cost } = waiting;
    const { opening } = connection.opened;
    const before = opening && namedOn(connection.prepared, opening.query);
    const run = { ...namedOn(connection.prepared, query), opening: before, gather: sent > 0 };
    const one: Sent = {
      waiting,
      run,
      started: now,
      isAlone: connection.sent.length === 0,
      work: cost?.work ?? UNKNOWN_MS,
      isMoved: false,
    };
    connection.work += one.work;
    connection.sent.push(one);
    sent++;
    runStatement(connection.opened.client, run, (error, rows) => {
      if (!one.isMoved) answer(connection, one, error, rows);
    });
  }

  function answer(connection: PipelinedConnection, one: Sent, error: Error | null, rows: readonly Row[]): void {
    const { waiting, run } = one;
    const isFirst = take(connection, one);
    const now = performance.now();
    if (error === null) {
      learn(waiting.cost, one.isAlone, now - one.started, now - connection.answeredAt);
      connection.answeredAt = now;
      waiting.resolve(rows);
    } else {
      connection.answeredAt = now;
      forgetFailed(connection.prepared, run, error);
      if (isReadOnlyServer(error)) rules.onReadOnly();
      const isLost = isConnectionLoss(error) || error instanceof MessageTooLong;
      if (isLost) lose(connection, isFirst);
      const isFault = !isLost && rules.isFault(error);
      if (sqlState(error) !== undefined && !isLost) connection.ending = one;
      if (isFault) {
        spare(connection, waiting);
        setTimeout(() => leave(connection, one), ENDING_MS).unref();
      }
      if (isFault && rules.goOn !== undefined) {
        rules.goOn(waiting, error).then(waiting.resolve, waiting.reject);
      } else waiting.reject(isLost ? lostStatement(error, !rules.repeatable) : error);
    }
    answered(connection);
  }

  /** Takes a statement off the list of its connection; gives whether it was the one at work. */
  function take(connection: PipelinedConnection, one: Sent): boolean {
    const index = connection.sent.indexOf(one);
    if (index === 0) connection.sent.shift();
    else connection.sent.splice(index, 1);
    // Sums of fractions drift.
    connection.work = connection.sent.length === 0 ? 0 : connection.work - one.work;
    sent--;
    return index === 0;
  }

  /** The statements after the one with which the connection ended were never begun. */
  function lose(connection: PipelinedConnection, isFirst: boolean): void {
    connections.retire(connection);
    if (!rules.repeatable || !isFirst) return;
    move(connection);
  }

  /** Statements that wait for others like the one that was too slow would each wait as long: they go elsewhere. */
  function spare(connection: PipelinedConnection, slow: Waiting): void {
    if (!rules.repeatable) return;
    const isPile = connection.sent.some(({ waiting }) => waiting.query.text === slow.query.text);
    if (!isPile || !connection.sent.some(({ waiting }) => waiting.work.tenant !== slow.work.tenant)) return;
    connections.retire(connection);
    move(connection);
    destroy(connection.opened, 'Connection terminated: left for slow statements');
  }

  /** Leaves a connection that has not come to the end of the statement, of whose error it has told. */
  function leave(connection: PipelinedConnection, failed: Sent): void {
    if (connection.ending !== failed || !connection.usable) return;
    connections.retire(connection);
    if (rules.repeatable) move(connection);
    destroy(connection.opened, STUCK);
  }

  function move(connection: PipelinedConnection): void {
    for (const one of [...connection.sent]) {
      take(connection, one);
      one.isMoved = true;
      if (connections.isClosing()) one.waiting.reject(shuttingDown());
      else again(one.waiting, performance.now());
    }
  }

  return { send, count: () => sent };
}
