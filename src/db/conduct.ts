// Which tenants have lately broken the promise of the quick lanes, with whatever statement: each of theirs goes to the slow
// lane for a while, where their share is bounded. Holding single statements would not be enough: a new shape of request is a
// new statement.
import { LRUCache } from 'lru-cache';
import { type Hold, type HoldLimits, hold, isHeld } from './cost.ts';

export interface Conduct {
  /** A statement of the tenant was ended on a quick lane. */
  fault(tenant: string, now: number): void;
  isHeld(tenant: string, now?: number): boolean;
}

interface Past extends Hold {
  faults: number;
  since: number;
}

// A single fault may be a busy machine's.
const FAULTS = 3;
const WITHIN_MS = 30_000;
const HOLD: HoldLimits = { first: 10_000, most: 300_000 };
const MAX_TENANTS = 10_000;

export function makeConduct(): Conduct {
  const tenants = new LRUCache<string, Past>({ max: MAX_TENANTS });
  return {
    fault(tenant, now) {
      const known = tenants.get(tenant);
      const record = known ?? { faults: 0, since: now };
      if (known === undefined) tenants.set(tenant, record);
      if (now - record.since > WITHIN_MS) {
        record.faults = 0;
        record.since = now;
      }
      record.faults++;
      // After a hold one fault is enough.
      const isKnown = record.hold !== undefined && now - (record.heldUntil ?? 0) < record.hold;
      if (record.faults < FAULTS && !isKnown) return;
      record.faults = 0;
      hold(record, HOLD, now);
    },
    isHeld(tenant, now) {
      const record = tenants.size === 0 ? undefined : tenants.peek(tenant);
      return record?.heldUntil !== undefined && isHeld(record, now ?? performance.now());
    },
  };
}
