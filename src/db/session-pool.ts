// Connections that are lent one at a time: for statements that take long, for transactions and for COPY. Who asks in
// vain waits in one queue, out of which the tenant that has least is served first; nobody waits longer than its deadline,
// and who has left is dropped.
import { destroy, type OpenedConnection } from './connect.ts';
import { translateConnectionError } from './pg-error.ts';
import { callerGone, queueFull, shuttingDown, tooLate, type Work } from './work.ts';

export interface SessionPoolOptions {
  readonly open: () => Promise<OpenedConnection>;
  readonly size: number;
  /** Connections that one tenant may have at once. */
  readonly perTenant: number;
  readonly maxQueue: number;
  /** How long who names no deadline waits. */
  readonly patienceMs: number;
}

/** A connection for one user alone. */
export interface Lent {
  readonly connection: OpenedConnection;
  /** Gives it back, once. `broken`: nobody is to have it after this. */
  release(broken: boolean): void;
}

export interface SessionPool {
  /** 503 when the queue is full, no connection came in time, or the database is away. */
  take(asker?: Pick<Work, 'tenant' | 'deadline' | 'caller'>): Promise<Lent>;
  /** Connections that are open. */
  size(): number;
  waiting(): number;
  /** Leaves the connections that there are for new ones; those that are lent end when they are given back. */
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

interface Waiter {
  readonly tenant: string | undefined;
  readonly settle: (outcome: Lent | Error) => void;
}

const IDLE_MS = 30_000;
// Also what a long life gathers in a backend (caches of catalogues, memory) ends some time.
const LIFETIME_MS = 1_800_000;
const TIDY_EVERY_MS = 5000;
// While the database is away, connecting is tried again at most this often; who asks in between fails at once.
const RECONNECT_PAUSE_MS = 250;
// Of the queue; the rest is for the others.
const TENANT_PART = 0.8;

export function makeSessionPool({ open, size, perTenant, maxQueue, patienceMs }: SessionPoolOptions): SessionPool {
  const all = new Set<Pooled>();
  const idle: Pooled[] = [];
  const waiting: Waiter[] = [];
  /** Connections lent, by tenant. */
  const active = new Map<string, number>();
  let opening = 0;
  let closing = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let whenEmpty: (() => void) | undefined;

  const activeOf = (tenant: string | undefined): number => (tenant === undefined ? 0 : (active.get(tenant) ?? 0));

  function discard(pooled: Pooled): void {
    pooled.isUsable = false;
    if (!all.delete(pooled)) return;
    const at = idle.indexOf(pooled);
    if (at >= 0) idle.splice(at, 1);
    pooled.connection.client.end().catch(() => undefined);
    if (all.size === 0) whenEmpty?.();
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
      if (closing) discard(pooled);
      else if (pooled.isUsable) idle.push(pooled);
    } catch (error) {
      failedAt = performance.now();
      failure = error;
      // The database is away for all of them; one after the other they would wait for it each.
      for (const { settle } of waiting.splice(0)) settle(translateConnectionError(error));
    } finally {
      opening--;
      pump();
    }
  }

  /** Index of who is served next, or -1: of those below their share the one with least, the oldest first. */
  function next(): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < waiting.length; index++) {
      const has = activeOf((waiting[index] as Waiter).tenant);
      if (has < least && has < perTenant) {
        best = index;
        least = has;
        if (has === 0) break;
      }
    }
    return best;
  }

  function pump(): void {
    for (;;) {
      // Nothing to give: a long line need not be looked through.
      if (idle.length === 0 && all.size + opening >= size) return;
      const index = waiting.length === 0 ? -1 : next();
      if (index < 0) return;
      const pooled = idle.pop();
      if (pooled === undefined) {
        if (all.size + opening < size && opening < waiting.length && !closing) void grow();
        return;
      }
      const [waiter] = waiting.splice(index, 1) as [Waiter];
      waiter.settle(lend(pooled, waiter.tenant));
    }
  }

  function lend(pooled: Pooled, tenant: string | undefined): Lent {
    if (tenant !== undefined) active.set(tenant, activeOf(tenant) + 1);
    let isLent = true;
    return {
      connection: pooled.connection,
      release(broken) {
        if (!isLent) return;
        isLent = false;
        if (tenant !== undefined) {
          const left = activeOf(tenant) - 1;
          if (left === 0) active.delete(tenant);
          else active.set(tenant, left);
        }
        const now = performance.now();
        if (broken || !pooled.isUsable || closing || now - pooled.openedAt > LIFETIME_MS) discard(pooled);
        else {
          pooled.idleSince = now;
          idle.push(pooled);
        }
        pump();
      },
    };
  }

  const tidying = setInterval(() => {
    const since = performance.now() - IDLE_MS;
    for (const pooled of [...idle]) if (pooled.idleSince < since) discard(pooled);
  }, TIDY_EVERY_MS).unref();

  /** Whether one more may wait: one tenant never fills the queue of all. */
  function hasPlace(tenant: string | undefined): boolean {
    if (waiting.length >= maxQueue) return false;
    if (tenant === undefined || waiting.length < maxQueue * TENANT_PART) return true;
    return waiting.filter((waiter) => waiter.tenant === tenant).length < maxQueue * TENANT_PART;
  }

  return {
    async take({ tenant, deadline, caller } = {}) {
      if (closing) throw shuttingDown();
      if (caller?.isGone() === true) throw callerGone();
      if (all.size === 0 && opening === 0 && performance.now() - failedAt < RECONNECT_PAUSE_MS) {
        throw translateConnectionError(failure);
      }
      if (waiting.length === 0 && activeOf(tenant) < perTenant) {
        const pooled = idle.pop();
        if (pooled !== undefined) return lend(pooled, tenant);
      }
      if (!hasPlace(tenant)) throw queueFull();
      const patience = deadline === undefined ? patienceMs : deadline - performance.now();
      return new Promise<Lent>((resolve, reject) => {
        const waiter: Waiter = {
          tenant,
          settle(outcome) {
            clearTimeout(timer);
            stay?.();
            if (outcome instanceof Error) reject(outcome);
            else resolve(outcome);
          },
        };
        const giveUp = (error: Error): void => {
          const at = waiting.indexOf(waiter);
          if (at < 0) return;
          waiting.splice(at, 1);
          waiter.settle(error);
        };
        const timer = setTimeout(() => giveUp(tooLate()), Math.max(0, patience));
        const stay = caller?.onGone(() => giveUp(callerGone()));
        waiting.push(waiter);
        pump();
      });
    },
    size: () => all.size,
    waiting: () => waiting.length,
    renew() {
      for (const pooled of all) pooled.isUsable = false;
      for (const pooled of [...idle]) discard(pooled);
    },
    async close(graceMs = Number.POSITIVE_INFINITY) {
      closing = true;
      clearInterval(tidying);
      for (const { settle } of waiting.splice(0)) settle(shuttingDown());
      for (const pooled of [...idle]) discard(pooled);
      if (all.size === 0) return;
      await new Promise<void>((resolve) => {
        const cut = Number.isFinite(graceMs)
          ? setTimeout(() => {
              for (const { connection } of all) destroy(connection);
              for (const pooled of [...all]) discard(pooled);
            }, graceMs)
          : undefined;
        whenEmpty = () => {
          clearTimeout(cut);
          resolve();
        };
      });
    },
  };
}
