// The bulkhead of a pool bounds each tenant's share of the connections and of the queue, and serves the tenant with the
// fewest connections first.
export interface Waiter {
  readonly tenant: string | undefined;
  /** True for a write: while those of a tenant have all its connections, as they wait for a lock, it has one more for a read. */
  readonly isWrite?: boolean | undefined;
}

export interface Bulkhead<W extends Waiter> {
  /** True when the tenant may have one more connection. Statements without a tenant always may. */
  readonly canAcquire: (waiter: Waiter) => boolean;
  readonly acquire: (waiter: Waiter) => void;
  readonly release: (waiter: Waiter) => void;
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
  const writes = new Map<string, number>();
  const count = (tenant: string | undefined, counts = connections): number =>
    tenant === undefined ? 0 : (counts.get(tenant) ?? 0);
  const add = (counts: Map<string, number>, tenant: string, change: number): void => {
    const next = count(tenant, counts) + change;
    if (next === 0) counts.delete(tenant);
    else counts.set(tenant, next);
  };
  const addTo = ({ tenant, isWrite }: Waiter, change: number): void => {
    if (tenant === undefined) return;
    add(connections, tenant, change);
    if (isWrite === true) add(writes, tenant, change);
  };
  const canAcquire = ({ tenant, isWrite }: Waiter): boolean => {
    const own = count(tenant);
    return own < perTenant || (isWrite !== true && own === perTenant && count(tenant, writes) === own);
  };

  return {
    canAcquire,
    acquire: (waiter) => addTo(waiter, 1),
    release: (waiter) => addTo(waiter, -1),
    countQueued: () => queue.length,
    canQueue: (tenant) => canQueue(queue, tenant, maxQueue),
    push: (waiter) => void queue.push(waiter),
    findNext() {
      let nextWaiter: W | undefined;
      let fewest = Number.POSITIVE_INFINITY;
      for (const waiter of queue) {
        const active = count(waiter.tenant);
        if (active >= fewest || !canAcquire(waiter)) continue;
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
