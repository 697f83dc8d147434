// A pool of pipelined connections for quick statements: each is sent without waiting for the answers of those before it, on
// the connection with the least work, prepared once and kept prepared while it is used.
import type { Query } from '../sql/fragment.ts';
import { canQueue, type Waiter } from './bulkhead.ts';
import { destroy, type OpenedConnection, onReady, READY_TIMEOUT_MS, STUCK, watchSocketTimeout } from './connect.ts';
import {
  answerMemoryFull,
  clientDisconnected,
  connectionTimeout,
  getSqlState,
  isConnectionLoss,
  isReadOnlyServer,
  MessageTooLong,
  nodeUnavailable,
  queueFull,
  StaleStatement,
  shuttingDown,
  toConnectionLossError,
  translateConnectionError,
} from './errors.ts';
import type { Row, StatementOptions } from './executor.ts';
import { makePrepared, nameStatement, type Prepared } from './prepared-statements.ts';
import { isMemoryFull, learnAnswer, makeLearner, type ServiceTime } from './service-time.ts';
import { forgetFailed, runStatement, type StatementRun } from './statement.ts';

/** A statement that is to be run. */
export interface PendingStatement extends Waiter {
  readonly query: Query;
  readonly statementOptions: StatementOptions;
  /** See ServiceTimes; undefined if nothing is learned. */
  readonly time: ServiceTime | undefined;
  readonly deadline: number;
  readonly since: number;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface PipelinedPoolOptions {
  readonly size: number;
  readonly open: () => Promise<OpenedConnection>;
  /**
   * How many connections to keep busy at once. A further one is used when all of these have long to do: on a machine without a
   * free core another busy backend only takes time from the others (with one instead of four, 32 clients on two cores: 1.2
   * times the requests, and a p99 of 7 instead of 50 ms).
   */
  readonly parallel: number;
  readonly maxQueue: number;
  /** Longest wait of a statement without a deadline; also the socket timeout of a connection that has something to answer. */
  readonly statementTimeoutMs: number;
  /**
   * True when statements that were sent after the running one may be sent again elsewhere if their connection ends. That holds
   * for reads; whether a write has started is unknown.
   */
  readonly isRepeatable: boolean;
  /** Runs a statement elsewhere that this pool has ended: by a timeout, or a read whose answer is too long. */
  readonly runElsewhere: (pending: PendingStatement, error: Error) => Promise<readonly Row[]>;
  /** Called when a write meets a server that takes none. */
  readonly onReadOnly: () => void;
  readonly onError: (message: string, error: unknown) => void;
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

interface InFlight {
  readonly pending: PendingStatement;
  readonly run: StatementRun;
  readonly sentAt: number;
  readonly isAlone: boolean;
  readonly workMs: number;
  /** True when another connection has taken it over. */
  isReassigned: boolean;
}

interface Connection {
  readonly opened: OpenedConnection;
  readonly prepared: Prepared;
  /** Statements in the order in which they are answered. */
  readonly inFlight: InFlight[];
  /** Total work of the statements in flight, in milliseconds. */
  workMs: number;
  lastResponseAt: number;
  /** The statement that failed last, while the server is not ready for the next one. */
  failed: InFlight | undefined;
  isUsable: boolean;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_PREPARED = 2000;
// While the database is unavailable, a connection is tried at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;
const SWEEP_MS = 100;
// Cost of using a connection, in ms that the statement could wait elsewhere instead: to prepare it; to prepare it in place of
// another that will be needed again, unless the connection is the one of the tenant (more than a further backend, or thousands of
// statements would all crowd the first: 0.57 instead of 0.67 of the requests over 2,000 workspaces); to make one more backend busy.
const PREPARE_MS = 0.5;
const REPLACE_MS = 12;
const FURTHER_MS = 5;
// Nothing more is sent to a connection with this much work, or whose running statement has taken this long: statements in
// the queue can still go to whichever connection is free first.
const FULL_MS = 10;
const STUCK_MS = 25;
// After this wait a statement goes to the next connection with capacity, prepared there or not.
const MAX_DETOUR_MS = 5;
// Assumed work of a statement before its first run.
const UNKNOWN_MS = 1;
// The bulkhead is active for this long after statements of a second tenant were seen.
const SHARED_MS = 5000;

/** True for a statement timeout (57014) or a lock timeout (55P03). */
function isTimeout(error: unknown): boolean {
  const state = getSqlState(error);
  return state === '57014' || state === '55P03';
}

interface TenantLimit {
  /** Records that a statement of the tenant has arrived. */
  readonly recordTenant: (tenant: string | undefined, now: number) => void;
  /** True when statements of the tenant may use the connection. */
  readonly canUse: (connection: Connection, tenant: string | undefined, now: number) => boolean;
}

/** Makes a bulkhead, which bounds the connections of each tenant while statements of several tenants arrive. */
function makeTenantLimit(connections: readonly Connection[], size: number): TenantLimit {
  // A single tenant may block half of the connections.
  const maxPerTenant = Math.max(1, Math.floor(size / 2));
  let lastTenant: string | undefined;
  let sharedUntil = Number.NEGATIVE_INFINITY;
  return {
    recordTenant(tenant, now) {
      if (tenant === undefined || tenant === lastTenant) return;
      if (lastTenant !== undefined) sharedUntil = now + SHARED_MS;
      lastTenant = tenant;
    },
    canUse(connection, tenant, now) {
      if (tenant === undefined || now >= sharedUntil || isUsedBy(connection, tenant)) return true;
      let count = 0;
      for (const each of connections) if (isUsedBy(each, tenant)) count++;
      return count < maxPerTenant;
    },
  };
}

const isUsedBy = ({ inFlight }: Connection, tenant: string): boolean =>
  inFlight.some(({ pending }) => pending.tenant === tenant);

function hasCapacity({ inFlight, workMs, lastResponseAt, failed, isUsable }: Connection, now: number): boolean {
  if (failed !== undefined || !isUsable) return false;
  const [first] = inFlight;
  return first === undefined || (workMs < FULL_MS && now - Math.max(first.sentAt, lastResponseAt) < STUCK_MS);
}

/** Returns the cost of having the statement prepared on the connection. */
function getPrepareMs({ prepared }: Connection, query: Query, isHome: boolean): number {
  if (query.name === undefined || prepared.has(query)) return 0;
  return prepared.isFull() && !isHome ? REPLACE_MS : PREPARE_MS;
}

/**
 * Returns the index of the connection that prepares the statements of a tenant when all are full, so that each backend has the
 * plans and the catalog cache of its share of the tenants. Their ids are numbers.
 */
const findHome = (tenant: string | undefined, size: number): number =>
  tenant === undefined ? -1 : Number(tenant) % size;

interface ConnectionSet {
  /** The usable connections; always the same array. */
  readonly all: Connection[];
  /** Opens one more connection in the background, unless one is being opened. */
  readonly grow: () => void;
  readonly recentFailure: (now: number) => { readonly error: unknown } | undefined;
  /** Ends the use of a connection; its statements in flight are still answered, if possible. */
  readonly retire: (connection: Connection) => void;
  readonly isClosing: () => boolean;
  /** Closes all connections. `onClosed` is called when no more can be opened. */
  readonly close: (onClosed: () => void) => Promise<void>;
}

interface ConnectionEvents {
  /** Called when the connection may have capacity. */
  readonly onReady: (connection: Connection) => void;
  readonly onRetired: () => void;
  /** Called when no connection could be opened, and there is none. */
  readonly onUnavailable: (error: unknown) => void;
}

function makeConnections(options: PipelinedPoolOptions, events: ConnectionEvents): ConnectionSet {
  const { statementTimeoutMs, onError } = options;
  const all: Connection[] = [];
  let connecting: Promise<void> | undefined;
  let failure: { readonly error: unknown; readonly failedAt: number } | undefined;
  let isClosing = false;

  async function connect(): Promise<void> {
    const opened = await options.open();
    const prepared = makePrepared(MAX_PREPARED);
    const connection: Connection = {
      opened,
      prepared,
      inFlight: [],
      workMs: 0,
      lastResponseAt: 0,
      failed: undefined,
      isUsable: true,
    };
    onReady(opened, () => {
      if (connection.failed === undefined) return;
      connection.failed = undefined;
      events.onReady(connection);
    });
    const unwatch = watchSocketTimeout(opened.client, statementTimeoutMs, () => connection.inFlight.length > 0);
    opened.client.once('end', unwatch);
    opened.onRetired((reason) => {
      // A connection that was retired on purpose is no error.
      if (connection.isUsable && !isClosing) onError('database connection lost', reason);
      retire(connection);
      // A sound connection still answers its statements in flight.
      closeConnection(connection);
    });
    if (!connection.isUsable) throw new Error('Connection terminated');
    if (isClosing) {
      closeConnection(connection);
      return;
    }
    all.push(connection);
    events.onReady(connection);
  }

  function retire(connection: Connection): void {
    if (!connection.isUsable) return;
    connection.isUsable = false;
    const index = all.indexOf(connection);
    // The connection may have failed before it was added.
    if (index < 0) return;
    all.splice(index, 1);
    events.onRetired();
  }

  return {
    all,
    grow() {
      connecting ??= connect()
        .catch((error) => {
          failure = { error, failedAt: performance.now() };
          onError('database connection failed', error);
          if (all.length === 0) events.onUnavailable(error);
        })
        .finally(() => {
          connecting = undefined;
        });
    },
    recentFailure: (now) =>
      failure !== undefined && now - failure.failedAt < RECONNECT_PAUSE_MS ? failure : undefined,
    retire,
    isClosing: () => isClosing,
    async close(onClosed) {
      isClosing = true;
      await connecting;
      onClosed();
      await Promise.all(all.splice(0).map(closeConnection));
    },
  };
}

interface Traffic {
  readonly send: (connection: Connection, pending: PendingStatement, now: number) => void;
  /** Number of statements that were sent and are not answered. */
  readonly count: () => number;
}

interface TrafficEvents {
  /** Runs a statement that its connection has not started. */
  readonly start: (pending: PendingStatement, now: number) => void;
  /** Called when the connection may have capacity for more. */
  readonly onResponse: (connection: Connection) => void;
}

function makeTraffic(options: PipelinedPoolOptions, connections: ConnectionSet, events: TrafficEvents): Traffic {
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

/** Returns the cheapest connection, or undefined if waiting is cheaper. */
function pickConnection(
  all: readonly Connection[],
  { query, tenant }: PendingStatement,
  parallel: number,
  tenants: TenantLimit,
  now: number,
): Connection | undefined {
  let bestConnection: Connection | undefined;
  let lowestLoad = Number.POSITIVE_INFINITY;
  const home = findHome(tenant, all.length);
  for (let index = 0; index < all.length; index++) {
    const connection = all[index] as Connection;
    // Looking up whether it is prepared there pays only where the connection may be the best.
    const minLoad = connection.workMs + (index < parallel ? 0 : FURTHER_MS);
    if (minLoad >= lowestLoad) continue;
    const load = minLoad + getPrepareMs(connection, query, index === home);
    if (load >= lowestLoad || !hasCapacity(connection, now) || !tenants.canUse(connection, tenant, now)) continue;
    bestConnection = connection;
    lowestLoad = load;
  }
  return bestConnection;
}

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
  const traffic = makeTraffic(options, connections, { start, onResponse: sendQueued });
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
      traffic.send(connection, queue.splice(index, 1)[0] as PendingStatement, now);
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
      traffic.send(connection, pending, now);
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
      const inFlight = traffic.count();
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
    pending: () => traffic.count() + queue.length,
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

/** Returns the reason not to send the statement any more, or undefined if there is none. */
function getRejection({ deadline, statementOptions, time }: PendingStatement, now: number): Error | undefined {
  if (now >= deadline) return connectionTimeout();
  if (statementOptions.signal?.isAborted() === true) return clientDisconnected();
  if (statementOptions.node?.isUnavailable() === true) return nodeUnavailable();
  if (isMemoryFull(statementOptions, time)) return answerMemoryFull();
  return statementOptions.isStale?.(now) === true ? new StaleStatement() : undefined;
}

/** Closes a connection once its statements in flight are answered. */
function closeConnection({ opened }: Connection): Promise<void> {
  return opened.client.end().catch(() => undefined);
}
