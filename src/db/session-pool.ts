// A pool of connections that are leased one at a time: for statements that take long, for transactions and for COPY. They are
// opened when they are needed and closed when they are idle for long, old or broken. Nobody waits for one longer than the
// deadline, and a client that has left waits no longer.
import { makeBulkhead, type Waiter } from './bulkhead.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import { callerGone, placeAway, queueFull, shuttingDown, tooLate, translateConnectionError } from './errors.ts';
import type { Work } from './executor.ts';

export interface SessionPoolOptions {
  readonly open: () => Promise<OpenedConnection>;
  readonly size: number;
  /** Connections that one tenant may have at once. */
  readonly perTenant: number;
  readonly maxQueue: number;
  /** How long a request without a deadline waits. */
  readonly timeoutMs: number;
}

/** Who asks for a connection, and for how long. */
export type LeaseRequest = Pick<Work, 'tenant' | 'deadline' | 'caller' | 'place'>;

/** A connection for one user alone. */
export interface Lease {
  readonly connection: OpenedConnection;
  /** Gives it back, once. `isBroken`: it is not used again. */
  release(isBroken: boolean): void;
}

export interface SessionPool {
  /** 503 when the queue is full, no connection came in time, or the database is unavailable. */
  take(request?: LeaseRequest): Promise<Lease>;
  /** Open connections. */
  size(): number;
  waiting(): number;
  /** Leaves the connections that there are for new ones; leased ones end when they are given back. */
  renew(): void;
  /** Closes connections as they come back; those that are not back after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

interface Pooled {
  readonly connection: OpenedConnection;
  readonly openedAt: number;
  idleSince: number;
  isUsable: boolean;
}

interface Waiting extends Waiter {
  readonly place: Work['place'];
  /** Called once. */
  readonly settle: (outcome: Lease | Error) => void;
}

const IDLE_MS = 30_000;
// What a backend gathers over a long life (caches of catalogues, memory) is given back, too.
const LIFETIME_MS = 1_800_000;
const TIDY_EVERY_MS = 5000;
// While the database is unavailable, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

const SILENT = 'Connection terminated: what its statement waits for has fallen silent';

interface PooledConnections {
  /** An idle one; it is its taker's until it is given back. */
  readonly take: () => Pooled | undefined;
  readonly giveBack: (pooled: Pooled, isBroken: boolean) => void;
  /** Opens one more in the background. */
  readonly grow: () => void;
  readonly opening: () => number;
  readonly mayGrow: () => boolean;
  readonly hasIdle: () => boolean;
  /** The error of a moment ago, while there are none and none is being opened. */
  readonly recentFailure: () => { readonly error: unknown } | undefined;
  readonly size: () => number;
  readonly renew: () => void;
  readonly close: (graceMs: number) => Promise<void>;
}

interface ConnectionEvents {
  readonly onUnavailable: (error: unknown) => void;
  /** An attempt to open one has ended. */
  readonly onOpened: () => void;
}

function makePooledConnections(
  open: SessionPoolOptions['open'],
  size: number,
  events: ConnectionEvents,
): PooledConnections {
  const all = new Set<Pooled>();
  const idle: Pooled[] = [];
  let opening = 0;
  let isClosing = false;
  let failure: { readonly error: unknown; readonly at: number } | undefined;
  let onEmpty: (() => void) | undefined;

  const tidying = setInterval(() => {
    const since = performance.now() - IDLE_MS;
    for (const pooled of [...idle]) if (pooled.idleSince < since) discard(pooled);
  }, TIDY_EVERY_MS).unref();

  function discard(pooled: Pooled): void {
    pooled.isUsable = false;
    if (!all.delete(pooled)) return;
    const index = idle.indexOf(pooled);
    if (index >= 0) idle.splice(index, 1);
    pooled.connection.client.end().catch(() => undefined);
    if (all.size === 0) onEmpty?.();
  }

  async function grow(): Promise<void> {
    opening++;
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
      failure = { error, at: performance.now() };
      events.onUnavailable(error);
    } finally {
      opening--;
      events.onOpened();
    }
  }

  /** Resolves when all were given back, or cut. */
  function allBack(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cut = (): void => {
        for (const { connection } of all) destroy(connection);
        for (const pooled of [...all]) discard(pooled);
      };
      const timer = Number.isFinite(graceMs) ? setTimeout(cut, graceMs) : undefined;
      onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    take: () => idle.pop(),
    giveBack(pooled, isBroken) {
      const now = performance.now();
      if (isBroken || !pooled.isUsable || isClosing || now - pooled.openedAt > LIFETIME_MS) discard(pooled);
      else {
        pooled.idleSince = now;
        idle.push(pooled);
      }
    },
    grow: () => void grow(),
    opening: () => opening,
    mayGrow: () => all.size + opening < size && !isClosing,
    hasIdle: () => idle.length > 0,
    recentFailure() {
      if (all.size > 0 || opening > 0 || failure === undefined) return undefined;
      return performance.now() - failure.at < RECONNECT_PAUSE_MS ? failure : undefined;
    },
    size: () => all.size,
    renew() {
      for (const pooled of all) pooled.isUsable = false;
      for (const pooled of [...idle]) discard(pooled);
    },
    async close(graceMs) {
      isClosing = true;
      clearInterval(tidying);
      for (const pooled of [...idle]) discard(pooled);
      if (all.size > 0) await allBack(graceMs);
    },
  };
}

