// A lane of pipelined connections: quick statements one after the other without waiting for the answers of those before,
// each on the connection where it costs least, prepared once and kept prepared while they are used.
import type { Query } from '../sql/fragment.ts';
import type { OpenedConnection } from './connect.ts';
import type { StatementCost } from './cost.ts';
import { makeLaneConnections, type PipelinedConnection } from './lane-connections.ts';
import { translateConnectionError } from './pg-error.ts';
import { hasRoom, makeSchedule } from './schedule.ts';
import type { Row } from './statement.ts';
import { makeTraffic, type TrafficRules } from './traffic.ts';
import { makeWaitingLine, type Waiting } from './waiting-line.ts';
import { queueFull, shuttingDown, type Work } from './work.ts';

export interface LaneOptions extends TrafficRules {
  readonly open: () => Promise<OpenedConnection>;
  /**
   * How many connections it pays to keep busy at once. A further one is used when all of these have long to do: on a
   * machine without a free core another busy backend only takes time from the others (with one instead of four, 32
   * clients on two cores: 1.2 times the requests, and a p99 of 7 instead of 50 ms).
   */
  readonly parallel: number;
  readonly maxQueue: number;
  /** How long a statement without a deadline waits; also the longest silence of a connection that has something to answer. */
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

export interface PipelinedLane {
  /** `cost`: what is known of the statement, and is learned from its run. */
  run(query: Query, work: Work, cost?: StatementCost): Promise<readonly Row[]>;
  /** Statements that wait or run. */
  pending(): number;
  size(): number;
  /** Leaves the connections that there are for new ones; what is under way there is still answered. */
  renew(): void;
  close(): Promise<void>;
}

/** `size` connections at most, opened as they are needed. */
export function makePipelinedLane(size: number, options: LaneOptions): PipelinedLane {
  const connections = makeLaneConnections({
    size,
    open: options.open,
    longestSilenceMs: options.statementTimeoutMs,
    onOpened: feed,
    onRetired() {
      if (all.length > 0) feedAll();
      else for (const waiting of line.drain()) start(waiting, performance.now());
    },
    onNone(error) {
      for (const { reject } of line.drain()) reject(translateConnectionError(error));
    },
    onError: options.onError,
  });
  const { all } = connections;
  const line = makeWaitingLine(options.maxQueue, feedAll);
  const schedule = makeSchedule(all, { size, parallel: options.parallel });
  const traffic = makeTraffic({ ...options, connections, again: start, answered: feed });

  function feedAll(): void {
    for (const connection of [...all]) feed(connection);
  }

  /** Gives a connection that has room what it should run next. */
  function feed(connection: PipelinedConnection): void {
    while (line.length > 0 && connection.usable) {
      const now = performance.now();
      if (!hasRoom(connection, now)) return;
      const waiting = schedule.nextFor(connection, line, now);
      if (waiting === undefined) return;
      traffic.send(connection, waiting, now);
    }
  }

  function start(waiting: Waiting, now: number): void {
    if (all.length > 0) {
      const connection = schedule.pick(waiting.query, waiting.work.tenant, now);
      if (connection !== undefined) traffic.send(connection, waiting, now);
      else line.push(waiting);
    } else if (connections.isClosing()) waiting.reject(shuttingDown());
    else {
      const failure = connections.recentFailure(now);
      if (failure !== undefined) {
        waiting.reject(translateConnectionError(failure.error));
        return;
      }
      line.push(waiting);
      connections.grow();
    }
  }

  return {
    run(query, work, cost) {
      const { tenant } = work;
      if (!line.hasPlace(tenant, traffic.count())) return Promise.reject(queueFull());
      const now = performance.now();
      schedule.seen(tenant, now);
      if (all.length > 0 && traffic.count() >= all.length && connections.mayGrow(now)) connections.grow();
      return new Promise((resolve, reject) => {
        const deadline = work.deadline ?? now + options.statementTimeoutMs;
        start({ query, work, cost, deadline, since: now, resolve, reject }, now);
      });
    },
    pending: () => traffic.count() + line.length,
    size: () => all.length,
    renew: connections.renew,
    close: () =>
      connections.close(() => {
        for (const { reject } of line.drain()) reject(shuttingDown());
      }),
  };
}
