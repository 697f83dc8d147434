// The bulkhead of a pool bounds each tenant's share of the connections and of the queue, and serves the tenant with the
// fewest connections first.
export interface Waiter {
  readonly tenant: string | undefined;
}

export interface Bulkhead<W extends Waiter> {
  /** True when the tenant may have one more connection. Statements without a tenant always may. */
  readonly canAcquire: (tenant: string | undefined) => boolean;
  readonly acquire: (tenant: string | undefined) => void;
  readonly release: (tenant: string | undefined) => void;
  readonly countQueued: () => number;
  /** True when one more waiter of the tenant may be queued. */
  readonly canQueue: (tenant: string | undefined) => boolean;
  readonly push: (waiter: W) => void;
  /** Returns the next waiter: the oldest of the tenant with the fewest connections, among tenants below their share. */
  readonly findNext: () => W | undefined;
  /** Removes a waiter from the queue; returns false when it is no longer there. */
  readonly remove: (waiter: W) => boolean;
  /** Empties the queue and returns its waiters. */
  readonly drain: () => readonly W[];
}

// Share of the queue that one tenant may fill.
const MAX_QUEUE_FRACTION = 0.8;

/** Makes a bulkhead. `perTenant`: connections of one tenant. `maxQueue`: waiters of all tenants. */
export function makeBulkhead<W extends Waiter>(perTenant: number, maxQueue: number): Bulkhead<W> {
  const queue: W[] = [];
  const connections = new Map<string, number>();
  const count = (tenant: string | undefined): number => (tenant === undefined ? 0 : (connections.get(tenant) ?? 0));

  return {
    canAcquire: (tenant) => count(tenant) < perTenant,
    acquire(tenant) {
      if (tenant !== undefined) connections.set(tenant, count(tenant) + 1);
    },
    release(tenant) {
      if (tenant === undefined) return;
      const remaining = count(tenant) - 1;
      if (remaining === 0) connections.delete(tenant);
      else connections.set(tenant, remaining);
    },
    countQueued: () => queue.length,
    canQueue: (tenant) => canQueue(queue, tenant, maxQueue),
    push: (waiter) => void queue.push(waiter),
    findNext() {
      let nextWaiter: W | undefined;
      let fewest = perTenant;
      for (const waiter of queue) {
        const active = count(waiter.tenant);
        if (active >= fewest) continue;
        nextWaiter = waiter;
        fewest = active;
        if (active === 0) break;
      }
      return nextWaiter;
    },
    remove(waiter) {
      const index = queue.indexOf(waiter);
      if (index >= 0) queue.splice(index, 1);
      return index >= 0;
    },
    drain: () => queue.splice(0),
  };
}

/** True when one more of the tenant may wait in a queue of at most `max`, of which each tenant may fill a share. */
export function canQueue(queue: readonly Waiter[], tenant: string | undefined, max: number, running = 0): boolean {
  if (queue.length + running >= max) return false;
  if (tenant === undefined || queue.length < max * MAX_QUEUE_FRACTION) return true;
  return queue.filter((waiter) => waiter.tenant === tenant).length < max * MAX_QUEUE_FRACTION;
}
