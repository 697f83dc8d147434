// A pool of connections that are leased one at a time: for statements that take long, for transactions and for COPY. They are
// opened when needed and closed when they are idle for long, old or broken. A request waits until its deadline at most, and
// no longer once its client has left.
import { makeBulkhead, type Waiter } from './bulkhead.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import {
  clientDisconnected,
  connectionTimeout,
  nodeUnavailable,
  queueFull,
  shuttingDown,
  translateConnectionError,
} from './errors.ts';
import type { StatementOptions } from './executor.ts';

export interface SessionPoolOptions {
  readonly open: () => Promise<OpenedConnection>;
  readonly size: number;
  /** Most connections of one tenant. */
  readonly perTenant: number;
  readonly maxQueue: number;
  /** Longest wait of a request without a deadline. */
  readonly timeoutMs: number;
}

/** Tenant, deadline and signal of the request for a connection. */
export type LeaseRequest = Pick<StatementOptions, 'tenant' | 'deadline' | 'signal' | 'node'> & Pick<Waiter, 'isWrite'>;

/** A connection for one user alone. */
export interface Lease {
  readonly connection: OpenedConnection;
  /** Returns the connection to the pool, once. `isBroken`: it is not used again. */
  release(isBroken: boolean): void;
}

export interface SessionPool {
  /** Leases a connection; 503 when the queue is full, none is free in time, or the database is unavailable. */
  take(request?: LeaseRequest): Promise<Lease>;
  /** Number of open connections. */
  size(): number;
  countWaiting(): number;
  /** Replaces all connections; leased ones are closed when they are returned. */
  renew(): void;
  /** Closes connections as they are returned; those that are not returned after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

interface Pooled {
  readonly connection: OpenedConnection;
  readonly openedAt: number;
  idleSince: number;
  isUsable: boolean;
}

interface PendingLease extends Waiter {
  readonly node: StatementOptions['node'];
  /** Called once, with the outcome. */
  readonly complete: (outcome: Lease | Error) => void;
}

const IDLE_MS = 30_000;
// A backend's memory grows over a long life (caches of catalogues), so it is replaced.
const MAX_LIFETIME_MS = 1_800_000;
const TIDY_INTERVAL_MS = 5000;
// While the database is unavailable, a connection is tried at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

const UNRESPONSIVE = 'Connection terminated: what its statement waits for has fallen silent';

interface PooledConnections {
  /** Takes an idle connection, which belongs to the caller until it is returned. */
  readonly take: () => Pooled | undefined;
  readonly giveBack: (pooled: Pooled, isBroken: boolean) => void;
  /** Opens one more connection in the background. */
  readonly grow: () => void;
  readonly countOpening: () => number;
  readonly canGrow: () => boolean;
  readonly hasIdle: () => boolean;
  /** Returns the error of a moment ago while there is no connection and none is being opened. */
  readonly recentFailure: () => { readonly error: unknown } | undefined;
  readonly size: () => number;
  readonly renew: () => void;
  readonly close: (graceMs: number) => Promise<void>;
}

interface ConnectionEvents {
  readonly onUnavailable: (error: unknown) => void;
  /** Called when an attempt to open a connection has ended. */
  readonly onOpened: () => void;
}

function makePooledConnections(
  open: SessionPoolOptions['open'],
  size: number,
  events: ConnectionEvents,
): PooledConnections {
  const all = new Set<Pooled>();
  const idle: Pooled[] = [];
  let countOpening = 0;
  let isClosing = false;
  let failure: { readonly error: unknown; readonly failedAt: number } | undefined;
  let notifyEmpty: (() => void) | undefined;

  const tidyTimer = setInterval(() => {
    const since = performance.now() - IDLE_MS;
    for (const pooled of [...idle]) if (pooled.idleSince < since) discard(pooled);
  }, TIDY_INTERVAL_MS).unref();

  function discard(pooled: Pooled): void {
    pooled.isUsable = false;
    if (!all.delete(pooled)) return;
    const index = idle.indexOf(pooled);
    if (index >= 0) idle.splice(index, 1);
    pooled.connection.client.end().catch(() => undefined);
    if (all.size === 0) notifyEmpty?.();
  }

  async function grow(): Promise<void> {
    countOpening++;
    try {
      const connection = await open();
      const now = performance.now();
      const pooled: Pooled = { connection, openedAt: now, idleSince: now, isUsable: true };
      all.add(pooled);
      connection.onRetired(() => {
        pooled.isUsable = false;
        if (idle.includes(pooled)) discard(pooled);
      });
      if (isClosing || !pooled.isUsable) discard(pooled);
      else idle.push(pooled);
    } catch (error) {
      failure = { error, failedAt: performance.now() };
      events.onUnavailable(error);
    } finally {
      countOpening--;
      events.onOpened();
    }
  }

  /** Resolves when all connections were returned, or cut. */
  function waitForReturns(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cut = (): void => {
        for (const { connection } of all) destroy(connection);
        for (const pooled of [...all]) discard(pooled);
      };
      const timer = Number.isFinite(graceMs) ? setTimeout(cut, graceMs) : undefined;
      notifyEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    take: () => idle.pop(),
    giveBack(pooled, isBroken) {
      const now = performance.now();
      if (isBroken || !pooled.isUsable || isClosing || now - pooled.openedAt > MAX_LIFETIME_MS) discard(pooled);
      else {
        pooled.idleSince = now;
        idle.push(pooled);
      }
    },
    grow: () => void grow(),
    countOpening: () => countOpening,
    canGrow: () => all.size + countOpening < size && !isClosing,
    hasIdle: () => idle.length > 0,
    recentFailure() {
      if (all.size > 0 || countOpening > 0 || failure === undefined) return undefined;
      return performance.now() - failure.failedAt < RECONNECT_PAUSE_MS ? failure : undefined;
    },
    size: () => all.size,
    renew() {
      for (const pooled of all) pooled.isUsable = false;
      for (const pooled of [...idle]) discard(pooled);
    },
    async close(graceMs) {
      isClosing = true;
      clearInterval(tidyTimer);
      for (const pooled of [...idle]) discard(pooled);
      if (all.size > 0) await waitForReturns(graceMs);
    },
  };
}

