// Chooses the connection of a statement in a pipelined pool: the one with the least work, preparation included, among those
// that have capacity and that the statement's tenant may use.
import type { Query } from '../sql/fragment.ts';
import type { Connection, PendingStatement } from './pipelined-connections.ts';

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
// The bulkhead is active for this long after statements of a second tenant were seen.
const SHARED_MS = 5000;

export interface TenantLimit {
  /** Records that a statement of the tenant has arrived. */
  readonly recordTenant: (tenant: string | undefined, now: number) => void;
  /** True when statements of the tenant may use the connection. */
  readonly canUse: (connection: Connection, tenant: string | undefined, now: number) => boolean;
}

/** Makes a bulkhead, which bounds the connections of each tenant while statements of several tenants arrive. */
export function makeTenantLimit(connections: readonly Connection[], size: number): TenantLimit {
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

export function hasCapacity({ inFlight, workMs, lastResponseAt, failed, isUsable }: Connection, now: number): boolean {
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

/** Returns the cheapest connection, or undefined if waiting is cheaper. */
export function pickConnection(
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
