// The connections of a pool: opened when they are needed, kept while they are used, ended when they were idle for long, have
// lived for long or broke.
import { destroy, type OpenedConnection } from './connect.ts';

export interface Pooled {
  readonly connection: OpenedConnection;
  readonly openedAt: number;
  idleSince: number;
  isUsable: boolean;
}

export interface PooledConnectionsOptions {
  readonly open: () => Promise<OpenedConnection>;
  readonly size: number;
  /** One could not be opened. */
  readonly onFailed: (error: unknown) => void;
  /** An attempt to open one has ended. */
  readonly onOpened: () => void;
}

export interface PooledConnections {
  /** One that is idle; it is its taker's until it is given back. */
  readonly take: () => Pooled | undefined;
  /** `broken`: it is not used again. */
  readonly giveBack: (pooled: Pooled, broken: boolean) => void;
  /** Opens one more in the background. */
  readonly grow: () => void;
  /** How many are being opened. */
  readonly opening: () => number;
  /** True when one more may be opened, beside those that there are and those that are being opened. */
  readonly mayGrow: () => boolean;
  readonly hasIdle: () => boolean;
  /** While there are none and one could not be opened a moment ago: why. */
  readonly recentFailure: () => { readonly error: unknown } | undefined;
  readonly size: () => number;
  /** Leaves those that there are for new ones; those that are taken end when they are given back. */
  readonly renew: () => void;
  /** Ends them as they are given back; those that are not back after `graceMs` are cut. */
  readonly close: (graceMs: number) => Promise<void>;
}

const IDLE_MS = 30_000;
// What a backend gathers over a long life (caches of catalogues, memory) is given back, too.
const LIFETIME_MS = 1_800_000;
const TIDY_EVERY_MS = 5000;
// While the database is away, connecting is tried again at most this often; who asks in between fails at once.
const RECONNECT_PAUSE_MS = 250;

export function makePooledConnections(options: PooledConnectionsOptions): PooledConnections {
  const { open, size } = options;
  const all = new Set<Pooled>();
  const idle: Pooled[] = [];
  let opening = 0;
  let closing = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let whenEmpty: (() => void) | undefined;

  function discard(pooled: Pooled): void {
    pooled.isUsable = false;
    if (!all.delete(pooled)) return;
    const at = idle.indexOf(pooled);
    if (at >= 0) idle.splice(at, 1);
    pooled.connection.client.end().catch(() => undefined);
    if (all.size === 0) whenEmpty?.();
  }

  async function openOne(): Promise<void> {
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
      if (closing || !pooled.isUsable) discard(pooled);
      else idle.push(pooled);
    } catch (error) {
      failedAt = performance.now();
      failure = error;
      options.onFailed(error);
    } finally {
      opening--;
      options.onOpened();
    }
  }

  const tidying = setInterval(() => {
    const since = performance.now() - IDLE_MS;
    for (const pooled of [...idle]) if (pooled.idleSince < since) discard(pooled);
  }, TIDY_EVERY_MS).unref();

  /** Resolves when all were given back, or cut. */
  function allBack(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
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
  }

  return {
    take: () => idle.pop(),
    giveBack(pooled, broken) {
      const now = performance.now();
      if (broken || !pooled.isUsable || closing || now - pooled.openedAt > LIFETIME_MS) discard(pooled);
      else {
        pooled.idleSince = now;
        idle.push(pooled);
      }
    },
    grow: () => void openOne(),
    opening: () => opening,
    mayGrow: () => all.size + opening < size && !closing,
    hasIdle: () => idle.length > 0,
    recentFailure() {
      const isAway = all.size === 0 && opening === 0 && performance.now() - failedAt < RECONNECT_PAUSE_MS;
      return isAway ? { error: failure } : undefined;
    },
    size: () => all.size,
    renew() {
      for (const pooled of all) pooled.isUsable = false;
      for (const pooled of [...idle]) discard(pooled);
    },
    async close(graceMs) {
      closing = true;
      clearInterval(tidying);
      for (const pooled of [...idle]) discard(pooled);
      if (all.size > 0) await allBack(graceMs);
    },
  };
}