export function makeSessionPool({ open, size, perTenant, maxQueue, timeoutMs }: SessionPoolOptions): SessionPool {
  const bulkhead = makeBulkhead<PendingLease>(perTenant, maxQueue);
  const connections = makePooledConnections(open, size, {
    // The database is unavailable for all of them; one by one, each would wait for its own attempt.
    onUnavailable: (error) => rejectAll(translateConnectionError(error)),
    onOpened: serve,
  });
  let isClosing = false;

  function rejectAll(error: Error): void {
    for (const { complete } of bulkhead.drain()) complete(error);
  }

  /** Leases connections to waiting requests, as long as one may have one. */
  function serve(): void {
    for (;;) {
      // Saves a search through a long queue that could serve no request.
      if (!connections.hasIdle() && !connections.canGrow()) return;
      const pendingLease = bulkhead.findNext();
      if (pendingLease === undefined) return;
      const pooled = connections.take();
      if (pooled === undefined) {
        if (connections.countOpening() < bulkhead.countQueued()) connections.grow();
        return;
      }
      bulkhead.remove(pendingLease);
      pendingLease.complete(lease(pooled, pendingLease));
    }
  }

  function lease(pooled: Pooled, { tenant, isWrite, node }: LeaseRequest): Lease {
    bulkhead.acquire({ tenant, isWrite });
    let isReleased = false;
    const unwatch = node?.onUnavailable(() => destroy(pooled.connection, UNRESPONSIVE));
    return {
      connection: pooled.connection,
      release(isBroken) {
        if (isReleased) return;
        isReleased = true;
        unwatch?.();
        bulkhead.release({ tenant, isWrite });
        connections.giveBack(pooled, isBroken);
        serve();
      },
    };
  }

  function waitForLease({ tenant, isWrite, deadline, signal, node }: LeaseRequest): Promise<Lease> {
    const remainingMs = deadline === undefined ? timeoutMs : deadline - performance.now();
    return new Promise((resolve, reject) => {
      const pendingLease: PendingLease = {
        tenant,
        isWrite,
        node,
        complete(outcome) {
          clearTimeout(timer);
          removeAbortListener?.();
          removeNodeListener?.();
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      const giveUp = (error: Error): void => {
        if (bulkhead.remove(pendingLease)) pendingLease.complete(error);
      };
      const timer = setTimeout(() => giveUp(connectionTimeout()), Math.max(0, remainingMs));
      const removeAbortListener = signal?.onAbort(() => giveUp(clientDisconnected()));
      const removeNodeListener = node?.onUnavailable(() => giveUp(nodeUnavailable()));
      bulkhead.push(pendingLease);
      serve();
    });
  }

  return {
    async take(request = {}) {
      const { tenant, isWrite, signal, node } = request;
      if (isClosing) throw shuttingDown();
      if (signal?.isAborted() === true) throw clientDisconnected();
      if (node?.isUnavailable() === true) throw nodeUnavailable();
      const failure = connections.recentFailure();
      if (failure !== undefined) throw translateConnectionError(failure.error);
      if (bulkhead.countQueued() === 0 && bulkhead.canAcquire({ tenant, isWrite })) {
        const pooled = connections.take();
        if (pooled !== undefined) return lease(pooled, request);
      }
      if (!bulkhead.canQueue(tenant)) throw queueFull();
      return waitForLease(request);
    },
    size: connections.size,
    countWaiting: bulkhead.countQueued,
    renew: connections.renew,
    async close(graceMs = Number.POSITIVE_INFINITY) {
      isClosing = true;
      rejectAll(shuttingDown());
      await connections.close(graceMs);
    },
  };
}
