// The bulkhead of a pool: no tenant has more than its share of the connections or of the queue, and the tenant with the
// fewest connections is served first.
export interface Waiter {
  readonly tenant: string | undefined;
}

export interface Bulkhead<W extends Waiter> {
  /** True when the tenant may have one more connection. Statements without a tenant always may. */
  readonly mayEnter: (tenant: string | undefined) => boolean;
  readonly enter: (tenant: string | undefined) => void;
  readonly leave: (tenant: string | undefined) => void;
  readonly queued: () => number;
  /** True when one more of the tenant may wait. */
  readonly mayQueue: (tenant: string | undefined) => boolean;
  readonly push: (waiter: W) => void;
  /** The next to serve: of the tenants below their share the one with the fewest connections, the oldest first. */
  readonly next: () => W | undefined;
  /** Takes a waiter out of the queue; false when it is not there any more. */
  readonly remove: (waiter: W) => boolean;
  /** Empties the queue. */
  readonly drain: () => readonly W[];
}

// Share of the queue that one tenant may fill.
const QUEUE_SHARE = 0.8;

/** `perTenant`: connections of one tenant. `maxQueue`: waiters of all tenants. */
export function makeBulkhead<W extends Waiter>(perTenant: number, maxQueue: number): Bulkhead<W> {
  const queue: W[] = [];
  const connections = new Map<string, number>();
  const count = (tenant: string | undefined): number => (tenant === undefined ? 0 : (connections.get(tenant) ?? 0));

  return {
    mayEnter: (tenant) => count(tenant) < perTenant,
    enter(tenant) {
      if (tenant !== undefined) connections.set(tenant, count(tenant) + 1);
    },
    leave(tenant) {
      if (tenant === undefined) return;
      const remaining = count(tenant) - 1;
      if (remaining === 0) connections.delete(tenant);
      else connections.set(tenant, remaining);
    },
    queued: () => queue.length,
    mayQueue: (tenant) => mayQueue(queue, tenant, maxQueue),
    push: (waiter) => void queue.push(waiter),
    next() {
      let best: W | undefined;
      let least = perTenant;
      for (const waiter of queue) {
        const has = count(waiter.tenant);
        if (has >= least) continue;
        best = waiter;
        least = has;
        if (has === 0) break;
      }
      return best;
    },
    remove(waiter) {
      const index = queue.indexOf(waiter);
      if (index >= 0) queue.splice(index, 1);
      return index >= 0;
    },
    drain: () => queue.splice(0),
  };
}

/** True when one more of the tenant may wait in a queue of at most `max`, of which it fills no more than its share. */
export function mayQueue(queue: readonly Waiter[], tenant: string | undefined, max: number, running = 0): boolean {
  if (queue.length + running >= max) return false;
  if (tenant === undefined || queue.length < max * QUEUE_SHARE) return true;
  return queue.filter((waiter) => waiter.tenant === tenant).length < max * QUEUE_SHARE;
}
