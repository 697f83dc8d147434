// Who has connections of a pool, and who waits for one: the tenant that has least is served first, none gets more than its
// share, and none fills the line of all.
import type { OpenedConnection } from './connect.ts';
import type { Work } from './work.ts';

/** A connection for one user alone. */
export interface Lent {
  readonly connection: OpenedConnection;
  /** Gives it back, once. `broken`: it is not used again. */
  release(broken: boolean): void;
}

/** Somebody who waits. `settle` is called once. */
export interface Borrower extends Pick<Work, 'place'> {
  readonly tenant: string | undefined;
  readonly settle: (outcome: Lent | Error) => void;
}

export interface Borrowers {
  /** How many wait. */
  readonly waiting: () => number;
  /** True when the tenant may have one more connection. */
  readonly mayHave: (tenant: string | undefined) => boolean;
  readonly borrowed: (tenant: string | undefined) => void;
  readonly returned: (tenant: string | undefined) => void;
  /** True when one more of the tenant may wait. */
  readonly hasPlace: (tenant: string | undefined) => boolean;
  readonly wait: (borrower: Borrower) => void;
  /** Who is served next: of those below their share the one with least, the oldest first. Stays in the line. */
  readonly next: () => Borrower | undefined;
  /** Takes out of the line; false when it is not there any more. */
  readonly leave: (borrower: Borrower) => boolean;
  /** Takes all out of the line. */
  readonly drain: () => readonly Borrower[];
}

// Of the line; the rest is for the others.
const TENANT_PART = 0.8;

/** `perTenant`: connections that one tenant may have at once. `maxWaiting`: of all tenants. */
export function makeBorrowers(perTenant: number, maxWaiting: number): Borrowers {
  const line: Borrower[] = [];
  /** Connections lent, by tenant. */
  const active = new Map<string, number>();
  const activeOf = (tenant: string | undefined): number => (tenant === undefined ? 0 : (active.get(tenant) ?? 0));

  return {
    waiting: () => line.length,
    mayHave: (tenant) => activeOf(tenant) < perTenant,
    borrowed(tenant) {
      if (tenant !== undefined) active.set(tenant, activeOf(tenant) + 1);
    },
    returned(tenant) {
      if (tenant === undefined) return;
      const left = activeOf(tenant) - 1;
      if (left === 0) active.delete(tenant);
      else active.set(tenant, left);
    },
    hasPlace(tenant) {
      if (line.length >= maxWaiting) return false;
      if (tenant === undefined || line.length < maxWaiting * TENANT_PART) return true;
      return line.filter((each) => each.tenant === tenant).length < maxWaiting * TENANT_PART;
    },
    wait: (borrower) => void line.push(borrower),
    next() {
      let best: Borrower | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const borrower of line) {
        const has = activeOf(borrower.tenant);
        if (has >= least || has >= perTenant) continue;
        best = borrower;
        least = has;
        if (has === 0) break;
      }
      return best;
    },
    leave(borrower) {
      const at = line.indexOf(borrower);
      if (at >= 0) line.splice(at, 1);
      return at >= 0;
    },
    drain: () => line.splice(0),
  };
}