export function makeSessionPool({ open, size, perTenant, maxQueue, timeoutMs }: SessionPoolOptions): SessionPool {
  const bulkhead = makeBulkhead<Waiting>(perTenant, maxQueue);
  const connections = makePooledConnections(open, size, {
    // The database is unavailable for all of them; one after the other each would wait for it.
    onUnavailable: (error) => rejectAll(translateConnectionError(error)),
    onOpened: serve,
  });
  let isClosing = false;

  function rejectAll(error: Error): void {
    for (const { settle } of bulkhead.drain()) settle(error);
  }

  /** Leases connections to those who wait, as long as there is one for somebody. */
  function serve(): void {
    for (;;) {
      // Without either a long queue need not be looked through.
      if (!connections.hasIdle() && !connections.mayGrow()) return;
      const waiting = bulkhead.next();
      if (waiting === undefined) return;
      const pooled = connections.take();
      if (pooled === undefined) {
        if (connections.opening() < bulkhead.queued()) connections.grow();
        return;
      }
      bulkhead.remove(waiting);
      waiting.settle(lease(pooled, waiting));
    }
  }

  function lease(pooled: Pooled, { tenant, place }: LeaseRequest): Lease {
    bulkhead.enter(tenant);
    let isReleased = false;
    const unwatch = place?.onAway(() => destroy(pooled.connection, SILENT));
    return {
      connection: pooled.connection,
      release(isBroken) {
        if (isReleased) return;
        isReleased = true;
        unwatch?.();
        bulkhead.leave(tenant);
        connections.giveBack(pooled, isBroken);
        serve();
      },
    };
  }

  function wait({ tenant, deadline, caller, place }: LeaseRequest): Promise<Lease> {
    const remainingMs = deadline === undefined ? timeoutMs : deadline - performance.now();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        tenant,
        place,
        settle(outcome) {
          clearTimeout(timer);
          removeCaller?.();
          removePlace?.();
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      const giveUp = (error: Error): void => {
        if (bulkhead.remove(waiting)) waiting.settle(error);
      };
      const timer = setTimeout(() => giveUp(tooLate()), Math.max(0, remainingMs));
      const removeCaller = caller?.onGone(() => giveUp(callerGone()));
      const removePlace = place?.onAway(() => giveUp(placeAway()));
      bulkhead.push(waiting);
      serve();
    });
  }

  return {
    async take(request = {}) {
      const { tenant, caller, place } = request;
      if (isClosing) throw shuttingDown();
      if (caller?.isGone() === true) throw callerGone();
      if (place?.isAway() === true) throw placeAway();
      const failure = connections.recentFailure();
      if (failure !== undefined) throw translateConnectionError(failure.error);
      if (bulkhead.queued() === 0 && bulkhead.mayEnter(tenant)) {
        const pooled = connections.take();
        if (pooled !== undefined) return lease(pooled, request);
      }
      if (!bulkhead.mayQueue(tenant)) throw queueFull();
      return wait(request);
    },
    size: connections.size,
    waiting: bulkhead.queued,
    renew: connections.renew,
    async close(graceMs = Number.POSITIVE_INFINITY) {
      isClosing = true;
      rejectAll(shuttingDown());
      await connections.close(graceMs);
    },
  };
}
