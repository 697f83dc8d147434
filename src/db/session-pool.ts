// Connections that are lent one at a time: for statements that take long, for transactions and for COPY. When all are
// lent, askers wait in one line, out of which the tenant that has least is served first; nobody waits longer than its
// deadline, and those who have left are dropped.
import { type Borrower, type Lent, makeBorrowers } from './borrowers.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import { translateConnectionError } from './pg-error.ts';
import { makePooledConnections, type Pooled } from './pooled-connections.ts';
import { callerGone, placeAway, queueFull, shuttingDown, tooLate, type Work } from './work.ts';

export interface SessionPoolOptions {
  readonly open: () => Promise<OpenedConnection>;
  readonly size: number;
  /** Connections that one tenant may have at once. */
  readonly perTenant: number;
  readonly maxQueue: number;
  /** How long an asker without a deadline waits. */
  readonly patienceMs: number;
}

/** Who asks for a connection, and for how long. */
export type Asker = Pick<Work, 'tenant' | 'deadline' | 'caller' | 'place'>;

export interface SessionPool {
  /** 503 when the queue is full, no connection came in time, or the database is away. */
  take(asker?: Asker): Promise<Lent>;
  /** Connections that are open. */
  size(): number;
  waiting(): number;
  /** Leaves the connections that there are for new ones; those that are lent end when they are given back. */
  renew(): void;
  /** Closes connections as they come back; those that are not back after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

const SILENT = 'Connection terminated: what its statement waits for has fallen silent';

export function makeSessionPool({ open, size, perTenant, maxQueue, patienceMs }: SessionPoolOptions): SessionPool {
  const borrowers = makeBorrowers(perTenant, maxQueue);
  const connections = makePooledConnections({
    open,
    size,
    onFailed(error) {
      // The database is away for all of them; one after the other each would wait for it.
      for (const { settle } of borrowers.drain()) settle(translateConnectionError(error));
    },
    onOpened: pump,
  });
  let closing = false;

  /** Gives connections to those who wait, as long as there is one for somebody. */
  function pump(): void {
    for (;;) {
      // Nothing to give: a long line need not be looked through.
      if (!connections.hasIdle() && !connections.mayGrow()) return;
      const borrower = borrowers.next();
      if (borrower === undefined) return;
      const pooled = connections.take();
      if (pooled === undefined) {
        if (connections.opening() < borrowers.waiting()) connections.grow();
        return;
      }
      borrowers.leave(borrower);
      borrower.settle(lend(pooled, borrower));
    }
  }

  function lend(pooled: Pooled, { tenant, place }: Asker): Lent {
    borrowers.borrowed(tenant);
    let isLent = true;
    const stayInTouch = place?.onAway(() => destroy(pooled.connection, SILENT));
    return {
      connection: pooled.connection,
      release(broken) {
        if (!isLent) return;
        isLent = false;
        stayInTouch?.();
        borrowers.returned(tenant);
        connections.giveBack(pooled, broken);
        pump();
      },
    };
  }

  /** Waits in the line until there is a connection for it. */
  function waitFor({ tenant, deadline, caller, place }: Asker): Promise<Lent> {
    const patience = deadline === undefined ? patienceMs : deadline - performance.now();
    return new Promise((resolve, reject) => {
      const borrower: Borrower = {
        tenant,
        place,
        settle(outcome) {
          clearTimeout(timer);
          stay?.();
          stayInTouch?.();
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      const giveUp = (error: Error): void => {
        if (borrowers.leave(borrower)) borrower.settle(error);
      };
      const timer = setTimeout(() => giveUp(tooLate()), Math.max(0, patience));
      const stay = caller?.onGone(() => giveUp(callerGone()));
      const stayInTouch = place?.onAway(() => giveUp(placeAway()));
      borrowers.wait(borrower);
      pump();
    });
  }

  return {
    async take(asker = {}) {
      const { tenant, caller, place } = asker;
      if (closing) throw shuttingDown();
      if (caller?.isGone() === true) throw callerGone();
      if (place?.isAway() === true) throw placeAway();
      const failure = connections.recentFailure();
      if (failure !== undefined) throw translateConnectionError(failure.error);
      if (borrowers.waiting() === 0 && borrowers.mayHave(tenant)) {
        const pooled = connections.take();
        if (pooled !== undefined) return lend(pooled, asker);
      }
      if (!borrowers.hasPlace(tenant)) throw queueFull();
      return waitFor(asker);
    },
    size: connections.size,
    waiting: borrowers.waiting,
    renew: connections.renew,
    async close(graceMs = Number.POSITIVE_INFINITY) {
      closing = true;
      for (const { settle } of borrowers.drain()) settle(shuttingDown());
      await connections.close(graceMs);
    },
  };
}
