// A pool of pipelined connections for quick statements: each is sent without waiting for the answers of those before it, on
// the connection with the least work, prepared once and kept prepared while it is used.
import type { Query } from '../sql/fragment.ts';
import { canQueue } from './bulkhead.ts';
import { hasCapacity, makeTenantLimit, pickConnection } from './connection-choice.ts';
import { queueFull, shuttingDown, translateConnectionError } from './errors.ts';
import type { Row, StatementOptions } from './executor.ts';
import { getRejection, makePipeline, type PipelineOptions } from './pipeline.ts';
import {
  type Connection,
  type ConnectionSetOptions,
  closeConnection,
  makeConnections,
  type PendingStatement,
} from './pipelined-connections.ts';
import type { ServiceTime } from './service-time.ts';

export interface PipelinedPoolOptions extends ConnectionSetOptions, PipelineOptions {
  readonly size: number;
  /**
   * How many connections to keep busy at once. A further one is used when all of these have long to do: on a machine without a
   * free core another busy backend only takes time from the others (with one instead of four, 32 clients on two cores: 1.2
   * times the requests, and a p99 of 7 instead of 50 ms).
   */
  readonly parallel: number;
  readonly maxQueue: number;
}

export interface PipelinedPool {
  /** Runs a statement. `time`: its service time so far, which its run updates. */
  run(query: Query, statementOptions: StatementOptions, time?: ServiceTime): Promise<readonly Row[]>;
  /** Number of statements that wait or run. */
  pending(): number;
  size(): number;
  /** Replaces all connections; statements in flight on the old ones are still answered. */
  renew(): void;
  close(): Promise<void>;
}

const SWEEP_MS = 100;
// After this wait a statement goes to the next connection with capacity, prepared there or not.
const MAX_DETOUR_MS = 5;

export function makePipelinedPool(options: PipelinedPoolOptions): PipelinedPool {
  const { size, parallel, maxQueue, statementTimeoutMs } = options;
  const queue: PendingStatement[] = [];
  const connections = makeConnections(options, {
    onReady: sendQueued,
    onRetired() {
      if (all.length > 0) sendAllQueued();
      else for (const pending of queue.splice(0)) start(pending, performance.now());
    },
    onUnavailable: (error) => rejectAll(translateConnectionError(error)),
  });
  const { all } = connections;
  const tenants = makeTenantLimit(all, size);
  const pipeline = makePipeline(options, connections, { start, onResponse: sendQueued });
  let sweeper: NodeJS.Timeout | undefined;

  const rejectAll = (error: Error): void => {
    for (const { reject } of queue.splice(0)) reject(error);
  };

  function sendAllQueued(): void {
    for (const connection of [...all]) sendQueued(connection);
  }

  /** Sends queued statements to a connection while it has capacity. */
  function sendQueued(connection: Connection): void {
    while (queue.length > 0) {
      const now = performance.now();
      if (!hasCapacity(connection, now)) return;
      const index = findNextIndex(connection, now);
      if (index < 0) return;
      pipeline.send(connection, queue.splice(index, 1)[0] as PendingStatement, now);
    }
  }

  /** Returns the queue index of the connection's next statement: the first allowed one, for a while only if prepared there. */
  function findNextIndex(connection: Connection, now: number): number {
    const isFree = connection.inFlight.length === 0;
    return queue.findIndex(
      ({ tenant, query, since }) =>
        (isFree || now - since > MAX_DETOUR_MS || query.name === undefined || connection.prepared.has(query)) &&
        tenants.canUse(connection, tenant, now),
    );
  }

  function start(pending: PendingStatement, now: number): void {
    if (connections.isClosing() && all.length === 0) {
      pending.reject(shuttingDown());
      return;
    }
    const connection = pickConnection(all, pending, parallel, tenants, now);
    if (connection !== undefined) {
      pipeline.send(connection, pending, now);
      return;
    }
    if (all.length === 0) {
      const recentError = connections.recentFailure(now);
      if (recentError !== undefined) {
        pending.reject(translateConnectionError(recentError.error));
        return;
      }
      connections.grow();
    }
    queue.push(pending);
    sweeper ??= setInterval(sweep, SWEEP_MS).unref();
  }

  /** Rejects queued statements whose deadline is over or whose client has left. */
  function sweep(): void {
    const now = performance.now();
    for (let index = queue.length - 1; index >= 0; index--) {
      const error = getRejection(queue[index] as PendingStatement, now);
      if (error !== undefined) (queue.splice(index, 1)[0] as PendingStatement).reject(error);
    }
    sendAllQueued();
    if (queue.length > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return {
    run(query, statementOptions, time) {
      const { tenant } = statementOptions;
      const inFlight = pipeline.count();
      if (!canQueue(queue, tenant, maxQueue, inFlight)) return Promise.reject(queueFull());
      const now = performance.now();
      tenants.recordTenant(tenant, now);
      const mayGrow = all.length > 0 && all.length < size && !connections.isClosing();
      if (mayGrow && inFlight >= all.length && connections.recentFailure(now) === undefined) connections.grow();
      return new Promise((resolve, reject) => {
        const deadline = statementOptions.deadline ?? now + statementTimeoutMs;
        start({ query, statementOptions, tenant, time, deadline, since: now, resolve, reject }, now);
      });
    },
    pending: () => pipeline.count() + queue.length,
    size: () => all.length,
    renew() {
      for (const connection of [...all]) {
        connections.retire(connection);
        closeConnection(connection);
      }
    },
    close: () => connections.close(() => rejectAll(shuttingDown())),
  };
}
